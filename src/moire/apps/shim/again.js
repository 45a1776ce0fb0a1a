// The same again, and waiting for a page to come to rest.

const NOTHING = { drawn: {}, registered: {}, errors: [] };
const missing = (event, kind) => {
  const [of, n] = event.of;
  const wanted = ((recorded[of] || NOTHING).registered[kind] || [])[n];
  const entry = table[`${of} ${kind} ${n}`];
  return { of, wanted, entry, fits: entry && entry.words === wanted };
};
const PATIENCE = 1000;
const until = async done => {
  const end = clock() + PATIENCE;
  while (!done() && clock() < end) {
    await new native.Promise(go => { arrivals.push(go); wait(Math.max(0, end - clock()), go); });
  }
  return done();
};
const begun = new Set();
const replayed = async event => {
  begun.add(event.id);
  if (event.kind === 'act') { now = event.id; await act(event); return; }
  if (event.passing) {
    const mine = (brief.comes[event.key] || []).indexOf(event.id);
    if (!await until(() => (passed.get(event.key) || 0) > mine)) { now = event.id; differ('missing', `${event.key} did not come`); }
    return;
  }
  if (event.kind === 'come') {
    const there = await until(() => queue(event.key).length);
    now = event.id;
    if (!there) { differ('missing', `${event.key} did not come`); return; }
    queue(event.key).shift()();
    return;
  }
  const { kind } = event;
  let { of, wanted, entry, fits } = missing(event, kind);
  if (!entry) {
    await until(() => table[`${of} ${kind} ${event.of[1]}`]);
    ({ entry, fits } = missing(event, kind));
  }
  now = event.id;
  if (!fits) {
    differ(kind, entry ? `${wanted} is expected, and ${entry.words} is there` : `${wanted} was never asked for`);
    const list = (locals[of] || NOTHING).registered[kind] || [];
    const others = list.map((_, n) => table[`${of} ${kind} ${n}`]);
    entry = others.find(one => one && one.words === wanted && !one.done && !one.gone);
    if (!entry) return;
  }
  if (entry.gone) { differ(kind, `${entry.words} was called off`); return; }
  entry.done = true;
  entry.at = event.id;
  if (kind === 'timer' || kind === 'frame' || kind === 'idle') handles.delete(entry.handle);
  const done = safely(entry.run, window, [event.data]);
  if (kind === 'script' || kind === 'later') await native.Promise.race([done, new native.Promise(go => wait(SCRIPT_SECONDS * 1000, go))]);
};
const replay = async events => {
  for (const event of events) {
    try { await replayed(event); } catch (error) { (window.reportError || report)(error); }
    // What promises lead to comes before the next event.
    await macrotasks();
  }
  await until(() => !stored);
  return differences.splice(0);
};
// What an event left over, or asked for besides.
const leftovers = () => {
  for (const of of new Set([...Object.keys(recorded), ...Object.keys(locals)])) {
    // What was not reached has asked for nothing.
    if (ambient(of) || (/^\d+\.[1-9]\d*$/.test(of) && !begun.has(of))) continue;
    const before = recorded[of] || NOTHING, after = locals[of] || NOTHING;
    now = of;
    for (const kind of Object.keys(before.drawn)) {
      const left = before.drawn[kind].length - (after.drawn[kind] || 0);
      if (left > 0) differ('unused', `${kind}: ${left} of ${before.drawn[kind].length} were not asked for`);
    }
    const kinds = new Set([...Object.keys(before.registered), ...Object.keys(after.registered)]);
    for (const kind of kinds) {
      const first = before.registered[kind] || [], second = after.registered[kind] || [];
      const n = Math.max(first.length, second.length);
      for (let k = 0; k < n; k++) if (first[k] !== second[k]) {
        differ('registered', `${kind}: ${first[k] === undefined ? 'nothing' : first[k]} is expected, and ${second[k] === undefined ? 'nothing' : second[k]} is there`);
        break;
      }
    }
    if (before.errors.length !== after.errors.length) {
      differ('error', after.errors.length > before.errors.length ? after.errors[before.errors.length] : `not there: ${before.errors[after.errors.length]}`);
    }
  }
  return differences.splice(0);
};

const quiet = async patience => {
  const end = clock() + patience;
  const restless = () => {
    if (!loaded || busy.requests || stored || clock() < busy.leaving) return true;
    for (const one of busy.timers.values()) if (one.again ? !one.fired && one.due <= end : one.due <= end) return true;
    return (document.getAnimations ? document.getAnimations() : []).some(one => {
      try { return one.playState === 'running' && one.effect.getComputedTiming().endTime <= patience; } catch (e) { return false; }
    });
  };
  const frames = () => new native.Promise(done => native.requestAnimationFrame.call(window, () => native.requestAnimationFrame.call(window, done)));
  await frames();
  while (clock() < end && restless()) {
    await new native.Promise(done => { watchers.push(done); wait(Math.min(100, Math.max(0, end - clock())), done); });
    await frames();
  }
  return true;
};
