"""The guilty stage, on a Chromium that a shim makes differ at one stage and no other."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moire.browsers import names
from moire.browsers.lab import Lab
from moire.inspect.stage import Look, Staged, painted, path, staged
from moire.nouns import Build, Case, Dump, DumpNode
from moire.triage.stage import stage

SHIM = Path(__file__).parents[1] / "bench" / "shim.py"
PAGE = Case(
    b"<!DOCTYPE html><style>p { font-family: serif; color: navy }</style>"
    b"<p id=a>one <b>two</b></p><ul><li>three</li><li>four</li></ul>"
)


def shimmed(real: Build, method: str, params: dict[str, Any]) -> Build:
    told = json.dumps(
        {"program": str(real.path), "calls": [("Page.enable", {}), ("Runtime.enable", {}), (method, params)]}
    )
    return replace(real, name="shimmed", path=SHIM, environ={"MOIRE_SHIM": told}, source="path")


def scripted(code: str) -> tuple[str, dict[str, Any]]:
    source = f"document.addEventListener('DOMContentLoaded', () => {{ {code} }});"
    return "Page.addScriptToEvaluateOnNewDocument", {"source": source}


SHEET = "const s = new CSSStyleSheet(); s.replaceSync('{}'); document.adoptedStyleSheets = [s];"


@pytest.mark.parametrize(
    ("wanted", "call", "told"),
    [
        ("dom", scripted("a.append(' more')"), "more"),
        ("style", scripted(SHEET.format("li { color: red }")), "rgb(255, 0, 0)"),
        # The computed width is that of the box, whatever made it so.
        ("style", scripted(SHEET.format("ul { width: 100px }")), "not declared"),
        ("layout", ("Page.setFontFamilies", {"fontFamilies": {"serif": "DejaVu Sans Mono"}}), "×"),
        ("paint", ("Emulation.setEmulatedVisionDeficiency", {"type": "achromatopsia"}), ""),
        ("undecided", scripted("window.nothing = true"), ""),
    ],
)
async def test_the_stage_that_was_changed_is_named(
    chromium: Build, wanted: str, call: tuple[str, dict[str, Any]], told: str
) -> None:
    other = shimmed(chromium, *call)
    async with Lab([chromium, other]) as lab:
        found = await stage(lab, chromium, other, PAGE)
    assert isinstance(found, Staged) and found.stage == wanted
    assert told in " ".join(f"{one.a} {one.b}" for one in found.differences)


def _dump(*nodes: DumpNode) -> Look:
    return Look(Dump((DumpNode(-1, "document", "#document"), *nodes), quirks=False))


def test_paint_is_never_the_answer_where_nothing_differs() -> None:
    one = _dump(DumpNode(0, "element", "html"))
    assert staged(one, one, None) == Staged("undecided", "", ())
    quirky = Look(replace(one.dump, quirks=True))
    assert staged(one, quirky, None).stage == "dom"


def test_nodes_are_named_as_selectors_and_paint_in_words_that_versions_share() -> None:
    dump = _dump(
        DumpNode(0, "element", "html"), DumpNode(1, "element", "body"), DumpNode(2, "element", "p"),
        DumpNode(2, "element", "p"), DumpNode(4, "text", "#text", "x"),
        DumpNode(2, "element", "b", attributes=(("id", "a"),)),
    ).dump  # fmt: skip
    assert path(dump, 4) == "body > p:nth-of-type(2)" and path(dump, 5) == "body > p:nth-of-type(2) text"
    assert path(dump, 6) == "b#a"
    layer = {
        "layerId": "7", "width": 9, "height": 9, "offsetX": 0, "offsetY": 0, "reasons": ["RootScroller"],
        "commands": [
            {"method": "drawRect", "params": {"rect": {"left": 0.001}, "paint": {"color": "#F00", "flags": "x"}}}
        ],
    }  # fmt: skip
    other = {**layer, "layerId": "12", "reasons": ["rootScroller"]}
    assert (
        painted([layer])
        == painted([other])
        == ["layer 9×9 at [0, 0] rootScroller", '  drawRect {"color": "#F00", "rect": {"left": 0.0}}']
    )


def test_stage_says_it_in_words_and_json(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><style>div { & p { color: red } }</style><div><p>x</div>")
    moire = [sys.executable, "-m", "moire.cli", "stage", str(page)]
    said = subprocess.run(
        [*moire, "chromium@108", "chromium@156", "--json"], capture_output=True, text=True, timeout=120
    )
    row = json.loads(said.stdout)
    assert row["stage"] == "style" and any(one["property"] == "color" for one in row["differences"])
    assert {"node", "property", "a", "b"} == set(row["differences"][0])
    wrong = subprocess.run([*moire, "chromium@108", "cmd:true"], capture_output=True, text=True, timeout=120)
    assert wrong.returncode == 2 and "only makes pictures" in wrong.stderr


MOTION = "@media (prefers-reduced-motion) {{ {} }}"


@pytest.mark.parametrize(
    ("wanted", "page"),
    [
        # The window shows what lies far down in the page.
        (
            "layout",
            "<style>body { height: 5000px } p { margin: 2000px 0 0; width: 90px; height: 90px; background: navy }"
            + MOTION.format("p { width: 50px }")
            + "</style><p></p><script>scrollTo(0, 1900)</script>",
        ),
        # What is drawn outside of a box comes from where the box is.
        (
            "layout",
            "<style>p { width: max-content; height: 9px; box-shadow: 300px 200px navy } i { display: inline-block }"
            + MOTION.format("i { padding-left: 50px }")
            + "</style><p><i style='visibility: hidden; height: 5px'></i></p>",
        ),
        # Nobody looks into frames.
        (
            "undecided",
            "<style>iframe { border: 0 }</style><iframe srcdoc='<style>p { height: 50px; background: navy }"
            + MOTION.format("p { background: red }")
            + "</style><p></p>'></iframe>",
        ),
    ],
)
async def test_what_only_seems_to_be_paint_is_not_called_so(chromium: Build, wanted: str, page: str) -> None:
    other = names.resolve("chromium@156?flags=--force-prefers-reduced-motion")
    async with Lab([chromium, other]) as lab:
        found = await stage(lab, chromium, other, Case(f"<!DOCTYPE html>{page}".encode()))
    assert isinstance(found, Staged) and found.stage == wanted, found
