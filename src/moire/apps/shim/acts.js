// What a user does.

const mouse = (element, type, more) => {
  const box = real.getBoundingClientRect(element);
  const at = { clientX: Math.round(box.x + box.width / 2), clientY: Math.round(box.y + box.height / 2) };
  const Kind = type.startsWith('pointer') && window.PointerEvent ? PointerEvent : MouseEvent;
  const quiet = /enter|leave/.test(type);
  return real.dispatchEvent(element, new Kind(type, { bubbles: !quiet, cancelable: !quiet, composed: true, view: window, detail: type === 'click' ? 1 : 0, ...at, ...more }));
};
// By number, as old applications ask for keys: constructors of events do not take it everywhere.
const CODES = { Backspace: 8, Tab: 9, Enter: 13, Shift: 16, Control: 17, Alt: 18, Escape: 27, ' ': 32, PageUp: 33, PageDown: 34, End: 35, Home: 36,
  ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Insert: 45, Delete: 46, Meta: 91 };
const codeOf = key => CODES[key] || (/^F\d+$/.test(key) ? 111 + Number(key.slice(1)) : key.length === 1 ? key.toUpperCase().charCodeAt(0) : 0);
const numbered = (event, numbers) => {
  for (const key of ['keyCode', 'which', 'charCode']) if (numbers[key] !== undefined) define(event, key, numbers[key]);
  return event;
};
const press = (element, type, key) => {
  const code = key.length === 1 ? `Key${key.toUpperCase()}` : key, n = codeOf(key);
  return element.dispatchEvent(numbered(new KeyboardEvent(type, { key, code, bubbles: true, cancelable: true, composed: true }), { keyCode: n, which: n }));
};
const setter = element => {
  const kind = element instanceof HTMLTextAreaElement ? HTMLTextAreaElement : element instanceof HTMLSelectElement ? HTMLSelectElement : HTMLInputElement;
  return Object.getOwnPropertyDescriptor(kind.prototype, 'value').set;
};
const tell = (element, type, Kind = Event, more = {}) => element.dispatchEvent(new Kind(type, { bubbles: true, composed: true, ...more }));
const focus = element => { if (element.focus && document.activeElement !== element) element.focus({ preventScroll: true }); };
const FOCUSABLE = 'a[href], area[href], button, input, select, textarea, summary, iframe, [tabindex], [contenteditable]';
const focusable = element => {
  for (let one = element; one; one = one.parentElement || (one.getRootNode() && one.getRootNode().host)) if (real.matches(one, FOCUSABLE) && one.disabled !== true) return one;
  return null;
};
const actions = {
  click(element) {
    let go = true;
    for (const type of ['pointerover', 'mouseover', 'pointerdown', 'mousedown']) go = mouse(element, type, { button: 0, buttons: type.endsWith('down') ? 1 : 0 });
    const to = focusable(element);
    if (go && to) focus(to);
    else if (go && document.activeElement && document.activeElement !== document.body) document.activeElement.blur();
    for (const type of ['pointerup', 'mouseup', 'click']) mouse(element, type, { button: 0 });
  },
  hover(element) { for (const type of ['pointerover', 'pointerenter', 'mouseover', 'mouseenter', 'mousemove']) mouse(element, type); },
  leave(element) { for (const type of ['pointerout', 'pointerleave', 'mouseout', 'mouseleave']) mouse(element, type); },
  type(element, { value }) {
    focus(element);
    press(element, 'keydown', value.slice(-1) || 'Backspace');
    if (element.isContentEditable) element.textContent = value; else setter(element).call(element, value);
    tell(element, 'input', InputEvent, { inputType: 'insertText', data: value });
    press(element, 'keyup', value.slice(-1) || 'Backspace');
    tell(element, 'change');
  },
  select(element, { value }) { focus(element); setter(element).call(element, value); tell(element, 'input'); tell(element, 'change'); },
  key(element, { value }) {
    focus(element);
    const go = press(element, 'keydown', value);
    if (go && value === 'Enter' && element.form && element.localName === 'input') {
      const button = element.form.querySelector('button:not([type]), [type=submit], [type=image]');
      if (button) button.click(); else element.form.requestSubmit();
    }
    press(element, 'keyup', value);
  },
  submit(element) { element.requestSubmit(); },
  scroll(element, { x, y }) { (element === documents.documentElement() ? window : element).scrollTo({ left: x, top: y, behavior: 'instant' }); },
  drag(element, { to }) {
    const end = find(to), data = new DataTransfer();
    if (!end) { differ('target', `there is no ${to}`); return; }
    mouse(element, 'pointerdown', { buttons: 1 });
    mouse(element, 'mousedown', { buttons: 1 });
    const dragged = (on, type) => on.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: type !== 'dragend' && type !== 'dragleave', composed: true, dataTransfer: data }));
    if (element.draggable && dragged(element, 'dragstart')) {
      for (const type of ['dragenter', 'dragover', 'drop']) dragged(end, type);
      dragged(element, 'dragend');
    } else for (const type of ['pointermove', 'mousemove', 'pointerup', 'mouseup']) mouse(end, type, { buttons: type.endsWith('move') ? 1 : 0 });
  },
  // As a person did it, event for event.
  dom(element, { type, init, state }) {
    if (state && 'value' in state) setter(element).call(element, state.value);
    if (state && 'html' in state) element.innerHTML = state.html;
    if (type === 'focus') { focus(element); return; }
    if (type === 'blur') { element.blur(); return; }
    if (type === 'scroll') {
      if (element.scrollLeft === state.x && element.scrollTop === state.y) return undefined;
      const told = new native.Promise(done => listen.call(window, 'scroll', () => done(), { capture: true, once: true }));
      element.scrollTo({ left: state.x, top: state.y, behavior: 'instant' });
      return native.Promise.race([told, new native.Promise(done => wait(500, done))]);
    }
    const Kind = window[init.kind] || Event;
    const event = numbered(new Kind(type, { bubbles: true, cancelable: true, composed: true, view: window, ...init, ...(init.kind === 'DragEvent' ? { dataTransfer: carried(type) } : {}) }), init);
    if (type === 'submit') { if (element.dispatchEvent(event)) element.submit(); } else element.dispatchEvent(event);
  },
};
let load = null;
const carried = type => (type === 'dragstart' || !load ? (load = new DataTransfer()) : load);
// What needs no control that answers.
const PASSIVE = new Set(['hover', 'leave', 'scroll', 'wheel', 'blur', 'pointerdown', 'pointerup', 'pointermove', 'mousemove', 'mouseover', 'mouseout', 'dragenter', 'dragover', 'dragleave', 'drop']);
const act = action => {
  const at = action.target ? find(action.target) : documents.documentElement();
  if (!at) { differ('target', `there is no ${action.target}`); return false; }
  if (at.disabled === true && !PASSIVE.has(action.type || action.action)) differ('target', `${action.target} is disabled`);
  return actions[action.action](at, action) || true;
};

