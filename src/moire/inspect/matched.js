// For every element in the order of the dump: the longhands that rules and its own style declare for it. What an engine
// does not understand, it has dropped before.
(() => {
  const found = [];
  const styles = [HTMLElement, SVGElement].map(one => [one, getter(one.prototype, 'style')]);
  const style = node => (styles.find(([one]) => node instanceof one) || [0, () => []])[1](node);
  const sheets = [...(ask('styleSheets') || [])];
  try { sheets.push(...document.adoptedStyleSheets); } catch (old) {}
  const rules = [];
  const gather = list => {
    for (const rule of list) {
      if (rule instanceof CSSStyleRule) rules.push(rule);
      if (rule.media && !matchMedia(rule.media.mediaText).matches) continue;
      if (rule.cssRules) gather(rule.cssRules);
    }
  };
  for (const sheet of sheets) {
    try { if (!sheet.disabled) gather(sheet.cssRules); } catch (foreign) {}
  }
  const matches = (element, selector) => {
    try { return Element.prototype.matches.call(element, selector); } catch (odd) { return false; }
  };
  const waiting = [document];
  while (waiting.length) {
    const node = waiting.pop();
    if (kind(node) === Node.ELEMENT_NODE) {
      const names = new Set();
      for (const rule of rules) if (matches(node, rule.selectorText)) for (const name of rule.style) names.add(name);
      for (const name of style(node) || []) names.add(name);
      found.push([...names].filter(name => !name.startsWith('--')));
      if (shadow(node)) waiting.push(shadow(node));
    } else found.push([]);
    for (let child = lastChild(node); child; child = previous(child)) waiting.push(child);
  }
  return found;
})()
