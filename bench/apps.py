"""Applications from npm, replayed: in one browser twice, with faults that only another engine has, and how long it
takes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from moire.apps.check import Compared, compared
from moire.apps.record import recording
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
    import mimetypes

    async def serve(request: web.Request) -> web.Response:
        file = (folder / request.match_info["path"]).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
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


def itself() -> Iterator[Row]:
    told: dict[str, Any] = {}
    wrong = 0
    for one in APPS:
        trace, found = asyncio.run(twice(one))
        every = [*found.issues, *found.passing]
        behaviour = [*(b for s in found.reference.steps for b in s.behaviour), *found.reference.behaviour]
        wrong += len(every) + len(behaviour)
        told[one.name] = {
            "events": len(trace.events), "steps": len(found.reference.steps), "differences": len(every),
            "unlike the recording": len(behaviour), "ended": found.reference.ended,
        }  # fmt: skip
        print(one.name, told[one.name], [f"{b.event} {b.kind} {b.words[:120]}" for b in behaviour[:3]],
              [i.signature[:100] for i in every[:3]], flush=True)  # fmt: skip
    yield row("applications replayed twice in one browser: differences", wrong, "0", apps=told)


PARTS: dict[str, Callable[[], Iterator[Row]]] = {"itself": itself}


def run() -> Iterator[Row]:
    for part in PARTS.values():
        yield from part()
