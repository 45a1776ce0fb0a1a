// Runs in every document of an application before anything else. While `live`, it writes down whatever may come out
// otherwise another time; afterwards it gives the same again, in the same order.
//
// An *event* is something that makes code run: the page itself, what a user does, a timer, a frame, an answer. Events
// are numbered; `now` is the one whose code runs, with all that its promises lead to. What it draws (random numbers, the
// time) and what it registers (timers, requests) is kept in its own *local* lists, so that one event that goes wrong
// elsewhere takes nothing from the others.
const { name } = config, talk = location.origin + config.talk;
const say = words => { try { return navigator.sendBeacon(talk, words); } catch (e) { return false; } };
if (window !== parent) {
  // Frames are their window's.
  if (config.either) say('frame');
  try {
    for (let up = parent; !up[name] || !up[name].adopt(window); up = up.parent) if (up === up.parent) break;
  } catch (elsewhere) {}
  return;
}
// Before anything else happens, so that pages are in the order in which they were shown.
const asking = new XMLHttpRequest();
asking.open('GET', talk, false);
asking.send();
const brief = JSON.parse(asking.responseText), { live, page } = brief;
const native = {};
for (const own of ['setTimeout', 'clearTimeout', 'requestAnimationFrame', 'fetch', 'XMLHttpRequest', 'WebSocket',
  'EventSource', 'MessageChannel', 'Response', 'Promise', 'Date', 'queueMicrotask']) native[own] = window[own];
const wait = (ms, then) => native.setTimeout.call(window, then, ms);
const clock = performance.now.bind(performance);
const today = Date.now.bind(Date);
const listen = EventTarget.prototype.addEventListener;
const define = (on, key, value) => Object.defineProperty(on, key, { value, configurable: true, writable: true });
// Of any element: controls of a form stand in for what it is asked for by their names.
const real = {};
for (const key of ['nodeType', 'parentNode', 'childNodes', 'textContent', 'localName', 'id', 'attributes', 'children', 'previousElementSibling',
  'shadowRoot', 'getBoundingClientRect', 'getAttribute', 'hasAttribute', 'matches', 'dispatchEvent', 'scrollTo']) {
  let on = Element.prototype;
  while (!Object.getOwnPropertyDescriptor(on, key)) on = Object.getPrototypeOf(on);
  const { get, value } = Object.getOwnPropertyDescriptor(on, key);
  real[key] = get ? node => get.call(node) : (node, ...given) => value.apply(node, given);
}
// And of the document: forms and pictures stand in for what it is asked for.
const documents = {};
for (const key of ['children', 'documentElement']) {
  const { get } = Object.getOwnPropertyDescriptor(Document.prototype, key);
  documents[key] = () => get.call(document);
}
const string = value => (typeof value === 'string' ? value : value && typeof value.baseVal === 'string' ? value.baseVal : '');
const macrotasks = (() => {
  const channel = new MessageChannel(), waiting = [];
  channel.port1.onmessage = () => waiting.shift()();
  return () => new native.Promise(done => { waiting.push(done); channel.port2.postMessage(0); });
})();

// What is known of each event

// `loading` until the page has loaded, `loaded` once what came until then has been let go.
let now = `${page}.0`, count = 0, loading = true, loaded = false;
const log = [];
const recorded = brief.locals;
const locals = {};
// What there is to be told of.
const fresh = new Set();
const local = of => { fresh.add(of); return locals[of] || (locals[of] = { drawn: {}, registered: {}, errors: [] }); };
const differences = [];
// Not in the middle of a character.
const cut = (text, n) => text.slice(0, n).replace(/[\ud800-\udbff]$/, '');
const differ = (kind, words) => { differences.push({ event: now, kind, words: cut(String(words), 500) }); };

// A script of its own file is an event, too. Until the page has loaded, scripts come in any order, and each is called
// after its file; afterwards they come when it is their turn.
const scripts = new WeakMap();
const fileOf = script => `${page}.script ${script.src}`;
const windows = new Set([window]);
// Frames that have no address of their own, by their place.
const addressOf = on => (/^(about|blob):/.test(on.location.href) && on.frameElement ? path(on.frameElement) : on.location.href);
const running = on => { try { return on.document.currentScript; } catch (gone) { windows.delete(on); return null; } };
const here = () => {
  for (const on of windows) {
    const script = running(on);
    if (!script) continue;
    const entry = scripts.get(script);
    if (entry) entry.run(true);
    else if (script.src && (loading || on !== window)) now = fileOf(script);
    else if (on !== window) now = `${page}.frame ${addressOf(on)}`;
    else if (loading) now = `${page}.0`;
    break;
  }
  return now;
};

const draw = (kind, own) => {
  const mine = local(here()).drawn;
  if (live) {
    const value = own();
    (mine[kind] || (mine[kind] = [])).push(value);
    return value;
  }
  const values = recorded[now] && recorded[now].drawn[kind] || [], at = mine[kind] || 0;
  if (at < values.length) { mine[kind] = at + 1; return values[at]; }
  // What comes by itself may come more often than it did.
  if (!ambient(now)) differ('exhausted', `${kind}: more than ${values.length} are asked for`);
  return own();
};
const ambient = of => /^\d+\.@/.test(of);

// Registrations, by event and place; `run` is what is run when it is their turn.
const table = {};
const arrivals = [];
const arrived = () => { for (const done of arrivals.splice(0)) done(); };
const register = (kind, words, run) => {
  const list = local(here()).registered[kind] || (local(now).registered[kind] = []);
  const entry = { of: now, id: list.length, kind, words, run, done: false };
  list.push(words);
  table[`${now} ${kind} ${entry.id}`] = entry;
  arrived();
  return entry;
};

// A function by its length and both its ends: enough to tell it from others, at any length.
const words = f => {
  if (typeof f !== 'function') return cut(String(f), 100);
  let text;
  try { text = Function.prototype.toString.call(f); } catch (e) { return '?'; }
  if (text.length < 200 && text.includes('[native code]')) return 'native';
  return text.length < 120 ? text : `${cut(text, 80)}…${text.slice(-30).replace(/^[\udc00-\udfff]/, '')} (${text.length})`;
};

// What the page's own scripts bring about comes of itself again: it is nobody's act.
let byPage = 0;
const byItself = run => { byPage++; try { return run(); } finally { byPage--; } };

const report = error => { wait(0, () => { throw error; }); };
// Events wait until the page has loaded: what runs while it does is then always the same.
const early = [];
const release = async () => {
  if (!loading) return;
  loading = false;
  // One at a time: what promises lead to comes before the next.
  while (early.length) {
    try { early.shift()(); } catch (error) { report(error); }
    await macrotasks();
  }
  loaded = true;
  changed();
};
const begin = event => {
  now = `${page}.${++count}`;
  log.push({ id: now, ...event });
  return now;
};
const fire = (entry, data, run) => {
  const go = () => {
    if (entry.gone) return;
    begin({ kind: entry.kind, of: [entry.of, entry.id], ...(data === undefined ? {} : { data }) });
    entry.done = true;
    try { byItself(run); } finally { changed(); }
  };
  if (loaded) go(); else early.push(go);
};
const safely = (f, on, args) => { try { return f.apply(on, args); } catch (error) { (window.reportError || report)(error); } };

// Waiting for a page to come to rest

const busy = { requests: 0, timers: new Map(), leaving: 0 };
const watchers = [];
const changed = () => { for (const done of watchers.splice(0)) done(); };
