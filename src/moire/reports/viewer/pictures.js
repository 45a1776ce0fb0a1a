// Two pictures or more, looked at in several ways.
'use strict';
M.pictures = one => {
  const {h} = M;
  if (!one.pictures.length) return h('p', {}, 'There are no pictures of this finding.');
  const urls = new Map(one.pictures);
  const names = [...urls.keys()];
  const first = one.differences[0] || [names[0], names[1] || names[0]];
  const state = {mode: 'Side by side', a: first[0], b: first[1], part: 50, flipped: false, outline: true};
  const modes = names.length > 1
    ? ['Side by side', 'Flip', 'Slider', 'Onion skin', 'Difference', ...(one.average ? ['Average'] : [])] : ['Side by side'];
  const place = h('div', {class: 'stage'});
  const glass = h('div', {class: 'glass', hidden: true});

  const boxes = () => state.outline ? one.boxes.map(([x, y, w, height]) => h('div', {class: 'box', 'aria-hidden': 'true',
    style: {'--x': x * one.scale, '--y': y * one.scale, '--w': w * one.scale, '--h': height * one.scale}})) : [];
  // Boxes are told in the picture's own pixels, and the picture may be shown smaller.
  const fit = frame => {
    const image = frame.querySelector('img');
    const set = () => frame.style.setProperty('--scale', image.clientWidth / (image.naturalWidth || 1));
    image.complete ? requestAnimationFrame(set) : image.addEventListener('load', set);
    return frame;
  };
  const resized = () => place.isConnected ? place.querySelectorAll('.frame').forEach(fit) : removeEventListener('resize', resized);
  addEventListener('resize', resized);

  const magnify = event => {
    const image = event.currentTarget.querySelector('img');
    const bounds = image.getBoundingClientRect();
    const [x, y] = [(event.clientX - bounds.left) / bounds.width, (event.clientY - bounds.top) / bounds.height];
    const [wide, high] = [image.naturalWidth * 8, image.naturalHeight * 8];
    glass.hidden = false;
    // What is under the pointer, and what it is compared with.
    const own = event.currentTarget.dataset.name;
    const others = state.mode === 'Side by side' ? names : [state.a, state.b];
    const seen = new Map([...(urls.has(own) ? [] : [[own, image.src]]), ...others.map(name => [name, urls.get(name)])]);
    glass.replaceChildren(...[...seen].slice(0, 4).map(([name, url]) => h('figure', {},
      h('div', {style: {'background-image': `url("${url}")`, 'background-size': `${wide}px ${high}px`,
        'background-position': `${96 - x * wide}px ${96 - y * high}px`}}), h('figcaption', {}, name))));
  };
  const frame = (name, url, more = {}) => fit(h('div', {class: 'frame', 'data-name': name, onpointermove: magnify,
    onpointerleave: () => { glass.hidden = true; }, ...more}, h('img', {src: url, alt: name}), boxes()));
  const named = (name, url, more) => h('figure', {}, frame(name, url, more), h('figcaption', {}, name));

  const draw = () => {
    const [a, b] = [urls.get(state.a), urls.get(state.b)];
    const over = style => {
      const made = frame(state.a, a, {class: 'frame over'});
      // Above the lower picture, and below the outline.
      made.querySelector('img').after(h('img', {src: b, alt: state.b, class: 'top', style}), h('div', {class: 'line', hidden: state.mode !== 'Slider'}));
      return made;
    };
    const range = words => h('label', {}, h('input', {type: 'range', min: 0, max: 100, value: state.part,
      oninput: event => { state.part = +event.target.value; top(); }}), words);
    const top = () => {
      const image = place.querySelector('.top');
      if (!image) return;
      if (state.mode === 'Slider') image.style.setProperty('clip-path', `inset(0 0 0 ${state.part}%)`);
      place.querySelector('.line').style.setProperty('left', `${state.part}%`);
      if (state.mode === 'Onion skin') image.style.setProperty('opacity', state.part / 100);
    };
    const made = {
      'Side by side': () => h('div', {class: 'side'}, one.pictures.map(([name, url]) => named(name, url))),
      'Flip': () => named(state.flipped ? state.b : state.a, state.flipped ? b : a, {onclick: () => flip(), title: 'Click to flip'}),
      'Slider': () => h('figure', {class: 'ranged'}, over({}), range(`${state.a} left of the line, ${state.b} right of it`)),
      'Onion skin': () => h('figure', {class: 'ranged'}, over({}), range(`from ${state.a} to ${state.b}`)),
      'Difference': () => {
        const found = one.differences.find(([x, y]) => [x, y].sort().join() === [state.a, state.b].sort().join());
        return found ? h('figure', {}, frame('difference', found[2]),
          h('figcaption', {}, 'A channel is off by at most ', h('span', {class: 'scale'}, '1', h('i', {}), '255')))
          : h('p', {}, `No difference of ${state.a} and ${state.b} was drawn.`);
      },
      'Average': () => named(`${names.join(' and ')} laid over each other`, one.average),
    }[state.mode]();
    place.replaceChildren(made);
    top();
    tabs.querySelectorAll('button').forEach(button => button.setAttribute('aria-pressed', button.textContent === state.mode));
  };
  const flip = () => { state.flipped = !state.flipped; draw(); };
  const choose = mode => { state.mode = mode; draw(); };
  const tabs = h('div', {class: 'tabs'},
    modes.map((mode, n) => h('button', {type: 'button', title: `${mode} (${n + 1})`, onclick: () => choose(mode)}, mode)),
    names.length > 2 ? ['a', 'b'].map(which => h('select', {'aria-label': 'Picture', onchange: event => { state[which] = event.target.value; draw(); }},
      names.map(name => h('option', {selected: name === state[which]}, name)))) : null,
    one.boxes.length ? h('label', {}, h('input', {type: 'checkbox', checked: true, onchange: event => { state.outline = event.target.checked; draw(); }}),
      ' outline the element') : null);
  draw();
  M.pictureKey = key => {
    if (key === 'f' && names.length > 1) { state.mode === 'Flip' ? flip() : choose('Flip'); return true; }
    if (modes[+key - 1]) { choose(modes[+key - 1]); return true; }
    return false;
  };
  return h('section', {class: 'pictures', 'aria-label': 'Pictures'}, tabs, place, glass);
};
