// What a user does.

const mouse = (element, type, more) => {
  const box = element.getBoundingClientRect();
  const at = { clientX: Math.round(box.x + box.width / 2), clientY: Math.round(box.y + box.height / 2) };
  const Kind = type.startsWith('pointer') && window.PointerEvent ? PointerEvent : MouseEvent;
  const quiet = /enter|leave/.test(type);
  return element.dispatchEvent(new Kind(type, { bubbles: !quiet, cancelable: !quiet, composed: true, view: window, detail: type === 'click' ? 1 : 0, ...at, ...more }));
};
const press = (element, type, key) => element.dispatchEvent(new KeyboardEvent(type, { key, code: key.length === 1 ? `Key${key.toUpperCase()}` : key, bubbles: true, cancelable: true, composed: true }));
const setter = element => {
  const kind = element instanceof HTMLTextAreaElement ? HTMLTextAreaElement : element instanceof HTMLSelectElement ? HTMLSelectElement : HTMLInputElement;
  return Object.getOwnPropertyDescriptor(kind.prototype, 'value').set;
};
const tell = (element, type, Kind = Event, more = {}) => element.dispatchEvent(new Kind(type, { bubbles: true, composed: true, ...more }));
const focus = element => { if (element.focus && document.activeElement !== element) element.focus({ preventScroll: true }); };
const actions = {
  click(element) {
    for (const type of ['pointerover', 'mouseover', 'pointerdown', 'mousedown']) mouse(element, type, { button: 0, buttons: type.endsWith('down') ? 1 : 0 });
    focus(element);
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
  scroll(element, { x, y }) { (element === document.documentElement ? window : element).scrollTo({ left: x, top: y, behavior: 'instant' }); },
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
    if (type === 'focusin') { focus(element); return; }
    if (type === 'scroll') { element.scrollTo({ left: state.x, top: state.y, behavior: 'instant' }); return; }
    const Kind = window[init.kind] || Event;
    const event = new Kind(type, { bubbles: true, cancelable: true, composed: true, view: window, ...init, ...(init.kind === 'DragEvent' ? { dataTransfer: carried(type) } : {}) });
    if (type === 'submit') { if (element.dispatchEvent(event)) element.submit(); } else element.dispatchEvent(event);
  },
};
let load = null;
const carried = type => (type === 'dragstart' || !load ? (load = new DataTransfer()) : load);
const act = action => {
  const at = action.target ? find(action.target) : document.documentElement;
  if (!at) { differ('target', `there is no ${action.target}`); return false; }
  if (at.disabled) differ('target', `${action.target} is disabled`);
  actions[action.action](at, action);
  return true;
};

// What a person does is written down as it comes.
const TRUSTED = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'keydown', 'keypress',
  'keyup', 'input', 'change', 'submit', 'focusin', 'mouseover', 'mouseout', 'wheel', 'dragstart', 'dragenter', 'dragover', 'dragleave', 'drop', 'dragend'];
const KEPT = ['key', 'code', 'ctrlKey', 'shiftKey', 'altKey', 'metaKey', 'button', 'buttons', 'clientX', 'clientY', 'detail', 'inputType', 'data', 'deltaX', 'deltaY'];
const follows = event => {
  const element = event.target;
  // A box that is ticked and a form that a button sends follow from the click.
  if (['input', 'change'].includes(event.type)) return ['checkbox', 'radio'].includes(element.type);
  return event.type === 'submit' && event.submitter;
};
const noticed = event => {
  if (!event.isTrusted || !event.target || event.target.nodeType !== 1 || follows(event)) return;
  const init = { kind: event.constructor.name };
  // Of a password, not one letter.
  const secret = event.target.type === 'password' ? ['key', 'code', 'data'] : [];
  for (const key of KEPT) if (event[key] !== undefined && event[key] !== null && !secret.includes(key)) init[key] = event[key];
  const typed = ['input', 'change'].includes(event.type) && 'value' in event.target && event.target.type !== 'file';
  const state = typed ? { value: event.target.type === 'password' ? '•'.repeat(8) : event.target.value } : undefined;
  begin({ kind: 'act', action: 'dom', target: path(event.target), type: event.type, init, state });
};
