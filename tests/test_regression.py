"""The regression oracle: both of its tables, the web-platform-tests it runs, and the tests it finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import build
from moire.browsers.lab import Lab, LabOptions
from moire.hunts.regression import RegressionHunt
from moire.hunts.run import Judged, facts
from moire.nouns import Build, Case, Failure, Outcome, Shot, UsageError, Verdict
from moire.oracles import feature, interop
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
    same = Case((checkout / "css/b/zoom.html").read_bytes())
    assert "css/b/zoom.html" not in found.near(same, 5)
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
        hunt = RegressionHunt(
            builds, Pages(web.weights()), 1, 2000, PHASH, store.blobs, [firefox], None, tmp_path / "bisect", False
        )
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
