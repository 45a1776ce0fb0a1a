// Answers to requests, and lines that stay open.

const bytes = buffer => {
  let text = '';
  const all = new Uint8Array(buffer);
  for (let n = 0; n < all.length; n += 8192) text += String.fromCharCode.apply(null, all.subarray(n, n + 8192));
  return btoa(text);
};
const buffer = text => Uint8Array.from(atob(text || ''), c => c.charCodeAt(0)).buffer;
const sent = body => {
  if (body === null || body === undefined) return '';
  if (typeof body === 'string') return cut(body, 2000);
  if (body instanceof URLSearchParams) return String(body);
  if (body instanceof FormData) return JSON.stringify([...body].map(([k, v]) => [k, typeof v === 'string' ? v : v.name]));
  return Object.prototype.toString.call(body);
};
// Addresses of blobs are of chance.
const blobs = new Map();
const named = text => (text.includes('blob:') ? text.replace(/blob:[^\s"')]+/g, found => blobs.get(found) || 'blob:') : text);
const whole = (on, address) => { try { return new URL(address, on.document.baseURI).href; } catch (e) { return String(address); } };
const streams = kind => /event-stream/.test(kind || '');

// What an answer has left behind for scripts to read.
let cookies = '';
const baked = () => { const now = document.cookie; return now === cookies ? undefined : (cookies = now); };
const bake = told => { if (told !== undefined) for (const one of told.split('; ')) if (one) document.cookie = `${one}; path=/`; };

const response = (on, data, body) => {
  const usual = data.status >= 200 && data.status < 600;
  const empty = [101, 204, 205, 304].includes(data.status);
  const made = new on.Response(empty || !usual ? null : body, { status: usual ? data.status : 200, statusText: data.text, headers: data.headers });
  for (const key of ['url', 'redirected', 'type']) define(made, key, data[key]);
  if (!usual) { define(made, 'status', data.status); define(made, 'ok', false); }
  return made;
};
// Read at once: how long an engine takes to read is its own affair.
const readAtOnce = (on, data) => {
  const body = buffer(data.body), made = response(on, data, body);
  let used = false;
  const native = Object.getOwnPropertyDescriptor(on.Response.prototype, 'bodyUsed');
  Object.defineProperty(made, 'bodyUsed', { get: () => used || native.get.call(made) });
  const reading = (key, make) => define(made, key, async () => {
    if (made.bodyUsed) throw new on.TypeError('body stream already read');
    used = true;
    return make();
  });
  const text = () => new TextDecoder().decode(body);
  reading('text', text);
  reading('json', () => on.JSON.parse(text()));
  reading('arrayBuffer', () => body.slice(0));
  reading('blob', () => new on.Blob([body], { type: (data.headers.find(([k]) => k === 'content-type') || [])[1] || '' }));
  define(made, 'clone', () => readAtOnce(on, data));
  return made;
};
// An answer that goes on: each part of it is an event.
const goingOn = (on, data, address) => {
  let feed;
  const made = response(on, data, new ReadableStream({ start(controller) { feed = controller; } }));
  const entry = register('part', address, part => {
    try { if (part.failed) feed.error(failure(on, part.failed)); else if (part.last) feed.close(); else feed.enqueue(new Uint8Array(buffer(part.body))); } catch (closed) {}
  });
  return { made, entry };
};
const wrong = error => ({ failed: { name: String((error && error.name) || 'AbortError'), message: String((error && error.message) || error) } });
// What is not whole by then goes on, for those who ask.
const WHOLE = 1500;
const collected = async reader => {
  const parts = [], late = new native.Promise(go => wait(WHOLE, go));
  for (;;) {
    const next = reader.read(), came = await native.Promise.race([next, late]);
    if (!came) return { parts, next };
    if (came.done) return { parts };
    parts.push(came.value);
  }
};
const joined = parts => {
  const all = new Uint8Array(parts.reduce((size, one) => size + one.length, 0));
  let at = 0;
  for (const one of parts) { all.set(one, at); at += one.length; }
  return all;
};
const readParts = (parts, entry, next = parts.read()) => {
  const part = data => fire(entry, data, () => entry.run(data));
  next.then(({ done: last, value }) => { part(last ? { last } : { body: bytes(value) }); if (!last) readParts(parts, entry); }, error => part(wrong(error)));
};
const failure = (on, { name, message }, signal) => {
  if (signal && signal.aborted && name !== 'TypeError' && signal.reason !== undefined) return signal.reason;
  return /Error$/.test(name) && !['TypeError', 'Error'].includes(name) ? new on.DOMException(message, name) : new on.TypeError(message);
};
const fetched = (on, input, init) => {
  const request = input instanceof on.Request;
  const method = ((init && init.method) || (request && input.method) || 'GET').toUpperCase();
  const address = whole(on, request ? input.url : input);
  const signal = (init && init.signal) || (request && input.signal) || null;
  let settle;
  const promise = new on.Promise((resolve, reject) => { settle = { resolve, reject }; });
  let streaming = null;
  const hand = data => {
    bake(live ? undefined : data.cookies);
    if (data.failed) settle.reject(failure(on, data.failed, signal));
    else if (data.streams) {
      const { made, entry } = goingOn(on, data, named(address));
      settle.resolve(made);
      if (streaming) {
        if (streaming.begun.length) { const begun = { body: bytes(streaming.begun) }; fire(entry, begun, () => entry.run(begun)); }
        readParts(streaming.reader, entry, streaming.next);
      }
    } else settle.resolve(readAtOnce(on, data));
  };
  const entry = register('fetch', `${method} ${named(address)} ${sent(init && init.body)}`.trim(), hand);
  if (!live) return promise;
  busy.requests++;
  const done = data => { busy.requests--; fire(entry, { ...data, cookies: baked() }, () => hand(data)); };
  native.fetch.call(on, input, init).then(async answer => {
    const { status, statusText, url, redirected, type } = answer;
    const data = { status, text: statusText, url, redirected, type, headers: [...answer.headers] };
    if (!answer.body) { done({ ...data, body: '' }); return; }
    const reader = answer.body.getReader();
    const { parts, next } = streams(answer.headers.get('content-type')) ? { parts: [], next: reader.read() } : await collected(reader);
    const begun = joined(parts);
    if (!next) { done({ ...data, body: bytes(begun) }); return; }
    streaming = { reader, next, begun };
    done({ ...data, streams: true });
  }).catch(error => done(wrong(error)));
  return promise;
};
// Keys are made by chance, and so is what some of them write: those that may be kept are.
const { subtle } = window.crypto || {};
const plainKey = subtle && subtle.exportKey.bind(subtle), keyFrom = subtle && subtle.importKey.bind(subtle);
const keptKey = async key => {
  const { name: by, namedCurve, length, hash } = key.algorithm;
  return { jwk: await plainKey('jwk', key), by: { name: by, namedCurve, length, hash: hash && hash.name }, out: key.extractable, usages: key.usages };
};
const sameKey = ({ jwk, by, out, usages }) => keyFrom('jwk', jwk, JSON.parse(JSON.stringify(by)), out, usages);
const KEPT_AS = {
  key: {
    put: async made => (made.privateKey ? { publicKey: await keptKey(made.publicKey), privateKey: await keptKey(made.privateKey) } : keptKey(made)),
    get: async told => (told.privateKey ? { publicKey: await sameKey(told.publicKey), privateKey: await sameKey(told.privateKey) } : sameKey(told)),
  },
  bytes: { put: async made => ({ bytes: bytes(made) }), get: async told => buffer(told.bytes) },
};
// Promises of the browser's own: what comes of them is an event; `as` says how it is kept where it is of chance.
const later = (owner, ...keys) => {
  for (const [key, as] of keys.map(one => [].concat(one))) {
    const own = owner && owner[key];
    if (typeof own !== 'function') continue;
    define(owner, key, function (...given) {
      let settle;
      const coming = native.Promise.resolve(own.apply(this, given));
      const promise = new native.Promise((resolve, reject) => { settle = { resolve, reject }; });
      // Whoever asked handles it, when it is told.
      coming.catch(() => {});
      const hand = async told => {
        try {
          const made = await coming;
          settle.resolve(live || !told ? made : await KEPT_AS[as].get(told).catch(() => made));
        } catch (error) { settle.reject(error); }
      };
      const entry = register('later', key, hand);
      if (live) {
        busy.requests++;
        const done = told => { busy.requests--; fire(entry, told, () => hand(told)); };
        coming.then(as ? async made => KEPT_AS[as].put(made) : () => undefined).then(done, () => done());
      }
      return promise;
    });
  }
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
  get _on() { return window; }
  open(method, address, async = true, user, password) {
    Object.assign(this._, { method: String(method).toUpperCase(), address: whole(this._on, address), async: async !== false, headers: [], answer: null, user, password });
    this._state(1);
  }
  setRequestHeader(key, value) { this._.headers.push([String(key), String(value)]); }
  overrideMimeType(kind) { this._.kind = kind; }
  send(body) {
    const mine = this._, at = `${mine.method} ${named(mine.address)} ${sent(body)}`.trim();
    mine.sends = body !== undefined && body !== null && !['GET', 'HEAD'].includes(mine.method);
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
      cookies: baked(), status: own.status, text: own.statusText, url: own.responseURL, headers: own.getAllResponseHeaders(),
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
    bake(live ? undefined : data.cookies);
    if (this._.async && this._.sends) for (const type of ['loadstart', 'progress', data.failed || 'load', 'loadend']) this.upload.dispatchEvent(new ProgressEvent(type));
    if (data.failed) {
      this._state(4);
      for (const type of [data.failed, 'loadend']) this.dispatchEvent(new ProgressEvent(type));
      if (!this._.async) throw new DOMException('A network error occurred.', 'NetworkError');
      return;
    }
    Object.assign(this, { status: data.status, statusText: data.text, responseURL: data.url });
    this._.answer = data;
    this._.made = undefined;
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
  get responseText() {
    if (!this._.answer) return '';
    const [, label] = /charset\s*=\s*"?([^\s;"]+)/i.exec(this._.kind || this.getResponseHeader('content-type') || '') || [];
    try { return new TextDecoder(label || 'utf-8').decode(this._.body); } catch (e) { return new TextDecoder().decode(this._.body); }
  }
  get responseXML() {
    if (!this._.answer) return null;
    const kind = (this._.kind || this.getResponseHeader('content-type') || '').split(';')[0];
    try { return new DOMParser().parseFromString(this.responseText, kind === 'text/html' ? kind : 'text/xml'); } catch (e) { return null; }
  }
  get response() {
    if (!this._.answer) return ['', 'text'].includes(this.responseType) ? '' : null;
    if (this._.made === undefined) this._.made = this._make();
    return this._.made;
  }
  _make() {
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
const line = (on, kind, Native, types, outgoing) => {
  class Line extends EventTarget {
    constructor(address, options) {
      super();
      Object.assign(this, { url: whole(on, String(address).replace(/^http(?=s?:)/, kind === 'socket' ? 'ws' : 'http')), readyState: 0, protocol: '', extensions: '', bufferedAmount: 0, binaryType: 'blob', withCredentials: false });
      const entry = register(kind, this.url, data => this._take(data));
      define(this, '_', { entry, native: null, said: 0 });
      if (!live) return;
      const own = this._.native = options === undefined ? new Native(this.url) : new Native(this.url, options);
      if ('binaryType' in own) own.binaryType = 'arraybuffer';
      let opening = true;
      busy.requests++;
      const opened = () => { if (opening) { opening = false; busy.requests--; } };
      const come = type => event => opened() || fire(entry, this._told(type, event, own), () => this._take(this._told(type, event, own)));
      for (const type of types) listen.call(own, type, come(type));
      const also = new Set(types);
      define(this, '_also', type => { if (!also.has(type)) { also.add(type); listen.call(own, type, come(type)); } });
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
