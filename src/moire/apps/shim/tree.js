// The tree: names of nodes, a page at one moment, and what can be done in it.

const ids = new WeakMap();
let last = 0;
const id = node => ids.get(node) || (ids.set(node, ++last), last);
const place = element => {
  let n = 1;
  for (let one = element.previousElementSibling; one; one = one.previousElementSibling) if (one.localName === element.localName) n++;
  return n;
};
const path = node => {
  const steps = [];
  for (let one = node; one && one.nodeType === 1;) {
    steps.unshift(`${one.localName}[${place(one)}]`);
    const up = one.parentNode;
    if (up && up.nodeType === 11 && up.host) { steps.unshift('#shadow'); one = up.host; } else one = up;
  }
  return `/${steps.join('/')}`;
};
const find = words => {
  if (!words.startsWith('/')) try { return document.querySelector(words); } catch (e) { return null; }
  let at = document;
  for (const step of words.split('/').slice(1)) {
    if (!at) return null;
    if (step === '#shadow') { at = at.shadowRoot; continue; }
    const [, tag, n] = /^(.*)\[(\d+)\]$/.exec(step) || [];
    at = [...at.children].filter(one => one.localName === tag)[n - 1];
  }
  return at || null;
};

const UNSEEN = new Set(['script', 'style', 'link', 'meta', 'title', 'head', 'noscript', 'template', 'base']);
const CONTROLS = new Set(['input', 'button', 'select', 'textarea', 'progress', 'meter']);
const nodes = () => {
  const found = [];
  const walk = (node, parent, at) => {
    if (node.nodeType === 3) {
      if (node.data.trim()) found.push({ type: 0, nodeid: id(node), pid: parent, text: node.data });
      return;
    }
    if (node.nodeType !== 1 || UNSEEN.has(node.localName)) return;
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    const attributes = {};
    for (const { name: key, value } of node.attributes) attributes[key] = value;
    if ('value' in node && typeof node.value === 'string' && node.localName !== 'li' && node.type !== 'password') attributes[':value'] = node.value;
    if (node.checked) attributes[':checked'] = '';
    // What engines draw in their own ways, as long as nobody tells them how.
    const own = style.appearance === 'auto' || style.appearance === undefined || /button|field|checkbox|radio|menulist|textarea/.test(style.appearance);
    if (CONTROLS.has(node.localName) && own && (/inset|outset/.test(style.borderTopStyle) || /checkbox|radio|range|color|file/.test(node.type))) attributes[':native'] = '';
    const visible = style.visibility === 'visible' && style.opacity !== '0' && box.width > 0 && box.height > 0;
    found.push({
      type: 1, nodeid: id(node), pid: parent, xpath: at, visible: visible ? 1 : 0, attributes,
      coord: [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY],
    });
    const counts = {};
    const inside = node.shadowRoot ? [...node.shadowRoot.childNodes] : [...node.childNodes];
    for (const child of inside) {
      const tag = child.localName;
      if (child.nodeType === 1) counts[tag] = (counts[tag] || 0) + 1;
      walk(child, id(node), child.nodeType === 1 ? `${at}${node.shadowRoot ? '/#shadow' : ''}/${tag}[${counts[tag]}]` : '');
    }
  };
  if (document.documentElement) walk(document.documentElement, -1, '/html[1]');
  return found;
};

// What can be clicked or filled in, as far as a script can tell
const clickable = new WeakSet();
if (live) {
  define(EventTarget.prototype, 'addEventListener', function (type, ...rest) {
    if (['click', 'mousedown', 'pointerdown', 'mouseup'].includes(type) && this instanceof Element) clickable.add(this);
    return listen.call(this, type, ...rest);
  });
}
const candidates = () => {
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    const tag = element.localName, kind = (element.type || '').toLowerCase();
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (element.disabled || box.width < 1 || box.height < 1 || style.visibility !== 'visible' || style.pointerEvents === 'none') continue;
    const common = { target: path(element), words: (element.getAttribute('aria-label') || element.textContent || element.value || '').trim().slice(0, 60), name: element.name || element.id || '' };
    if (tag === 'select') found.push({ ...common, action: 'select', values: [...element.options].map(o => o.value).slice(0, 4) });
    else if (tag === 'textarea' || (tag === 'input' && !['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file', 'hidden', 'range', 'color'].includes(kind))) {
      if (!element.readOnly) found.push({ ...common, action: 'type', kind, pattern: element.placeholder || '', sends: !!element.form });
    } else if (tag === 'button' || tag === 'summary' || (tag === 'a' && element.href) || (tag === 'input' && !['file', 'hidden'].includes(kind)) || tag === 'label' && !element.control
      || clickable.has(element) || element.onclick || element.hasAttribute('onclick') || ['button', 'tab', 'menuitem', 'link', 'option', 'checkbox', 'switch'].includes(element.getAttribute('role'))) {
      found.push({ ...common, action: 'click', href: tag === 'a' ? element.href : '', sends: !!element.form && ['submit', 'image'].includes(kind), kind });
    }
  }
  return found;
};
