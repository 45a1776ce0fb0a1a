"""How reports look, and what moves in them."""

STYLE = """
:root { color-scheme: light dark; --line: #ccc; --soft: #555; --back: #fafafa; --code: #eee; --bar: #2563a8 }
@media (prefers-color-scheme: dark) {
  :root { --line: #444; --soft: #aaa; --back: #1c1c1e; --code: #2c2c2e; --bar: #7ab } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1400px; padding: 1rem; background: var(--back) }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem } h3 { font-size: 1rem; margin: 1rem 0 .3rem }
table { border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
.shots { display: grid; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); gap: .75rem }
figure { margin: 0 } figcaption { font-size: .85rem; color: var(--soft) }
img { width: 100%; border: 1px solid var(--line); background: #fff; box-sizing: border-box }
.close { grid-column: 1 / -1 } .close img { width: auto; max-width: 100%; image-rendering: pixelated }
.flip { position: relative; cursor: pointer } .flip img + img { position: absolute; inset: 0; opacity: 0 }
.flip.on img + img { opacity: 1 } .flip:focus-visible { outline: 3px solid var(--bar) }
code, pre { background: var(--code); padding: .1rem .3rem; overflow-wrap: anywhere }
pre { padding: .6rem; white-space: pre-wrap; max-height: 24rem; overflow: auto }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: .75rem }
.wide { overflow: auto; max-height: 30rem } svg { max-width: 100%; height: auto }
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: .15rem .6rem; max-width: 40rem }
.bars i { background: var(--bar); height: 1em; align-self: center }
"""

# A picture shows the other one while it is pressed, or until it is chosen again.
SCRIPT = """
for (const one of document.querySelectorAll('.flip')) {
  const turn = () => {
    const on = one.classList.toggle('on');
    one.nextElementSibling.textContent = one.dataset[on ? 'second' : 'first'] + ' (click to flip)';
  };
  one.addEventListener('click', turn);
  one.addEventListener('keydown', e => { if (e.key === ' ' || e.key === 'Enter') { e.preventDefault(); turn(); } });
}
"""
