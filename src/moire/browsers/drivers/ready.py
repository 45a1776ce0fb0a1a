"""The scripts that say when a page is ready, the same for every engine.

Ready means: loaded, fonts in, laid out afresh, animations stilled, caret hidden, two frames drawn. Finite animations
are finished and endless ones held at their start, so that a picture does not depend on the clock.
"""

from __future__ import annotations

import json

from ...nouns import Environment

# A form named `readyState` hides the document's own: what is asked is asked of the prototype.
_ASK = """
  const ask = name => {
    const own = Object.getOwnPropertyDescriptor(Document.prototype, name);
    return own && own.get ? own.get.call(document) : undefined;
  };
  const animations = () =>
    Document.prototype.getAnimations ? Document.prototype.getAnimations.call(document) : [];
"""

_STILL = """
  for (const a of animations()) {
    try {
      const end = a.effect ? a.effect.getComputedTiming().endTime : 0;
      if (end === Infinity) { a.pause(); a.currentTime = 0; } else { a.finish(); }
    } catch (e) {}
  }
  const e = ask('activeElement');
  const blinks = e => e.isContentEditable || 'selectionStart' in e;
  if (e && blinks(e) && getComputedStyle(e).caretColor !== 'rgba(0, 0, 0, 0)') {
    const hide = 'caret-color: transparent !important';
    try {  // a sheet that no selector and no attribute of the page can see
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(`* { ${hide} }`);
      const root = e.getRootNode();
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    } catch (old) { e.style.cssText += ';' + hide; }
  }
"""

# A page that was busy while it came may have been laid out in parts, with whatever engines get wrong when more of it
# comes, and how busy it was is chance. What can tell no difference is laid out once more, as a whole.
_AFRESH = """
  const busy = 'script:not([type="text/plain"]), iframe, frame, object, embed, video, audio, canvas';
  const idle = !ask('activeElement') || ask('activeElement') === ask('body');
  const root = ask('documentElement');
  if (root && idle && !scrollX && !scrollY && !Document.prototype.querySelector.call(document, busy)) {
    try {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(':root { display: none !important }');
      const others = [...document.adoptedStyleSheets];
      document.adoptedStyleSheets = [...others, sheet];
      Element.prototype.getBoundingClientRect.call(root);
      document.adoptedStyleSheets = others;
    } catch (old) {}
  }
"""

# A reftest waits for a signal that it is drawn, and says by a class when it is done. It may be about what an engine
# gets wrong when something changes: it is not laid out afresh.
_REFTEST = """
  const waits = () => {
    const root = ask('documentElement');
    return root && (Element.prototype.getAttribute.call(root, 'class') || '').split(/\\s+/).includes('reftest-wait');
  };
  if (waits()) {
    for (let n = 0; n < 2; n++) await new Promise(done => requestAnimationFrame(done));
    ask('documentElement').dispatchEvent(new Event('TestRendered', {bubbles: true}));
    while (waits()) await new Promise(done => requestAnimationFrame(done));
  } else {
"""


# A frame that never comes (a hidden window, say) is a fault of the engine's and shows as `hung`.
# Where a web application is replayed, the page's own frames come when they are told to.
_FRAME = "await new Promise(done => (window[Symbol.for('moire.frame')] || requestAnimationFrame)(done));"
# What scripts brought may have to be loaded first. Whoever else holds events back does not hold this.
_LOADED = f"""
  if (ask('fonts')) await ask('fonts').ready;
  const loads = () => Array.prototype.some.call(ask('images') || [], i => !i.complete && i.loading !== 'lazy');
  while (loads()) {_FRAME}
"""
# What the first frame brings (autofocus, animations that start with it) is stilled before the two
# that the picture waits for.
_REST = f"{_FRAME} {_STILL} {_FRAME} {_FRAME} return true;"


def settle() -> str:
    """An expression whose promise ends when what scripts changed is on the screen, at rest."""
    return f"(async () => {{ {_ASK} {_LOADED} {_REST} }})()"


def _direction(environment: Environment) -> str:
    if environment.direction == "ltr":
        return ""
    # The page's own word goes before the environment's.
    return (
        "const r = ask('documentElement');"
        f"if (r && !r.hasAttribute('dir')) r.setAttribute('dir', {json.dumps(environment.direction)});"
    )


def frame() -> str:
    """An expression whose promise ends when what scripts changed is on the screen, whatever still moves."""
    return f"(async () => {{ {_FRAME} {_FRAME} return true; }})()"


def ready(environment: Environment, *, afresh: bool = True) -> str:
    """An expression whose promise ends when the page that is there now is ready, or says itself that it is."""
    return (
        f"(async () => {{ {_ASK}"
        "if (ask('readyState') !== 'complete')"
        " await new Promise(done => addEventListener('load', done, {once: true}));"
        f"{_direction(environment)}"
        "if (ask('fonts')) await ask('fonts').ready;"
        f"{f'{_REFTEST} {_AFRESH} }}' if afresh else ''} {_REST} }})()"
    )


def at_rest(environment: Environment, *, afresh: bool = False) -> str:
    """True when a page that is there needs no wait at all; the picture taken right after is final."""
    return (
        f"(() => {{ {_ASK} {_direction(environment)} {_AFRESH if afresh else ''}"
        "return ask('readyState') === 'complete'"
        " && (!ask('fonts') || ask('fonts').status === 'loaded')"
        " && (!ask('activeElement') || ask('activeElement') === ask('body'))"
        " && Array.prototype.every.call(ask('images'), i => i.complete)"
        " && animations().length === 0 })()"
    )
