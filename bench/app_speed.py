"""What recording and replaying cost an application from npm, and how fast structure is compared from step to step."""

from __future__ import annotations

import asyncio
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from moire.apps import compare
from moire.apps.align import Graph, differences
from moire.apps.follow import Following
from moire.apps.match import matched
from moire.apps.page import Page
from moire.apps.replay import Replayed, replay, replayed
from moire.apps.session import Scripts, session
from moire.apps.trace import Trace, event
from moire.serve.archive import Archive
from moire.serve.documents import NAME
from moire.serve.proxy import AppProxy

from . import xpert
from .apps import APPS, OTHER, REFERENCE, SIZE, App, package, recorded, served
from .common import Row, build, row

ROUNDS = 5
MOST_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Drive:
    """What a user does in an application by WebDriver: what to do, where, and what is true once it is done."""

    app: str
    steps: Sequence[tuple[str, str, str]]


# `$.active` are requests under way.
DRIVES = (
    Drive("flot: ajax", [
        ("click", ".fetchSeries", "$.active === 0"), ("click", "p:nth-of-type(3) .fetchSeries", "$.active === 0"),
        ("click", ".dataUpdate", "$.active === 0 && performance.getEntries().some(e => /growth-5/.test(e.name))"),
    ]),
    Drive("jquery-ui: download", [("click", "#downloadButton", "$('.progress-label').text() === 'Complete!'")]),
    Drive("jquery-ui: autocomplete", [
        ("click", "#birds", "true"), ("Lon", "#birds", "$('.ui-menu-item:visible').length > 0"),
        ("DOWN", "#birds", "true"), ("ENTER", "#birds", "$('#log').children().length > 0"),
    ]),
    Drive("jquery-ui: tabs", [
        ("click", "#ui-id-2", "$.active === 0 && $('.ui-tabs-panel:visible').text() !== ''"),
        ("click", "#ui-id-3", "$.active === 0 && $('.ui-tabs-panel:visible').text() !== ''"),
    ]),
    Drive("jquery-ui: widget", [("click", ".custom-colorize-changer", "true"), ("click", "#disable", "true")]),
    Drive("2048", [(key, "body", "document.querySelectorAll('.tile').length > 1") for key in ("LEFT", "UP", "RIGHT")]),
    Drive("dygraphs: tutorial", [("click", "[id='0']", "true"), ("click", "[id='1']", "true")]),
    Drive("vis: showcase", [("click", "#btnFocus", "true"), ("click", "#btnZoom", "true")]),
)  # fmt: skip


@contextmanager
def browser(proxy: str = "") -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--window-size={SIZE.width},{SIZE.height}"):
        options.add_argument(flag)
    if proxy:
        options.add_argument(f"--proxy-server=http://{proxy}")
        options.add_argument("--proxy-bypass-list=<-loopback>")
    options.binary_location = str(build(REFERENCE).path)
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    try:
        yield driver
    finally:
        driver.quit()


def driven(driver: Any, url: str, drive: Drive) -> float:
    """Seconds from the address to the end of the session."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support import expected_conditions
    from selenium.webdriver.support.ui import WebDriverWait

    begun = time.perf_counter()
    driver.get(url)
    for what, where, done in drive.steps:
        there = expected_conditions.element_to_be_clickable((By.CSS_SELECTOR, where))
        target = WebDriverWait(driver, MOST_SECONDS, 0.01).until(there)
        if what == "click":
            target.click()
        else:
            target.send_keys(getattr(Keys, what, what))
        condition = f"return {done}"
        WebDriverWait(driver, MOST_SECONDS, 0.01).until(lambda own, ask=condition: own.execute_script(ask))
    return time.perf_counter() - begun


class Loop:
    """Servers that go on while WebDriver drives."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()


def record(loop: Loop, url: str, page: str, drive: Drive) -> tuple[float, Trace]:
    """The same session through the proxy, written down as a person's is."""
    scripts, archive = Scripts(live=True, person=True), Archive()
    proxy = AppProxy((url,), scripts, archive, closed=False)
    loop.do(proxy.start())
    try:
        with browser(proxy.address) as driver:
            seconds = driven(driver, f"{url}/{page}", drive)
            # As text: chromedriver makes null of what is undefined.
            said = json.loads(driver.execute_script(f"return JSON.stringify(window.{NAME}.take())"))
    finally:
        loop.do(proxy.close())
    events = tuple(event(one) for one in said["events"])
    return seconds, Trace(
        f"{url}/{page}", (url,), REFERENCE, SIZE, events, said["locals"], tuple(archive.exchanges), scripts.pages
    )


async def again(trace: Trace) -> tuple[float, Replayed]:
    scripts = Scripts(live=False, local=trace.local, came_as=trace.came_as)
    archive = Archive(trace.exchanges)
    async with session(build(REFERENCE), trace.environment, trace.origins, scripts, archive, closed=True) as own:
        begun = time.perf_counter()
        found = await replayed(trace, own)
        return time.perf_counter() - begun, found


