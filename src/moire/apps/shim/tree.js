// The tree: names of nodes, a page at one moment, and what can be done in it.

const ids = new WeakMap();
let last = 0;
const id = node => ids.get(node) || (ids.set(node, ++last), last);
const place = element => {
  let n = 1;
  for (let one = real.previousElementSibling(element); one; one = real.previousElementSibling(one)) if (real.localName(one) === real.localName(element)) n++;
  return n;
};
const path = node => {
  const steps = [];
  for (let one = node; one && real.nodeType(one) === 1;) {
    steps.unshift(`${real.localName(one)}[${place(one)}]`);
    const up = real.parentNode(one);
    if (up && real.nodeType(up) === 11 && up.host) { steps.unshift('#shadow'); one = up.host; } else one = up;
  }
  return `/${steps.join('/')}`;
};
const find = words => {
  if (!words.startsWith('/')) try { return document.querySelector(words); } catch (e) { return null; }
  let at = document;
  for (const step of words.split('/').slice(1)) {
    if (!at) return null;
    if (step === '#shadow') { at = real.shadowRoot(at); continue; }
    const [, tag, n] = /^(.*)\[(\d+)\]$/.exec(step) || [];
    at = [...(at === document ? documents.children() : real.nodeType(at) === 1 ? real.children(at) : at.children)].filter(one => real.localName(one) === tag)[n - 1];
  }
  return at || null;
};

const UNSEEN = new Set(['script', 'style', 'link', 'meta', 'title', 'head', 'noscript', 'template', 'base']);
const CONTROLS = new Set(['input', 'button', 'select', 'textarea', 'progress', 'meter']);
const nodes = () => {
  const found = [];
  const walk = (node, parent, at) => {
    const type = real.nodeType(node);
    if (type === 3) {
      if (node.data.trim()) found.push({ type: 0, nodeid: id(node), pid: parent, text: named(node.data) });
      return;
    }
    const tag = type === 1 ? real.localName(node) : '';
    if (type !== 1 || UNSEEN.has(tag)) return;
    const box = real.getBoundingClientRect(node), style = getComputedStyle(node);
    const attributes = {};
    for (const { name: key, value } of real.attributes(node)) attributes[key] = named(value);
    if ('value' in node && typeof node.value === 'string' && tag !== 'li' && node.type !== 'password') attributes[':value'] = node.value;
    if (node.checked === true) attributes[':checked'] = '';
    // What engines draw in their own ways, as long as nobody tells them how.
    const own = style.appearance === 'auto' || style.appearance === undefined || /button|field|checkbox|radio|menulist|textarea/.test(style.appearance);
    if (CONTROLS.has(tag) && own && (/inset|outset/.test(style.borderTopStyle) || /checkbox|radio|range|color|file/.test(node.type))) attributes[':native'] = '';
    const visible = style.visibility === 'visible' && style.opacity !== '0' && box.width > 0 && box.height > 0;
    found.push({
      type: 1, nodeid: id(node), pid: parent, xpath: at, visible: visible ? 1 : 0, attributes,
      coord: [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY],
    });
    const counts = {};
    const shadow = real.shadowRoot(node);
    for (const child of real.childNodes(shadow || node)) {
      const own = real.nodeType(child) === 1 ? real.localName(child) : '';
      if (own) counts[own] = (counts[own] || 0) + 1;
      walk(child, id(node), own ? `${at}${shadow ? '/#shadow' : ''}/${own}[${counts[own]}]` : '');
    }
  };
  if (documents.documentElement()) walk(documents.documentElement(), -1, '/html[1]');
  return found;
};

// What can be clicked or filled in, as far as a script can tell
const clickable = new WeakSet();
const elements = function* (root) {
  for (const element of root.querySelectorAll('*')) {
    yield element;
    if (real.shadowRoot(element)) yield* elements(real.shadowRoot(element));
  }
};
const candidates = () => {
  const found = [];
  for (const element of elements(document)) {
    const tag = real.localName(element), kind = string(element.type).toLowerCase(), href = tag === 'a' ? string(element.href) : '';
    const box = real.getBoundingClientRect(element), style = getComputedStyle(element);
    if (element.disabled === true || box.width < 1 || box.height < 1 || style.visibility !== 'visible' || style.pointerEvents === 'none') continue;
    const common = { target: path(element), words: cut((real.getAttribute(element, 'aria-label') || real.textContent(element) || string(element.value)).trim(), 60), name: string(element.name) || real.id(element), title: real.getAttribute(element, 'title') || '' };
    if (tag === 'select') found.push({ ...common, action: 'select', values: [...element.options].map(o => o.value).slice(0, 4) });
    else if (tag === 'textarea' || (tag === 'input' && !['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file', 'hidden', 'range', 'color'].includes(kind))) {
      if (!element.readOnly) found.push({ ...common, action: 'type', kind, pattern: element.placeholder || '', sends: !!element.form });
    } else if (tag === 'button' || tag === 'summary' || href || (tag === 'input' && !['file', 'hidden'].includes(kind)) || tag === 'label' && !element.control
      || clickable.has(element) || element.onclick || real.hasAttribute(element, 'onclick') || ['button', 'tab', 'menuitem', 'link', 'option', 'checkbox', 'switch'].includes(real.getAttribute(element, 'role'))) {
      found.push({ ...common, action: 'click', href, sends: !!element.form && ['submit', 'image'].includes(kind), kind });
    }
  }
  return found;
};

// What is beyond the window is looked at without anyone's being told of it.
let peeking = false;
const peek = (x, y) => { peeking = true; scrollTo({ left: x, top: y, behavior: 'instant' }); return [scrollX, scrollY]; };
for (const type of ['scroll', 'scrollend']) listen.call(window, type, event => { if (peeking) event.stopImmediatePropagation(); }, true);
