"""The consensus of a pool: the oracle, pages that engines can agree about, and the hunt."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from conftest import build
from moire.browsers.lab import Lab
from moire.cli.root import cli
from moire.grammar.model import children
from moire.hunts.begin import hunt
from moire.hunts.consensus import ConsensusHunt, Trials
from moire.hunts.here import Here
from moire.hunts.run import Budget, Switch, Told, follow
from moire.nouns import Build, Case, Environment, Failure, Outcome, Shot, UsageError
from moire.oracles.consensus import Consensus, Pool, Rule, begins, but_blank, clearest, conclude, decide, judge
from moire.pages import profile, steer
from moire.pages.make import Pages
from moire.pages.normal import SENTINEL, normalised
from moire.pages.read import features, styled
from moire.pages.spec import web
from moire.pages.spec.snapshot import load
from moire.pixels import encode, measure
from moire.reports import charts
from moire.store import Store
from moire.triage.reduce import Disagrees, Never, Reduced, Settings, reduce
from test_cli import moire

SMALL = Environment(500, 400)


def fake(name: str, *, program: str = "") -> Build:
    return Build(name, "command", "1", "path", command=(program or name,))


def flat(*colour: int) -> Shot:
    return Shot(encode(np.full((4, 4, 3), colour, np.uint8)), "navigation")


A, B, C = flat(10, 10, 10), flat(200, 200, 200), flat(90, 20, 200)
POOL = Pool((fake("a"), fake("b"), fake("c")), measure("exact"), normal=False)


@pytest.mark.parametrize(
    ("apart", "category", "at_fault", "fails"),
    [
        ([], "all agree", (), {"any": False, "every": False, "target": False}),
        ([(0, 2), (1, 2)], "one at fault", (2,), {"any": True, "every": True, "target": True}),
        ([(0, 1), (0, 2)], "one at fault", (0,), {"any": True, "every": True, "target": False}),
        ([(0, 1), (0, 2), (1, 2)], "all at fault", (0, 1, 2), {"any": True, "every": True, "target": False}),
        ([(0, 2)], "nobody at fault", (), {"any": True, "every": False, "target": False}),
    ],
)
def test_the_four_categories_and_what_each_rule_makes_of_them(
    apart: list[tuple[int, int]], category: str, at_fault: tuple[int, ...], fails: dict[Rule, bool]
) -> None:
    found = Consensus(3, frozenset(apart))
    assert (found.category, found.at_fault) == (category, at_fault)
    assert {rule: found.fails(rule, 2) for rule in fails} == fails


def test_of_two_both_are_at_fault_and_of_four_some_may_be() -> None:
    assert Consensus(2, frozenset([(0, 1)])).category == "all at fault"
    assert Consensus(2, frozenset([(0, 1)])).fails("target", 1)
    four = Consensus(4, frozenset([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]))
    assert (four.category, four.at_fault) == ("some at fault", (0, 1))
    # The others must agree, too.
    alone = frozenset([(0, 1), (0, 2), (0, 3)])
    assert Consensus(4, alone).fails("target", 0) and not Consensus(4, alone | {(1, 2)}).fails("target", 0)


def test_pictures_are_compared_two_by_two() -> None:
    assert decide(POOL, [A, A, B]).apart == {(0, 2), (1, 2)}
    assert decide(POOL, [A, B, C]).category == "all at fault"


def looked(*taken: list[Outcome], pool: Pool = POOL) -> tuple[str, str]:
    verdict = conclude(pool, taken).verdict
    return verdict.kind, verdict.reason


def test_what_does_not_repeat_is_flaky_and_what_cannot_be_shown_untestable() -> None:
    assert looked([A, A], [A, A], [B, B]) == ("different", "one at fault: c")
    assert looked([A, A], [A, A], [B, A])[0] == "flaky"
    assert looked([A, A], [A, A], [Failure("untestable", "no")]) == ("untestable", "c: no")
    assert looked([A], [Failure("untestable", "no")], [Failure("crashed", "gone")]) == ("crashed", "c: gone")
    # Both change, and so do not disagree: still nobody knows what they show.
    assert looked([A, B], [A, B], [A, B])[0] == "flaky"


def test_a_build_that_is_there_twice_never_disagrees_with_itself() -> None:
    pool = Pool((fake("a"), fake("b"), fake("b")), measure("exact"), normal=False)
    assert pool.names == ["a", "b", "b#2"]
    kind, reason = looked([A], [A], [B], pool=pool)
    assert kind == "flaky" and "itself" in reason
    assert looked([A], [B], [B], pool=pool) == ("different", "one at fault: a")


def test_a_blank_picture_is_told_from_an_empty_page() -> None:
    empty, white = flat(*SENTINEL), flat(255, 255, 255)
    assert but_blank([empty, empty, B]) == [empty, empty, B]
    shown = but_blank([empty, white, flat(0, 0, 0)])
    assert [isinstance(one, Failure) for one in shown] == [False, True, True]
    # A page that hides what is behind it, or a picture that has nothing behind it, may well be white.
    assert but_blank([white, B]) == [white, B]
    assert looked([empty], [white], [empty]) == ("untestable", "b: the picture is blank")


def test_of_those_who_disagree_two_versions_or_the_one_at_fault_are_told_apart() -> None:
    engines = [replace(fake(name), engine=name) for name in ("webkit", "chromium", "firefox", "chromium")]
    pool = Pool(tuple(engines), measure("exact"))
    assert clearest(pool, Consensus(4, frozenset([(0, 1), (1, 3)]))) == (1, 3)
    assert clearest(pool, Consensus(4, frozenset([(0, 1), (0, 2), (1, 2), (2, 3)]))) == (0, 2)


def test_versions_of_an_engine_are_ordered() -> None:
    versions = [replace(fake(f"x@{n}"), engine="chromium", position=(n,)) for n in (3, 1, 2)]
    pool = Pool((*versions, replace(fake("f"), engine="firefox", position=(9,))), measure("exact"))
    # Version 1 is the odd one out.
    assert begins(pool, Consensus(4, frozenset([(0, 1), (1, 2), (1, 3)]))) == {"chromium": ("x@1", "x@2")}


@pytest.mark.parametrize(("rule", "target"), [("target", None), ("any", 1), ("some", None)])
def test_pools_that_make_no_sense_are_refused(rule: Rule, target: int | None) -> None:
    with pytest.raises(UsageError):
        Pool(POOL.builds, POOL.measure, rule, target)
    with pytest.raises(UsageError, match="two at least"):
        Pool(POOL.builds[:1], POOL.measure)


def test_normalised_pages_stay_inert_and_keep_their_encoding() -> None:
    page = normalised(Case(b"<!DOCTYPE html>\n<html><head><meta charset=utf-8><title>t</title><p>x"))
    assert page.inert and page.html.index(b"charset") < 100
    assert normalised(Case(b"<p>x")).html.endswith(b"<p>x")
    late = b"<!-- " + b"x" * 5000 + b" --><!DOCTYPE html><p>x"
    assert normalised(Case(late)).html.startswith(late[:-4])


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.svg", b"<?xml version='1.0'?><!-- <b> --><svg xmlns='http://www.w3.org/2000/svg' a='>'>", b"<g/></svg>"),
        ("a.xhtml", b"<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'>", b"<head/></html>"),
    ],
)
def test_xml_stays_what_it_is(name: str, before: bytes, after: bytes) -> None:
    page = normalised(Case(before + after, name)).html
    assert page.startswith(before + b"<style") and page.endswith(after)
    ElementTree.fromstring(page)
    for other in (b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"no page"):
        assert normalised(Case(other, "b.svg")).html == other


def test_layers_of_a_page_are_stronger_than_the_reset() -> None:
    page = normalised(Case(b"<!DOCTYPE html><style>@layer a { p { margin: 0 } }</style>")).html
    assert page.index(b"@layer moire {") < page.index(b"@layer a")


# What engines lay out alike once they begin alike: headings, lists, tables, floats, flex and grid.
AGREED = b"""<!DOCTYPE html><html><head><meta charset=utf-8><title>t</title><style>
.f { float: left; width: 60px; height: 45px; border: 3px solid green } .x { display: flex; gap: 7px }
.g { display: grid; grid-template-columns: 50px 90px; margin: 5px } .g > b { padding: 4px }</style></head><body>
<h1>Ab c</h1><ul><li>one<li>two</ul><div class=f></div><p>text that <i>flows</i> <sup>round</sup> it
<div class=x><div>a</div><div>bc</div></div><div class=g><b>x</b><b>y</b><b>z</b></div>
<table><tr><td>a<td>b<tr><td colspan=2>c</table></body></html>"""


async def test_three_engines_agree_once_they_begin_alike(chromium: Build, firefox: Build, webkit: Build) -> None:
    pool = Pool((chromium, firefox, webkit), measure("sqdiff"))
    async with Lab(pool.builds) as lab:
        case = Case(AGREED, environment=SMALL)
        assert (await judge(lab, pool, case, screen=False)).verdict.reason == "all agree"
        assert (await judge(lab, pool, case)).verdict.kind == "same"
        # The page as it is has three sets of default styles.
        assert (await judge(lab, replace(pool, normal=False), case, 1)).verdict.kind == "different"


# Rules within rules are known since 112.
NESTED = b"""<!DOCTYPE html><html><head><title>t</title><style>section { margin: 2px } div { color: red; & p {
width: 90px; height: 40px; background: green } }</style></head><body><section>some text</section>
<div><p id=a>x</p></div><em>y</em>"""


async def test_the_odd_one_out_is_named_and_its_page_reduced(older: Build, chromium: Build, firefox: Build) -> None:
    pool = Pool((older, chromium, firefox), measure("sqdiff"), "target", 0)
    async with Lab(pool.builds) as lab:
        case = Case(NESTED, environment=SMALL)
        found = await judge(lab, pool, case, 2)
        assert found.consensus is not None and found.verdict.reason == f"one at fault: {older.name}"
        assert begins(pool, found.consensus) == {"chromium": (older.name, chromium.name)}
        disagrees = Disagrees(lab, pool)
        reduced = await reduce(case, disagrees, Settings(2))
        assert isinstance(reduced, Reduced) and disagrees.chief[1] == 0
        assert b"&" in reduced.case.html and b"some text" not in reduced.case.html and len(reduced.case.html) < 120
        assert (await judge(lab, pool, reduced.case, 1, screen=False)).consensus == found.consensus
        never = await reduce(Case(b"<!DOCTYPE html><p>x", environment=SMALL), Disagrees(lab, pool))
        assert isinstance(never, Never) and never.verdict == "same"


# Pages


def test_profiles_make_what_they_say(plain: Pages) -> None:
    chosen = profile.profile("plain")
    for seed in range(40):
        found = features(plain.page(seed, 1500).html)
        assert all(map(chosen.element, set(found.tags) - {"html", "head", "meta", "title", "style"}))
        assert all(map(chosen.property, found.properties))
        assert {name for _, name in found.attributes} <= {"id", "class", "style", "charset", "title"}
    with pytest.raises(UsageError, match="The profiles are all, specified, plain"):
        profile.profile("nice")


def test_profiles_name_only_what_there_is() -> None:
    rules, data = web.grammar().rules, load()
    begin = {web.first_text(node) for _, node in web.grammar().nodes()}
    for one in profile.profiles().values():
        assert one.no_rules <= set(rules)
        assert {word for word in one.no_words if not word.startswith("@")} <= begin
        assert (one.elements or set()) | one.no_elements <= set(data.elements["html"])
        assert (one.properties or set()) <= set(data.properties)
        assert all(any(re.fullmatch(part, name) for name in data.properties)
                   for part in one.no_properties.pattern.split("|") if part != "(?!)")  # fmt: skip


@pytest.fixture(scope="module")
def plain() -> Pages:
    return Pages(profile.shaped(web.weights(), "plain"), adjustable=True)


def test_weights_of_pages_can_be_changed_and_changed_back(plain: Pages) -> None:
    def made() -> list[bytes]:
        return [plain.page(seed, 3000).html for seed in range(20)]

    first = made()
    usual = dict(plain.weights)
    edge = _declared("float")
    plain.reweigh({**usual, edge: usual[edge] * 100})
    assert sum(html.count(b"float:") for html in made()) > 5 * sum(html.count(b"float:") for html in first)
    plain.reweigh({**usual, edge: 0})
    without = made()
    assert not any(b"float:" in html for html in without) and without == made()
    plain.reweigh(usual)
    assert made() == first


def _declared(name: str) -> str:
    rules = web.grammar().rules
    return next(p for p, node in children("declaration", rules["declaration"]) if web.first_text(node) == f"{name}:")


def _lowered(html: bytes, **how: Any) -> set[str]:
    usual = {"pick": "weight", "propagation": "zero", "by": lambda weight: weight // 10, "edges": 9}
    before = web.weights()
    after = steer.away(before, html, seed=1, **(usual | how))
    return {edge for edge, weight in after.items() if weight != before[edge]}


def _away(html: bytes, **how: Any) -> set[str]:
    """What is lowered, as people call it."""
    return {steer.words(edge) for edge in _lowered(html, **how)}


def test_a_finding_lowers_the_weights_of_its_own_features() -> None:
    html = b"<!DOCTYPE html><style>div{align-content:end;padding-top:3px}</style><div><h1 dir=rtl>x</h1></div>"
    assert _away(html) == {"align-content:", "end", "dir="}
    assert _away(html, edges=1) < {"align-content:", "end", "dir="}
    assert _away(html, never=[_declared("align-content")]) == {"end", "dir="}
    assert not _away(html, edges=0)
    # What the page was before is steered away from where it is the same thing in other words.
    before = b"<style>div{place-content:end;outline:solid;gap:3px}</style>"
    assert _away(html, before=before) == {"align-content:", "end", "dir=", "place-content:"}


def test_an_element_comes_less_often_wherever_it_may_be() -> None:
    places = _lowered(b"<!DOCTYPE html><div>x<wbr></div>")
    assert {edge.split("/")[0] for edge in places} == {"flow", "phrasing"} and len(places) == 2


def test_what_differences_need_to_be_seen_goes_last() -> None:
    html = b"<!DOCTYPE html><style>div{float:left;width:30px;color:red}</style><div><section>x</section></div>"
    assert _away(html) == {"left"}
    html = html.replace(b"left", b"none")
    assert _away(html) == {"float:", "none", "width:", "color:", "section"}
    assert not _away(b"<!DOCTYPE html><div><span>x</span></div>")


def test_properties_count_for_the_tags_that_selectors_name() -> None:
    html = (
        b"<style>@media all{b::before,#x{color:red}} :nonsense({top:0}</style><b></b><i id=x style='left:0'></i><u></u>"
    )
    assert styled(html) == {("b", "color"), ("i", "color"), ("i", "left")}


# The hunt


def test_runs_grow_and_end_with_a_finding() -> None:
    trials = Trials(runs=3, iterations=5, max_size=9)
    assert [trials.bytes(n) for n in range(5)] == [350, 550, 750, 950, 1150]
    assert Trials(iterations=1).bytes(0) > 0


SETTINGS = {
    "builds": ["chromium@108", "chromium@156"], "references": [], "own": [], "seed": 3, "size": 0, "measure": "sqdiff",
    "rule": "any", "target": None, "normal": True, "runs": 2, "iterations": 6, "max_size": 12, "pick": "weight",
    "propagation": "zero", "reducer": "divide:10", "edges": 3, "never": [], "benign": [],
    "environment": {"width": 500, "height": 400},
}  # fmt: skip


async def _followed(store: Store, name: str, weights: dict[str, int], *budgets: int) -> list[tuple[object, ...]]:
    """What a run comes to that is broken off after so many pages, again and again."""
    settings = {**SETTINGS, "weights": store.blobs.add(json.dumps(weights).encode())}
    run = store.begin("consensus", name, settings)
    builds = [build(one) for one in SETTINGS["builds"]]  # type: ignore[attr-defined]
    for pages in budgets:
        going = hunt("consensus", settings, builds, store)
        async with Lab(builds) as lab:
            await follow(store, run, going, Here(lab, going), Budget(pages), Switch(), Told())
    assert isinstance(going, ConsensusHunt) and (budgets[-1] or not going.more(store.next_page(run)))
    told = ("page", "run", "iteration", "lowered")
    return [(one.number, one.signature, *(one.details[key] for key in told)) for one in store.findings(run)]


async def test_a_run_that_is_broken_off_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    weights = profile.shaped(web.weights(), "specified")
    with Store(tmp_path) as store:
        whole = await _followed(store, "whole", weights, 0)
        parts = await _followed(store, "parts", weights, 4, 0)
    assert json.loads(json.dumps(whole)) == json.loads(json.dumps(parts)) and whole
    # A finding ends its run, and the next begins behind it.
    assert [one[3] for one in whole] == sorted({one[3] for one in whole})
    assert any(one[5] for one in whole)


def test_a_hunt_from_the_command_line_to_its_report(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_bytes(NESTED)
    (tmp_path / "pages" / "b.html").write_bytes(AGREED)
    pool = ["chromium@108", "chromium@150", "chromium@156"]
    out = tmp_path / "out"
    first = moire("hunt", "consensus", *pool, "--from", tmp_path / "pages", "--name", "pool", "-o", out)
    assert first.returncode == 0, first.stderr
    told = json.loads((out / "report.json").read_text())
    (one,) = told["findings"]
    assert (told["summary"]["one at fault"], told["summary"]["same"]) == (1, 1)
    assert (one["at_fault"], one["begins"]) == (["chromium@108"], {"chromium": ["chromium@108", "chromium@150"]})
    folder = out / one["name"]
    assert b"Ahem" in (folder / "page.html").read_bytes() and "Ahem" not in one["html"]
    (viewed,) = (out / "data" / "finding").iterdir()
    shown = json.loads(viewed.read_text().partition(", ")[2].rpartition(")")[0])
    tree = shown["tables"][-1]
    assert (one["stage"], tree["title"]) == ("style", "What differs at the stage of style")
    assert tree["head"] == ["node", "property", "chromium@108", "chromium@150"]
    assert any(row[1] == "background-color" for row in tree["rows"])
    assert [pair[:2] for pair in shown["differences"]] == [["chromium@108", name] for name in pool[1:]]
    assert all((out / file).exists() for file in (shown["average"], *(pair[2] for pair in shown["differences"])))
    again = moire("compare", folder / "page.html", *one["command"].split()[3:], "--json")
    assert json.loads(again.stdout)["consensus"] == {"category": "one at fault", "at_fault": ["chromium@108"]}
    for name in ("tags", "attributes", "properties", "tag-attribute", "tag-property"):
        assert list(csv.reader((out / f"{name}.csv").open()))
    assert ["background-color", "1"] in list(csv.reader((out / "properties.csv").open()))
    for name in ("runs-failing", "runs-reduced", "sizes", "shares"):
        ElementTree.fromstring((out / f"{name}.svg").read_text())
    assert "declaration/alt/0" in json.loads((out / "weights.json").read_text())
    # In a newer build it is fixed, and in the one at fault it is still there.
    checked = moire(
        "recheck", "pool", "--build", "chromium@150", "--build", "chromium@108", "--fail-on-finding", "--json"
    )
    assert checked.returncode == 1, checked.stderr
    assert [(one["build"], one["verdict"]) for one in json.loads(checked.stdout)["findings"]] == [
        ("chromium@150", "fixed"), ("chromium@108", "still there"),
    ]  # fmt: skip
    # The same from the file of options, and now it is known for no bug.
    (tmp_path / "benign.txt").write_text("# known\nchromium@108 *\n")
    words = ["hunt", "consensus", "--name", "more", "--benign", tmp_path / "benign.txt", "--fail-on-finding"]
    more = moire("--config", out / "config.toml", *words)
    assert more.returncode == 0, more.stderr
    shown = json.loads(moire("runs", "show", "more", "--json").stdout)
    assert (shown["summary"]["findings"], shown["summary"]["benign"], shown["summary"]["examples"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["chromium@156"], "two at least"),
        (["chromium@156", "firefox", "--target", "webkit"], "not one of the pool"),
        (["chromium@156", "firefox", "--profile", "nice"], "There is no profile"),
        (["chromium@156", "firefox", "--viewport", "5"], "WIDTHxHEIGHT"),
        (["chromium@156", "firefox", "--reducer", "double"], "There is no reducer"),
        (["chromium@156", "firefox", "--never", "nowhere/alt/1"], "no weight of the web's grammar"),
        (["chromium@156", "firefox", "--benign", "no-such-file"], "cannot be read"),
    ],
)
def test_wrong_calls_get_a_sentence(words: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        cli.main(["hunt", "consensus", *words, "--runs", "1"], standalone_mode=False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[hunt.consensus]\nrun = 3", "has no 'run'"),
        ("[hunt.consensu]\nruns = 3", "has no 'consensu'"),
        ("runs = 3", "Moire has no 'runs'"),
        ("[hunt.consensus]\nruns = [3]", "'runs' cannot be [3]"),
        ("[hunt.consensus]\nruns = true", "'runs' cannot be True"),
        ("[hunt.consensus]\nbuilds = 'chromium'", "'builds' cannot be"),
        ("[hunt.consensus]\nas-is = 1", "'as-is' cannot be 1"),
        ("[hunt]\nfail-on-finding = true", "into [hunt.consensus]"),
        ("[hunt.consensus\n", "is no TOML"),
    ],
)
def test_files_of_options_that_are_wrong_get_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "moire.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=re.escape(sentence)):
        cli.main(["--config", str(file), "hunt", "consensus", "chromium@156"], standalone_mode=False)


def test_behind_a_file_of_options_exit_codes_of_checks_stay_what_they_are(tmp_path: Path) -> None:
    """For those who bisect by them, what cannot be read is neither good nor bad."""
    assert moire("--config", tmp_path / "none.toml", "check", "page.html", "-b", "a").returncode == 129


def test_options_come_from_a_file_and_the_command_line_goes_before(tmp_path: Path) -> None:
    file = tmp_path / "moire.toml"
    file.write_text("[check]\nbuild = ['no-such-a', 'no-such-b']\n[compare]\nbuild = ['no-such-c']\nrepeats = 2\n")
    (tmp_path / "p.html").write_text("x")
    for words, named in ((["check"], "no-such-a"), (["compare", "-b", "no-such-d"], "no-such-d")):
        with pytest.raises(UsageError, match=named):
            cli.main(["--config", str(file), *words, str(tmp_path / "p.html")], standalone_mode=False)


def test_charts_are_drawn_of_anything() -> None:
    for drawn in (
        charts.lines("a < b", {"x": [1, None, 3]}, {"y": [0.0, 0.0, 0.0]}, ["1", "2", "3"]),
        charts.lines("none", {}, {}, []),
        charts.boxes("boxes", {"one": [5.0], "many": [1, 2, 3, 4, 100], "none": []}),
    ):
        ElementTree.fromstring(drawn)
    assert charts.quartiles([1, 2, 3, 4, 5]) == (2, 3, 4)
