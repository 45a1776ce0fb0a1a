// One pass over the document, without recursion (pages nest deep) and without touching the page.
// Values of computed styles repeat a lot: each is sent once and named by its number.
(() => {
  const data = getter(CharacterData.prototype, 'data');
  const localName = getter(Element.prototype, 'localName');
  const attributes = getter(Element.prototype, 'attributes');
  const scrolled = {
    scrollLeft: getter(Element.prototype, 'scrollLeft'),
    scrollTop: getter(Element.prototype, 'scrollTop'),
  };
  const focused = ask('activeElement');
  const body = ask('body');
  const root = ask('documentElement');

  const values = [], numbers = new Map();
  const number = value => {
    let n = numbers.get(value);
    if (n === undefined) { n = values.length; values.push(value); numbers.set(value, n); }
    return n;
  };
  const properties = root ? Array.from(getComputedStyle(root)).filter(name => !name.startsWith('--')) : [];
  const style = (element, pseudo) => {
    const computed = getComputedStyle(element, pseudo);
    return properties.map(name => number(computed.getPropertyValue(name)));
  };
  // Other pseudo-elements, if they are asked for and the page styles them at all.
  const styled = () => {
    let text = '';
    for (const sheet of ask('styleSheets')) try { for (const rule of sheet.cssRules) text += rule.cssText; } catch (e) {}
    return ['::marker', '::placeholder', '::first-letter', '::first-line'].filter(name => text.includes(name));
  };
  const others = typeof every !== 'undefined' && every ? styled() : [];
  const boxes = list => Array.from(list, r => [r.x + scrollX, r.y + scrollY, r.width, r.height]);
  const state = e => {
    const found = {};
    if (['input', 'textarea', 'select', 'details', 'dialog'].includes(localName(e)))
      for (const name of ['value', 'checked', 'selectedIndex', 'open'])
        if (e[name] !== undefined) found[name] = e[name];
    for (const name in scrolled) if (scrolled[name](e)) found[name] = scrolled[name](e);
    if (e === focused && e !== body) found.focused = true;
    return found;
  };
  const nodes = [];
  const waiting = [[document, -1]];
  while (waiting.length) {
    const [node, parent] = waiting.pop();
    const at = nodes.length;
    const entry = { parent, kind: 'other', name: nodeName(node) };
    nodes.push(entry);
    switch (kind(node)) {
      case Node.ELEMENT_NODE:
        entry.kind = 'element';
        entry.name = localName(node);
        entry.attributes = Array.from(attributes(node), a => [a.name, a.value]);
        entry.state = state(node);
        entry.boxes = boxes(Element.prototype.getClientRects.call(node));
        entry.style = style(node, null);
        entry.pseudo = {};
        for (const pseudo of ['::before', '::after']) {
          const content = getComputedStyle(node, pseudo).content;
          if (content && content !== 'none' && content !== 'normal') entry.pseudo[pseudo] = style(node, pseudo);
        }
        for (const pseudo of others) entry.pseudo[pseudo] = style(node, pseudo);
        if (shadow(node)) waiting.push([shadow(node), at]);
        break;
      case Node.TEXT_NODE: {
        entry.kind = 'text';
        entry.text = data(node);
        const range = new Range();
        range.selectNodeContents(node);
        entry.boxes = boxes(range.getClientRects());
        break;
      }
      case Node.COMMENT_NODE:
        entry.kind = 'comment';
        entry.text = data(node);
        break;
      case Node.DOCUMENT_TYPE_NODE: entry.kind = 'doctype'; break;
      case Node.DOCUMENT_FRAGMENT_NODE: entry.kind = 'shadow'; break;
      case Node.DOCUMENT_NODE: entry.kind = 'document'; break;
    }
    for (let child = lastChild(node); child; child = previous(child)) waiting.push([child, at]);
  }
  return { mode: ask('compatMode'), properties, values, nodes };
})()
