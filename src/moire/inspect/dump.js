// One pass over the document, without recursion (pages nest deep) and without touching the page.
// Values of computed styles repeat a lot: each is sent once and named by its number.
(() => {
  const values = [], numbers = new Map();
  const number = value => {
    let n = numbers.get(value);
    if (n === undefined) { n = values.length; values.push(value); numbers.set(value, n); }
    return n;
  };
  const root = document.documentElement;
  const properties = root ? Array.from(getComputedStyle(root)).filter(name => !name.startsWith('--')) : [];
  const style = (element, pseudo) => {
    const computed = getComputedStyle(element, pseudo);
    return properties.map(name => number(computed.getPropertyValue(name)));
  };
  const boxes = list => Array.from(list, r => [r.x + scrollX, r.y + scrollY, r.width, r.height]);
  const state = e => {
    const found = {};
    for (const name of ['value', 'checked', 'selectedIndex', 'open'])
      if (['INPUT', 'TEXTAREA', 'SELECT', 'DETAILS', 'DIALOG'].includes(e.tagName) && e[name] !== undefined)
        found[name] = e[name];
    for (const name of ['scrollLeft', 'scrollTop']) if (e[name]) found[name] = e[name];
    if (e === document.activeElement && e !== document.body) found.focused = true;
    return found;
  };
  const nodes = [];
  const waiting = [[document, -1]];
  while (waiting.length) {
    const [node, parent] = waiting.pop();
    const at = nodes.length;
    const entry = { parent, kind: 'other', name: node.nodeName };
    nodes.push(entry);
    if (node.nodeType === Node.ELEMENT_NODE) {
      entry.kind = 'element';
      entry.name = node.localName;
      entry.attributes = Array.from(node.attributes, a => [a.name, a.value]);
      entry.state = state(node);
      entry.boxes = boxes(node.getClientRects());
      entry.style = style(node, null);
      entry.pseudo = {};
      for (const pseudo of ['::before', '::after']) {
        const content = getComputedStyle(node, pseudo).content;
        if (content && content !== 'none' && content !== 'normal') entry.pseudo[pseudo] = style(node, pseudo);
      }
    } else if (node.nodeType === Node.TEXT_NODE) {
      entry.kind = 'text';
      entry.text = node.data;
      const range = document.createRange();
      range.selectNodeContents(node);
      entry.boxes = boxes(range.getClientRects());
    } else if (node.nodeType === Node.COMMENT_NODE) {
      entry.kind = 'comment';
      entry.text = node.data;
    } else if (node.nodeType === Node.DOCUMENT_TYPE_NODE) {
      entry.kind = 'doctype';
    } else if (node.nodeType === Node.DOCUMENT_FRAGMENT_NODE) {
      entry.kind = 'shadow';
    } else if (node.nodeType === Node.DOCUMENT_NODE) {
      entry.kind = 'document';
    }
    for (let child = node.lastChild; child; child = child.previousSibling) waiting.push([child, at]);
    if (node.shadowRoot) waiting.push([node.shadowRoot, at]);
  }
  return { mode: document.compatMode, properties, values, nodes };
})()
