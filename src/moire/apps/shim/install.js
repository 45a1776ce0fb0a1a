// Everything in its place, in this window and in frames of it

const adopted = new WeakSet();
const install = on => {
  // A frame's window stays the same one when another document comes into it.
  if (adopted.has(on.Function)) return;
  adopted.add(on.Function);
  windows.add(on);
  noting(on);
  for (const key of ['setTimeout', 'setInterval']) {
    const kind = key === 'setTimeout' ? 'timer' : 'interval';
    define(on, key, function (f, delay, ...args) { return timer(kind, on, f, delay, args); });
  }
  for (const key of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback']) define(on, key, forget);
  define(on, 'requestAnimationFrame', f => frame(on, f));
  define(on, 'requestIdleCallback', idle);
  if (on.scheduler) {
    define(on.scheduler, 'postTask', (f, { delay, signal } = {}) => task(on, f, delay, signal));
    if (on.scheduler.yield) define(on.scheduler, 'yield', () => task(on, () => {}));
  }
  define(on.AbortSignal, 'timeout', ms => {
    const stop = new on.AbortController();
    timer('timer', on, () => stop.abort(new on.DOMException('The operation timed out.', 'TimeoutError')), ms, []);
    return stop.signal;
  });
  define(on, 'fetch', (input, init) => fetched(on, input, init));
  define(on, 'XMLHttpRequest', class XMLHttpRequest extends XHR { get _on() { return on; } });
  if (native.WebSocket) define(on, 'WebSocket', line(on, 'socket', native.WebSocket, ['open', 'message', 'error', 'close'], true));
  if (native.EventSource) define(on, 'EventSource', line(on, 'source', native.EventSource, ['open', 'message', 'error'], false));
  if (on.crypto) later(on.crypto.subtle && Object.getPrototypeOf(on.crypto.subtle), 'digest', ['encrypt', 'bytes'], 'decrypt', ['sign', 'bytes'], 'verify', ['generateKey', 'key'], 'deriveKey', 'deriveBits', 'importKey', 'exportKey');
  later(on.Blob.prototype, 'arrayBuffer', 'text');
  later(on, 'createImageBitmap');
  later(on.HTMLImageElement.prototype, 'decode');
  if (on.FontFace) later(on.FontFace.prototype, 'load');
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
  const performs = on.performance.now.bind(on.performance);
  define(on.performance, 'now', () => draw('now', performs));
  const drawn = (owner, key, kind) => {
    const slot = owner && Object.getOwnPropertyDescriptor(owner, key);
    if (slot && slot.get) Object.defineProperty(owner, key, { ...slot, get() { return draw(kind, () => slot.get.call(this)); } });
  };
  drawn(on.Event.prototype, 'timeStamp', 'stamp');
  drawn(on.Performance.prototype, 'timeOrigin', 'origin');
  drawn(on.Document.prototype, 'lastModified', 'modified');
  drawn(on.AnimationTimeline && on.AnimationTimeline.prototype, 'currentTime', 'timeline');
  const measured = on.performance.toJSON.bind(on.performance);
  define(on.performance, 'toJSON', () => draw('performance', () => JSON.parse(JSON.stringify(measured()))));
  // A moment that nobody names is now.
  const format = Object.getOwnPropertyDescriptor(on.Intl.DateTimeFormat.prototype, 'format');
  Object.defineProperty(on.Intl.DateTimeFormat.prototype, 'format', {
    ...format, get() { const own = format.get.call(this); return given => own(given === undefined ? date() : given); },
  });
  const parts = on.Intl.DateTimeFormat.prototype.formatToParts;
  define(on.Intl.DateTimeFormat.prototype, 'formatToParts', function (given) { return parts.call(this, given === undefined ? date() : given); });
  if (on.Temporal) {
    const zone = on.Temporal.Now.timeZoneId.bind(on.Temporal.Now);
    const instant = () => on.Temporal.Instant.fromEpochMilliseconds(date());
    const zoned = asked => instant().toZonedDateTimeISO(asked === undefined ? zone() : asked);
    define(on.Temporal.Now, 'instant', instant);
    define(on.Temporal.Now, 'zonedDateTimeISO', zoned);
    for (const key of ['PlainDateTime', 'PlainDate', 'PlainTime']) define(on.Temporal.Now, `${key[0].toLowerCase()}${key.slice(1)}ISO`, asked => zoned(asked)[`to${key}`]());
  }
  const url = on.URL.createObjectURL;
  if (url) define(on.URL, 'createObjectURL', object => {
    const made = url.call(on.URL, object), of = here();
    blobs.set(made, `blob:${of} ${(local(of).blobs = (local(of).blobs || 0) + 1)}`);
    return made;
  });
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
        super(function (...given) { if (peeking) return; now = `${page}.@${as} ${n++}`; return f.apply(this, given); }, ...rest);
      }
    });
  }
  bringing(on);
  // All of a session is in one window.
  define(on, 'open', address => { register('window', whole(on, address === undefined ? '' : address)); return null; });
  if (on.MessagePort) holding(on.MessagePort.prototype, ['message'], called('port'));
  if (on.Worker) holding(on.Worker.prototype, ['message', 'error'], called('worker'));
  if (on.BroadcastChannel) holding(on.BroadcastChannel.prototype, ['message'], called('channel'));
  if (on.FileReader) holding(on.FileReader.prototype, ['loadstart', 'progress', 'load', 'loadend', 'error', 'abort'], called('reader'));
  storing(on, 'IDBFactory', 'open', 'deleteDatabase');
  storing(on, 'IDBObjectStore', 'add', 'put', 'get', 'getAll', 'getKey', 'getAllKeys', 'delete', 'clear', 'count', 'openCursor', 'openKeyCursor');
  storing(on, 'IDBIndex', 'get', 'getAll', 'getKey', 'getAllKeys', 'count', 'openCursor', 'openKeyCursor');
  // A transaction ends when its turn is over: handlers that wait would come too late.
  if (on.IDBRequest) holding(on.IDBRequest.prototype, ['success', 'error'], called('request'), pass);
  if (on.IDBOpenDBRequest) holding(on.IDBOpenDBRequest.prototype, ['upgradeneeded', 'blocked'], called('request'), pass);
  if (on.IDBTransaction) holding(on.IDBTransaction.prototype, ['complete', 'error', 'abort'], called('transaction'), pass);
  // A frame that scripts fill has no document of its own to bring a script along; one that is given as text does.
  const srcdoc = Object.getOwnPropertyDescriptor(on.HTMLIFrameElement.prototype, 'srcdoc');
  Object.defineProperty(on.HTMLIFrameElement.prototype, 'srcdoc', {
    ...srcdoc, get() { return srcdoc.get.call(this).replace(config.adopting, ''); }, set(text) { srcdoc.set.call(this, config.adopting + text); },
  });
  const attribute = on.HTMLIFrameElement.prototype.setAttribute;
  define(on.HTMLIFrameElement.prototype, 'setAttribute', function (key, value) {
    attribute.call(this, key, String(key).toLowerCase() === 'srcdoc' ? config.adopting + value : value);
  });
  for (const key of ['contentWindow', 'contentDocument']) {
    const slot = Object.getOwnPropertyDescriptor(on.HTMLIFrameElement.prototype, key);
    const inner = Object.getOwnPropertyDescriptor(on.HTMLIFrameElement.prototype, 'contentWindow');
    Object.defineProperty(on.HTMLIFrameElement.prototype, key, {
      ...slot,
      get() {
        const frame = inner.get.call(this);
        try { if (frame && frame.location.href === 'about:blank') install(frame); } catch (elsewhere) {}
        return slot.get.call(this);
      },
    });
  }
};
