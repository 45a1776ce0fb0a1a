"""The regression oracle: both of its tables, the web-platform-tests it runs, and the tests it finds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import SHARED, build
from moire.browsers import history
from moire.browsers.lab import Lab, LabOptions
from moire.hunts.finding import Judged, facts
from moire.hunts.regression import RegressionHunt
from moire.hunts.source import Source
from moire.nouns import Build, Case, Failure, Outcome, Shot, UsageError, Verdict
from moire.oracles import feature, interop, regression
from moire.oracles.feature import Tried
from moire.pages.make import Pages
from moire.pages.normal import in_ahem
from moire.pages.spec import web
from moire.pixels import encode, measure
from moire.store import Finding, Store
from moire.triage.bisect import Visits
from moire.wpt.near import Checkout
from moire.wpt.run import open_test, run
from moire.wpt.test import Tolerance, read

PHASH, EXACT = measure("phash"), measure("exact")


def shot(seed: int) -> Shot:
    """Pictures that are the same if their seeds are, and nothing like each other if not."""
    coarse = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8)
    return Shot(encode(coarse.repeat(50, 0).repeat(50, 1)), "navigation")


CRASH = Failure("crashed", "why")


@pytest.mark.parametrize(
    ("before", "after", "references", "bug", "cases"),
    [
        (shot(1), shot(2), [shot(3)], False, "1"),
        (shot(1), shot(2), [shot(2)], False, "2"),
        (shot(1), shot(2), [shot(1)], True, "3"),
        # The cell that cannot be: the two look the same, as they may once their fonts are gone.
        (shot(1), shot(1), [shot(1)], False, "none"),
        (shot(1), shot(2), [CRASH], False, "none"),
        (CRASH, shot(2), [shot(2)], False, "none"),
        (shot(1), shot(2), [shot(1), shot(1)], True, "33"),
        (shot(1), shot(2), [shot(1), shot(2)], False, "32"),
        (shot(1), shot(2), [shot(1), CRASH], True, "3none"),
        (shot(1), shot(2), [shot(1), shot(1), shot(3)], True, "331"),
        (shot(1), shot(2), [], False, ""),
    ],
)
def test_every_cell_of_the_interoperability_table(
    before: Outcome, after: Outcome, references: list[Outcome], bug: bool, cases: str
) -> None:
    found = interop.decide(before, after, {f"r{n}": one for n, one in enumerate(references)}, PHASH)
    assert found.bug is bug and found.reason
    assert "".join(one.case for one in found.opinions.values()) == cases
    assert all(one.reason for one in found.opinions.values())


@pytest.mark.parametrize(
    ("statuses", "case"),
    [
        ("fail fail pass", "1"), ("fail fail fail", "1"), ("fail pass fail", "2"), ("fail pass pass", "3"),
        ("pass pass pass", "4"), ("pass fail fail", "4"), ("error pass pass", "none"), ("fail timeout pass", "1"),
        ("timeout pass fail", "2"), ("fail pass error", "unknown"),
    ],
)  # fmt: skip
def test_every_row_of_the_feature_table(statuses: str, case: str) -> None:
    one = Tried("t", *statuses.split())  # type: ignore[arg-type]
    assert one.case == case and one.reason


def test_tests_that_begin_to_pass_decide() -> None:
    silent, feature_ = Tried("a", "pass", "pass", "fail"), Tried("b", "fail", "pass", "fail")
    other = Tried("c", "fail", "pass", "pass")
    assert not feature.decide([other, Tried("d", "fail", "pass", "error")]).bug
    assert feature.decide([]).bug and feature.decide([silent]).bug
    assert feature.decide([silent, other]).bug and "c:" in feature.decide([silent, other]).reason
    assert not feature.decide([other, feature_]).bug and "b:" in feature.decide([other, feature_]).reason


SQUARE = "<div id=a style='width:9px;height:9px;background:{}'></div>"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    files = {
        "css/a/green.html": f"<link rel=match href=green-ref.html>{SQUARE.format('green')}",
        "css/a/green-ref.html": "<link rel=match href=/css/a/deep-ref.html>"
        "<canvas style='display:block;width:9px;height:9px;background:green'></canvas>",
        "css/a/deep-ref.html": "<p style='margin:0;width:9px;height:9px;background:green'>",
        "css/a/red.html": f"<link rel=match href=green-ref.html>{SQUARE.format('red')}",
        "css/a/other.html": f"<link rel=mismatch href=green-ref.html>{SQUARE.format('red')}",
        "css/a/near.html": "<meta name=fuzzy content='maxDifference=0-255;totalPixels=0-81'>"
        f"<link rel=match href=green-ref.html>{SQUARE.format('red')}",
        "css/a/either.html": "<link rel=match href=none.html><link rel=match href=green-ref.html>"
        f"{SQUARE.format('green')}",
        "css/a/lost.html": "<link rel=match href=none.html>x",
        "css/a/wait.html": f"<html class=reftest-wait><link rel=match href=green-ref.html>{SQUARE.format('red')}"
        "<script>document.documentElement.addEventListener('TestRendered', () => {"
        "a.style.background = 'green'; document.documentElement.className = ''; })</script>",
        "css/a/none.txt.html": "<p>no test",
        "resources/testharness.js": HARNESS,
        "resources/testharnessreport.js": "throw new Error('the checkout\\'s own')",
        "css/b/well.html": HARNESSED.format("test(() => {}, 'one');"),
        "css/b/wrong.html": HARNESSED.format("test(() => {}, 'one'); test(() => { throw new Error('why') }, 'two');"),
        "css/b/late.html": HARNESSED.format("window.late = true;"),
        "css/b/zoom.html": HARNESSED.format("test(() => {}, 'one');")
        + "<p style='zoom: 2; writing-mode: vertical-rl'>",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("<!DOCTYPE html><style>body{margin:0}</style>" + text if "css/a" in path else text)
    return tmp_path


# As much of testharness.js as these tests use: what it calls, and with what.
HARNESS = """
const callbacks = [], tests = [];
function setup() {}
function add_completion_callback(callback) { callbacks.push(callback); }
function test(body, name) {
  const one = {name, status: 0, message: null};
  try { body(); } catch (error) { one.status = 1; one.message = error.message; }
  tests.push(one);
}
addEventListener('load', () => {
  if (!window.late) for (const done of callbacks) done(tests, {status: 0, message: null});
});
"""
HARNESSED = (
    "<!DOCTYPE html><script src=/resources/testharness.js></script>"
    "<script src=/resources/testharnessreport.js></script><script>{}</script>"
)


async def test_reftests_and_harness_tests_run_through_the_lab(checkout: Path, chromium: Build) -> None:
    wanted = {
        "css/a/green.html": "pass", "css/a/red.html": "fail", "css/a/other.html": "pass", "css/a/near.html": "pass",
        "css/a/either.html": "pass", "css/a/lost.html": "error", "css/a/wait.html": "pass",
        "css/a/none.txt.html": "error", "css/b/well.html": "pass", "css/b/wrong.html": "fail",
        "css/b/late.html": "timeout",
    }  # fmt: skip
    async with Lab([chromium], LabOptions(deadline=4)) as lab:
        results = {path: await run(lab, chromium, open_test(checkout, path)) for path in wanted}
    assert {path: one.status for path, one in results.items()} == wanted
    assert results["css/a/near.html"].fuzzy == "0-255;0-81" and results["css/a/red.html"].pixels == 81
    assert "two: why" in results["css/b/wrong.html"].reason
    with pytest.raises(UsageError):
        open_test(checkout, "../secret.html")


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("maxDifference=0-5;totalPixels=0-100", {"": Tolerance((0, 5), (0, 100))}),
        ("5;100", {"": Tolerance((5, 5), (100, 100))}),
        ("totalPixels=0-9;maxDifference=1-2", {"": Tolerance((1, 2), (0, 9))}),
        ("ref.html:0-1;0-2", {"css/ref.html": Tolerance((0, 1), (0, 2))}),
        ("nonsense", {}),
        ("1", {}),
    ],
)
def test_tolerances_are_read_as_wpt_writes_them(content: str, wanted: dict[str, Tolerance]) -> None:
    html = f'<meta name=fuzzy content="{content}"><link rel="match" href="ref.html">'
    assert read(Case(html.encode(), "css/test.html")).fuzzy == wanted
    assert Tolerance((0, 5), (0, 100)).allows(5, 100) and not Tolerance((0, 5), (0, 100)).allows(6, 1)
    assert not Tolerance((1, 5), (1, 100)).allows(0, 0) and Tolerance((0, 5), (1, 100)).allows(0, 0)


def test_tests_near_a_page_are_those_that_share_what_is_rare(checkout: Path) -> None:
    found = Checkout(checkout)
    assert len(found) == 12
    page = Case(b"<p style='writing-mode: vertical-rl'>x")
    assert found.near(page, 1) == ["css/b/zoom.html"]
    assert found.near(page, 1, besides=[(checkout / "css/b/zoom.html").read_bytes()]) != ["css/b/zoom.html"]
    with pytest.raises(UsageError):
        Checkout(checkout / "none")


async def test_in_ahem_engines_agree_about_text(chromium: Build, firefox: Build) -> None:
    page = in_ahem(Case(b"<!DOCTYPE html><body style='margin:0'><p style='font:20px/1 serif;margin:0'>ab cd<b>ef</b>"))
    async with Lab([chromium, firefox]) as lab:
        shots = [await lab.shoot(build, page) for build in (chromium, firefox)]
    assert all(isinstance(one, Shot) for one in shots)
    assert interop.opinion(shots[0], shot(2), shots[1], PHASH).case == "3"


async def test_findings_get_their_step_verdict_and_stage_and_are_settled_once(
    tmp_path: Path, older: Build, firefox: Build
) -> None:
    """CSS nesting came between the two, and Firefox has it: a fix, in style."""
    nested = (
        b"<!DOCTYPE html><style>div { & p { width: 50px; height: 300px; background: green } }</style><div><p></div>"
    )
    with Store(tmp_path) as store:
        builds = [older, build("chromium@116")]
        stops = history.between(*builds, offered=False)
        source = Source(Pages(web.weights()), 1, 2000)
        hunt = RegressionHunt(builds, source, PHASH, store.blobs, True, stops, [firefox], None, tmp_path / "bisect")
        judged = Judged(Case(nested), "chromium@108 | chromium@116", Verdict("different"), [])
        same = Judged(Case(b"<p>same"), "chromium@108 | chromium@116", Verdict("different"), [])
        known = [
            Finding(
                n, one.build, "example", "different", "rough", {**facts(store.blobs, one, one.case), "element": "p"}
            )
            for n, one in enumerate((judged, judged, same))
        ]
        settled = [one async for one in hunt.settle(known, Visits())]
        again = [one async for one in hunt.settle(settled, Visits())]
    assert again == [] and sorted(one.number for one in settled) == [0, 1, 2]
    by_number = {one.number: one for one in settled}
    details = by_number[0].details
    assert int(details["step"][1].partition("@")[2].split(".")[0]) >= 112 and not details["bug"]
    assert details["interop"][firefox.name]["case"] == "2" and details["stage"] == "style"
    assert {"background-color"} & set(details["properties"]) and details["evidence"] == "direct"
    assert by_number[0].signature == by_number[1].signature and details["step"][1] in by_number[0].signature
    assert [by_number[n].details["first"] for n in (0, 1)] == [True, False]
    assert by_number[2].details["step"] == [] and "alike" in by_number[2].details["why"]


# What came to Chromium between the two builds under test: nesting, which every engine has, and large initials, which
# Firefox does without.
NESTING = "div {{ & p {{ {} }} }}"
INITIALS = "@supports (initial-letter: 3) {{ p {{ initial-letter: 1; {} }} }}"
GECKO = "@supports (-moz-orient: inline) {{ section {{ {} }} }}"
BLOCK = "display: block; width: 400px; height: 300px; background: green"


def sheet(*rules: str, what: str = BLOCK, text: str = "") -> Case:
    style = " ".join(rule.format(what) for rule in rules)
    return Case(f"<!DOCTYPE html><style>{style}</style><div><p>{text}</p></div><section></section>".encode())


async def test_the_interoperability_table_on_real_builds(older: Build, firefox: Build, webkit: Build) -> None:
    newer = build("chromium@116")
    wanted = [
        (sheet(NESTING, GECKO), "1", False), (sheet(NESTING), "2", False), (sheet(INITIALS), "3", True),
        # With its fonts the page changes, and without them not.
        (sheet(INITIALS, what="font-family: monospace", text="text"), "none", False),
    ]  # fmt: skip
    async with Lab([older, newer, firefox, webkit]) as lab:
        for case, cell, bug in wanted:
            found = await regression.judge(lab, older, newer, [firefox], case, PHASH)
            assert (found.interop.opinions[firefox.name].case, found.bug) == (cell, bug), case.html
        # One says bug and the other does not: that is no majority.
        split = await regression.judge(lab, older, newer, [firefox, webkit], sheet(NESTING, GECKO), PHASH)
        assert {one.case for one in split.interop.opinions.values()} == {"1", "2"} and not split.bug
        both = await regression.judge(lab, older, newer, [firefox, webkit], sheet(INITIALS), PHASH)
        assert both.bug and "2 of 2" in both.reason


REFERENCE = f"<!DOCTYPE html><div><p style='{BLOCK}'></p></div><section></section>"
SHOWN = {
    # Passes nowhere, since the step and not in Firefox, since the step and in both, and always.
    "1": sheet("@supports (no: thing) {{ p {{ {} }} }}"), "2": sheet(INITIALS), "3": sheet(NESTING),
    "4": sheet("p {{ {} }}"),
}  # fmt: skip


async def test_the_feature_table_on_real_builds(tmp_path: Path, older: Build, firefox: Build) -> None:
    newer = build("chromium@116")
    (tmp_path / "ref.html").write_text(REFERENCE)
    for name, case in SHOWN.items():
        (tmp_path / f"{name}.html").write_bytes(case.html + b"<link rel=match href=ref.html>")
    checkout = Checkout(tmp_path)
    async with Lab([older, newer, firefox]) as lab:

        async def decided(*names: str) -> feature.Feature:
            return await regression.featured(lab, older, newer, [firefox], checkout, [f"{n}.html" for n in names])

        whole = await decided("1", "2", "3", "4")
        assert [one.case for one in whole.tried] == ["1", "2", "3", "4"] and not whole.bug and "2.html" in whole.reason
        assert (await decided("1", "4")).bug and (await decided("3", "4")).bug
        # A page that breaks what Firefox and the older build agree about; the tests near it tell that it is a feature.
        judged = await regression.judge(lab, older, newer, [firefox], sheet(INITIALS), PHASH, checkout)
        assert judged.interop.bug and judged.feature is not None and not judged.bug


CORPUS = SHARED / "corpus" / "wpt"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of others' tests is not here")
async def test_the_feature_table_on_tests_that_others_wrote(older: Build, firefox: Build) -> None:
    newer = build("chromium@116")
    wanted = {
        "css/css-lists/counter-003.html": "1", "css/css-backgrounds/background-attachment-local-hidden.html": "2",
        "css/CSS2/floats/floats-placement-005.html": "3", "quirks/class-names-across-iframes.html": "4",
    }  # fmt: skip
    async with Lab([older, newer, firefox]) as lab:
        found = await regression.featured(lab, older, newer, [firefox], Checkout(CORPUS), list(wanted))
    assert {one.test: one.case for one in found.tried} == wanted


def test_tests_that_a_step_touched_are_known_where_its_history_is(checkout: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(checkout)]
    assert Checkout(checkout).touched(build("chromium@108"), build("chromium@116")) is None
    subprocess.run([*git, "init", "-q"], check=True)
    commits = []
    steps = (("css/a/green.html", "Cr-Commit-Position: refs/heads/main@{#11}"), ("css/b/well.html", "more"))
    for number, (path, message) in enumerate([("css/a/red.html", "first"), *steps]):
        with (checkout / path).open("a") as file:
            file.write("<!-- touched -->")
        subprocess.run([*git, "add", path], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"{number}\n\n{message}"], check=True)
        subprocess.run([*git, "tag", f"9{number}.0.1.2"], check=True)
        rev = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        commits.append(rev.stdout.strip())

    def built(name: str, version: str) -> Build:
        return Build(name, "chromium", version, "path")

    found = Checkout(checkout)
    tags = [built(f"chromium@9{n}.0.1.2", f"9{n}.0.1.2") for n in range(3)]
    assert found.touched(tags[0], tags[1]) == {"css/a/green.html"}
    assert found.touched(tags[0], tags[2]) == {"css/a/green.html", "css/b/well.html"}
    assert found.touched(built(commits[1], "?"), built(commits[2], "?")) == {"css/b/well.html"}
    assert found.touched(built("chromium@r11", "r11"), tags[2]) == {"css/b/well.html"}
    assert found.touched(tags[0], built("chromium@r12", "r12")) is None
    page = Case(b"<p style='writing-mode: vertical-rl'>x")
    assert found.near(page, 5, {"css/b/well.html"}) == ["css/b/well.html"] and found.near(page, 5, ()) == []


# Release 2 broke the one and mended the other; release 9 is right about both.
DRAW = """
import sys
from PIL import Image
version, page, png = int(sys.argv[1]), sys.argv[2], sys.argv[3]
words = open(page).read()
wrong = ("broken" in words and 2 <= version < 9) or ("mended" in words and version < 2)
Image.new("RGB", (800, 600), "red" if wrong else "green").save(png)
"""


async def test_each_step_has_its_examples_whatever_a_page_was_called_before(tmp_path: Path) -> None:
    program = tmp_path / "draw.py"
    program.write_text(DRAW.replace("2 <= version < 9", "int(words[-1]) <= version < 9"))
    names = [f"cmd:{sys.executable} {program} {version} {{page}} {{png}}" for version in (1, 2, 3)]
    reference = build(f"cmd:{sys.executable} {program} 9 {{page}} {{png}}")
    with Store(tmp_path / "store") as store:
        hunt = RegressionHunt(
            [build(names[0]), build(names[-1])], Source(Pages(web.weights()), 1, 2000), EXACT, store.blobs,
            True, history.named(names), [reference], None, tmp_path / "bisect",
        )  # fmt: skip
        known = []
        for number, step in enumerate([2, 2, 2, 2, 3, 3, 3, 3]):
            judged = Judged(Case(f"broken {step}".encode(), f"{number}.txt"), "pair", Verdict("different"))
            state = "example" if number < 3 else "duplicate"
            known.append(Finding(number, "pair", state, "different", "rough", facts(store.blobs, judged, judged.case)))
        settled = {one.number: one async for one in hunt.settle(known, Visits())}
    states = ["example", "example", "example", "duplicate"]
    assert [settled[number].state for number in range(8)] == states * 2
    assert [settled[number].details["step"] for number in (0, 4)] == [names[:2], names[1:]]
    assert all(one.details["bug"] and one.details["figures"]["pixels"] == 480_000 for one in settled.values())


def test_a_hunt_over_any_renderers_and_inputs(tmp_path: Path) -> None:
    program = tmp_path / "draw.py"
    program.write_text(DRAW)
    names = [f"cmd:{sys.executable} {program} {version} {{page}} {{png}}" for version in range(4)]
    (tmp_path / "releases.txt").write_text("\n".join(names))
    reference = f"cmd:{sys.executable} {program} 9 {{page}} {{png}}"
    own = tmp_path / "own"
    own.mkdir()
    for name, text in (("same.svg", "plain"), ("broken.svg", "one\nbroken\n"), ("mended.pdf", "mended two")):
        (own / name).write_text(text)
    words = ["--from", own, "--reference", reference, "--store", tmp_path / "store", "--measure", "exact"]
    command = [sys.executable, "-m", "moire.cli", "hunt", "regression", *words, "--history", tmp_path / "releases.txt"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "store" / "regression-1" / "report.json").read_text())
    assert told["summary"]["pages"] == 3 and told["summary"]["candidates"] == told["summary"]["bisected"] == 2
    by_bug = {one["bug"]: one for one in told["findings"]}
    assert all(one["step"] == names[1:3] and one["stage"] == "undecided" for one in told["findings"])
    assert by_bug[True]["html"].split() == ["broken"] and by_bug[True]["interop"][reference]["case"] == "3"
    missing = subprocess.run(list(map(str, command[:-2])), capture_output=True, text=True, timeout=60)
    assert missing.returncode == 2 and "--history" in missing.stderr
