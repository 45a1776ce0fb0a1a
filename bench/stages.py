"""The stage verdict on pages that a shim round Chromium changes at one stage of the pipeline, and at no other."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from moire.browsers.lab import Lab
from moire.inspect.stage import Staged
from moire.nouns import Build, Case
from moire.triage.stage import stage

from .common import Row, build, row

Call = tuple[str, dict[str, Any]]
SHIM = Path(__file__).with_name("shim.py")
BUILDS = ("chromium@108", "chromium@156")
PAGE = b"""<!DOCTYPE html><meta charset=utf-8><style>
 body { margin: 8px } #a { color: navy; background: silver; padding: 4px } #b { border: 2px solid olive }
 #c { font-family: serif } #d { font-family: sans-serif } #e { font-family: monospace } #f { font-family: cursive }
 #g { font-family: fantasy } #h { font-family: math } #j { overflow: scroll; height: 40px }
</style><div id=a>one <b>two</b> three</div><p id=b title=x>four five</p>
<ul><li id=c>six seven</li><li id=d>eight</li></ul><p id=e>nine ten</p><p id=f>eleven</p><p id=g>twelve</p>
<p id=h>thirteen</p><div id=j><p>fifteen</p><p>sixteen</p></div><p>seventeen</p>"""


def scripted(code: str) -> Call:
    """Once the document is there and before it is drawn."""
    whole = f"document.addEventListener('DOMContentLoaded', () => {{ {code} }});"
    return "Page.addScriptToEvaluateOnNewDocument", {"source": whole}


def styled(rule: str) -> Call:
    """In a sheet that is no part of the tree."""
    sheet = f"const s = new CSSStyleSheet(); s.replaceSync({json.dumps(rule)}); document.adoptedStyleSheets = [s];"
    return scripted(sheet)


# Another family for what pages call by a generic name: the style stays, the letters do not.
FAMILIES = ("standard", "serif", "sansSerif", "fixed", "cursive", "fantasy", "math")
OTHER = {"fixed": "DejaVu Serif"}
SHIMS: dict[str, list[Call]] = {
    "dom": [
        scripted("a.remove()"), scripted("b.title = 'y'; b.append(' more')"), scripted("a.prepend('zero ')"),
        scripted("c.replaceWith('text')"), scripted("a.before(b)"), scripted("document.body.append(new Image(9, 9))"),
        scripted("d.innerHTML = '<i>eight</i>'"), scripted("e.firstChild.data = 'ten nine'"),
        scripted("a.className = 'k'; a.innerHTML += '!'"), scripted("b.replaceChildren(...a.childNodes)"),
    ],
    "style": [
        styled("#a { color: red }"), styled("#b { background: yellow }"), styled("li { opacity: 0.5 }"),
        styled("p { text-decoration: underline }"), styled("#e { visibility: hidden }"),
        styled("b { font-weight: 400 }"),
        styled("#a { box-shadow: 2px 2px red }"), styled("p { width: 100px }"), styled("ul { list-style: none }"),
        ("Page.setFontSizes", {"fontSizes": {"standard": 20}}),
    ],
    "layout": [
        *(("Page.setFontFamilies", {"fontFamilies": {name: OTHER.get(name, "DejaVu Sans Mono")}}) for name in FAMILIES),
        ("Page.setFontFamilies", {"fontFamilies": {"serif": "DejaVu Sans"}}),
        ("Page.setFontFamilies", {"fontFamilies": {"sansSerif": "DejaVu Serif"}}),
    ],
    "paint": [
        *(("Emulation.setEmulatedVisionDeficiency", {"type": kind})
          for kind in ("blurredVision", "achromatopsia", "deuteranopia", "protanopia", "tritanopia")),
        ("Emulation.setDefaultBackgroundColorOverride", {"color": {"r": 250, "g": 240, "b": 200, "a": 1}}),
        ("Emulation.setAutoDarkModeOverride", {"enabled": True}),
    ],
}  # fmt: skip


def shimmed(real: Build, call: Call) -> Build:
    told = json.dumps({"program": str(real.path), "calls": [("Page.enable", {}), ("Runtime.enable", {}), call]})
    environ = {**real.environ, "MOIRE_SHIM": told}
    return replace(real, name=f"{real.name} shimmed", path=SHIM, environ=environ, source="path")


async def pairs() -> list[tuple[str, str, str, str]]:
    """The stage that was changed, by what, and the verdict with its evidence."""
    found = []
    for name in BUILDS:
        real = build(name)
        for wanted, calls in SHIMS.items():
            for call in calls:
                other = shimmed(real, call)
                async with Lab([real, other]) as lab:
                    verdict = await stage(lab, real, other, Case(PAGE))
                words = (verdict.stage, verdict.evidence) if isinstance(verdict, Staged) else ("failed", verdict.reason)
                found.append((wanted, f"{name} {call[0]} {json.dumps(call[1])}", *words))
    return found


def run() -> list[Row]:
    found = asyncio.run(pairs())
    # A change that shows nowhere is no pair.
    shown = [one for one in found if one[2] != "undecided"]
    right = [one for one in shown if one[0] == one[2]]
    for one in found:
        if one not in right:
            print(*one, flush=True)
    wrongly = [one for one in shown if one[2] == "paint" and one[0] != "paint"]
    kinds = Counter(one[0] for one in shown)
    evidence = Counter(one[3] for one in right if one[0] == "paint")
    return [
        row("stage verdicts that are right", len(right) / len(shown), "0.95", pairs=len(shown), **kinds, **evidence),
        row("stage verdicts that are wrongly paint", len(wrongly), "0"),
    ]
