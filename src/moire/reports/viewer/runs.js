// All runs, one run, and two runs beside each other.
'use strict';
(() => {
  const {h} = M;
  const rate = run => run.pages / Math.max(run.seconds, 1);
  const state = run => h('span', {class: `state ${run.state.replace(' ', '-')}`}, run.state);

  // Of what the run was given, how much is used up; nothing, if it goes on without end.
  const share = run => run.share !== null ? run.share : run.budget.seconds ? run.seconds / run.budget.seconds : run.budget.pages ? run.pages / run.budget.pages : null;
  const left = run => {
    if (!['running', 'paused'].includes(run.state)) return '';
    if (run.share) return `${M.time(run.seconds * (1 / run.share - 1))} left`;
    if (run.budget.seconds) return `${M.time(Math.max(0, run.budget.seconds - run.seconds))} left`;
    if (run.budget.pages && run.pages) return `${M.time((run.budget.pages - run.pages) / rate(run))} left`;
    return '';
  };
  const bar = run => share(run) === null ? null : h('progress', {max: 1, value: Math.min(1, share(run)), 'aria-label': 'done'});

  const list = () => M.config.runs.length ? M.table(
    ['run', 'state', 'findings', 'of kinds', 'done', 'pages', 'a second', 'kind', 'builds', 'begun'],
    [...M.config.runs].reverse().map(run => [
      M.anchor(run.name, 'run', run.name), state(run), M.anchor(M.number(run.findings), 'findings', '', {run: run.name}),
      M.number(run.signatures), h('span', {}, bar(run), ' ', left(run)), M.number(run.pages), rate(run).toFixed(1), run.kind,
      run.builds.join(', '), run.begun.replace('T', ' ').slice(0, 16),
    ]), {class: 'runs'}) : h('p', {}, 'There are no runs yet. ', h('code', {}, 'moire hunt --help'), ' says how to begin one.');

  const form = () => {
    if (!M.may()) return M.hint('To begin, pause or stop hunts and to take notes');
    const field = (words, name, facts, ...inside) => h('label', {}, words, ' ', h(inside.length ? 'select' : 'input', {name, ...facts}, ...inside));
    const option = value => h('option', {value}, value);
    return h('details', {}, h('summary', {}, 'Begin a hunt'), h('form', {onsubmit: async event => {
      event.preventDefault();
      const facts = Object.fromEntries(new FormData(event.target));
      facts.builds = [...event.target.builds.selectedOptions].map(one => one.value);
      try {
        const {name} = await M.ask('begin', facts);
        M.say('');
        location.hash = M.link('run', name);
      } catch (error) { M.say(error.message, true); }
    }},
    field('Look for', 'kind', {}, h('option', {value: 'update'}, 'pages that scripts change (update)'),
      h('option', {value: 'consensus'}, 'the browser that disagrees (consensus)'), h('option', {value: 'change'}, 'changes between two builds (change)'),
      h('option', {value: 'regression'}, 'regressions between two builds (regression)')),
    field('in', 'builds', {multiple: true, required: true, size: Math.min(8, M.config.builds.length || 1), title: 'With Ctrl, several. A consensus wants two or more; of two for changes and regressions, the upper is the one before.'}, M.config.builds.map(option)),
    field('for minutes', 'minutes', {type: 'number', min: 1, value: 10, required: true}),
    field('seed', 'seed', {type: 'number', min: 0, value: 1, required: true}),
    h('button', {}, 'Begin')));
  };

  M.views.runs = {
    make: () => [h('h1', {}, 'Runs'), h('div', {id: 'runs'}, list()), form()],
    live: () => {
      const place = document.getElementById('runs');
      if (!place) return;
      if (M.busy(place)) M.later(); else M.redraw(place, list());
    },
  };

  const tile = (words, value) => h('div', {class: 'tile'}, h('b', {}, value), h('span', {}, words));
  const kinds = {same: 'same', different: 'different', crashed: 'crashed', hung: 'hung', flaky: 'flaky', untestable: 'untestable'};

  const controls = run => {
    if (['stopped', 'broken off'].includes(run.state)) return h('p', {class: 'controls'},
      M.may() ? M.button('Go on', async () => { await M.ask('begin', {resume: run.name}); M.later?.(0); }) : null,
      ' It goes on where it was, also with ', h('code', {}, `moire runs resume ${run.name}`), '.');
    if (!M.may() || !['running', 'paused'].includes(run.state)) return null;
    const ask = (what, words) => async () => { await M.ask('control', {run: run.name, what}); M.say(words); };
    return h('p', {class: 'controls'}, run.state === 'paused' ? M.button('Go on', ask('go-on', ''))
      : M.button('Pause', ask('pause', 'It will pause: what it is looking into is looked into first.')),
    M.button('Stop', ask('stop', 'It will end in order, and can go on later.')));
  };

  const shrinking = (run, cuts) => cuts && h('section', {}, h('h2', {}, cuts.now && run.state === 'running' ? 'Looking into' : 'The last that was looked into'),
    h('p', {}, `Page ${cuts.number}, ${cuts.build}: `, cuts.cuts.length ? `${M.number(cuts.cuts.at(-1).bytes)} bytes after ${cuts.cuts.length} steps` : 'no step yet'),
    M.cuts(cuts.cuts));

  M.cuts = cuts => cuts.length ? h('ol', {class: 'cuts'}, cuts.map(cut => h('li', {},
    cut.pictures.map(([name, url]) => h('img', {src: url, alt: name, loading: 'lazy'})),
    h('span', {}, `${cut.name}: ${M.number(cut.bytes)} bytes`)))) : null;

  const trials = run => run.trials.length ? h('section', {}, h('h2', {}, 'Pages, now and then'),
    h('ol', {class: 'cuts'}, run.trials.map(one => h('li', {}, one.pictures.map(([name, url]) => h('img', {src: url, alt: name, title: name, loading: 'lazy'})),
      h('span', {class: `verdict ${one.verdict}`}, `page ${one.number}: ${one.verdict}`))))) : null;

  const MOST_KINDS = 15;
  const byKind = run => {
    const found = M.most(M.count([...M.rows.values()].filter(row => row.run === run.name && row.signature).map(row => row.signature)));
    return found.length ? h('section', {}, h('h2', {}, 'Kinds of findings'), M.long(found, some => M.table(['', 'findings'], some.map(([name, n]) =>
      [M.anchor(name, 'findings', '', {run: run.name, signature: name, each: '1'}), M.number(n)])), MOST_KINDS)) : null;
  };

  const health = run => {
    const words = {starts: 'processes started', pages: 'pages', crashes: 'crashes', hangs: 'hangs', failed_starts: 'failed starts', trouble: 'pages tried again'};
    const rows = Object.entries(run.health).map(([build, facts]) => [build, ...Object.keys(words).map(key => M.number(facts[key] || 0))]);
    return rows.length ? h('section', {}, h('h2', {}, 'Browsers'), M.table(['build', ...Object.values(words)], rows)) : null;
  };

  const operations = run => {
    const own = [...M.rows.values()].filter(row => row.run === run.name && row.operations?.length);
    return own.length ? h('section', {}, h('h2', {}, 'Findings by operation'), [...new Set(own.map(row => row.build))].map(build =>
      [h('h3', {}, build), M.bars(M.most(M.count(own.filter(row => row.build === build).flatMap(row => [...new Set(row.operations)]))))])) : null;
  };

  const body = (run, found) => {
    // Over several moments: while something is looked into, no page is dealt with.
    const wide = Math.max(1, Math.round(run.moments.length / 30));
    const rates = run.moments.slice(wide).map((moment, n) => {
      const before = run.moments[n];
      return [moment[0], Math.max(0, (moment[1] - before[1]) / Math.max(.1, moment[0] - before[0]))];
    });
    const best = [...M.rows.values()].filter(row => row.run === run.name && row.state !== 'duplicate').sort(M.byImpact).slice(0, 12);
    return [
      h('h1', {}, `${run.name}: ${run.builds.join(' and ')}`),
      h('p', {}, state(run), ' ', bar(run), ' ', left(run)), controls(run),
      h('div', {class: 'tiles'}, tile('pages', M.number(run.pages)), tile('pages a second', rate(run).toFixed(1)),
        tile('findings', M.number(run.findings)), tile('kinds of findings', M.number(run.signatures)), tile('time', M.time(run.seconds))),
      h('div', {class: 'charts'},
        run.moments.length > 1 ? [
          M.chart('Pages a second', rates, ['rate']), M.chart('Pages', run.moments.map(([s, pages]) => [s, pages]), ['pages']),
          M.chart('Findings', run.moments.map(([s, , findings, signatures]) => [s, findings, signatures]), ['findings', 'kinds']),
        ] : null,
        (run.charts || []).map(url => h('img', {src: url, alt: '', loading: 'lazy', onerror: event => event.target.remove()}))),
      h('h2', {}, 'Verdicts'), M.bars(M.most(Object.entries(run.verdicts))),
      Object.keys(run.reasons).length ? h('details', {}, h('summary', {}, 'Why pages could not be tested'), M.table(['reason', 'pages'], Object.entries(run.reasons))) : null,
      run.last.length ? h('section', {}, h('h2', {}, 'The last pages'), h('div', {class: 'strip', role: 'img',
        'aria-label': M.most(M.count(run.last.map(one => one[2]))).map(([verdict, n]) => `${n} ${verdict}`).join(', ')}, run.last.map(([number, build, verdict, reason]) =>
        h('i', {class: kinds[verdict] || '', title: `page ${number}, ${build}: ${verdict}${reason ? `, ${reason}` : ''}`})))) : null,
      trials(run), shrinking(run, found), byKind(run),
      run.kind === 'update' ? operations(run) : null,
      best.length ? h('section', {}, h('h2', {}, 'Most visible'), h('div', {class: 'cards'}, best.map(row => M.card(row))),
        h('p', {}, M.anchor('All findings', 'findings', '', {run: run.name}))) : null,
      health(run),
      (run.files || []).length ? h('p', {}, 'As files: ', run.files.map(([words, url], n) => [n ? ', ' : '', h('a', {href: url}, words)])) : null,
      h('details', {}, h('summary', {}, 'Settings'), M.table([], Object.entries(run.settings).map(([key, value]) => [key, JSON.stringify(value)]))),
    ];
  };
  let shown = '';
  const made = async name => {
    // The run itself is there sooner than what it found.
    const found = M.findings();
    const run = await M.get(`run/${name}`);
    if (M.whole) await found;
    else found.then(changed => { if (changed) M.views.run.live(); }, error => M.say(error.message, true));
    return body(run, run.looking);
  };
  M.views.run = {
    make: name => { shown = name; return made(name); },
    live: async () => {
      const asked = shown;
      const fresh = await made(asked);
      const {view, what} = M.where();
      const main = document.getElementById('main');
      if (view !== 'run' || what !== asked) return;
      if (M.busy(main)) { M.later(); return; }
      M.redraw(main, fresh);
    },
  };

  M.views.compare = {
    make: async (_, query) => {
      const names = M.config.runs.map(run => run.name);
      const [a, b] = [query.get('a') || names.at(-2) || names[0], query.get('b') || names.at(-1)];
      await M.findings();
      const of = name => M.count([...M.rows.values()].filter(row => row.run === name).map(row => row.signature));
      const [first, second] = [of(a), of(b)];
      const choose = (which, chosen) => h('select', {'aria-label': which, onchange: event => {
        location.hash = M.link('compare', '', {a, b, [which]: event.target.value});
      }}, names.map(name => h('option', {selected: name === chosen}, name)));
      const part = (title, signatures, run) => h('section', {}, h('h2', {}, `${title} (${signatures.length})`),
        signatures.length ? M.long(signatures, some => M.table(['kind of finding', a, b], some.map(name =>
          [M.anchor(name || 'not looked into', 'findings', '', {run, signature: name}), first.get(name) || '', second.get(name) || '']))) : null);
      const all = [...new Set([...first.keys(), ...second.keys()])].sort();
      return [h('h1', {}, 'Two runs'), h('p', {}, choose('a', a), ' and ', choose('b', b)),
        part(`Only in ${b}`, all.filter(name => !first.has(name)), b), part(`Only in ${a}`, all.filter(name => !second.has(name)), a),
        part('In both', all.filter(name => first.has(name) && second.has(name)), b)];
    },
    live: async () => { if (await M.findings()) M.again(); },
  };
})();
