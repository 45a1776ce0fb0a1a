// Lines over time, drawn here.
'use strict';
M.chart = (title, points, names) => {
  // Each point is a time and a value for each name.
  const [width, height, left, bottom, top] = [480, 180, 48, 24, 8];
  const last = points.at(-1)?.[0] || 1;
  const most = Math.max(1, ...points.flatMap(point => point.slice(1)));
  const x = s => left + (width - left - 8) * s / last;
  const y = v => height - bottom - (height - bottom - top) * v / most;
  const line = n => points.map((point, i) => `${i ? 'L' : 'M'}${x(point[0]).toFixed(1)} ${y(point[n + 1]).toFixed(1)}`).join('');
  const tick = (at, words, facts) => M.h('svg:text', {...facts, ...at}, words);
  return M.h('figure', {class: 'chart'},
    M.h('svg:svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title},
      [0, .5, 1].map(part => [
        M.h('svg:path', {class: 'grid', d: `M${left} ${y(most * part)}H${width - 8}`}),
        tick({x: left - 6, y: y(most * part) + 4}, M.number(most * part), {'text-anchor': 'end'}),
        tick({x: x(last * part), y: height - 6}, M.time(last * part), {'text-anchor': part === 1 ? 'end' : part ? 'middle' : 'start'}),
      ]),
      names.map((name, n) => M.h('svg:path', {class: `line line-${n}`, d: line(n)}))),
    M.h('figcaption', {}, title, names.length > 1 ? names.map((name, n) => M.h('span', {class: `key key-${n}`}, name)) : null));
};

M.bars = counts => {
  const most = Math.max(1, ...counts.map(([, n]) => n));
  return M.h('div', {class: 'bars'}, counts.map(([words, n]) =>
    [M.h('span', {}, words), M.h('i', {style: {width: `${100 * n / most}%`}}), M.h('b', {}, M.number(n))]));
};