// What a person does is written down as it comes.
const TRUSTED = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'keydown', 'keypress',
  'keyup', 'input', 'change', 'submit', 'blur', 'focus', 'mouseover', 'mouseout', 'pointermove', 'mousemove', 'scroll', 'wheel', 'dragstart', 'dragenter', 'dragover', 'dragleave', 'drop', 'dragend'];
const KEPT = ['key', 'code', 'keyCode', 'which', 'charCode', 'repeat', 'location', 'pointerId', 'pointerType', 'isPrimary', 'deltaMode', 'ctrlKey', 'shiftKey', 'altKey', 'metaKey', 'button', 'buttons', 'clientX', 'clientY', 'detail', 'inputType', 'data', 'deltaX', 'deltaY'];
const byScript = (prototype, ...keys) => {
  for (const key of keys) {
    const own = prototype[key];
    if (own) define(prototype, key, function (...given) { return byItself(() => own.apply(this, given)); });
  }
};
let clicked = null, focused = null, pressing = false;
const follows = event => {
  const element = event.composedPath()[0];
  switch (event.type) {
    // A box that is ticked, what a label is for and a form that a button sends follow from the click.
    case 'input': case 'change': return ['checkbox', 'radio'].includes(element.type);
    case 'submit': return event.submitter;
    case 'pointerdown': case 'mousedown': case 'keydown': clicked = null; return false;
    case 'click': {
      const label = clicked && clicked !== element && clicked.closest('label');
      clicked = element;
      return label && label.control === element;
    }
    // The whole window's, not the element's; or that of an element that a script took away, where nobody pressed
    // beside it.
    case 'blur': return !document.hasFocus() || (!event.relatedTarget && !pressing);
    // It was told when another lost it.
    case 'focus': return focused === element;
    case 'pointermove': case 'mousemove': return !event.buttons;
    default: return false;
  }
};
const noticed = event => {
  const first = event.composedPath()[0], { type } = event;
  const target = type === 'scroll' && first === document ? documents.documentElement() : first;
  if (byPage || peeking || !event.isTrusted || !target || target.nodeType !== 1) return;
  const own = !follows(event);
  pressing = type === 'mousedown' || (pressing && type === 'change');
  if (!own) return;
  if (type === 'scroll') {
    begin({ kind: 'act', action: 'dom', target: path(target), type, init: {}, state: { x: target.scrollLeft, y: target.scrollTop } });
    return;
  }
  if (type === 'blur' || type === 'focus') {
    focused = type === 'blur' ? event.relatedTarget : target;
    begin({ kind: 'act', action: 'dom', target: path(focused || target), type: focused ? 'focus' : 'blur', init: {} });
    return;
  }
  const init = { kind: event.constructor.name };
  // Of a password, not one letter.
  const secret = target.type === 'password' ? ['key', 'code', 'keyCode', 'which', 'charCode', 'data'] : [];
  for (const key of KEPT) if (event[key] !== undefined && event[key] !== null && !secret.includes(key)) init[key] = event[key];
  const typed = ['input', 'change'].includes(type) && 'value' in target && target.type !== 'file';
  const state = typed ? { value: target.type === 'password' ? '•'.repeat(8) : target.value }
    : type === 'input' && target.isContentEditable ? { html: target.innerHTML } : undefined;
  begin({ kind: 'act', action: 'dom', target: path(target), type, init, state });
};
