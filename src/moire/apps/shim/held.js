// What comes by itself and would come elsewhere another time is held until it is its turn.

const held = new Map();
const queue = key => held.get(key) || (held.set(key, []), held.get(key));
const come = (key, run) => {
  if (live) {
    const go = () => { begin({ kind: 'come', key }); try { byItself(run); } finally { changed(); } };
    if (loaded) go(); else early.push(go);
  } else { queue(key).push(run); arrived(); }
};
// Some things cannot be held: they are told as they come, as the event that they were.
const passed = new Map();
const pass = (key, run) => {
  if (live) begin({ kind: 'come', key, passing: true });
  else {
    const ids = brief.comes[key] || [], n = passed.get(key) || 0;
    passed.set(key, n + 1);
    if (ids[n]) now = ids[n];
    arrived();
  }
  try { byItself(run); } finally { changed(); }
};
// Databases answer when they like: a page is looked at when they have.
let stored = 0;
const storing = (on, kind, ...keys) => {
  const prototype = on[kind] && on[kind].prototype;
  for (const key of keys) {
    const own = prototype && prototype[key];
    if (own) define(prototype, key, function (...given) {
      const request = own.apply(this, given);
      stored++;
      // What it leads to is asked for first.
      const done = () => wait(0, () => { stored--; changed(); arrived(); });
      for (const type of ['success', 'error']) listen.call(request, type, done, { once: true });
      return request;
    });
  }
};
// Handlers of ports and workers are run when it is the message's turn.
const holding = (prototype, types, keyed, when = come) => {
  const own = prototype.addEventListener, off = prototype.removeEventListener;
  const wrapped = new WeakMap();
  const wrap = (target, type, f) => {
    if (!f) return f;
    if (!wrapped.has(f)) wrapped.set(f, new Map());
    const mine = wrapped.get(f), key = `${keyed(target)} ${type}`;
    if (!mine.has(key)) mine.set(key, function (event) {
      when(key, () => safely(typeof f === 'function' ? f : f.handleEvent, typeof f === 'function' ? this : f, [event]));
    });
    return mine.get(key);
  };
  define(prototype, 'addEventListener', function (type, f, options) {
    return own.call(this, type, types.includes(type) ? wrap(this, type, f) : f, options);
  });
  define(prototype, 'removeEventListener', function (type, f, options) {
    return off.call(this, type, types.includes(type) ? wrap(this, type, f) : f, options);
  });
  for (const type of types) {
    const slot = Object.getOwnPropertyDescriptor(prototype, `on${type}`);
    if (!slot || !slot.set) continue;
    const given = new WeakMap();
    Object.defineProperty(prototype, `on${type}`, {
      configurable: true,
      get() { return given.get(this) || null; },
      set(f) { given.set(this, f); slot.set.call(this, typeof f === 'function' ? wrap(this, type, f) : f); },
    });
  }
};
const names = new WeakMap();
const called = kind => target => {
  if (!names.has(target)) names.set(target, `${kind} ${now} ${(local(now)[kind] = (local(now)[kind] || 0) + 1)}`);
  return names.get(target);
};

// Ends of transitions and animations, things that load, messages: told again when it is their turn.
const HELD = { document: ['transitionend', 'animationend', 'animationiteration', 'load', 'error'], window: ['message', 'popstate', 'hashchange'] };
const again = new WeakSet();
// Who listens for what: of what nobody hears, nothing comes.
const listeners = new WeakMap();
const hears = (target, type) => typeof target[`on${type}`] === 'function' || !!(listeners.get(target) && listeners.get(target).has(type));
const heard = event => (event.bubbles ? event.composedPath() : [event.target]).some(one => hears(one, event.type));
const noting = on => {
  const known = new Set([...HELD.document, ...HELD.window]);
  const own = on.EventTarget.prototype.addEventListener;
  define(on.EventTarget.prototype, 'addEventListener', function (type, ...rest) {
    const target = this || on;
    if (known.has(type)) {
      if (!listeners.has(target)) listeners.set(target, new Set());
      listeners.get(target).add(type);
    }
    if (live && ['click', 'mousedown', 'pointerdown', 'mouseup'].includes(type) && target.nodeType === 1) clickable.add(target);
    return own.call(target, type, ...rest);
  });
};
const hold = (on, type) => listen.call(on, type, event => {
  if (again.has(event) || !event.isTrusted) return;
  const target = event.target;
  if (on === document && type === 'load' && target === document) return;
  if (on === document && (target.nodeType !== 1 || target.localName === 'style')) return;
  if (on === document && target.localName === 'script') {
    const entry = scripts.get(target);
    if (entry) entry.run(true); else now = fileOf(target);
    if (entry && entry.came) entry.came();
    return;
  }
  if (!heard(event)) return;
  const key = `${type} ${on === document ? path(target) : 'window'} ${event.propertyName || event.animationName || ''}`.trim();
  const copy = new event.constructor(event.type, event);
  again.add(copy);
  if (live && loaded) { begin({ kind: 'come', key }); wait(0, changed); return; }
  event.stopImmediatePropagation();
  come(key, () => target.dispatchEvent(copy));
}, true);
