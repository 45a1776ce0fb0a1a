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
listen.call(document, 'DOMContentLoaded', () => { now = `${page}.ready`; }, true);
listen.call(window, 'load', () => { now = `${page}.load`; wait(0, release); });
wait(config.latest || 10000, release);
