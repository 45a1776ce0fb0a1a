// Timers, frames, and times when nothing else is to do.

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
const task = (on, f, delay, signal) => new on.Promise((resolve, reject) => {
  if (signal && signal.aborted) { reject(signal.reason); return; }
  const mine = timer('timer', on, () => { try { resolve(f()); } catch (error) { reject(error); } }, delay, []);
  if (signal) listen.call(signal, 'abort', () => { forget(mine); reject(signal.reason); });
});
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
