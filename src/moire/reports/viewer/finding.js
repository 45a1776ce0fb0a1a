// One finding: what it looks like, why, how it came about, and what people say of it.
'use strict';
(() => {
  const {h} = M;
  // A page's text with what matters marked.
  const marked = (text, causes) => {
    const words = causes.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    if (!words.length) return [text];
    // A declaration and an attribute are marked to their ends.
    const whole = word => word.endsWith(':') ? `${word}[^;}"'\\n]*` : word.endsWith('=') ? `${word}(?:"[^"]*"|'[^']*'|[^\\s>]*)` : `${word}(?![\\w-])`;
    const pattern = new RegExp(`(?<![\\w-])(?:${words.map(whole).join('|')})`, 'gi');
    const found = [];
    let at = 0;
    for (const hit of text.matchAll(pattern)) {
      found.push(text.slice(at, hit.index), h('mark', {}, hit[0]));
      at = hit.index + hit[0].length;
    }
    return [...found, text.slice(at)];
  };
  const source = (title, text, causes) => {
    const shown = h('pre', {tabindex: 0}, marked(text, causes));
    return h('section', {}, h('h2', {}, title, ' ', M.copy(text, () => shown)), shown);
  };

  const triage = one => {
    const said = M.triaged({oracle: one.kind, signature: one.signature, benign: M.rows.get(one.id)?.benign});
    if (!M.may() || !one.signature) return said.state === 'new' && !said.note ? M.may() ? null : M.hint('To take notes and to look again') : h('p', {}, h('span', {class: `state ${said.state}`}, said.state), ' ', said.note);
    const state = h('select', {name: 'state'}, ['new', 'confirmed', 'benign', 'known', 'reported'].map(name => h('option', {selected: name === said.state}, name)));
    const note = h('input', {name: 'note', value: said.note, placeholder: 'a note, an address of a bug', class: 'long', maxlength: 2000});
    return h('form', {class: 'filters', onsubmit: async event => {
      event.preventDefault();
      try {
        await M.ask('say', {kind: one.kind, signature: one.signature, state: state.value, note: note.value});
        await M.triage();
        M.say(`All findings of this kind are ${state.value} now.`);
      } catch (error) { M.say(error.message, true); }
    }}, h('label', {}, 'this kind is', state), h('label', {}, 'note', note), h('button', {}, 'Keep'));
  };

  const again = one => {
    if (!M.may()) return null;
    const builds = h('select', {multiple: true, size: 4, 'aria-label': 'Builds'}, M.config.builds.map(name => h('option', {}, name)));
    return h('details', {}, h('summary', {}, 'Look at it again in other builds'), h('p', {}, builds, ' ', M.button('Look', async button => {
      const chosen = [...builds.selectedOptions].map(option => option.value);
      if (!chosen.length) throw new Error('Choose a build.');
      M.say(`Looking in ${chosen.join(' and ')}…`);
      const told = await M.ask('recheck', {finding: one.id, builds: chosen});
      M.say(told.map(check => `${check.builds.join(' and ')}: ${check.verdict}`).join('; '));
      M.again();
    })));
  };

  const path = one => one.visited.length ? h('section', {}, h('h2', {}, 'Bisection'),
    h('ol', {class: 'path'}, one.visited.map(name => h('li', {class: name === one.step[1] ? 'culprit' : name === one.step[0] ? 'last-good' : ''},
      name, name === one.step[1] ? ' (changes here)' : name === one.step[0] ? ' (as before)' : '')))) : null;

  // In a report, a page under test is shown where nothing in it runs.
  const page = ([words, url]) => M.config.offline && words === 'reftest' ? h('span', {}, 'reftest: ', h('code', {}, url))
    : h('a', {href: M.config.offline && words !== 'operations' ? `viewer/page.html#../${url}` : url, target: '_blank', rel: 'noopener noreferrer'}, words);

  const command = one => {
    const shown = h('code', {}, one.command);
    return h('p', {}, shown, ' ', M.copy(one.command, () => shown));
  };
  const cell = words => /^https:\/\/\S+$/.test(words) ? h('a', {href: words, target: '_blank', rel: 'noopener noreferrer'}, words) : words;

  const neighbour = (id, step) => M.order[M.order.indexOf(id) + step];
  let current = 0;
  let seen = '';
  M.views.finding = {
    make: async id => {
      const [one] = await Promise.all([M.get(`finding/${id}`), M.findings()]);
      current = one.id;
      seen = JSON.stringify(one);
      M.pictureKey = null;
      if (!M.order.includes(one.id)) M.order = [...M.rows.values()].filter(row => row.run === one.run).sort(M.byImpact).map(row => row.id);
      const alike = [...M.rows.values()].filter(row => row.run === one.run && row.signature === one.signature && one.signature);
      const [before, after] = [neighbour(one.id, -1), neighbour(one.id, 1)];
      return [
        h('h1', {}, one.signature || 'Not looked into yet'),
        h('p', {}, M.anchor(one.run, 'run', one.run), `, page ${one.number}`,
          before ? [' · ', M.anchor('previous (k)', 'finding', before)] : null, after ? [' · ', M.anchor('next (j)', 'finding', after)] : null,
          alike.length > 1 ? [' · ', M.anchor(`${alike.length} of this kind`, 'findings', '', {run: one.run, signature: one.signature, each: '1'})] : null),
        triage(one), M.pictures(one),
        one.close_up ? h('figure', {class: 'close'}, h('img', {src: one.close_up, alt: 'close up', loading: 'lazy'}), h('figcaption', {}, 'Close up: both, and the difference')) : null,
        M.table([], one.facts),
        command(one), h('p', {}, one.pages.map((each, n) => [n ? ' · ' : '', page(each)])),
        one.html ? source('Page', one.html, one.causes) : null, one.update ? source('Operations', one.update, []) : null,
        one.before ? h('details', {}, h('summary', {}, `Before reduction (${M.number(one.before.length)} characters)`), source('Before', one.before, one.causes)) : null,
        one.cuts.length ? h('details', {}, h('summary', {}, `${one.cuts.length} steps of the reduction`), M.cuts(one.cuts)) : null,
        path(one), one.tables.map(table => h('section', {}, h('h2', {}, table.title), M.table(table.head, table.rows.map(row => row.map(cell))))),
        one.checks.length ? h('section', {}, h('h2', {}, 'Looked at again'), one.checks.map(check => h('div', {},
          h('p', {}, `${check.builds.join(' and ')}: `, h('b', {}, check.verdict), check.reason ? `, ${check.reason}` : ''),
          h('div', {class: 'side'}, check.pictures.map(([name, url]) => h('figure', {}, h('img', {src: url, alt: name, loading: 'lazy'}), h('figcaption', {}, name))))))) : null,
        again(one),
      ];
    },
    live: async said => {
      const shown = current;
      if (said || JSON.stringify(await M.get(`finding/${shown}`)) !== seen) if (shown === current) M.again();
    },
    key: key => {
      const step = {j: 1, k: -1}[key];
      const to = step && neighbour(current, step);
      if (to) { location.hash = M.link('finding', to); return true; }
      return M.pictureKey?.(key);
    },
  };
})();
