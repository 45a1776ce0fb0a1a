// What all views use: elements, data, the address, and what the server is asked to do.
'use strict';
const M = {config: {}, views: {}, rows: new Map(), said: new Map()};

// Elements. Text is only ever text: nothing that a page under test says becomes markup.
M.h = (name, facts = {}, ...inside) => {
  const node = name.startsWith('svg:') ? document.createElementNS('http://www.w3.org/2000/svg', name.slice(4))
    : document.createElement(name);
  for (const [key, value] of Object.entries(facts)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'style') for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...inside.flat(Infinity).filter(one => one !== null && one !== undefined && one !== false));
  return node;
};

// What is not there is left out.
M.put = (place, ...inside) => place.replaceChildren(...inside.flat(Infinity).filter(one => one !== null && one !== undefined && one !== false));

M.table = (head, rows, facts = {}) => M.h('div', {class: 'wide'}, M.h('table', facts,
  head.length ? M.h('thead', {}, M.h('tr', {}, head.map(cell => M.h('th', {scope: 'col'}, cell)))) : null,
  M.h('tbody', {}, rows.map(row => M.h('tr', {}, row.map((cell, n) =>
    M.h(n || head.length ? 'td' : 'th', {}, cell instanceof Node ? cell : String(cell))))))));

// Of a long list, the first; the rest when asked for.
M.long = (list, make, first = 100, what = '') => {
  const place = M.h('div', {}, make(list.slice(0, first)));
  if (list.length > first) place.append(M.h('button', {type: 'button', onclick: () => place.replaceChildren(make(list))}, `All ${M.number(list.length)} ${what}`));
  return place;
};

