// Runs in every document of an application before anything else. While `live`, it writes down whatever may come out
// otherwise another time; afterwards it gives the same again, in the same order.
//
// An *event* is something that makes code run: the page itself, what a user does, a timer, a frame, an answer. Events
// are numbered; `now` is the one whose code runs, with all that its promises lead to. What it draws (random numbers, the
// time) and what it registers (timers, requests) is kept in its own *local* lists, so that one event that goes wrong
// elsewhere takes nothing from the others.
(config => {
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

  let now = `${page}.0`, count = 0;
  const log = [];
  const recorded = config.locals || {};
  const locals = {};
  const local = of => locals[of] || (locals[of] = { drawn: {}, registered: {}, errors: [] });
  const differences = [];
  const differ = (kind, words) => { differences.push({ event: now, kind, words: String(words).slice(0, 500) }); };

  const draw = (kind, own) => {
    const mine = local(now).drawn;
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
    const list = local(now).registered[kind] || (local(now).registered[kind] = []);
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
  let loaded = false;
  const early = [];
  const release = () => { if (!loaded) { loaded = true; for (const go of early.splice(0)) go(); changed(); } };
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

  // Timers

  const handles = new Map();
  // Far from those that a browser gives out, and drivers along with it.
  let handle = 1e6;
  // WebKit's own driver waits for answers with a timer in the page.
  const driver = f => typeof f === 'function' && /JavaScriptTimeout/.test(words(f));
  const timer = (kind, on, f, delay, args) => {
    if (driver(f)) return native.setTimeout.call(window, f, delay);
    const mine = ++handle;
    const run = typeof f === 'function' ? () => f.apply(on, args) : () => (0, eval)(String(f));
    const entry = register(kind, words(f), run);
    entry.handle = mine;
    handles.set(mine, entry);
    const ms = Math.max(0, Number(delay) || 0);
    if (!live) return mine;
    const again = kind === 'interval';
    const arm = () => {
      busy.timers.set(mine, { due: clock() + ms, again, fired: entry.done });
      entry.native = wait(ms, () => {
        if (!again) { busy.timers.delete(mine); handles.delete(mine); }
        fire(entry, undefined, () => safely(run, on, []));
        if (again && handles.has(mine)) arm();
      });
    };
    arm();
    return mine;
  };
  const forget = id => {
    const entry = handles.get(Number(id));
    if (!entry) { native.clearTimeout.call(window, id); return; }
    entry.gone = true;
    handles.delete(Number(id));
    busy.timers.delete(Number(id));
    if (entry.native !== undefined) native.clearTimeout.call(window, entry.native);
    if (entry.idle !== undefined) window.cancelIdleCallback && nativeIdle.cancel(entry.idle);
  };
  const frame = (on, f) => {
    const mine = ++handle;
    const entry = register('frame', words(f), time => f.call(on, time));
    handles.set(mine, entry);
    if (live) native.requestAnimationFrame.call(window, time => {
      if (entry.gone) return;
      handles.delete(mine);
      fire(entry, time, () => safely(f, on, [time]));
    });
    return mine;
  };
  const nativeIdle = {
    ask: window.requestIdleCallback && window.requestIdleCallback.bind(window),
    cancel: window.cancelIdleCallback && window.cancelIdleCallback.bind(window),
  };
  const idle = (f, options) => {
    const mine = ++handle;
    const told = deadline => ({ didTimeout: deadline.didTimeout, timeRemaining: () => draw('idle', () => deadline.timeRemaining()) });
    const entry = register('idle', words(f), late => f(told({ didTimeout: late, timeRemaining: () => 5 })));
    handles.set(mine, entry);
    if (live) {
      const come = deadline => {
        if (entry.gone) return;
        handles.delete(mine);
        fire(entry, deadline.didTimeout, () => safely(f, window, [told(deadline)]));
      };
      if (nativeIdle.ask) entry.idle = nativeIdle.ask(come, options);
      else wait(1, () => come({ didTimeout: false, timeRemaining: () => 5 }));
    }
    return mine;
  };

  // Answers

  const bytes = buffer => {
    let text = '';
    const all = new Uint8Array(buffer);
    for (let n = 0; n < all.length; n += 8192) text += String.fromCharCode.apply(null, all.subarray(n, n + 8192));
    return btoa(text);
  };
  const buffer = text => Uint8Array.from(atob(text || ''), c => c.charCodeAt(0)).buffer;
  const sent = body => {
    if (body === null || body === undefined) return '';
    if (typeof body === 'string') return body.slice(0, 2000);
    if (body instanceof URLSearchParams) return String(body);
    if (body instanceof FormData) return JSON.stringify([...body].map(([k, v]) => [k, typeof v === 'string' ? v : v.name]));
    return Object.prototype.toString.call(body);
  };
  const whole = address => { try { return new URL(address, document.baseURI).href; } catch (e) { return String(address); } };
  const streams = kind => /event-stream/.test(kind || '');

  const response = data => {
    const empty = [101, 204, 205, 304].includes(data.status);
    const body = buffer(data.body);
    const made = new native.Response(empty ? null : body, { status: data.status, statusText: data.text, headers: data.headers });
    for (const key of ['url', 'redirected', 'type']) define(made, key, data[key]);
    // Read at once: how long an engine takes to read is its own affair.
    let used = false;
    const reading = (key, make) => define(made, key, async () => {
      if (used) throw new TypeError('body stream already read');
      used = true;
      return make();
    });
    const text = () => new TextDecoder().decode(body);
    reading('text', text);
    reading('json', () => JSON.parse(text()));
    reading('arrayBuffer', () => body.slice(0));
    reading('blob', () => new Blob([body], { type: (data.headers.find(([k]) => k === 'content-type') || [])[1] || '' }));
    define(made, 'clone', () => response(data));
    return made;
  };
  const fetched = (input, init) => {
    const request = input instanceof Request;
    const method = ((init && init.method) || (request && input.method) || 'GET').toUpperCase();
    const address = whole(request ? input.url : input);
    let settle;
    const promise = new native.Promise((resolve, reject) => { settle = { resolve, reject }; });
    const hand = data => {
      if (data.error !== undefined) settle.reject(data.abort ? new DOMException(data.error, 'AbortError') : new TypeError(data.error));
      else settle.resolve(response(data));
    };
    const entry = register('fetch', `${method} ${address} ${sent(init && init.body)}`.trim(), hand);
    if (!live) return promise;
    busy.requests++;
    const done = data => { busy.requests--; fire(entry, data, () => hand(data)); };
    native.fetch.call(window, input, init).then(async answer => {
      if (streams(answer.headers.get('content-type'))) { busy.requests--; settle.resolve(answer); return; }
      const body = bytes(await answer.arrayBuffer());
      const { status, statusText, url, redirected, type } = answer;
      done({ status, text: statusText, url, redirected, type, headers: [...answer.headers], body });
    }).catch(error => done({ error: error.message, abort: error.name === 'AbortError' }));
    return promise;
  };

  // Objects that tell of events as the native ones do.
  const telling = (prototype, types) => {
    for (const type of types) {
      const key = Symbol(type);
      Object.defineProperty(prototype, `on${type}`, {
        get() { return this[key] ? this[key].own : null; },
        set(f) {
          if (!this[key]) {
            const slot = this[key] = { own: null };
            listen.call(this, type, function (event) { if (slot.own) return slot.own.call(this, event); });
          }
          this[key].own = typeof f === 'function' ? f : null;
        },
      });
    }
  };

  class Upload extends EventTarget {}
  const PROGRESS = ['loadstart', 'progress', 'load', 'loadend', 'error', 'abort', 'timeout'];
  telling(Upload.prototype, PROGRESS);
  class XHR extends EventTarget {
    constructor() {
      super();
      Object.assign(this, { readyState: 0, status: 0, statusText: '', responseURL: '', responseType: '', timeout: 0, withCredentials: false });
      define(this, 'upload', new Upload());
      define(this, '_', { headers: [], answer: null, kind: '' });
    }
    open(method, address, async = true, user, password) {
      Object.assign(this._, { method: String(method).toUpperCase(), address: whole(address), async: async !== false, headers: [], answer: null, user, password });
      this._state(1);
    }
    setRequestHeader(key, value) { this._.headers.push([String(key), String(value)]); }
    overrideMimeType(kind) { this._.kind = kind; }
    send(body) {
      const mine = this._, at = `${mine.method} ${mine.address} ${sent(body)}`.trim();
      if (!mine.async) {
        this._take(draw('answer', () => this._native(body, false)));
        return;
      }
      const entry = mine.entry = register('xhr', at, data => this._take(data));
      this.dispatchEvent(new ProgressEvent('loadstart'));
      if (!live) return;
      busy.requests++;
      let over = false;
      const done = data => { if (over) return; over = true; busy.requests--; if (!entry.gone) fire(entry, data, () => this._take(data)); };
      mine.stop = () => { over = true; busy.requests--; };
      mine.native = this._native(body, true, done);
    }
    _native(body, async, done) {
      const mine = this._, own = new native.XMLHttpRequest();
      own.open(mine.method, mine.address, async, mine.user, mine.password);
      if (async) { own.responseType = 'arraybuffer'; own.timeout = this.timeout; own.withCredentials = this.withCredentials; }
      else own.overrideMimeType('text/plain; charset=x-user-defined');
      for (const [key, value] of mine.headers) own.setRequestHeader(key, value);
      const told = () => ({
        status: own.status, text: own.statusText, url: own.responseURL, headers: own.getAllResponseHeaders(),
        body: async ? bytes(own.response || new ArrayBuffer(0)) : btoa(own.responseText.replace(/[^]/g, c => String.fromCharCode(c.charCodeAt(0) & 255))),
      });
      if (async) {
        own.onload = () => done(told());
        for (const type of ['error', 'timeout']) own[`on${type}`] = () => done({ failed: type });
        own.send(body);
        return own;
      }
      try { own.send(body); return told(); } catch (error) { return { failed: 'error' }; }
    }
    _state(n) { this.readyState = n; this.dispatchEvent(new Event('readystatechange')); }
    _take(data) {
      if (data.failed) {
        this._state(4);
        for (const type of [data.failed, 'loadend']) this.dispatchEvent(new ProgressEvent(type));
        if (!this._.async) throw new DOMException('A network error occurred.', 'NetworkError');
        return;
      }
      Object.assign(this, { status: data.status, statusText: data.text, responseURL: data.url });
      this._.answer = data;
      const body = this._.body = buffer(data.body);
      if (this._.async) { this._state(2); this._state(3); }
      const size = { lengthComputable: true, loaded: body.byteLength, total: body.byteLength };
      if (this._.async) this.dispatchEvent(new ProgressEvent('progress', size));
      this._state(4);
      for (const type of ['load', 'loadend']) this.dispatchEvent(new ProgressEvent(type, size));
    }
    abort() {
      const mine = this._;
      if (mine.entry && !mine.answer && this.readyState > 0 && this.readyState < 4) {
        mine.entry.gone = true;
        if (mine.stop) mine.stop();
        if (mine.native) mine.native.abort();
        this._state(4);
        for (const type of ['abort', 'loadend']) this.dispatchEvent(new ProgressEvent(type));
      }
      this.readyState = 0;
    }
    getAllResponseHeaders() { return this._.answer ? this._.answer.headers : ''; }
    getResponseHeader(key) {
      const found = this.getAllResponseHeaders().split('\r\n').filter(line => line.toLowerCase().startsWith(`${key.toLowerCase()}:`));
      return found.length ? found.map(line => line.slice(line.indexOf(':') + 1).trim()).join(', ') : null;
    }
    get responseText() { return this._.answer ? new TextDecoder().decode(this._.body) : ''; }
    get responseXML() {
      if (!this._.answer) return null;
      const kind = (this._.kind || this.getResponseHeader('content-type') || '').split(';')[0];
      try { return new DOMParser().parseFromString(this.responseText, kind === 'text/html' ? kind : 'text/xml'); } catch (e) { return null; }
    }
    get response() {
      if (!this._.answer) return ['', 'text'].includes(this.responseType) ? '' : null;
      switch (this.responseType) {
        case 'json': try { return JSON.parse(this.responseText); } catch (e) { return null; }
        case 'arraybuffer': return this._.body;
        case 'blob': return new Blob([this._.body], { type: this.getResponseHeader('content-type') || '' });
        case 'document': return this.responseXML;
        default: return this.responseText;
      }
    }
  }
  telling(XHR.prototype, ['readystatechange', ...PROGRESS]);
  ['UNSENT', 'OPENED', 'HEADERS_RECEIVED', 'LOADING', 'DONE'].forEach((key, n) => { define(XHR, key, n); define(XHR.prototype, key, n); });

  // Lines that stay open: what comes in is an event, what goes out is registered.
  const line = (kind, Native, types, outgoing) => {
    class Line extends EventTarget {
      constructor(address, options) {
        super();
        Object.assign(this, { url: whole(address), readyState: 0, protocol: '', extensions: '', bufferedAmount: 0, binaryType: 'blob', withCredentials: false });
        const entry = register(kind, this.url, data => this._take(data));
        define(this, '_', { entry, native: null, said: 0 });
        if (!live) return;
        const own = this._.native = options === undefined ? new Native(address) : new Native(address, options);
        if ('binaryType' in own) own.binaryType = 'arraybuffer';
        const come = type => event => fire(entry, this._told(type, event, own), () => this._take(this._told(type, event, own)));
        for (const type of types) listen.call(own, type, come(type));
        define(this, '_also', (type) => { if (!types.includes(type)) listen.call(own, type, come(type)); });
      }
      _told(type, event, own) {
        const data = event.data instanceof ArrayBuffer ? { bytes: bytes(event.data) } : event.data === undefined ? undefined : { text: event.data };
        return { type, data, state: own.readyState, protocol: own.protocol || '', code: event.code, reason: event.reason, clean: event.wasClean, last: event.lastEventId };
      }
      _take(told) {
        this.readyState = told.state;
        this.protocol = told.protocol;
        let event;
        if (told.data !== undefined) {
          const raw = told.data.bytes === undefined ? told.data.text : buffer(told.data.bytes);
          const data = told.data.bytes !== undefined && this.binaryType === 'blob' ? new Blob([raw]) : raw;
          event = new MessageEvent(told.type, { data, lastEventId: told.last || '', origin: new URL(this.url).origin });
        } else event = told.type === 'close' && window.CloseEvent ? new CloseEvent('close', { code: told.code, reason: told.reason, wasClean: told.clean }) : new Event(told.type);
        this.dispatchEvent(event);
      }
      addEventListener(type, ...rest) { if (this._also) this._also(type); return super.addEventListener(type, ...rest); }
      send(data) { register('sent', `${this.url} ${sent(data)}`); if (this._.native) this._.native.send(data); }
      close(...why) { this.readyState = 2; if (this._.native) this._.native.close(...why); }
    }
    if (!outgoing) delete Line.prototype.send;
    telling(Line.prototype, types);
    ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'].forEach((key, n) => { define(Line, key, n); define(Line.prototype, key, n); });
    return Line;
  };

  // What comes by itself and would come elsewhere another time is held until it is its turn.

  const held = new Map();
  const queue = key => held.get(key) || (held.set(key, []), held.get(key));
  const come = (key, run) => {
    if (live) {
      const go = () => { begin({ kind: 'come', key }); try { run(); } finally { changed(); } };
      if (loaded) go(); else early.push(go);
    } else { queue(key).push(run); arrived(); }
  };
  // Handlers of ports and workers are run when it is the message's turn.
  const holding = (prototype, types, keyed) => {
    const own = prototype.addEventListener, off = prototype.removeEventListener;
    const wrapped = new WeakMap();
    const wrap = (target, type, f) => {
      if (!f) return f;
      if (!wrapped.has(f)) wrapped.set(f, new Map());
      const mine = wrapped.get(f), key = `${keyed(target)} ${type}`;
      if (!mine.has(key)) mine.set(key, function (event) {
        come(key, () => safely(typeof f === 'function' ? f : f.handleEvent, typeof f === 'function' ? this : f, [event]));
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

  // The tree

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

  // What a user does

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
    for (const key of KEPT) if (event[key] !== undefined && event[key] !== null) init[key] = event[key];
    const typed = ['input', 'change'].includes(event.type) && 'value' in event.target && event.target.type !== 'file';
    const state = typed ? { value: event.target.type === 'password' ? '•'.repeat(8) : event.target.value } : undefined;
    begin({ kind: 'act', action: 'dom', target: path(event.target), type: event.type, init, state });
  };

  // Everything in its place, in this window and in frames of it

  const install = on => {
    for (const key of ['setTimeout', 'setInterval']) {
      const kind = key === 'setTimeout' ? 'timer' : 'interval';
      define(on, key, function (f, delay, ...args) { return timer(kind, on, f, delay, args); });
    }
    for (const key of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback']) define(on, key, forget);
    define(on, 'requestAnimationFrame', f => frame(on, f));
    define(on, 'requestIdleCallback', idle);
    define(on, 'fetch', fetched);
    define(on, 'XMLHttpRequest', XHR);
    if (native.WebSocket) define(on, 'WebSocket', line('socket', native.WebSocket, ['open', 'message', 'error', 'close'], true));
    if (native.EventSource) define(on, 'EventSource', line('source', native.EventSource, ['open', 'message', 'error'], false));
    const random = on.Math.random;
    define(on.Math, 'random', () => draw('random', () => random.call(on.Math)));
    const Own = on.Date;
    const date = () => draw('date', today);
    const made = new Proxy(Own, {
      construct: (target, given, as) => Reflect.construct(target, given.length ? given : [date()], as),
      apply: () => new Own(date()).toString(),
      get: (target, key) => (key === 'now' ? date : Reflect.get(target, key)),
    });
    define(Own.prototype, 'constructor', made);
    define(on, 'Date', made);
    define(on.performance, 'now', () => draw('now', clock));
    if (on.crypto) {
      const values = on.crypto.getRandomValues.bind(on.crypto);
      define(on.crypto, 'getRandomValues', array => {
        const bits = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
        bits.set(new Uint8Array(buffer(draw('bytes', () => bytes(values(new Uint8Array(bits.length)).buffer)))).subarray(0, bits.length));
        return array;
      });
      if (on.crypto.randomUUID) {
        const uuid = on.crypto.randomUUID.bind(on.crypto);
        define(on.crypto, 'randomUUID', () => draw('uuid', uuid));
      }
    }
    const asked = (kind, answer) => (text, preset) => { register('dialog', `${kind} ${text === undefined ? '' : text}`); return draw('dialog', () => answer(preset)); };
    define(on, 'alert', asked('alert', () => null));
    define(on, 'confirm', asked('confirm', () => true));
    define(on, 'prompt', asked('prompt', preset => (preset === undefined ? '' : String(preset))));
    for (const key of ['IntersectionObserver', 'ResizeObserver']) {
      const Observer = on[key];
      if (!Observer) continue;
      define(on, key, class extends Observer {
        constructor(f, ...rest) {
          let n = 0;
          const as = called(`@${key}`)({});
          super(function (...given) { now = `${page}.@${as} ${n++}`; return f.apply(this, given); }, ...rest);
        }
      });
    }
    if (on.MessagePort) holding(on.MessagePort.prototype, ['message'], called('port'));
    if (on.Worker) holding(on.Worker.prototype, ['message', 'error'], called('worker'));
    if (on.BroadcastChannel) holding(on.BroadcastChannel.prototype, ['message'], called('channel'));
  };

  // Ends of transitions and animations, things that load, messages: told again when it is their turn.
  const HELD = { document: ['transitionend', 'animationend', 'animationiteration', 'load', 'error'], window: ['message', 'popstate', 'hashchange'] };
  const again = new WeakSet();
  const hold = (on, type) => listen.call(on, type, event => {
    if (again.has(event) || !event.isTrusted) return;
    const target = event.target;
    if (on === document && type === 'load' && target === document) return;
    if (on === document && (target.nodeType !== 1 || target.localName === 'style')) return;
    const key = `${type} ${on === document ? path(target) : 'window'} ${event.propertyName || event.animationName || ''}`.trim();
    const copy = new event.constructor(event.type, event);
    again.add(copy);
    if (live && loaded) { begin({ kind: 'come', key }); wait(0, changed); return; }
    event.stopImmediatePropagation();
    come(key, () => target.dispatchEvent(copy));
  }, true);

  // A page at one moment

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

  // Again

  const missing = (event, kind) => {
    const [of, n] = event.of;
    const wanted = ((recorded[of] || { registered: {} }).registered[kind] || [])[n];
    const entry = table[`${of} ${kind} ${n}`];
    return { of, wanted, entry, fits: entry && entry.words === wanted };
  };
  const PATIENCE = 1000;
  const until = async done => {
    const end = clock() + PATIENCE;
    while (!done() && clock() < end) {
      await new native.Promise(go => { arrivals.push(go); wait(Math.max(0, end - clock()), go); });
    }
    return done();
  };
  const replayed = async event => {
    if (event.kind === 'act') { now = event.id; act(event); return; }
    if (event.kind === 'come') {
      const there = await until(() => queue(event.key).length);
      now = event.id;
      if (!there) { differ('missing', `${event.key} did not come`); return; }
      queue(event.key).shift()();
      return;
    }
    const { kind } = event;
    let { of, wanted, entry, fits } = missing(event, kind);
    if (!entry) {
      await until(() => table[`${of} ${kind} ${event.of[1]}`]);
      ({ entry, fits } = missing(event, kind));
    }
    now = event.id;
    if (!fits) {
      differ(kind, entry ? `${wanted} is expected, and ${entry.words} is there` : `${wanted} was never asked for`);
      const list = (locals[of] || { registered: {} }).registered[kind] || [];
      const others = list.map((_, n) => table[`${of} ${kind} ${n}`]);
      entry = others.find(one => one && one.words === wanted && !one.done && !one.gone);
      if (!entry) return;
    }
    if (entry.gone) { differ(kind, `${entry.words} was called off`); return; }
    entry.done = true;
    if (kind === 'timer' || kind === 'frame' || kind === 'idle') handles.delete(entry.handle);
    safely(entry.run, window, [event.data]);
  };
  const replay = async events => {
    for (const event of events) {
      try { await replayed(event); } catch (error) { (window.reportError || report)(error); }
      // What promises lead to comes before the next event.
      await macrotasks();
    }
    return differences.splice(0);
  };
  // What an event left over, or asked for besides.
  const leftovers = () => {
    for (const of of Object.keys(recorded)) {
      if (ambient(of)) continue;
      const before = recorded[of], after = locals[of] || { drawn: {}, registered: {}, errors: [] };
      now = of;
      for (const kind of Object.keys(before.drawn)) {
        const left = before.drawn[kind].length - (after.drawn[kind] || 0);
        if (left > 0) differ('unused', `${kind}: ${left} of ${before.drawn[kind].length} were not asked for`);
      }
      const kinds = new Set([...Object.keys(before.registered), ...Object.keys(after.registered)]);
      for (const kind of kinds) {
        const first = before.registered[kind] || [], second = after.registered[kind] || [];
        const n = Math.max(first.length, second.length);
        for (let k = 0; k < n; k++) if (first[k] !== second[k]) {
          differ('registered', `${kind}: ${first[k] === undefined ? 'nothing' : first[k]} is expected, and ${second[k] === undefined ? 'nothing' : second[k]} is there`);
          break;
        }
      }
      if (before.errors.length !== after.errors.length) {
        differ('error', after.errors.length > before.errors.length ? after.errors[before.errors.length] : `not there: ${before.errors[after.errors.length]}`);
      }
    }
    return differences.splice(0);
  };

  const quiet = async patience => {
    const end = clock() + patience;
    const restless = () => {
      if (!loaded || busy.requests) return true;
      for (const one of busy.timers.values()) if (one.again ? !one.fired && one.due <= end : one.due <= end) return true;
      return (document.getAnimations ? document.getAnimations() : []).some(one => {
        try { return one.playState === 'running' && one.effect.getComputedTiming().endTime <= patience; } catch (e) { return false; }
      });
    };
    const frames = () => new native.Promise(done => native.requestAnimationFrame.call(window, () => native.requestAnimationFrame.call(window, done)));
    await frames();
    while (clock() < end && restless()) {
      await new native.Promise(done => { watchers.push(done); wait(Math.min(100, Math.max(0, end - clock())), done); });
      await frames();
    }
    return true;
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

  const take = () => ({ events: log.splice(0), locals, page, differences: differences.splice(0), url: location.href, title: document.title });
  Object.defineProperty(window, name, {
    value: Object.freeze({
      adopt: install, act, look: () => ({ nodes: nodes(), scroll: [scrollX, scrollY] }), replay, leftovers, quiet, candidates, take, page,
      perform: action => { begin({ kind: 'act', ...action }); const done = act(action); changed(); return done; },
    }),
  });
  define(window, Symbol.for('moire.frame'), native.requestAnimationFrame.bind(window));
  if (config.first) for (const store of ['localStorage', 'sessionStorage']) try { window[store].clear(); } catch (e) {}
  listen.call(window, 'error', event => { if (event instanceof ErrorEvent) local(now).errors.push(String(event.message)); }, true);
  listen.call(window, 'unhandledrejection', event => local(now).errors.push(String(event.reason)), true);
  install(window);
  for (const type of HELD.document) hold(document, type);
  for (const type of HELD.window) hold(window, type);
  if (live) {
    if (config.person) for (const type of TRUSTED) listen.call(window, type, noticed, true);
    listen.call(window, 'pagehide', () => { const said = take(); try { navigator.sendBeacon(config.said, JSON.stringify(said)); } catch (e) {} }, true);
  }
  listen.call(window, 'load', () => wait(0, release));
  wait(config.latest || 10000, release);
})
