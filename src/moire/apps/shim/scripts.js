// Scripts that a page brings in once it has loaded: each is an event, from its file's first line to its `load`.

// For one to be fetched and run.
const SCRIPT_SECONDS = 5;
const scripted = (element, address, set) => {
  const text = String(address);
  const runs = !element.type || /javascript|module/.test(element.type);
  if (loading || !runs || !text) { set(address); return; }
  let begun = false, came;
  const coming = new native.Promise(done => { came = done; });
  const entry = register('script', whole(window, text), started => {
    if (started !== true) {
      set(text);
      return native.Promise.race([coming, new native.Promise(done => wait(SCRIPT_SECONDS * 1000, done))]);
    }
    // It is told that it runs.
    if (!live && entry.at) now = entry.at;
    if (live && !begun) { begun = true; begin({ kind: 'script', of: [entry.of, entry.id] }); wait(0, changed); }
  });
  entry.came = came;
  scripts.set(element, entry);
  if (live) set(text);
};
const bringing = on => {
  const kind = on.HTMLScriptElement.prototype;
  const src = Object.getOwnPropertyDescriptor(kind, 'src');
  Object.defineProperty(kind, 'src', {
    configurable: true, enumerable: true, get() { return src.get.call(this); },
    set(address) { scripted(this, address, text => src.set.call(this, text)); },
  });
  if ('integrity' in kind) Object.defineProperty(kind, 'integrity', { configurable: true, enumerable: true, get: () => '', set() {} });
  const attribute = on.Element.prototype.setAttribute;
  define(kind, 'setAttribute', function (key, value) {
    // Modules are not what they were, to the byte.
    if (String(key).toLowerCase() === 'integrity') return;
    if (String(key).toLowerCase() === 'src') scripted(this, value, text => attribute.call(this, 'src', text));
    else attribute.call(this, key, value);
  });
};
