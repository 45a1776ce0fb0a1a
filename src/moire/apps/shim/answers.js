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
      let opening = true;
      busy.requests++;
      const opened = () => { if (opening) { opening = false; busy.requests--; } };
      const come = type => event => opened() || fire(entry, this._told(type, event, own), () => this._take(this._told(type, event, own)));
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