M.number = n => Number(n).toLocaleString('en', {maximumFractionDigits: n < 10 ? 2 : 0});
M.time = s => s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
M.most = counts => [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
M.count = names => names.reduce((all, name) => all.set(name, (all.get(name) || 0) + 1), new Map());

// Data: a live page fetches it, a report has it in scripts beside it, which may be opened from a disk.
const waiting = new Map();
M.arrived = (name, value) => waiting.get(name)?.(value);
M.get = (name, query = '') => {
  if (!M.config.offline) {
    return fetch(`data/${name}.json${query}`).then(async answer => {
      if (!answer.ok) throw new Error(await answer.text());
      return answer.json();
    });
  }
  return new Promise((done, failed) => {
    waiting.set(name, done);
    const script = M.h('script', {src: `data/${name}.js`, onerror: () => failed(new Error(`${name} is not here.`))});
    script.addEventListener('load', () => script.remove());
    document.head.append(script);
  });
};

// Findings as lists have them: all once, then what changed.
let known = 0;
M.findings = async () => {
  const {rows, changed} = await M.get('findings', `?since=${known}`);
  if (M.config.offline && M.rows.size) return false;
  take(rows);
  M.whole = true;
  known = M.config.offline ? 0 : Math.max(known, changed);
  return rows.length > 0;
};
// Whether all are there; if not, the most visible can be had sooner.
M.whole = false;
M.first = async run => take((await M.get('first', `?run=${encodeURIComponent(run)}`)).rows);
const take = rows => {
  for (const {brief, ...row} of rows) {
    const {features, ...facts} = brief;
    M.rows.set(row.id, {...row, ...facts, kind: row.kind, state: row.state, tags: (features?.tags || []).map(one => one[0]),
      attributes: features?.attributes || [], styled: features?.styled || [], declared: (features?.properties || []).map(one => one[0])});
  }
};
M.picture = blob => M.config.offline ? M.config.pictures[blob] : `${M.config.content}/picture/${blob}`;
M.triage = async () => {
  const found = await M.get('triage');
  const changed = JSON.stringify(found) !== JSON.stringify([...M.said.values()]);
  M.said = new Map(found.map(one => [`${one.kind} ${one.signature}`, one]));
  return changed;
};
M.triaged = row => M.said.get(`${row.oracle} ${row.signature}`) || {state: row.benign ? 'benign' : 'new', note: ''};

// Whoever opened the page by the address that the server printed may change things.
// All tabs may, until the server ends: the next one has another token.
const token = /[#&]token=([\w-]+)/.exec(location.hash)?.[1];
if (token) {
  localStorage.setItem('token', token);
  history.replaceState(null, '', location.hash.replace(/&?token=[\w-]+/, '').replace(/^#$/, '') || '#/');
}
M.may = () => !M.config.offline && localStorage.getItem('token');
M.hint = words => M.config.offline ? null : M.h('p', {class: 'soft'}, `${words}, open the address that `, M.h('code', {}, 'moire serve'), ' printed.');
M.ask = async (what, facts) => {
  const answer = await fetch(what, {
    method: 'POST', body: JSON.stringify(facts),
    headers: {'Content-Type': 'application/json', 'X-Moire-Token': localStorage.getItem('token') || ''},
  });
  const words = await answer.text();
  if (!answer.ok) throw new Error(words);
  return words ? JSON.parse(words) : null;
};
M.say = (words, wrong = false) => {
  const place = document.getElementById('said');
  place.textContent = words;
  place.className = wrong ? 'wrong' : '';
};
M.button = (words, work, facts = {}) => M.h('button', {type: 'button', ...facts, onclick: async event => {
  const button = event.currentTarget;
  button.disabled = true;
  try { await work(button); } catch (error) { M.say(error.message, true); } finally { button.disabled = false; }
}}, words);

// Where nobody may write to the clipboard, what is to be copied is selected.
M.copy = (text, place) => M.button('Copy', async button => {
  try {
    await navigator.clipboard.writeText(text);
    M.say('');
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(place());
    M.say('It is selected: press Ctrl+C.');
  }
});

// What is drawn anew keeps what people have opened, and the focus stays on what it was on.
const key = node => node.getAttribute('href') || node.getAttribute('name') || node.textContent.trim();
const about = details => details.querySelector('summary')?.textContent.replace(/[\d,.]+/g, '');
M.redraw = (place, ...inside) => {
  const open = new Set([...place.querySelectorAll('details[open]')].map(about));
  const held = place !== document.activeElement && place.contains(document.activeElement) ? document.activeElement : null;
  const [name, same] = held ? [held.tagName, key(held)] : ['', ''];
  const top = scrollY;
  M.put(place, inside);
  place.querySelectorAll('details').forEach(one => { if (open.has(about(one))) one.open = true; });
  if (held) [...place.querySelectorAll(name)].find(one => key(one) === same)?.focus({preventScroll: true});
  scrollTo(0, top);
};
// What people are about to press, to fill in or to copy is not taken from under their hands.
let pressed = false;
addEventListener('pointerdown', () => { pressed = true; });
addEventListener('pointerup', () => { setTimeout(() => { pressed = false; }); });
addEventListener('pointercancel', () => { pressed = false; });
M.busy = place => pressed || !getSelection().isCollapsed
  || (place.contains(document.activeElement) && /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName));

// The address: #/view/what?name=value
M.at = () => {
  const [path, query] = location.hash.slice(1).split('?');
  const [view = '', ...what] = path.split('/').filter(Boolean);
  const plain = word => { try { return decodeURIComponent(word); } catch { return word; } };
  return {view, what: what.map(plain).join('/'), query: new URLSearchParams(query || '')};
};
// The same, with what is shown where the address says nothing.
M.where = () => {
  const at = M.at();
  return {...at, view: at.view || (M.config.offline ? 'run' : 'runs'), what: at.what || (M.config.offline ? M.config.run : '')};
};
M.link = (view, what = '', query = {}) => {
  const words = new URLSearchParams(Object.entries(query).filter(([name, value]) => value || (name === 'signature' && value === ''))).toString();
  return `#/${view}${what === '' ? '' : `/${encodeURIComponent(what)}`}${words ? `?${words}` : ''}`;
};
M.anchor = (words, ...where) => M.h('a', {href: M.link(...where)}, words);
