// What the page is, as opposed to how it looks: its tree, with shadow trees and the state of its fields, its style
// sheets, what is scrolled, focused and animated, and the size of its window. One line a thing, each with its place.
(() => {
  const scrolled = ['scrollLeft', 'scrollTop'].map(name => [name, getter(Element.prototype, name)]);
  const place_in = getter(HTMLProgressElement.prototype, 'position');
  const position = node => (node instanceof HTMLProgressElement ? place_in(node) : 0);
  let moves = false;
  const lines = [];
  const focused = ask('activeElement');
  const rules = (sheet, place) => {
    let found;
    try { found = sheet.cssRules; } catch (e) { lines.push(`${place} cannot be read`); return; }
    if (sheet.disabled) lines.push(`${place} is off`);
    for (let n = 0; n < found.length; n++) lines.push(`${place} rule ${n}: ${found[n].cssText}`);
  };
  const sheets = (root, kind, place) => {
    const own = name => Array.from(getter(kind.prototype, name)(root) || []);
    own('styleSheets').forEach((s, n) => rules(s, `${place}style sheet ${n}`));
    own('adoptedStyleSheets').forEach((s, n) => rules(s, `${place}adopted sheet ${n}`));
  };
  const say = (place, what, value) => lines.push(`${place} ${what}: ${value}`);
  const waiting = [[document, '']];
  while (waiting.length) {
    const [node, place] = waiting.pop();
    if (kind(node) === Node.ELEMENT_NODE) {
      const attributes = Element.prototype.getAttributeNames.call(node).sort()
        .map(name => ` ${name}=${JSON.stringify(Element.prototype.getAttribute.call(node, name))}`);
      lines.push(place + attributes.join(''));
      for (const name of ['value', 'checked', 'indeterminate', 'selectedIndex', 'open'])
        if (typeof node[name] !== 'object' && node[name] !== undefined && node[name] !== false && node[name] !== '')
          say(place, name, node[name]);
      for (const [name, get] of scrolled)
        if (get(node)) say(place, name, get(node));
      for (const name of [':modal', ':popover-open', ':fullscreen'])
        try { if (Element.prototype.matches.call(node, name)) say(place, 'is', name); } catch (e) {}
      // A bar without a value runs to and fro, and no animation tells of it.
      if (position(node) === -1) moves = true;
      if (node === focused && node !== ask('body')) say(place, 'has the', 'focus');
      if (shadow(node)) {
        sheets(shadow(node), ShadowRoot, `${place} shadow `);
        waiting.push([shadow(node), `${place}/#shadow`]);
      }
    } else if (node.data !== undefined) {
      say(place, 'text', JSON.stringify(node.data));
    } else if (kind(node) === Node.DOCUMENT_TYPE_NODE) {
      lines.push(`doctype ${node.name} ${node.publicId} ${node.systemId}`);
    }
    let n = 0;
    for (let child = lastChild(node); child; child = previous(child))
      waiting.push([child, `${place}/${nodeName(child).toLowerCase()}[-${++n}]`]);
  }
  sheets(document, Document, '');
  say('window', 'size', `${innerWidth} ${innerHeight}`);
  say('window', 'scrolled', `${scrollX} ${scrollY}`);
  say('window', 'mode', ask('compatMode'));
  const fonts = ask('fonts');
  if (ask('readyState') !== 'complete' || (fonts && fonts.status !== 'loaded')
      || !Array.prototype.every.call(ask('images'), i => i.complete || i.loading === 'lazy'))
    lines.push('page still loads');
  // Where an engine cannot tell what is under way, what may be under way counts as such.
  const may_move = e => {
    const style = getComputedStyle(e);
    return style.animationName !== 'none' || !/^(0s(, )?)+$/.test(style.transitionDuration);
  };
  const untold = !Document.prototype.getAnimations;
  if (moves || untold && Array.prototype.some.call(Document.prototype.querySelectorAll.call(document, '*'), may_move))
    lines.push('page moves by itself');
  const moving = Document.prototype.getAnimations ? Document.prototype.getAnimations.call(document) : [];
  for (const a of moving) say('animation', a.animationName || a.transitionProperty || '', `${a.playState} ${a.currentTime}`);
  return lines;
})()
