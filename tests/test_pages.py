"""Pages by the web's grammar: what they are made of, and what is read off them again."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import moire.cli.root
from moire.browsers.lab import Lab, LabOptions
from moire.cli import sources
from moire.grammar import flat, read, source, write
from moire.grammar.weights import check
from moire.inspect.support import support
from moire.nouns import Build, Case, Shot, UsageError
from moire.pages import read as read_pages
from moire.pages.combine import Combinations
from moire.pages.make import Pages
from moire.pages.spec import refresh, web
from moire.pages.spec.match import Matcher
from moire.pages.spec.snapshot import load

MOIRE = [sys.executable, "-m", "moire.cli"]


def moire(*words: object, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MOIRE, *map(str, words)], capture_output=True, text=True, timeout=240, env={**os.environ, **environ}
    )


@pytest.fixture(scope="session")
def pages() -> Pages:
    return Pages(web.weights())


def test_the_snapshot_says_where_it_is_from() -> None:
    snapshot = load()
    assert set(snapshot.sources) == set(refresh.PACKAGES)
    assert all(len(about["sha512"]) == 128 for about in snapshot.sources.values())
    assert len(snapshot.properties) > 800 and len(snapshot.elements["html"]) > 140
    assert snapshot.properties["text-wrap"].since["chromium"] == 114
    assert snapshot.elements["html"]["center"].status == "legacy"


def test_every_property_and_element_has_a_rule() -> None:
    grammar, snapshot = web.grammar(), load()
    lost = [name for name in snapshot.properties if f"css-{name}" not in grammar.rules]
    assert lost == []
    named = {f"{space}-{name}" for space, known in snapshot.elements.items() for name in known if name}
    assert named <= grammar.rules.keys()
    check(grammar, web.weights(web.ALL))


def test_weights_keep_out_what_is_not_asked_for() -> None:
    standard, everything = web.weights(("standard",)), web.weights(web.ALL)
    declared = {
        web.first_text(node).rstrip(":"): f"declaration/alt/{n}"
        for n, node in enumerate(web.grammar().rules["declaration"].options)  # type: ignore[union-attr]
    }
    assert standard[declared["color"]] and not standard[declared["-webkit-animation"]]
    assert everything[declared["-webkit-animation"]]
    old = web.weights(web.ALL, {"chromium": 100})
    assert "popover" in " ".join(Pages(everything).text(seed, 20_000) for seed in range(5))
    assert "popover=" not in " ".join(Pages(old).text(seed, 20_000) for seed in range(5))


def test_a_seed_is_a_page_for_ever(pages: Pages) -> None:
    again = Pages(web.weights())
    assert [pages.text(seed, 2000) for seed in range(20)] == [again.text(seed, 2000) for seed in range(20)]
    sizes = [len(pages.text(seed, 3000)) for seed in range(50)]
    assert 2500 < sum(sizes) / len(sizes) < 4500
    assert len({pages.text(seed, 500) for seed in range(50)}) == 50


def test_pages_go_towards_what_is_favoured_and_back_again() -> None:
    pages = Pages(web.weights())

    def often(name: str) -> int:
        return sum(len(re.findall(rf"[{{; \"]{name}:", pages.text(seed, 5000))) for seed in range(40))

    usual = [pages.text(seed, 1000) for seed in range(10)]
    some, others = often("zoom"), often("color")
    pages.favour({"zoom:": 40.0, "color:": 0.01, "no-such-property:": 2.0})
    assert often("zoom") > 5 * some + 5 and often("color") < others
    pages.favour({})
    assert [pages.text(seed, 1000) for seed in range(10)] == usual


def test_pages_hold_what_pages_hold(pages: Pages) -> None:
    text = pages.text(11, 20_000)
    found = read_pages.features(text.encode())
    ours = {tag: n for tag, n in found.tags.items() if tag not in ("html", "head", "meta", "title", "style", "body")}
    assert ours == {tag: n for (tag, name), n in found.attributes.items() if name == "id"}
    assert sum(found.tags.values()) > 50 and len(found.properties) > 50
    assert "onload" not in text and "javascript:" not in text and "@keyframes" not in text
    whole = "".join(pages.text(seed, 5000) for seed in range(40))
    for word in ("<table", "<input", "<svg", "<math", "<select", "@media", ":nth-child(", "::before", "data:image/"):
        assert word in whole, word


async def test_most_pages_can_be_shown_fast_and_all_can_be_shown(pages: Pages, chromium: Build) -> None:
    cases = [pages.page(seed, 2000) for seed in range(100)]
    assert sum(case.at_rest for case in cases) >= 60
    async with Lab([chromium], LabOptions(deadline=30)) as lab:
        # Some combinations of flips in `position-try` crash the renderer of Chromium 156.
        for case in [case for case in cases if b"position-try" not in case.html][:8]:
            quick, sure = await lab.shoot(chromium, case, "fast"), await lab.shoot(chromium, case)
            assert isinstance(quick, Shot) and isinstance(sure, Shot) and quick.png == sure.png, case.seed


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("color", "RED", "t-named-color/alt/"), ("margin", "0 auto", "css-margin/cat/1/opt/0"),
        ("width", "calc(100% - 2px)", "css-width/alt/"), ("border", "1px solid #ccc", "t-line-style/alt/"),
        ("font", "italic bold 12px/1.5 Arial, 'Times', sans-serif", "css-font/alt/0"),
        ("background", "url(x.png) no-repeat center / cover #fff", "t-repeat-style/alt/"),
        ("grid-template-columns", "repeat(auto-fill, minmax(100px, 1fr))", "css-grid-template-columns/alt/"),
        ("transform", "translate(10px, -5%) rotate(45deg)", "t-transform-function/alt/"),
    ],
)  # fmt: skip
def test_values_of_anyone_are_read(name: str, value: str, takes: str) -> None:
    edges = _matcher().edges(f"css-{name}", value)
    assert edges is not None and any(edge.startswith(takes) for edge in edges), edges


_known: list[Matcher] = []


def _matcher() -> Matcher:
    if not _known:
        _known.append(Matcher(web.grammar()))
    return _known[0]


@pytest.mark.parametrize(
    ("name", "value"), [("color", "redd"), ("width", "1px 2px"), ("display", "progid:X()"), ("margin", "")]
)
def test_values_that_are_none_have_no_reading(name: str, value: str) -> None:
    assert _matcher().edges(f"css-{name}", value) is None


LIKE_THIS = b"""<!DOCTYPE html><style>p { color: teal; margin: 0 auto } @media print { b { float: left } }</style>
<p>one <b style='color: blue'>two</b><table><tr><td>x</table><font size=7>old</font><p>"""


def test_pages_like_a_page_and_unlike_it() -> None:
    counted = read_pages.weights([LIKE_THIS])
    like = Pages(web.pinched(web.grammar(), {**web.weights(), **counted}))
    text = "".join(like.text(seed, 2000) for seed in range(10))
    found = read_pages.features(text.encode())
    assert set(found.properties) <= {"color", "margin", "float"} and {"color", "margin"} <= set(found.properties)
    assert set(found.tags) <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "p",
        "b",
        "table",
        "tbody",
        "tr",
        "td",
        "font",
    }
    unlike = Pages({**web.weights(), **read_pages.inverted(counted)})
    assert "float" not in read_pages.features(unlike.text(1, 3000).encode()).properties


@pytest.mark.parametrize(
    "html",
    [b"", b"<", b"\xff\xfe\0", b"<table><p><td></b><style>} p { color: ; } @media {", b"<svg><p style='color:'>",
     b"<style>" + b"{" * 2000],
)  # fmt: skip
def test_broken_pages_give_weights_too(html: bytes) -> None:
    weights = read_pages.weights([html])
    assert all(count >= 0 for count in weights.values())
    read_pages.features(html)


def test_every_combination_comes_once() -> None:
    features = ["div", "color:", "float:", "width:", "clear:"]
    seen = list(Combinations(features, 2, seed=3))
    assert len(seen) == len(set(seen)) == math.comb(5, 2) and seen != list(Combinations(features, 2, seed=4))
    with pytest.raises(UsageError):
        Combinations(features, 6, seed=1)


def test_generate_keeps_to_clusterfuzz_contract(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_bytes(LIKE_THIS)
    words = ("generate", "--no_of_files", 3, "--input_dir", tmp_path / "in", "--seed", 5, "--size", 1500)
    done = moire(*words, "--output_dir", tmp_path / "one", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["pages"] == 3, done.stderr
    moire(*words, "--output_dir", tmp_path / "two")
    first = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    assert sorted(first) == ["fuzz-000000.html", "fuzz-000001.html", "fuzz-000002.html"]
    assert first == {file.name: file.read_bytes() for file in (tmp_path / "two").iterdir()}
    assert b"float" not in b"".join(first.values()).replace(b"float:left", b"")
    combined = ("--combine", 2, "--of", "div,color:,float:", "--seed", 1)
    pairs = moire("generate", "--no_of_files", 1, "--output_dir", tmp_path / "n", *combined)
    text = (tmp_path / "n" / "fuzz-000000.html").read_text()
    assert pairs.returncode == 0 and "color:" in text and "float:" in text


def test_the_grammar_is_written_and_read_back(tmp_path: Path) -> None:
    (tmp_path / "like.html").write_bytes(LIKE_THIS)
    done = moire("pages", "grammar", "--like", tmp_path / "like.html", "-o", tmp_path / "g")
    assert done.returncode == 0, done.stderr
    small = read((tmp_path / "g" / "web.ebnf").read_text())
    assert 20 < len(small.rules) < 300 and read(write(small)) == small
    assert "color:" in "".join(flat(source(small).derive(seed, 9)) for seed in range(9))
    whole = read(write(web.grammar()))
    assert whole.rules == dict(web.grammar().rules) and dict(whole.comment_weights) == dict(
        web.grammar().comment_weights
    )


@pytest.mark.parametrize(
    "words",
    [
        ("generate", "--no_of_files", "0", "--output_dir", "{folder}"),
        ("generate", "--no_of_files", "1", "--output_dir", "/proc/x"),
        ("generate", "--no_of_files", "1", "--output_dir", "{folder}", "--kinds", "shiny"),
        ("generate", "--no_of_files", "1", "--output_dir", "{folder}", "--like", "nosuch.html"),
        ("generate", "--no_of_files", "1", "--output_dir", "{folder}", "--input_dir", "nosuch"),
        ("generate", "--no_of_files", "1", "--output_dir", "{folder}", "--weights", "{bad}"),
        ("generate", "--no_of_files", "1", "--output_dir", "{folder}", "--combine", "2", "--of", "nosuch:"),
        ("generate", "--no_of_files", "1", "--output_dir", "{folder}", "--of", "div"),
        ("pages", "weights", "nosuch.html"), ("pages", "weights", "/dev/zero"), ("pages", "support", "nosuch"),
        ("pages", "refresh", "left-pad@1"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"flow/alt/0": 1, "nowhere/alt/0": 2}')
    done = moire(
        *(word.replace("{folder}", str(tmp_path)).replace("{bad}", str(tmp_path / "bad.json")) for word in words)
    )
    assert done.returncode == 2 and done.stdout == "", done.stdout
    assert done.stderr.startswith("moire: ") and done.stderr.count("\n") == 1, done.stderr


async def test_a_build_says_what_it_understands(chromium: Build) -> None:
    async with Lab([chromium], LabOptions(deadline=300)) as lab:
        known = await support(lab, chromium)
        weights = known.over(web.weights(web.ALL))
        make = Pages(weights)
        text = "".join(make.text(seed, 5000) for seed in range(10))
        found = read_pages.features(text.encode())
        asked = json.dumps([[name, value] for name, value in found.values])

        async def ask(tab) -> int:  # type: ignore[no-untyped-def]
            return int(await tab.inspect(f"{asked}.filter(q => CSS.supports(q[0], q[1])).length"))

        seen = await lab.visit(chromium, Case(b"<!DOCTYPE html>"), ask)
    assert {"color", "display", "text-wrap"} <= set(known.properties) and "voice-family" not in known.properties
    assert seen.value > 0.95 * len(found.values)  # type: ignore[union-attr]


def test_broken_styles_are_no_styles() -> None:
    found = read_pages.weights([b"<style>a{color:" + b"(]" * 3000 + b"}</style>"])
    assert not any(edge.startswith(("declaration", "css-", "rule", "text")) for edge in found)
    assert read_pages.features(b"<p style='color:" + b"[(" * 3000 + b"'>").tags["p"] == 1


def test_what_is_in_brackets_is_no_tag_and_what_is_empty_counts() -> None:
    found = read_pages.weights(
        [b"<style>[title='video']{color:red}[type=button]{}</style>" + b"<div></div>" * 100 + b"<div>x</div>"]
    )
    assert not any(edge.startswith("tag/") and n for edge, n in found.items())
    path = next(edge for edge in found if re.fullmatch(r"html-div/cat/\d/star/nil", edge))
    assert (found[path], found[path.replace("nil", "0")]) == (100, 1)


def test_a_page_of_what_is_not_wanted_still_makes_pages(tmp_path: Path) -> None:
    page = tmp_path / "e.html"
    page.write_text('<body><p style="-webkit-line-clamp:2">x</p>')
    for kinds in ("standard", "standard,legacy"):
        made = sources.weights(kinds=kinds, like=[page])
        assert "<p" in Pages(made).text(1, 3000)


def test_combinations_are_of_what_the_weights_generate() -> None:
    standard, everything = (Pages(web.weights(kinds)).features for kinds in (("standard",), web.ALL))
    assert "-webkit-line-clamp:" in everything and "-webkit-line-clamp:" not in standard
    assert {"div", "color:"} <= set(standard)
