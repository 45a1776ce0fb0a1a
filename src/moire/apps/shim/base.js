// Runs in every document of an application before anything else. While `live`, it writes down whatever may come out
// otherwise another time; afterwards it gives the same again, in the same order.
//
// An *event* is something that makes code run: the page itself, what a user does, a timer, a frame, an answer. Events
// are numbered; `now` is the one whose code runs, with all that its promises lead to. What it draws (random numbers, the
// time) and what it registers (timers, requests) is kept in its own *local* lists, so that one event that goes wrong
// elsewhere takes nothing from the others.
const { name, live, page } = config;
if (window !== parent) {
  try { if (parent[name]) parent[name].adopt(window); } catch (elsewhere) {}
  return;
}
const native = {};
for (const own of ['setTimeout', 'clearTimeout', 'requestAnimationFrame', 'fetch', 'XMLHttpRequest', 'WebSocket',
  'EventSource', 'MessageChannel', 'Response', 'Promise', 'Date', 'queueMicrotask']) native[own] = window[own];
const wait = (ms, then) => native.setTimeout.call(window, then, ms);
const clock = performance.now.bind(performance);
const today = Date.now.bind(Date);
const listen = EventTarget.prototype.addEventListener;
const define = (on, key, value) => Object.defineProperty(on, key, { value, configurable: true, writable: true });
const macrotasks = (() => {
  const channel = new MessageChannel(), waiting = [];
  channel.port1.onmessage = () => waiting.shift()();
  return () => new native.Promise(done => { waiting.push(done); channel.port2.postMessage(0); });
})();

// What is known of each event

// `loading` until the page has loaded, `loaded` once what came until then has been let go.
let now = `${page}.0`, count = 0, loading = true, loaded = false;
const log = [];
const recorded = config.locals || {};
const locals = {};
const local = of => locals[of] || (locals[of] = { drawn: {}, registered: {}, errors: [] });
const differences = [];
const differ = (kind, words) => { differences.push({ event: now, kind, words: String(words).slice(0, 500) }); };

// A script of its own file is an event, too. Until the page has loaded, scripts come in any order, and each is called
// after its file; afterwards they come when it is their turn.
const scripts = new WeakMap();
const fileOf = script => `${page}.script ${script.src}`;
const here = () => {
  const script = document.currentScript;
  if (!script) return now;
  const entry = scripts.get(script);
  if (entry) entry.run(true);
  else if (loading) now = script.src ? fileOf(script) : `${page}.0`;
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
const ambient = of => of.includes('@');

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
  if (typeof f !== 'function') return String(f).slice(0, 100);
  let text;
  try { text = Function.prototype.toString.call(f); } catch (e) { return '?'; }
  if (text.length < 200 && text.includes('[native code]')) return 'native';
  return text.length < 120 ? text : `${text.slice(0, 80)}…${text.slice(-30)} (${text.length})`;
};

// Events wait until the page has loaded: what runs while it does is then always the same.
const early = [];
const release = async () => {
  if (!loading) return;
  loading = false;
  // One at a time: what promises lead to comes before the next.
  while (early.length) { early.shift()(); await macrotasks(); }
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
    try { run(); } finally { changed(); }
  };
  if (loaded) go(); else early.push(go);
};
const report = error => { wait(0, () => { throw error; }); };
const safely = (f, on, args) => { try { return f.apply(on, args); } catch (error) { (window.reportError || report)(error); } };

// Waiting for a page to come to rest

const busy = { requests: 0, timers: new Map() };
const watchers = [];
const changed = () => { for (const done of watchers.splice(0)) done(); };
