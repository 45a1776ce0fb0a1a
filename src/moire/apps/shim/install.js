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
  bringing(on);
  if (on.MessagePort) holding(on.MessagePort.prototype, ['message'], called('port'));
  if (on.Worker) holding(on.Worker.prototype, ['message', 'error'], called('worker'));
  if (on.BroadcastChannel) holding(on.BroadcastChannel.prototype, ['message'], called('channel'));
};
