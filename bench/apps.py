"""Applications from npm, replayed: in one browser twice, with faults that only another engine has, and how long it
takes."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import subprocess
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp import web

from moire.apps.check import Compared, compared
from moire.apps.detect import Detector, Issue
from moire.apps.record import recording
from moire.apps.replay import Replayed, Step, View, replay
from moire.apps.trace import Trace
from moire.nouns import Environment

from .common import Row, build, row

# Packages are fetched once.
PLACE = Path("runs") / "apps"
SIZE = Environment(1000, 700)
PATIENCE = 1.5
REFERENCE = os.environ.get("MOIRE_BENCH_REFERENCE", "chromium@156")
Action = Mapping[str, Any]


def click(target: str) -> Action:
    return {"action": "click", "target": target}


def typed(target: str, value: str) -> Action:
    return {"action": "type", "target": target, "value": value}


def keys(*names: str, target: str = "body") -> list[Action]:
    return [{"action": "key", "target": target, "value": name} for name in names]


@dataclass(frozen=True, slots=True)
class App:
    """One page of a package, and what a user does in it."""

    name: str
    package: str
    page: str
    actions: Sequence[Action]


APPS = (
    App("flot: ajax", "jquery.flot@0.8.3", "examples/ajax/index.html", [
        click(".fetchSeries"), click("div:nth-of-type(2) .fetchSeries"), click(".dataUpdate"),
    ]),
    App("flot: realtime", "jquery.flot@0.8.3", "examples/realtime/index.html", [typed("#updateInterval", "200")]),
    App("jquery-ui: download", "jquery-ui@1.12.1", "demos/progressbar/download.html", [click("#downloadButton")]),
    App("jquery-ui: autocomplete", "jquery-ui@1.12.1", "demos/autocomplete/xml.html", [
        typed("#birds", "Lon"), *keys("ArrowDown", "Enter", target="#birds"),
    ]),
    App("jquery-ui: tabs", "jquery-ui@1.12.1", "demos/tabs/ajax.html", [click("#ui-id-2"), click("#ui-id-3")]),
    App("jquery-ui: widget", "jquery-ui@1.12.1", "demos/widget/default.html", [click(".custom-colorize-changer"),
                                                                              click("#disable")]),
    App("particles", "particles.js@2.0.0", "demo/index.html", [click("#particles-js canvas")]),
    App("2048", "game-2048@0.0.7", "index.html", [*keys("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"),
                                                  click(".restart-button")]),
    App("tetris", "tetris.js@0.0.1", "examples/basicExample.html", keys("ArrowLeft", "ArrowRight", "ArrowUp")),
    App("dygraphs: live", "dygraphs@2.2.2", "_site/tests/dynamic-update.html", []),
    App("dygraphs: tutorial", "dygraphs@2.2.2", "_site/tutorial.html", [click("[id='0']"), click("[id='1']")]),
    App("vis: showcase", "vis@4.21.0", "examples/network/other/animationShowcase.html", [
        click("#btnFocus"), click("#btnZoom"),
    ]),
    App("life", "life-game@1.0.75", "demo/web/index.html", [click(".btn-randomize"), click(".btn-create-cycles")]),
)  # fmt: skip


def package(name: str) -> Path:
    """Where its files are."""
    place = PLACE / name.replace("/", "-")
    if not place.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        words = ["npm", "pack", name, "--silent", "--pack-destination", str(PLACE)]
        file = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(PLACE / file) as archive:
            archive.extractall(place, filter="data")
    return next(one for one in sorted(place.iterdir()) if one.is_dir())


@asynccontextmanager
async def served(folder: Path, change: Callable[[str, bytes], bytes] = lambda path, data: data) -> AsyncIterator[str]:
    """A folder by HTTP; `change` may have its files otherwise."""

    root = await asyncio.to_thread(folder.resolve)

    async def serve(request: web.Request) -> web.Response:
        file = (root / request.match_info["path"]).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return web.Response(status=404)
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return web.Response(body=change(request.match_info["path"], file.read_bytes()), content_type=kind)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def recorded(one: App, url: str, reference: str = REFERENCE) -> Trace:
    async with recording(build(reference), f"{url}/{one.page}", (url,), SIZE, PATIENCE) as own:
        for action in one.actions:
            await own.act(action)
        return own.trace


async def twice(one: App) -> tuple[Trace, Compared]:
    async with served(package(one.package)) as url:
        trace = await recorded(one, url)
    (found,) = await compared(trace, build(REFERENCE), [build(REFERENCE)])
    return trace, found


async def acted(one: App, url: str) -> Replayed:
    """What a user does, and nothing else of the session, done again: as tools do it that know of nothing else."""
    steps: list[Step] = []
    async with recording(build(REFERENCE), f"{url}/{one.page}", (url,), SIZE, PATIENCE) as own:

        async def look() -> None:
            await own.session.tab.settle()
            png = await own.session.tab.screenshot()
            data, scroll = await own.session.page()
            steps.append(Step(0, (), (), data, (View(png, scroll),)))

        await look()
        for action in one.actions:
            await own.act(action)
            await look()
    return Replayed(REFERENCE, tuple(steps), ())


async def by_acts_alone(one: App) -> int:
    async with served(package(one.package)) as url:
        first, second = await acted(one, url), await acted(one, url)
    return len([*Detector().issues(first, second)])


def itself() -> Iterator[Row]:
    """Each in the reference, twice; what is not as it was when it was recorded counts, too."""
    told: dict[str, Any] = {}
    wrong = alone = 0
    for one in APPS:
        trace, found = asyncio.run(twice(one))
        every = [*found.issues, *found.passing]
        behaviour = [*(b for s in found.reference.steps for b in s.behaviour), *found.reference.behaviour]
        chance = asyncio.run(by_acts_alone(one))
        wrong += len(every) + len(behaviour) + bool(found.reference.ended)
        alone += chance
        told[one.name] = {
            "events": len(trace.events), "steps": len(found.reference.steps), "differences": len(every),
            "unlike the recording": len(behaviour), "by acts alone": chance,
        }  # fmt: skip
    yield row("applications replayed twice in one browser: differences", wrong, "0", apps=told)
    yield row("the same by what a user does alone", alone, "reported", apps=len(APPS))


@dataclass(frozen=True, slots=True)
class Fault:
    """What only Firefox does, in a page of an application: `code` runs at the end of the page."""

    app: str
    kind: str
    code: str


def style(rule: str) -> str:
    return f"document.head.insertAdjacentHTML('beforeend', '<style>{rule}</style>')"


def says(selector: str, text: str) -> str:
    return f"document.querySelector('{selector}').textContent = '{text}'"


def stops(type: str, selector: str) -> str:
    stop = f"event.target.matches('{selector}') && (event.stopImmediatePropagation(), event.preventDefault())"
    return f"addEventListener('{type}', event => {stop}, true)"


FLOT, TABS, WIDGET, COMPLETE = "flot: ajax", "jquery-ui: tabs", "jquery-ui: widget", "jquery-ui: autocomplete"
FAULTS = (
    *(Fault(app, "structure", style(rule)) for app, rule in (
        (FLOT, ".demo-container { width: 500px }"), (FLOT, "button.dataUpdate { margin-left: 200px }"),
        (TABS, "#tabs ul li { float: right !important }"), (TABS, ".demo-description { margin-left: 100px }"),
        (TABS, "#tabs-1 { padding-left: 150px !important }"), (WIDGET, "#my-widget2 { margin-left: 120px }"),
        (WIDGET, "#green { display: block }"), (WIDGET, "#disable { float: right }"),
        (COMPLETE, "#birds { display: block }"), (COMPLETE, "#log { margin-left: 90px }"),
    )),
    *(Fault(app, "text", code) for app, code in (
        (FLOT, says("h2", "Ajax!")), (FLOT, says(".dataUpdate", "Polls for data")), (FLOT, says("#footer", "Nobody")),
        (FLOT, "const j = JSON.parse; JSON.parse = t => { const r = j(t); if (r.label) r.label += '!'; return r; }"),
        (TABS, says("#tabs li a", "Unloaded")), (TABS, says("#tabs-1 p", "Proin elit arcu")),
        (WIDGET, says("#green", "Go red")), (WIDGET, says("#disable", "Toggle")),
        (COMPLETE, says("label", "Paris matches: ")), (COMPLETE, says(".demo-description p", "This demo shows")),
    )),
    *(Fault(app, "image", style(rule)) for app, rule in (
        (FLOT, "#header h2 { color: red !important }"),
        (FLOT, ".dataUpdate { background: #9cf; border: 2px solid #06c }"),
        (FLOT, "#placeholder canvas { filter: invert(1) }"), (TABS, "#tabs ul li a { background: #060 }"),
        (TABS, ".demo-description p { background: #fc9 }"), (TABS, "#tabs-1 p { color: #00f !important }"),
        (WIDGET, "#green { background: #0c0; border: 2px solid #080 }"),
        (WIDGET, ".demo-description p { color: #c00 }"),
        (COMPLETE, "#log { background: #ffc !important }"), (COMPLETE, "label { background: #000; color: #fff }"),
    )),
    *(Fault(app, "behaviour", code) for app, code in (
        (FLOT, stops("click", "p:nth-of-type(3) .fetchSeries")), (FLOT, "JSON.parse = () => { throw new Error('no') }"),
        (FLOT, "const s = setTimeout; window.setTimeout = (f, d, ...r) => d === 1000 ? 0 : s(f, d, ...r)"),
        (TABS, stops("click", "#ui-id-2")),
        (TABS, "const o = XMLHttpRequest.prototype.open;"
               " XMLHttpRequest.prototype.open = function (m, u, ...r) { return o.call(this, m, u + '?', ...r); }"),
        (WIDGET, "addEventListener('click', () => Math.random(), true)"), (WIDGET, "Math.random = () => 0.5"),
        (WIDGET, "addEventListener('click', () => { throw new Error('no'); }, true)"),
        (COMPLETE, stops("keydown", "#birds")), (COMPLETE, "document.querySelector('#log').remove()"),
    )),
)  # fmt: skip
OTHER = os.environ.get("MOIRE_BENCH_OTHER", "firefox@153")
ENGINES = ("chromium@156", "firefox@153", "webkit@2.50")


def spoilt(trace: Trace, one: Fault) -> Trace:
    """The same session of a page that has the fault."""
    script = f"<script>if (/Firefox/.test(navigator.userAgent)) {{ {one.code} }}</script></body>".encode()
    exchanges = tuple(
        replace(each, body=each.body.replace(b"</body>", script, 1)) if each.url == trace.url else each
        for each in trace.exchanges
    )
    return replace(trace, exchanges=exchanges)


async def with_faults(app: App, faults: Sequence[Fault]) -> tuple[list[Issue], list[list[Issue]]]:
    """What is found in all engines without a fault, and in one with each."""
    async with served(package(app.package)) as url:
        trace = await recorded(app, url)
    first = await replay(trace, build(REFERENCE))

    async def issues(of: Trace, engine: str) -> list[Issue]:
        return [*Detector().issues(first, await replay(of, build(engine)))]

    clean = [issue for engine in ENGINES for issue in await issues(trace, engine)]
    return clean, [await issues(spoilt(trace, one), OTHER) for one in faults]


def faults() -> Iterator[Row]:
    """Faults of four kinds that only one engine has. Found is one of which an issue of its kind is told; wrong is what
    is told without a fault, in any engine."""
    right = of_kind = hit = false = 0
    missed: list[str] = []
    told: dict[str, Any] = {}
    for app in APPS:
        own = [one for one in FAULTS if one.app == app.name]
        if not own:
            continue
        clean, found = asyncio.run(with_faults(app, own))
        known = {issue.signature for issue in clean}
        false += len(clean)
        if clean:
            told[app.name] = [f"{issue.signature}: {issue.words}" for issue in clean]
        for one, issues in zip(own, found, strict=True):
            new = [issue for issue in issues if issue.signature not in known]
            fits = [issue for issue in new if issue.kind == one.kind]
            hit += bool(fits)
            right += len(new)
            of_kind += len(fits)
            if not fits:
                missed.append(f"{app.name}: {one.kind}: {one.code}")
        print(f"{app.name}: {hit} found so far, {false} wrong", flush=True)
    yield row("seeded faults found", hit / len(FAULTS), "0.95", faults=len(FAULTS), missed=missed)
    details = {"issues": right + false, "of their fault's kind": of_kind, "without a fault": told}
    yield row("issues that are of a fault", right / max(1, right + false), "0.97", **details)


PARTS: dict[str, Callable[[], Iterator[Row]]] = {"itself": itself, "faults": faults}


def run() -> Iterator[Row]:
    for part in PARTS.values():
        yield from part()
