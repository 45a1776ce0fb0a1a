// Show the view that the address names, and again when the address or the data changes.
'use strict';
(() => {
  const main = document.getElementById('main');
  let shown = 0;
  let current = null;

  const nav = () => {
    const {view, query, what} = M.where();
    const run = M.config.offline ? M.config.run : query.get('run') || (view === 'run' ? what : '');
    const entries = [
      ...(M.config.offline ? [] : [['Runs', '', '', {}]]), ...(run ? [[run, 'run', run, {}]] : []),
      ['Findings', 'findings', '', {run}], ['Features', 'features', '', {run}],
      ...(M.config.offline ? [] : [['Two runs', 'compare', '', {}]]),
    ];
    document.getElementById('nav').replaceChildren(M.h('strong', {}, 'Moire'), ...entries.map(([words, ...where]) =>
      M.h('a', {href: M.link(...where), 'aria-current': where[0] === view ? 'page' : null}, words)));
  };

  const show = async fresh => {
    const mine = ++shown;
    const {view, what, query} = M.where();
    const chosen = M.views[view] || M.views.runs;
    nav();
    try {
      const made = await chosen.make(what, query);
      if (mine !== shown) return;
      if (fresh) M.put(main, made);
      else if (M.busy(main)) return M.later?.();
      else M.redraw(main, made);
      current = chosen;
      document.title = `Moire: ${main.querySelector('h1')?.textContent || ''}`;
      if (fresh) { scrollTo(0, 0); main.focus({preventScroll: true}); }
    } catch (error) {
      if (mine === shown) main.replaceChildren(M.h('h1', {}, 'This cannot be shown'), M.h('p', {}, error.message));
    }
  };
  M.again = () => show(false);

  addEventListener('hashchange', () => { M.say(''); show(true); });
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('select, textarea, input:not([type=range], [type=checkbox])')) return;
    if (current?.key?.(event.key, event)) event.preventDefault();
  });

  const begin = async () => {
    if (M.config.offline) M.config.runs = [{name: M.config.run, kind: M.config.kind}];
    else M.config.runs = await M.get('runs');
    await M.triage();
    await show(true);
    if (M.config.offline) return;
    // Several changes in a row are one.
    let soon = null;
    M.later = (wait = 1000) => {
      soon ??= setTimeout(async () => {
        soon = null;
        try {
          M.config.runs = await M.get('runs');
          const said = await M.triage();
          if (current?.live) await current.live(said);
        } catch (error) { M.say(error.message, true); }
      }, wait);
    };
    // Browsers grant a server few connections: a page that nobody sees keeps none. The first word is that things changed.
    let events = null;
    const listen = () => {
      if (document.hidden) { events?.close(); events = null; return; }
      if (events) return;
      events = new EventSource('events');
      events.onmessage = () => M.later(300);
      events.onerror = () => M.say('The server has gone: this is how things stood. Begin it again with `moire serve`.', true);
      events.onopen = () => M.say('');
    };
    document.addEventListener('visibilitychange', listen);
    listen();
  };
  begin().catch(error => M.put(main, M.h('h1', {}, 'This cannot be shown'), M.h('p', {}, error.message)));
})();