def measured(loop: Loop, app: App, drive: Drive) -> dict[str, Any]:
    """In turn, so that whatever else the machine does is shared; the middle of each."""
    plain, recording, replaying = [], [], []
    wrong = 0
    serving = served(package(app.package))
    url = loop.do(serving.__aenter__())
    try:
        for _ in range(ROUNDS):
            with browser() as driver:
                plain.append(driven(driver, f"{url}/{app.page}", drive))
            seconds, trace = record(loop, url, app.page, drive)
            recording.append(seconds)
            seconds, found = asyncio.run(again(trace))
            replaying.append(seconds)
            wrong += bool(found.ended) + sum(len(step.behaviour) for step in found.steps) + len(found.behaviour)
    finally:
        loop.do(serving.__aexit__(None, None, None))
    base, record_, replay_ = map(statistics.median, (plain, recording, replaying))
    return {
        "events": len(trace.events), "steps": len(found.steps), "seconds": round(base, 3),
        "record": round(record_ / base, 3), "replay": round(replay_ / base, 3), "unlike the recording": wrong,
    }  # fmt: skip


def overhead() -> Iterator[Row]:
    """As in the paper: a session by WebDriver, the same while it is recorded, and its replay with all page data."""
    told: dict[str, Any] = {}
    loop = Loop()
    try:
        for drive in DRIVES:
            app = next(one for one in APPS if one.name == drive.app)
            told[app.name] = measured(loop, app, drive)
            print(app.name, told[app.name], flush=True)
    finally:
        loop.close()
    for what, wanted in (("record", "1.10 at most"), ("replay", "2.0 at most")):
        ratios = [one[what] for one in told.values()]
        name = "recording" if what == "record" else "replay"
        yield row(f"a session's time, {name} ÷ plain: mean", statistics.mean(ratios), wanted, most=max(ratios))
    yield row(
        "a person's sessions replayed: unlike the recording", sum(one["unlike the recording"] for one in told.values()),
        "0", apps=told,
    )  # fmt: skip


def lap(work: Callable[[], object]) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def by_xpert(a: Page, b: Page) -> None:
    for _ in xpert.differences(a, b):
        pass


def whole(a: Page, b: Page) -> None:
    same = matched(a, b)
    for _ in differences(Graph(a), Graph(b), same):
        pass
    for _ in compare.missing(a, b, same):
        pass


def stepwise(following: Following, a: Page, b: Page, afresh: bool) -> None:
    change = following.step(a, b, afresh=afresh)
    if change is None:
        return
    for _ in compare.missing(a, b, change.same, change.back, change.alone):
        pass
    if moved := change.either(change.first.moved, change.second.moved):
        for _ in differences(Graph(a), Graph(b), change.same, moved):
            pass


async def states(app: App) -> tuple[Replayed, Replayed]:
    async with served(package(app.package)) as url:
        trace = await recorded(app, url)
    return await replay(trace, build(REFERENCE)), await replay(trace, build(OTHER))


def structure() -> Iterator[Row]:
    """Processor time for the structure of the same states: page by page as X-PERT does it, page by page in our way, and
    from step to step. What is worked out once for a page and used by all is worked out before."""
    ratios: dict[str, list[float]] = {"X-PERT": [], "ours": []}
    told: dict[str, Any] = {}
    for app in APPS:
        first, second = asyncio.run(states(app))
        following, page = Following(), -1
        spent = dict.fromkeys(("X-PERT", "ours", "steps"), 0.0)
        for a, b in zip(first.steps, second.steps, strict=False):
            for one in (a.data, b.data):
                assert one.by_id and one.inside is not None and one.children
            costs = {
                "X-PERT": lap(partial(by_xpert, a.data, b.data)),
                "ours": lap(partial(whole, a.data, b.data)),
            }
            afresh, page = a.page != page, a.page
            own = lap(partial(stepwise, following, a.data, b.data, afresh))
            for name, cost in costs.items():
                ratios[name].append(cost / own)
                spent[name] += cost
            spent["steps"] += own
        told[app.name] = {
            "states": len(first.steps), "nodes": len(first.steps[0].data.nodes),
            **{f"{name} ÷ steps": round(spent[name] / spent["steps"], 1) for name in ratios},
        }  # fmt: skip
    for name, every in ratios.items():
        own = [one[f"{name} ÷ steps"] for one in told.values()]
        yield row(
            f"structure: whole pages ({name}) ÷ step by step, at the median state", statistics.median(every), "10",
            lowest=min(every), highest=max(every), states=len(every), at_the_median_application=statistics.median(own),
            apps=told,
        )  # fmt: skip


PARTS: dict[str, Callable[[], Iterator[Row]]] = {"overhead": overhead, "structure": structure}


def run() -> Iterator[Row]:
    for part in PARTS.values():
        yield from part()
