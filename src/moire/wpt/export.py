"""A finding of the update hunt as a reftest: a page that changes once it is drawn, and one that changes before."""

from __future__ import annotations

import html
from dataclasses import dataclass

from ..nouns import Case, UsageError
from ..pages.update import script


@dataclass(frozen=True, slots=True)
class Reftest:
    """Two files by name: the test, and the reference it must look like."""

    test: tuple[str, bytes]
    reference: tuple[str, bytes]


# Each operation in a frame of its own, once the page is drawn: the harness says so by an event; where there is no
# harness, three frames after the load do. The class says when the picture may be taken.
_LATER = """\
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const root = document.documentElement;
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


def reftest(case: Case, name: str, about: str = "") -> Reftest:
    """The pages differ in when their operations run, and in nothing else: what a reftest needs besides takes itself
    out before anything is drawn."""
    for one in case.update:
        if one.op in ("resize", "script"):
            raise UsageError(f"An update with {one.op!r} cannot be a reftest.", "Use the command that reproduces it.")
    reference = f"{name}-ref.html"
    statements = [script.statement(one) for one in case.update]
    later = "\n".join(f"    {one};\n    await frame(); await frame();" for one in statements)
    now = "".join(f"  {one};\n" for one in statements)
    link = f'<link rel="match" href="{html.escape(reference)}">'
    return Reftest(
        (f"{name}.html", script.ended(case, _markup(case, link, about, _LATER.format(operations=later)))),
        (reference, script.ended(case, _markup(case, "", about, now))),
    )


def _markup(case: Case, link: str, about: str, when: str) -> str:
    note = f"// {' '.join(about.split())}\n".replace("<", "\\x3c") if about else ""
    own = "  const own = document.currentScript;\n"
    own += "  document.querySelector('link[rel=match]').remove();\n" if link else ""
    prepared = script.prepared(case.update)
    still = f"  {prepared};\n" if prepared else ""
    return f"{link}<script>\n{note}{{\n{own}  own.remove();\n{still}{when}}}\n</script>\n"
