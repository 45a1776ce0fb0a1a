"""The reducer: on functions, on commands, and on real builds."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from moire.browsers.lab import Lab
from moire.nouns import Build, Case, Failure, Outcome, Shot
from moire.oracles.change import compare
from moire.pages.make import Pages
from moire.pages.spec import web
from moire.pixels import encode, measure
from moire.triage.reduce import Asked, Differs, Never, Reduced, Settings, reduce
from test_cli import moire

# Chromium balances headings only since 114.
BALANCED = b"""<!DOCTYPE html><html><head><meta charset=utf-8><title>t</title><style>
@layer a { .x { color: rgb(10 20 30); margin: 3px } }
#e3 em, .y > h3 { text-wrap: balance; letter-spacing: 0.37px; border: 2px solid red }
p { text-indent: 2em }
</style></head><body><div id=e1 class="x z"><section id=e2><h2>Other</h2><p>Some text that goes on and on.</p></section>
<article id=e3 class=y><h3 id=e4 style="width:330px;font-size:32px">a heading that takes two lines or so, yes</h3>
<ul><li>one<li>two</ul></article></div><footer><table><tr><td>cell</table></footer></body></html>"""


def reduced(case: Case, function: object, ahead: int = 3) -> Reduced:
    found = asyncio.run(reduce(case, Asked(function), Settings(ahead=ahead)))  # type: ignore[arg-type]
    assert isinstance(found, Reduced), found
    return found


@pytest.fixture(scope="module")
def source() -> Pages:
    return Pages(web.weights())


@pytest.mark.parametrize("seed", range(6))
def test_only_what_is_asked_for_is_left_whatever_the_number_of_workers(source: Pages, seed: int) -> None:
    case = source.page(seed, 6000)
    text = case.html.decode()
    ids = re.findall(r"<\w+(?: [a-z=.0-9]+)? id=(e\d+)", text)
    wanted = [f"id={ids[len(ids) // 2]}", re.findall(r"([-a-z]+:)[a-z]", text)[7]]

    def asks(case: Case) -> bool:
        return all(word in case.html.decode() for word in wanted)

    results = [reduced(case, asks, ahead) for ahead in (1, 2, 5)]
    assert len({r.case.html for r in results}) == 1 and len({r.questions for r in results}) == 1
    assert asks(results[0].case) and len(results[0].case.html) < 250, results[0].case.html


@pytest.mark.parametrize(
    "broken",
    [
        b"<p><b><i>x</p>needle</b></i",
        b"needle",
        b"<!-- needle",
        b"\xff\xfe<p>\x00needle\xff",
        b"<style>needle{",
        b"<needle",
    ],
)
def test_whatever_the_source_is_it_stays_interesting(broken: bytes) -> None:
    found = reduced(Case(broken), lambda case: b"needle" in case.html)
    assert found.case.html.removeprefix(b"<!DOCTYPE html>") in (b"needle", b"<style>needle{")


def test_what_does_not_fail_or_comes_and_goes_is_not_reduced() -> None:
    assert asyncio.run(reduce(Case(b"<p>"), Asked(lambda case: False))) == Never(
        "same", "the function does not find it interesting"
    )
    turns = itertools.cycle([True, False, False])
    found = asyncio.run(reduce(Case(b"<p>"), Asked(lambda case: next(turns))))
    assert isinstance(found, Never) and found.verdict == "flaky"


def test_what_was_seen_by_chance_is_taken_back() -> None:
    chances = iter([True])

    def asks(case: Case) -> bool:
        return b"needle" in case.html or next(chances, False)

    found = reduced(Case(b"<!DOCTYPE html><div><p>needle</p><p>hay</p></div>"), asks, ahead=1)
    assert found.case.html == b"<!DOCTYPE html>needle" and found.flake_rate == 0


def test_where_the_shorter_way_leads_astray_the_long_way_is_gone() -> None:
    class Hasty(Asked):
        async def fails(self, case: Case, *, careful: bool = False, **_: bool) -> bool:
            return b"needle" in case.html or (not careful and b"hay" in case.html)

    page = b"<!DOCTYPE html><script>straw</script><p>needle<p>hay"
    found = asyncio.run(reduce(Case(page), Hasty(lambda case: True)))
    assert isinstance(found, Reduced) and found.case.html == b"<!DOCTYPE html>needle"
    # Not to the beginning, but to where the way was lost.
    assert [step.text for step in found.steps if step.name == "back"] == ["<!DOCTYPE html><p>needle<p>hay"]


def test_sheets_beside_a_page_and_scripts_are_cut_too() -> None:
    sheet = b"p { color: red; margin: 3px }\n.needle { color: green; margin: 1px }\n"
    page = (
        b"<!DOCTYPE html><link rel=stylesheet href=a.css><script>\none();\ntwo();\nthree();\n</script><p class=needle>x"
    )

    def asks(case: Case) -> bool:
        styles = case.html + (case.beside("a.css") or b"" if b"a.css" in case.html else b"")
        return b"green" in styles and b"two()" in case.html

    found = reduced(Case(page, resources={"a.css": sheet}), asks).case.html
    assert b"<style>" in found and b"green" in found and len(found) < 90, found
    assert not re.search(rb"one|three|red|link", found), found


def test_odd_pages_and_answers() -> None:
    deep = b"<!DOCTYPE html>" + b"<div>" * 1500 + b"needle" + b"</div>" * 1500
    nested = b"<!DOCTYPE html><style>" + b"a{" * 1500 + b"needle:1" + b"}" * 1500 + b"</style>"
    for page, most in ((deep, 60), (nested, len(nested) - 1)):
        assert len(reduced(Case(page), lambda case: re.search(b"needle", case.html), ahead=1).case.html) <= most
    mixed = Case(b"<link rel=stylesheet href=a.css>\xffneedle", resources={"a.css": "p{content:'ü'}".encode()})
    assert reduced(mixed, lambda case: b"needle" in case.html).case.html == b"needle"
    classes = Case(b"<!DOCTYPE html><p class='a b needle c'>x</p>")
    assert reduced(classes, lambda case: b"<p" in case.html and b"needle" in case.html).case.html == (
        b"<!DOCTYPE html><p class='needle '></p>"
    )


def test_a_page_that_stops_failing_is_flaky() -> None:
    asked = itertools.count()
    found = asyncio.run(reduce(Case(b"<p>a</p><p>b</p>"), Asked(lambda case: next(asked) < 8)))
    assert isinstance(found, Never) and found.verdict == "flaky"


async def test_the_build_that_crashes_must_go_on_crashing() -> None:
    builds = [Build(f"chromium@{n}", "chromium", str(n), "test") for n in (1, 2)]

    class Shaky:
        async def shoot(self, build: Build, case: Case, path: str = "") -> Outcome:
            old, new = b"<b>" in case.html, b"<i>" in case.html and b"<b>" not in case.html
            crashes = old if build == builds[0] else new
            return (
                Failure("crashed", "gone") if crashes else Shot(encode(np.zeros((600, 800, 3), np.uint8)), "navigation")
            )

    judge = Differs(Shaky(), builds[0], builds[1], measure("exact"))  # type: ignore[arg-type]
    found = await reduce(Case(b"<!DOCTYPE html><p><b></b><i></i></p>"), judge)
    assert isinstance(found, Reduced) and found.case.html == b"<!DOCTYPE html><b></b>"


async def test_two_builds_go_on_disagreeing_in_the_same_way(older: Build, chromium: Build) -> None:
    async with Lab([older, chromium]) as lab:
        judge = Differs(lab, older, chromium, measure("exact"))
        found = await reduce(Case(BALANCED), judge)
        assert isinstance(found, Reduced), found
        assert len(found.case.html) < 170 and b"balance" in found.case.html, found.case.html
        assert found.renders == judge.renders < 250
        assert await judge.fails(found.case)
        _, (pair,) = await compare(lab, [older, chromium], found.case, measure("exact"))
    assert pair.verdict.kind == "different"


def test_the_command_line(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(BALANCED)
    done = moire("reduce", page, "-b", "chromium@108", "-b", "chromium@156", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    small = Path(told["output"])
    assert told["signature_kept"] and told["bytes_before"] == len(BALANCED)
    assert told["bytes_after"] == len(small.read_bytes()) < 170
    assert small.with_suffix(".png").read_bytes()[:4] == b"\x89PNG"
    assert not small.with_suffix(".answers.jsonl").exists()
    again = tmp_path / "again.html"
    assert moire("reduce", page, "--replay", small.with_suffix(".steps.jsonl"), "-o", again).returncode == 0
    assert again.read_bytes() == small.read_bytes()
    assert moire("reduce", page, "-b", "chromium@156", "-b", "chromium@156").returncode == 5


def test_a_command_says_what_is_interesting_and_a_killed_run_goes_on(tmp_path: Path) -> None:
    count, stop = tmp_path / "count", tmp_path / "stop"
    command = (
        f"echo x >> {count}; if [ -e {stop} ] && [ $(wc -l < {count}) -ge 25 ]; then kill -9 $PPID; fi; "
        "grep -q balance {page}"
    )

    def run(name: str) -> tuple[int, bytes, int]:
        count.write_text("")
        page = tmp_path / name
        page.write_bytes(BALANCED)
        done = moire("reduce", page, "--ahead", "1", "--", "sh", "-c", command)
        asked = count.read_text().count("x")
        return done.returncode, page.with_name(f"{page.stem}.reduced.html").read_bytes(), asked

    code, whole, all_asked = run("whole.html")
    assert code == 0 and b"balance" in whole and len(whole) < 80
    stop.touch()
    code, best, _ = run("halves.html")
    assert code != 0 and b"balance" in best and len(whole) < len(best) < len(BALANCED)
    stop.unlink()
    code, result, more_asked = run("halves.html")
    assert (code, result) == (0, whole) and more_asked < all_asked - 10


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("no.html", "-b", "chromium@156", "-b", "chromium@108"), 2, "There is no page"),
        (("page.html",), 2, "0 builds are given"),
        (("page.html", "--oracle", "command"), 2, "There is no command"),
        (("page.html", "--", "./none"), 1, "cannot be run"),
        (("page.html", "--timeout", "0.2", "--", "sh", "-c", "sleep 9"), 4, "did not end within"),
        (("page.html", "--", "false"), 5, "does not find it interesting"),
        (("page.html", "--replay", "page.html"), 2, "is no log of a reduction"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, words: tuple[str, ...], code: int, sentence: str) -> None:
    (tmp_path / "page.html").write_bytes(BALANCED)
    done = moire("reduce", *(tmp_path / word if word.endswith(".html") else word for word in words))
    assert done.returncode == code and sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert {f.name for f in tmp_path.iterdir()} == {"page.html"}


def test_a_case_is_made_anew_by_its_weights(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(b"<!DOCTYPE html><body>" + b"<div><button style='color:red'>a</button><ul><li>b</ul></div>" * 40)
    grep = ("sh", "-c", "grep -q '<button' {page}")
    done = moire("reduce", page, "--existing-weights", "--json", "--", *grep)
    assert done.returncode == 0, done.stderr
    small = Path(json.loads(done.stdout)["output"])
    assert small.read_bytes() == b"<!DOCTYPE html><button></button>"
    log = small.with_suffix(".steps.jsonl")
    assert json.loads(log.read_text().splitlines()[0])["pass"] == "by its weights"
    again = tmp_path / "again.html"
    assert moire("reduce", page, "--replay", log, "-o", again).returncode == 0
    assert again.read_bytes() == small.read_bytes()
