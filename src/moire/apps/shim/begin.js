const take = () => {
  const own = {};
  for (const of of fresh) own[of] = locals[of];
  fresh.clear();
  return { events: log.splice(0), locals: own };
};
// A browser takes only so much of a page that is left: what a user did goes first, then each event with all that is
// known of it, in their order, so that nothing comes of which a part is missing.
const PIECE = 30000;
const lastWords = () => {
  const { events, locals: own } = take();
  const ids = new Set(events.map(one => one.id)), acts = events.filter(one => one.kind === 'act');
  const rows = [
    ...acts.map(one => [one.id, one]),
    ...Object.keys(own).filter(of => !ids.has(of)).map(of => [of]),
    ...events.filter(one => one.kind !== 'act').map(one => [one.id, one]),
  ];
  let piece, size = 0;
  const begun = () => { piece = { events: [], locals: {} }; size = 0; };
  const said = () => say(JSON.stringify(piece));
  begun();
  for (const [of, ...event] of rows) {
    const length = JSON.stringify([event, own[of]]).length;
    if (size && size + length > PIECE) { if (!said()) return; begun(); }
    piece.events.push(...event);
    if (own[of]) piece.locals[of] = own[of];
    size += length;
  }
  said();
};
Object.defineProperty(window, name, {
  value: Object.freeze({
    adopt: on => { install(on); return true; }, module: url => { if (!document.currentScript) now = `${page}.script ${url}`; }, act, look: () => ({ nodes: nodes(), scroll: [scrollX, scrollY] }), replay, leftovers, quiet, candidates, take, page,
    peek, peeked: () => { peeking = false; },
    perform: async action => {
      begin({ kind: 'act', ...action });
      let done = false;
      try { done = (await act(action)) !== false; } catch (error) { differ('target', error); }
      changed();
      return done;
    },
  }),
});
define(window, Symbol.for('moire.frame'), native.requestAnimationFrame.bind(window));
if (page === 0) for (const store of ['localStorage', 'sessionStorage']) try { window[store].clear(); } catch (e) {}
// How often an observer's turn comes is the engine's affair, and it is told as an error.
const OBSERVERS = /^ResizeObserver loop/;
listen.call(window, 'error', event => { if (event instanceof ErrorEvent && !OBSERVERS.test(event.message)) local(now).errors.push(String(event.message)); }, true);
listen.call(window, 'unhandledrejection', event => local(now).errors.push(String(event.reason)), true);
install(window);
// What would open another window is told of, and opens none.
listen.call(window, 'click', event => {
  const link = event.composedPath().find(one => one.localName === 'a' && one.href);
  const to = link && string(link.target);
  if (!to || ['_self', '_top', '_parent'].includes(to.toLowerCase()) || document.getElementsByName(to).length) return;
  register('window', string(link.href));
  event.preventDefault();
}, false);
for (const type of HELD.document) hold(document, type);
for (const type of HELD.window) hold(window, type);
// What was asked to go may take its time: so long, in ms, it is waited for.
const LEAVING = 1000;
const leaves = () => { busy.leaving = clock() + LEAVING; };
const bare = url => String(url).replace(/#.*/, '');
if (live) {
  for (const type of ['click', 'submit']) listen.call(window, type, event => {
    const link = event.composedPath().find(one => one.localName === 'a' && one.href), to = link ? bare(string(link.href)) : '';
    if (type === 'submit' || (to.startsWith('http') && to !== bare(location))) wait(0, () => { if (!event.defaultPrevented) leaves(); });
  }, true);
  for (const key of ['back', 'forward', 'go']) {
    const own = history[key];
    define(history, key, (...given) => { leaves(); return own.apply(history, given); });
  }
  if (brief.person) {
    byScript(HTMLElement.prototype, 'focus', 'blur');
    byScript(HTMLFormElement.prototype, 'requestSubmit', 'reset');
    byScript(HTMLDialogElement.prototype, 'show', 'showModal', 'close');
    for (const type of TRUSTED) listen.call(window, type, noticed, true);
  }
  listen.call(window, 'pagehide', lastWords, true);
}
listen.call(document, 'DOMContentLoaded', () => { now = `${page}.ready`; }, true);
listen.call(window, 'load', () => { now = `${page}.load`; wait(0, release); });
wait(10000, release);
