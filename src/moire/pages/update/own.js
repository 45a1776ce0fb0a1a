// Runs a page's own code, in the global scope, once the page is there. What the code puts off to later (a frame, a
// timer, the page's load, the reftests' signal) comes at its time; or, if all is to be done at once, in the order
// asked for and before anything is drawn. Then, asking for boxes must not lay out the page either: code that asks
// wants to force a layout, and is given nothing.
async (code, atOnce) => {
  const waiting = [];
  let count = 0;
  const undo = [];
  const put = (owner, name, property) => {
    const before = Object.getOwnPropertyDescriptor(owner, name);
    Object.defineProperty(owner, name, {configurable: true, ...property});
    undo.push(() => before ? Object.defineProperty(owner, name, before) : delete owner[name]);
  };
  // Code may ask for the element that it stands in; that is no part of the page any more.
  const element = document.createElement('script');
  put(document, 'currentScript', {get: () => element});
  const put_off = f => (waiting.push({f, id: ++count}), count);
  const drop = id => { const n = waiting.findIndex(w => w.id === id); if (n >= 0) waiting.splice(n, 1); };
  const late = atOnce ? put_off : f => setTimeout(f);
  const listen = EventTarget.prototype.addEventListener;
  // The page is loaded already: whoever waits for that has waited long enough.
  put(EventTarget.prototype, 'addEventListener', {writable: true, value: function (kind, f, ...rest) {
    const owner = this || window;
    if (f && (kind === 'load' && owner === window || kind === 'DOMContentLoaded' || kind === 'TestRendered'))
      late(() => (f.handleEvent || f).call(f.handleEvent ? f : owner, new Event(kind)));
    else listen.call(owner, kind, f, ...rest);
  }});
  if (atOnce) {
    put(window, 'requestAnimationFrame', {writable: true, value: f => put_off(() => f(performance.now()))});
    put(window, 'requestIdleCallback', {writable: true, value: f => put_off(() => f({timeRemaining: () => 9}))});
    put(window, 'setTimeout', {writable: true, value: (f, _, ...a) =>
      put_off(() => typeof f === 'function' ? f(...a) : (0, eval)(f))});
    for (const name of ['cancelAnimationFrame', 'cancelIdleCallback', 'clearTimeout'])
      put(window, name, {writable: true, value: drop});
    const sides = ['Top', 'Left', 'Width', 'Height'];
    for (const side of sides) put(HTMLElement.prototype, `offset${side}`, {get: () => 0});
    for (const side of sides) put(Element.prototype, `client${side}`, {get: () => 0});
    for (const side of ['Width', 'Height']) put(Element.prototype, `scroll${side}`, {get: () => 0});
    for (const side of ['Top', 'Left']) {
      const before = Object.getOwnPropertyDescriptor(Element.prototype, `scroll${side}`);
      put(Element.prototype, `scroll${side}`, {set: before.set, get: () => 0});
    }
    put(HTMLElement.prototype, 'offsetParent', {get: () => null});
    put(HTMLElement.prototype, 'innerText', {
      set: Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'innerText').set,
      get() { return this.textContent; },
    });
    put(Element.prototype, 'getBoundingClientRect', {writable: true, value: () => new DOMRect()});
    put(Range.prototype, 'getBoundingClientRect', {writable: true, value: () => new DOMRect()});
    for (const owner of [Element.prototype, Range.prototype])
      put(owner, 'getClientRects', {writable: true, value: () => []});
    put(Document.prototype, 'elementFromPoint', {writable: true, value: () => null});
    if (Element.prototype.checkVisibility)
      put(Element.prototype, 'checkVisibility', {writable: true, value: () => true});
    for (const name of ['getCTM', 'getScreenCTM'])
      put(SVGGraphicsElement.prototype, name, {writable: true, value: () => null});
    put(SVGTextContentElement.prototype, 'getComputedTextLength', {writable: true, value: () => 0});
    put(SVGGraphicsElement.prototype, 'getBBox', {writable: true, value: () => new DOMRect()});
    put(window, 'getComputedStyle', {writable: true, value: () =>
      new Proxy({}, {get: (_, name) => name === 'getPropertyValue' ? () => '' : ''})});
  }
  let wrong = '';
  try {
    const before = window.onload;
    (0, eval)(code);
    const own = window.onload;
    if (own && own !== before) late(() => own.call(window, new Event('load')));
    // Whatever is put off by promises is put off for a few turns only.
    for (let idle = 0; atOnce && idle < 50; idle++) {
      await null;
      while (waiting.length) {
        if (count > 1000) throw new Error('the code never comes to an end');
        idle = 0; waiting.shift().f(); await null;
      }
    }
  } catch (e) { wrong = String(e); }
  for (const f of undo.reverse()) f();
  return wrong;
}
