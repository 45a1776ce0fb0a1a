"""The dump: what each engine says a page is."""

from __future__ import annotations

import pytest

from moire import inspect
from moire.browsers.lab import Lab, LabOptions, Visit
from moire.nouns import Build, Case, Dump, DumpNode

ENGINES = ["chromium@156", "chromium@108", "firefox@153", "webkit@2.50"]
PAGE = b"""<!DOCTYPE html><title>t</title>
<style>body { margin: 0 } #a { position: absolute; left: 30px; top: 20px; width: 100px; height: 50px; color: #010203 }
#a::before { content: "b"; color: red }</style>
<div id=a class="x y">one<!--two--></div><input value=3><div id=host></div>
<script>
  document.querySelector('input').value = 'typed';
  document.getElementById('host').attachShadow({mode: 'open'}).innerHTML = '<i>in the shadow</i>';
  getComputedStyle = () => { throw 'fooled' };
</script>"""


async def dumps(build: Build, *cases: Case) -> list[Dump]:
    async with Lab([build], LabOptions(processes=1)) as lab:
        seen = [await lab.visit(build, case, inspect.take) for case in cases]
    assert all(isinstance(one, Visit) for one in seen), seen
    return [one.value for one in seen if isinstance(one, Visit)]


def only(dump: Dump, **wanted: str) -> DumpNode:
    (found,) = (node for node in dump.nodes if all(getattr(node, k) == v for k, v in wanted.items()))
    return found


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_dump_has_tree_styles_boxes_text_and_state(engine: Build) -> None:
    # WebDriver has no world of its own: there a page can redefine what the dump asks with.
    fooled = b"getComputedStyle = () => { throw 'fooled' };"
    assert fooled in PAGE
    (seen,) = await dumps(engine, Case(PAGE.replace(fooled, b"") if engine.engine == "webkit" else PAGE))
    assert not seen.quirks
    div = next(node for node in seen.nodes if ("id", "a") in node.attributes)
    assert div.attributes == (("id", "a"), ("class", "x y"))
    assert div.boxes == ((30, 20, 100, 50),)
    assert div.style["color"] == "rgb(1, 2, 3)" and div.style["position"] == "absolute"
    assert div.pseudo["::before"]["color"] == "rgb(255, 0, 0)"
    text = only(seen, kind="text", text="one")
    assert seen.nodes[text.parent] == div and len(text.boxes) == 1 and text.boxes[0][2] > 5
    assert seen.nodes[only(seen, kind="comment", text="two").parent] == div
    assert only(seen, name="input").state["value"] == "typed"
    shadow = seen.nodes[only(seen, name="i").parent]
    assert shadow.kind == "shadow" and ("id", "host") in seen.nodes[shadow.parent].attributes


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_dump_of_a_deep_page_and_of_an_empty_one(engine: Build) -> None:
    deep, empty = await dumps(engine, Case(b"<div>" * 300), Case(b""))
    assert sum(node.name == "div" for node in deep.nodes) == 300
    assert deep.quirks
    assert [node.name for node in empty.nodes] == ["#document", "html", "head", "body"]
