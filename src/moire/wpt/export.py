"""A finding of the update hunt as a reftest: a page that changes once it is drawn, and one that changes before."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace

from ..nouns import Case, Operation, UsageError
from ..pages.update import script


@dataclass(frozen=True, slots=True)
class Reftest:
    """Two files by name: the test, and the reference it must look like."""

    test: tuple[str, bytes]
    reference: tuple[str, bytes]


_INSTEAD = "Use the command that reproduces it."
# Each operation in a frame of its own, once the page is drawn: the harness says so by an event; where there is no
# harness, three frames after the load do. The class says when the picture may be taken.
_LATER = """\
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const root = {document}.documentElement;
  root.classList.add("reftest-wait");
  const rendered = new Promise(done => {{
    root.addEventListener("TestRendered", done, {{once: true}});
    addEventListener("load", async () => {{ for (let n = 0; n < 3; n++) await frame(); done(); }}, {{once: true}});
  }});
  rendered.then(async () => {{
{operations}
    root.classList.remove("reftest-wait");
    if (!root.className) root.removeAttribute("class");
  }});
"""
# No page can change its window's size; that of the frame it is in, it can. Nothing round the frame can be scrolled.
_FRAME = """\
<!DOCTYPE html>
<meta charset=utf-8>
{link}<style>
  div {{ position: fixed; inset: 0; overflow: hidden; overflow: clip }}
  iframe {{ border: 0; display: block }}
</style>
<div><iframe style="width: {width}px; height: {height}px" srcdoc="{page}"></iframe></div>
"""


def reftest(case: Case, name: str, about: str = "") -> Reftest:
    """The pages differ in when their operations run, and in nothing else: what a reftest needs besides takes itself
    out before anything is drawn. Where the window is resized, the pages are in frames, which are."""
    if any(one.op == "script" for one in case.update):
        raise UsageError("An update with 'script' cannot be a reftest.", _INSTEAD)
    framed = any(one.op == "resize" for one in case.update)
    reference = f"{name}-ref.html"
    link = f'<link rel="match" href="{html.escape(reference)}">'
    later = "\n".join(f"    {_statement(one)};\n    await frame(); await frame();" for one in case.update)
    later = _LATER.format(operations=later, document="parent.document" if framed else "document")
    now = "".join(f"  {script.statement(one)};\n" for one in case.update if one.op != "resize")
    if not framed:
        test = script.ended(case, _markup(case, link, about, later))
        return Reftest((f"{name}.html", test), (reference, script.ended(case, _markup(case, "", about, now))))
    test = _framed(case, _markup(case, "", about, later), f"{link}\n")
    changed = replace(case, environment=script.final(case.environment, case.update))
    return Reftest((f"{name}.html", test), (reference, _framed(changed, _markup(case, "", about, now))))


def _statement(one: Operation) -> str:
    if one.op != "resize":
        return script.statement(one)
    return f'frameElement.style.cssText = "width: {one["width"]}px; height: {one["height"]}px"'


def _framed(case: Case, markup: str, link: str = "") -> bytes:
    try:
        page = script.ended(case, markup).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("A page that is not in UTF-8 cannot be framed.", _INSTEAD) from None
    size = {"width": case.environment.width, "height": case.environment.height}
    return _FRAME.format(link=link, page=page.replace("&", "&amp;").replace(chr(34), "&quot;"), **size).encode()


def _markup(case: Case, link: str, about: str, when: str) -> str:
    note = f"// {' '.join(about.split())}\n".replace("<", "\\x3c") if about else ""
    own = "  const own = document.currentScript;\n"
    own += "  document.querySelector('link[rel=match]').remove();\n" if link else ""
    prepared = script.prepared(case.update)
    still = f"  {prepared};\n" if prepared else ""
    return f"{link}<script>\n{note}{{\n{own}  own.remove();\n{still}{when}}}\n</script>\n"
