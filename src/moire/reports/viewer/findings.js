// Findings: filtered, ranked, and counted by what their pages have in them.
'use strict';
(() => {
  const {h} = M;
  const PAGE = 60;
  M.byImpact = (a, b) => (b.bug ? 1 : 0) - (a.bug ? 1 : 0) || b.impact - a.impact || a.id - b.id;
  const orders = {
    impact: ['most visible first', M.byImpact], newest: ['newest first', (a, b) => b.id - a.id],
    signature: ['by name', (a, b) => a.signature < b.signature ? -1 : a.signature > b.signature ? 1 : a.id - b.id],
  };
  // What can be filtered by, and what of it a finding has.
  const filters = {
    run: row => [row.run], oracle: row => [row.oracle], verdict: row => [row.kind],
    // Of a program or an address, the last part of its name says most.
    engine: row => [...new Set(builds(row).map(name => /^[a-z]+@/.test(name) ? name.split('@')[0] : name.split('?')[0].split('/').at(-1)))], version: builds,
    stage: row => row.stage ? [row.stage] : [], tag: row => row.tags, attribute: row => [...new Set(row.attributes.map(pair => pair[1]))],
    property: row => row.declared, state: row => [M.triaged(row).state],
  };
  function builds(row) { return row.build.split(/ \| | → /); }

  const chosen = query => [...M.rows.values()].filter(row =>
    Object.entries(filters).every(([name, values]) => !query.get(name) || values(row).includes(query.get(name)))
    && (!query.has('signature') || row.signature === query.get('signature'))
    && (!query.get('pair') || pairs(row, query.get('pair')))
    && (!query.get('q') || query.get('q').toLowerCase().split(/\s+/).every(word => text(row).includes(word))));
  const pairs = (row, pair) => {
    const [tag, kind, name] = pair.split(' ');
    return (row[kind] || []).some(([a, b]) => a === tag && b === name);
  };
  const text = row => [row.signature, row.run, row.oracle, row.kind, row.build, row.stage, row.element, ...row.declared, ...row.tags,
    ...row.attributes.map(pair => pair[1]), M.triaged(row).state, M.triaged(row).note, `page ${row.number}`].join(' ').toLowerCase();

  M.card = (row, alike = 0) => h('a', {class: 'card', href: M.link('finding', row.id)},
    h('span', {class: 'thumbs'}, Object.entries(row.pictures || {}).slice(0, 3).map(([name, blob]) => h('img', {src: M.picture(blob), alt: name, loading: 'lazy', decoding: 'async'}))),
    h('span', {class: 'name'}, row.signature || 'not looked into yet'),
    h('span', {class: 'soft'}, `${row.kind}, ${row.run} page ${row.number}`, row.impact ? [', ', h('span', {title: 'pixels that differ, each by how strongly'}, `visible ${M.number(row.impact)}`)] : '',
      row.bug ? ', bug' : '', row.known_from ? `, known from ${row.known_from}` : '', alike > 1 ? `, ${alike} of this kind` : ''),
    M.triaged(row).state !== 'new' ? h('span', {class: `state ${M.triaged(row).state}`}, M.triaged(row).state) : null);

  // The order in which a finding's page goes on to the next.
  M.order = [];

  const ranked = query => {
    const found = chosen(query).sort(orders[query.get('sort')]?.[1] || M.byImpact);
    if (query.get('each')) return found.map(row => [row, 0]);
    const kinds = M.count(found.map(row => row.signature));
    const seen = new Set();
    // One of each kind: the first that has been looked into.
    found.sort((a, b) => (a.state === 'duplicate') - (b.state === 'duplicate'));
    const first = found.filter(row => !row.signature || (!seen.has(row.signature) && seen.add(row.signature)));
    return first.sort(orders[query.get('sort')]?.[1] || M.byImpact).map(row => [row, row.signature ? kinds.get(row.signature) : 0]);
  };

  const cards = (place, query) => {
    const found = ranked(query);
    M.order = found.map(([row]) => row.id);
    let shown = 0;
    const more = h('div', {class: 'more'});
    const list = h('div', {class: 'cards'});
    const add = () => {
      list.append(...found.slice(shown, shown + PAGE).map(([row, alike]) => M.card(row, alike)));
      shown += PAGE;
      if (shown >= found.length) more.remove();
    };
    add();
    new IntersectionObserver(entries => { if (entries.some(one => one.isIntersecting) && shown < found.length) add(); }, {rootMargin: '800px'}).observe(more);
    const total = chosen(query).length;
    place.replaceChildren(h('p', {role: 'status'}, M.whole ? `${M.number(total)} findings` : 'The most visible findings; the rest is on its way', query.get('each') ? '' : `, ${M.number(found.length)} shown: one of each kind`),
      M.config.left_out ? h('p', {class: 'soft'}, `${M.number(M.config.left_out)} that are less visible are not in this report; `, h('code', {}, 'moire serve'), ' has them all.') : '',
      list, ...(shown < found.length ? [more] : []));
  };

  const place = h('div', {});
  M.views.findings = {
    make: async (_, query) => {
      if (M.whole || M.config.offline || [...query.keys()].some(name => !['run', 'each'].includes(name))) await M.findings();
      else {
        await M.first(query.get('run') || '');
        M.findings().then(() => { if (M.where().view === 'findings') M.views.findings.live(true); }, error => M.say(error.message, true));
      }
      const rows = [...M.rows.values()];
      const change = (name, value) => {
        value ? query.set(name, value) : query.delete(name);
        history.replaceState(null, '', `#/findings?${query}`);
        cards(place, query);
      };
      const choices = name => M.most(M.count(rows.flatMap(filters[name])));
      const box = name => {
        const found = choices(name);
        return found.length > 1 || query.get(name) ? h('label', {}, name, h('select', {onchange: event => change(name, event.target.value)},
          h('option', {value: ''}, 'any'), found.map(([value, n]) => h('option', {value, selected: value === query.get(name)}, `${value} (${n})`)))) : null;
      };
      cards(place, query);
      return [
        h('h1', {}, 'Findings'),
        h('form', {class: 'filters', onsubmit: event => event.preventDefault()},
          h('label', {}, 'search', h('input', {type: 'search', value: query.get('q') || '', oninput: event => change('q', event.target.value)})),
          Object.keys(filters).map(box),
          h('label', {}, 'order', h('select', {onchange: event => change('sort', event.target.value)},
            Object.entries(orders).map(([name, [words]]) => h('option', {value: name, selected: name === query.get('sort')}, words)))),
          h('label', {}, h('input', {type: 'checkbox', checked: Boolean(query.get('each')), onchange: event => change('each', event.target.checked ? '1' : '')}), ' every one'),
          query.has('signature') ? M.button(`only ${query.get('signature') || 'those not looked into'} ✕`, () => { change('signature', ''); M.again(); }) : null,
          query.get('pair') ? M.button(`only ${query.get('pair').split(' ').filter((_, n) => n !== 1).join(' × ')} ✕`, () => { change('pair', ''); M.again(); }) : null),
        place,
      ];
    },
    live: async said => {
      // While people read far down, the list stays as it is; while they fill something in, what they choose from.
      if (!(await M.findings() || said) || scrollY >= 400) return;
      if (M.busy(document.getElementById('main'))) cards(place, M.at().query); else M.again();
    },
  };

  const always = new Set(['html', 'head', 'body', 'style', 'id', 'class']);
  const matrix = (rows, kind, title, run) => {
    const counts = M.count(rows.flatMap(row => [...new Set((row[kind] || []).filter(pair => !pair.some(one => always.has(one))).map(pair => pair.join(' ')))]));
    const tags = M.most([...counts].reduce((all, [pair, n]) => all.set(pair.split(' ')[0], (all.get(pair.split(' ')[0]) || 0) + n), new Map())).map(([tag]) => tag);
    const others = [...new Set([...counts.keys()].map(pair => pair.split(' ')[1]))].sort();
    const table = some => M.table(['', ...some], others.map(other => [other, ...some.map(tag => {
      const n = counts.get(`${tag} ${other}`);
      return n ? M.anchor(String(n), 'findings', '', {run, pair: `${tag} ${kind} ${other}`, each: '1'}) : '';
    })]), {class: 'matrix'});
    return h('section', {}, h('h2', {}, title), others.length ? M.long(tags, table, 30, 'tags') : h('p', {}, 'None.'));
  };
  M.views.features = {
    make: async (_, query) => {
      await M.findings();
      const run = query.get('run') || '';
      const rows = [...M.rows.values()].filter(row => !run || row.run === run);
      const counts = (name, filter) => [name, M.most(M.count(rows.flatMap(filters[filter]).filter(one => !always.has(one))))];
      return [
        h('h1', {}, run ? `Features of ${run}` : 'Features'),
        h('p', {}, `What the pages of ${M.number(rows.length)} findings have in them, reduced where they could be.`),
        h('div', {class: 'columns'}, [counts('Tags', 'tag'), counts('Attributes', 'attribute'), counts('Properties', 'property')].map(([title, found], n) =>
          h('section', {}, h('h2', {}, title), M.table(['', 'findings'], found.slice(0, 100).map(([name, count]) =>
            [name, count].map(words => M.anchor(String(words), 'findings', '', {run, [['tag', 'attribute', 'property'][n]]: name, each: '1'}))))))),
        matrix(rows, 'attributes', 'Tag × attribute', run), matrix(rows, 'styled', 'Tag × property', run),
      ];
    },
    live: async () => { if (await M.findings()) M.again(); },
  };
})();
