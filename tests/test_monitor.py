"""The live page and reports, as people see them: in a real browser."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

from moire.nouns import Build, UsageError
from moire.pixels import encode
from moire.reports.run import write
from moire.store import Cut, Finding, PageRow, Run, Store, Triage, Trial
from moire.web import server
from moire.web.control import hunt_words
from moire.web.server import Monitor
from viewing import View, viewing

# What a page under test would say if it could act here.
EVIL = "<img src=x onerror=document.title='evil'></script><script>document.title='evil'</script>"
POOL = ("chromium@156", "firefox@153", "webkit@2.50")


def picture(n: int) -> bytes:
    image = np.full((300, 400, 3), 255, np.uint8)
    image[20:60, 20 + 3 * n : 120 + 3 * n] = (200, 120, 60)
    return encode(image)


def finding(store: Store, kind: str, n: int) -> Finding:
    html = f"<!DOCTYPE html><style>div{{justify-self:left}}</style><div>{EVIL}<table border={n}>".encode()
    names = ("updated", "fresh") if kind == "update" else POOL
    details: dict[str, Any] = {
        "page": store.blobs.add(html), "before": {"page": store.blobs.add(html * 9)},
        "bytes": [9 * len(html), len(html)],
        "figures": {"pixels": 100 + n, "distance": 0.1}, "reason": f"why {EVIL}", "stage": "layout", "element": "div",
        "properties": ["justify-self"], "boxes": [[20, 20, 100, 40]], "flake_rate": 0.0,
        "environment": {"width": 400, "height": 300},
        "pictures": {name: store.blobs.add(picture(n + m)) for m, name in enumerate(names)},
        "features": {"tags": [["div"], ["table"]], "attributes": [["table", "border"]],
                     "properties": [["justify-self"]], "styled": [["div", "justify-self"]]},
    }  # fmt: skip
    if kind == "consensus":
        apart = [[POOL[0], POOL[2]], [POOL[1], POOL[2]]]
        details |= {"category": "one at fault", "at_fault": [POOL[2]], "apart": apart, "run": n, "iteration": 1}
    else:
        target = {"op": "set-text", "target": "a", "value": "x"}
        details |= {"operations": ["set-text"], "update": json.dumps([target]), "reftest": "fails" if n else "passes"}
    build = POOL[0] if kind == "update" else " | ".join(POOL)
    return Finding(n, build, "example", "different", f"{kind} kind {n // 2} {EVIL}", details)


def filled(folder: Path) -> None:
    with Store(folder) as store:
        for kind in ("consensus", "update"):
            builds = POOL if kind == "consensus" else POOL[:1]
            run = store.begin(kind, "", {
                "builds": builds, "versions": ["1"] * len(builds), "measure": "exact", "pages": 40, "seconds": 0,
                "seed": 1, "weights": store.blobs.add(b"{}"), "iterations": 25, "runs": 10,
            })  # fmt: skip
            for n in range(4):
                health = {name: {"starts": 1, "pages": 10 * n, "crashes": 2} for name in builds}
                facts = {"pages": 10 * n + 10, "findings": 2 * n, "signatures": n, "health": health}
                rows = [PageRow(10 * n + m, builds[0], "different" if m == 5 else "same") for m in range(10)]
                store.done(run, rows, 3.0, facts)
            for n in range(6):
                one = finding(store, kind, n)
                store.keep(run, one)
                for step in range(2):
                    small = {"small": store.blobs.add(picture(step))}
                    store.cut(run, n, one.build, step, Cut("subtrees", 300 - 100 * step, one.details["page"], small))
            store.end(run, "done", {})


@pytest.fixture
def full(tmp_path: Path) -> Path:
    filled(tmp_path / "runs")
    return tmp_path / "runs"


def host(address: str) -> str:
    return address.removeprefix("http://")


@asynccontextmanager
async def shown(folder: Path, build: Build) -> AsyncIterator[tuple[Monitor, View]]:
    monitor = Monitor(folder, [build.name])
    async with monitor.running(0), viewing(build, host(monitor.address), host(monitor.content)) as view:
        await view.open(monitor.url)
        yield monitor, view
        assert await view.js("document.title.startsWith('Moire')"), "a page under test has acted on ours"
        assert view.errors == []


async def go(view: View, where: str, heading: str) -> str:
    await view.js(f"location.hash = {json.dumps(where)}")
    await view.until(f"document.querySelector('h1')?.textContent.startsWith({json.dumps(heading)})")
    return await view.text()


async def says(view: View, words: str) -> str:
    """Its text, once these words are in it: a run is drawn before what it found has come."""
    await view.until(f"document.body.innerText.includes({json.dumps(words)})")
    return await view.text()


async def test_every_view_of_the_live_page(full: Path, chromium: Build) -> None:
    async with shown(full, chromium) as (_, view):
        assert "consensus-1" in await go(view, "#/", "Runs")
        # Six of ten runs found something, the last on page 5; then came 34 pages of 25 a run.
        shares = await view.js("[...document.querySelectorAll('progress')].map(one => one.value)")
        assert shares == [1, pytest.approx((6 + 34 / 25) / 10)]
        await go(view, "#/run/update-1", "update-1")
        text = await says(view, "Most visible")
        assert "40\npages" in text and "6\nfindings" in text and "3\nkinds of findings" in text
        assert await view.js("document.querySelectorAll('.chart path.line').length") == 4
        assert await view.js("document.querySelectorAll('.strip .different').length") == 4
        assert await view.js("document.querySelectorAll('.cuts img').length") == 2
        assert "crashes" in text
        await go(view, "#/run/consensus-1", "consensus-1")
        await view.until("[...document.querySelectorAll('.charts > img')].filter(one => one.naturalWidth).length === 4")
        await go(view, "#/compare?a=consensus-1&b=update-1", "Two runs")
        assert "Only in update-1 (3)" in await view.text() and "In both (0)" in await view.text()


async def test_findings_are_filtered_ranked_and_counted(full: Path, chromium: Build) -> None:
    async with shown(full, chromium) as (_, view):
        await go(view, "#/findings", "Findings")
        await says(view, "12 findings, 6 shown: one of each kind")
        cards = "[...document.querySelectorAll('.card')].map(one => +/page (\\d+)/.exec(one.innerText)[1])"
        assert (await view.js(cards))[:2] == [5, 5]
        await view.js("const box = document.querySelector('[type=search]'); box.value = 'Consensus layout';"
                      "box.dispatchEvent(new Event('input')); 0")  # fmt: skip
        assert "6 findings, 3 shown" in await view.text()
        assert "6 findings" in await go(view, "#/findings?run=update-1&each=1", "Findings")
        await go(view, "#/features?run=update-1", "Features")
        assert await view.js("[...document.querySelectorAll('.matrix td a')].map(one => one.textContent)") == ["6", "6"]
        await view.js("document.querySelector('.matrix td a').click()")
        await view.until("document.querySelectorAll('.card').length === 6")


async def test_a_finding_is_looked_at_in_every_way(full: Path, chromium: Build) -> None:
    async with shown(full, chromium) as (_, view):
        text = await go(view, "#/finding/7", "update kind 0")
        assert EVIL in text and "justify-self:left" in text and "layout" in text
        assert await view.js("document.querySelector('mark').textContent") == "justify-self:left"
        loaded = "[...document.querySelectorAll('.stage img')].every(one => one.naturalWidth === 400)"
        for key, images in (("1", 2), ("2", 1), ("3", 2), ("4", 2), ("5", 1), ("6", 1)):
            await view.press(key)
            await view.until(f"document.querySelectorAll('.stage img').length === {images} && {loaded}")
        await view.press("f")
        before = await view.js("document.querySelector('.stage figcaption').textContent")
        await view.press("f")
        assert (
            before == "updated" and await view.js("document.querySelector('.stage figcaption').textContent") == "fresh"
        )
        await view.press("3")
        await view.js("const range = document.querySelector('[type=range]'); range.value = 10;"
                      "range.dispatchEvent(new Event('input')); 0")  # fmt: skip
        assert await view.js("document.querySelector('.top').style.clipPath") == "inset(0px 0px 0px 10%)"
        await view.call("Input.dispatchMouseEvent", type="mouseMoved", x=100, y=360)
        await view.until("document.querySelectorAll('.glass:not([hidden]) figure').length === 2")
        box = await view.js("JSON.stringify(document.querySelector('.box').getBoundingClientRect())")
        image = await view.js("JSON.stringify(document.querySelector('.stage img').getBoundingClientRect())")
        ratio = json.loads(image)["width"] / 400
        assert abs(json.loads(box)["x"] - json.loads(image)["x"] - 20 * ratio) < 1
        await view.press("k")
        await view.until("location.hash !== '#/finding/7'")


def regression(folder: Path) -> None:
    builds = ["chromium@108", "chromium@116"]
    with Store(folder) as store:
        run = store.begin("regression", "", {"builds": builds, "measure": "phash", "pages": 9, "seconds": 0})
        html = b"<!DOCTYPE html><table rules=all><svg></svg><div id=a>x</div></table>"
        details: dict[str, Any] = {
            "page": store.blobs.add(html), "bytes": [900, len(html)], "stage": "layout", "element": "tbody",
            "evidence": "direct", "step": builds, "changes": [builds], "visited": ["chromium@108", "chromium@116"],
            "skipped": {}, "bug": True, "why": "the reference agrees with what was before",
            "link": "https://example.org/log/108..116", "boxes": [[20, 20, 100, 40]],
            "interop": {"firefox@153": {"case": "regressed", "reason": "as before"}},
            "tests": [{"test": "/css/a.html", "before": "PASS", "after": "FAIL", "reference": "PASS", "case": "x"}],
            "differences": [{"node": "html > body > svg", "property": "box", "a": "0 0 9 9", "b": "0 9 9 9"}],
            "figures": {"pixels": 100}, "impact": 90,
            "pictures": {name: store.blobs.add(picture(n)) for n, name in enumerate(builds)},
            "features": {"tags": [["table"], ["svg"]], "attributes": [["table", "rules"], ["div", "id"]],
                         "properties": [], "styled": []},
        }  # fmt: skip
        store.keep(run, Finding(3, " | ".join(builds), "example", "different", "chromium@116 layout table", details))
        for slot in range(3):
            store.tried(run, Trial(slot, 10 + slot, "b", "same", {"chromium@108": picture(slot)}))
        store.end(run, "done", {})


async def test_a_regression_has_its_path_and_its_tables(tmp_path: Path, chromium: Build) -> None:
    regression(tmp_path / "runs")
    async with shown(tmp_path / "runs", chromium) as (_, view):
        await go(view, "#/run/regression-1", "regression-1")
        await view.until("[...document.querySelectorAll('.cuts img')].filter(one => one.naturalWidth).length === 3")
        text = await says(view, "Kinds of findings")
        assert "page 12: same" in text and "chromium@116 layout table" in text
        text = await go(view, "#/finding/1", "chromium@116 layout table")
        for words in ("chromium@116 (changes here)", "chromium@108 (as before)", "regressed", "/css/a.html",
                      "What differs at the stage of layout", "0 9 9 9", "bug: the reference agrees"):  # fmt: skip
            assert words in text, words
        link = await view.js(
            "[...document.querySelectorAll('main a')].find(one => one.textContent.startsWith('https:')).href"
        )
        assert link == "https://example.org/log/108..116"
        # What is not in the page's text cannot be marked; what the difference is in can, and so can attributes.
        assert await view.js("[...document.querySelectorAll('mark')].map(one => one.textContent)") == [
            "rules=all",
            "<svg",
        ]
        for attribute in ("rules", "regression", "different", "new"):
            assert "1 findings" in await go(view, f"#/findings?q={attribute}", "Findings"), attribute


async def test_what_is_drawn_anew_stays_under_ones_hands(full: Path, chromium: Build) -> None:
    async with shown(full, chromium) as (_, view):
        await go(view, "#/", "Runs")
        await view.js("document.querySelector('#runs a').focus()")
        with Store(full) as store:
            store.begin("update", "", {"builds": ["b"], "measure": "exact"})
        await says(view, "update-2")
        assert await view.js("document.activeElement.textContent") == "update-1"
        # What was opened stays open, whatever comes before it.
        await go(view, "#/run/update-1", "update-1")
        await says(view, "Most visible")
        await view.js("const opened = [...document.querySelectorAll('summary')].at(-1);"
                      "opened.focus(); opened.parentElement.open = true; 0")  # fmt: skip
        with Store(full) as store:
            rows = [PageRow(40, "b", "untestable", "for some reason")]
            store.done(store.run("update-1"), rows, 9.0, {"pages": 41})
        await says(view, "Why pages could not be tested")
        assert await view.js("[...document.querySelectorAll('details')].map(one => one.open)") == [False, True]
        assert await view.js("document.activeElement.textContent") == "Settings"
        # A finding that somebody else says something of, and lists of features.
        await go(view, "#/finding/7", "update kind 0")
        await view.press("2")
        with Store(full) as store:
            store.say(Triage("update", f"update kind 0 {EVIL}", "reported", "bug 9"))
        await view.until("document.querySelector('[name=state]').value === 'reported'")
        await go(view, "#/features", "Features")
        assert "12 findings" in await view.text()
        with Store(full) as store:
            store.keep(store.run("update-1"), finding(store, "update", 9))
        await says(view, "13 findings")


async def test_copying(full: Path, chromium: Build) -> None:
    async with shown(full, chromium) as (_, view):
        await go(view, "#/finding/7", "update kind 0")
        copy = "[...document.querySelectorAll('h2 button')][0]"
        await view.js(f"{copy}.click()")
        # Nobody may write to the clipboard here: it is selected, and can be copied by hand.
        await view.until("document.getElementById('said').textContent.includes('Ctrl+C')")
        assert EVIL in await view.js("getSelection().toString()")
        given = "{writeText: async text => { window.copied = text; }}"
        await view.js(f"Object.defineProperty(navigator, 'clipboard', {{value: {given}}}); getSelection().empty();"
                      f"{copy}.click()")  # fmt: skip
        await view.until(f"{copy}.textContent === 'Copied' && !document.getElementById('said').textContent")
        assert EVIL in await view.js("window.copied")


async def test_pages_under_test_cannot_act(full: Path, chromium: Build) -> None:
    """They come from another origin, and nothing in them runs there either."""
    async with shown(full, chromium) as (monitor, view):
        await go(view, "#/finding/1", "consensus kind 0")
        address = await view.js("[...document.querySelectorAll('a')].find(one => one.textContent === 'page').href")
        assert address.startswith(monitor.content) and monitor.content != monitor.address
        await view.call("Page.navigate", url=address)
        await view.until("document.querySelector('table')")
        assert await view.js("[document.title, origin]") == ["", "null"]
        # Chromium says that it kept the script from running, and the image from loading: that is the point.
        view.errors.clear()
        await view.open(monitor.url)


async def test_what_people_say_is_kept(full: Path, chromium: Build) -> None:
    async with shown(full, chromium) as (_, view):
        await go(view, "#/finding/7", "update kind 0")
        await view.js("document.querySelector('[name=state]').value = 'known';"
                      "document.querySelector('[name=note]').value = 'a bug';"
                      "document.querySelector('[name=note]').form.requestSubmit()")  # fmt: skip
        await view.until("document.getElementById('said').textContent.includes('known')")
        assert "1 shown" in await go(view, "#/findings?state=known", "Findings")
    with Store(full) as store:
        (said,) = store.triage()
        assert (said.kind, said.state, said.note) == ("update", "known", "a bug")
        run = store.run("update-1")
        write(store, run, full.parent / "report")
    assert '"known"' in (full.parent / "report" / "data" / "triage.js").read_text()


async def test_without_the_token_one_may_only_look(full: Path, chromium: Build) -> None:
    monitor = Monitor(full, [chromium.name])
    async with monitor.running(0), viewing(chromium, host(monitor.address), host(monitor.content)) as view:
        await view.open(monitor.address)
        assert "moire serve" in await view.text() and not await view.js("document.querySelector('form')")
        await go(view, "#/finding/7", "update kind 0")
        assert not await view.js("document.querySelector('[name=state]')")


SAID = {"kind": "update", "signature": "s", "state": "known", "note": ""}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"Host": "evil.example"}, 403), ({"Host": "127.0.0.1"}, 403),
        ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": ""}, 403),
        ({"X-Moire-Token": "guess"}, 403), ({"X-Moire-Token": ""}, 403), ({"X-Moire-Token": "é"}, 403),
    ],
)  # fmt: skip
async def test_who_may_change_things(full: Path, headers: dict[str, str], status: int) -> None:
    monitor = Monitor(full, [])
    async with monitor.running(0), aiohttp.ClientSession() as session:
        usual = {"Origin": monitor.address, "X-Moire-Token": monitor.token}
        async with session.post(f"{monitor.address}/say", json=SAID, headers={**usual, **headers}) as answer:
            assert answer.status == status, await answer.text()
        looked = {name: value for name, value in headers.items() if name == "Host"}
        for address in (f"{monitor.address}/data/runs.json", f"{monitor.content}/picture/{'0' * 40}"):
            async with session.get(address, headers=looked) as answer:
                assert (answer.status == 403) == bool(looked)
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("where", "body", "status"),
    [
        ("say", b"nonsense", 400), ("say", b"[]", 400), ("say", b'{"state": "new"}', 404),
        ("say", b'{"kind": "a", "signature": "b", "state": "odd", "note": ""}', 404),
        ("control", b'{"run": "update-1", "what": "stop"}', 404), ("control", b'{"run": "none", "what": "stop"}', 404),
        ("begin", b'{"kind": "update", "builds": "chromium"}', 400), ("begin", b'{"kind": "rm", "builds": ["a"]}', 400),
        ("recheck", b'{"finding": "1"}', 400), ("recheck", b'{"finding": 999, "builds": ["a"]}', 404),
        ("recheck", b'{"finding": 1, "builds": ["nonsense@1"]}', 400),
        ("recheck", b'{"finding": 99999999999999999999, "builds": ["a"]}', 400), ("say", b"[" * 100_000, 400),
        ("say", b'{"kind": "a", "signature": "", "state": "new", "note": ""}', 404),
        ("say", b'{"kind": "a", "signature": "b", "state": "new", "note": "' + b"x" * 3000 + b'"}', 404),
        ("begin", b'{"kind": "update", "builds": ["a"], "minutes": 1e400}', 400), ("begin", b'{"resume": "none"}', 400),
        ("begin", b'{"kind": "update", "builds": ["a\\u0000"], "minutes": 3}', 400),
    ],
)  # fmt: skip
async def test_wrong_asking_gets_a_sentence(full: Path, where: str, body: bytes, status: int) -> None:
    monitor = Monitor(full, [])
    async with monitor.running(0), aiohttp.ClientSession() as session:
        headers = {"Origin": monitor.address, "X-Moire-Token": monitor.token}
        async with session.post(f"{monitor.address}/{where}", data=body, headers=headers) as answer:
            assert answer.status == status and (await answer.text()).endswith("."), await answer.text()


async def test_what_is_not_there(full: Path) -> None:
    monitor = Monitor(full, [])
    with Store(full) as store:
        page = store.finding(1)[1].details["page"]
    ours = [
        "/data/run/none.json", "/data/finding/999.json", "/data/finding/99999999999999999999.json",
        "/viewer/../server.py", "/viewer/none.js", "/data/findings.json?since=x",
        "/data/findings.json?since=99999999999999999999",
    ]  # fmt: skip
    theirs = [
        "/picture/../../moire.sqlite", f"/picture/{'0' * 40}", "/page/1/../../../etc/passwd", "/page/99/page.html",
        f"/picture/{page}", f"/difference/{page}/{page}", "/chart/update-1/sizes.svg",
    ]  # fmt: skip
    async with monitor.running(0), aiohttp.ClientSession() as session:
        for address in [monitor.address + path for path in ours] + [monitor.content + path for path in theirs]:
            async with session.get(address) as answer:
                assert answer.status in (400, 404, 503), address


@pytest.mark.parametrize("at_once", [5, 6, 500])
async def test_a_long_list_comes_in_pieces(full: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(server, "_AT_ONCE", at_once)
    monitor = Monitor(full, [])
    async with monitor.running(0), aiohttp.ClientSession() as session:
        for since, expected in ((0, list(range(1, 13))), (7, list(range(8, 13))), (12, [])):
            async with session.get(f"{monitor.address}/data/findings.json?since={since}") as answer:
                told = await answer.json()
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert [row["id"] for row in told["rows"]] == expected and told["changed"] == 12


def test_nothing_that_a_page_sends_becomes_an_option() -> None:
    facts = {"kind": "update", "builds": ["chromium@156", "--output=/x"], "minutes": "3", "seed": "7"}
    assert hunt_words(facts) == ["update", "chromium@156", "--time", "3m", "--seed", "7"]
    assert hunt_words({**facts, "kind": "change", "builds": ["a", "b"]})[:5] == ["change", "--base", "a", "--new", "b"]
    between = hunt_words({**facts, "kind": "regression", "builds": ["a", "b"]})
    assert between[:6] == ["regression", "--base", "a", "--new", "b", "--installed"]
    for wrong in ({"minutes": "x"}, {"minutes": 0}, {"seed": -1}, {"builds": ["-x"]}, {"kind": "change"}):
        with pytest.raises(UsageError):
            hunt_words({**facts, **wrong})


async def test_a_hunt_from_the_live_page(tmp_path: Path, chromium: Build) -> None:
    """Begun, watched without reloading, paused, and stopped."""
    async with shown(tmp_path / "runs", chromium) as (_, view):
        await view.js("window.mine = true; document.querySelector('details').open = true;"
                      "document.querySelector('[name=builds]').options[0].selected = true;"
                      "document.querySelector('form').requestSubmit()")  # fmt: skip
        async with asyncio.timeout(120):
            while not str(await view.js("location.hash")).startswith("#/run/update-1"):
                assert not await view.js("document.querySelector('.wrong')"), await view.text()
                await asyncio.sleep(0.2)
        pages = "+(document.querySelector('.tile b')?.textContent || 0)"
        await view.until(f"{pages} > 0")
        before = await view.js(pages)
        await view.until(f"{pages} > {before} && document.querySelector('.chart')")
        button = "[...document.querySelectorAll('.controls button')].find(one => one.textContent === '{}')"
        await view.js(button.format("Pause") + ".click()")
        await view.until("document.querySelector('.state.paused')")
        paused = await view.js(pages)
        await view.until(button.format("Go on"))
        await view.js(button.format("Go on") + ".click()")
        await view.until(f"document.querySelector('.state.running') && {pages} > {paused}")
        await view.js(button.format("Stop") + ".click()")
        await view.until("document.querySelector('.state.stopped')")
        # Also what has ended goes on; the command that does so is there for those who may not.
        assert "moire runs resume update-1" in await says(view, "goes on where it was")
        stopped = await view.js(pages)
        await view.js(button.format("Go on") + ".click()")
        await view.until(f"document.querySelector('.state.running') && {pages} > {stopped}")
        await view.js(button.format("Stop") + ".click()")
        await view.until("document.querySelector('.state.stopped')")
        # Never loaded again.
        assert await view.js("window.mine")


async def test_a_report_opens_from_a_disk(full: Path, chromium: Build) -> None:
    with Store(full) as store:
        store.say(Triage("consensus", f"consensus kind 0 {EVIL}", "benign", "is none"))
        index = write(store, store.run("consensus-1"), full.parent / "report")
    async with viewing(chromium) as view:
        await view.open(index.as_uri())
        text = await says(view, EVIL)
        assert "consensus-1" in text and "6\nfindings" in text
        await view.until("[...document.querySelectorAll('.charts > img')].filter(one => one.naturalWidth).length === 4")
        assert "6 findings, 3 shown" in await go(view, "#/findings", "Findings")
        await view.js("document.querySelector('.card').click()")
        await view.until("document.querySelector('.pictures')")
        loaded = "[...document.querySelectorAll('.stage img')].every(one => one.naturalWidth === 400)"
        for key, images in (("1", 3), ("2", 1), ("3", 2), ("5", 1), ("6", 1)):
            await view.press(key)
            await view.until(f"document.querySelectorAll('.stage img').length === {images} && {loaded}")
        assert not await view.js("document.querySelector('[name=state]')")
        assert "is none" in await go(view, "#/finding/1", "consensus kind 0")
        # The command is one that can be typed where the report is; what a page tries is in vain there too.
        assert re.search(r"moire compare finding-\d+/page.html", await view.text())
        page = await view.js("[...document.querySelectorAll('a')].find(one => one.textContent === 'page').href")
        await view.call("Page.navigate", url=page)
        await view.until("document.querySelector('iframe')?.src")
        assert await view.js("document.title") == "A page under test"
        await view.open(index.as_uri())
        expected = ("sandboxed", "Not allowed to load")
        view.errors[:] = [one for one in view.errors if not any(words in one for words in expected)]
        assert view.errors == [] and str(await view.js("document.title")).startswith("Moire")


async def test_all_can_be_done_on_a_narrow_screen_and_in_the_dark(full: Path, chromium: Build) -> None:
    async with shown(full, chromium) as (_, view):
        await view.size(360, 700, "dark")
        for where, heading in (("#/", "Runs"), ("#/run/update-1", "update-1"), ("#/findings", "Findings"),
                               ("#/finding/1", "consensus"), ("#/features", "Features")):  # fmt: skip
            await go(view, where, heading)
            assert await view.js("document.documentElement.scrollWidth") <= 360, where
            assert await view.js(_CONTRAST) == [], where


# Every piece of text against what is behind it, by WCAG's formula.
_CONTRAST = """(() => {
  const parts = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  const found = [];
  for (const node of document.querySelectorAll('main *, nav *')) {
    if (![...node.childNodes].some(one => one.nodeType === 3 && one.data.trim()) || !node.checkVisibility()) continue;
    let back = node;
    while (back && parts(getComputedStyle(back).backgroundColor)[3] === 0) back = back.parentElement;
    const behind = getComputedStyle(back || document.body).backgroundColor;
    const [a, b] = [getComputedStyle(node).color, behind].map(parts).map(light);
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push([node.tagName, node.className, node.textContent.slice(0, 30), ratio]);
  }
  return found;
})()"""


def test_serve_says_where_it_is_and_ends_when_asked(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "moire.cli", "serve", "--port", "0", "--store", str(tmp_path / "runs")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Open http://127.0.0.1:")
        process.terminate()
        assert process.wait(20) == 0


def test_a_report_leaves_alone_what_is_not_its_own(full: Path) -> None:
    own = full.parent / "own" / "data"
    own.mkdir(parents=True)
    (own / "mine.txt").write_text("mine")
    with Store(full) as store:
        with pytest.raises(UsageError, match="something else"):
            write(store, store.run("update-1"), own.parent)
        # And over a report of its own it may write as often as one likes.
        for _ in range(2):
            write(store, store.run("update-1"), full.parent / "report")
    assert (own / "mine.txt").read_text() == "mine" and not (own.parent / "report.json").exists()


def test_a_writer_is_told_by_its_lock(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run: Run = store.begin("update", "", {"builds": []})
        assert store.writer(run) is None
        with store.writing(run):
            assert store.writer(run) is None
            # A number that was left there by one that was killed, and is somebody else's now.
            store._lock(run).write_text("1")
            assert store.writer(run) is None and store.state(run) == "running"
            with store.listening(run):
                assert store.writer(run) == os.getpid()
            assert store.writer(run) is None
