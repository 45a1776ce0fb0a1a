"""`moire serve`: the viewer of reports, with data as it comes to be."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from ..nouns import MoireError, UsageError
from ..reports import consensus, records
from ..store import Store
from .content import Content, LivePlaces
from .content import headers as content_headers
from .control import Begun, command, triage
from .guard import guarded
from .reader import Reader

T = TypeVar("T")

HOST = "127.0.0.1"
# Seconds between two looks at the store: it tells nobody of a change.
_LOOKS = 0.5
# What is asked for when the server ends has so long to be answered; aiohttp takes 0 for without end.
LAST_SECONDS = 0.1
# A listener that has gone is noticed by telling it that nothing has happened.
_SILENCE = 15.0
# Findings that are shown before all are there.
_FIRST = 60
# Findings of a list that are read and sent at once.
_AT_ONCE = 500
_MOST_IDS = 2**63 - 1
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
_HEADERS = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}  # fmt: skip


class Monitor:
    """Two servers on loopback: one has the viewer and its data, the other pictures and pages under test."""

    def __init__(self, folder: Path, builds: Sequence[str]) -> None:
        self.token = secrets.token_urlsafe(24)
        self.address = self.content = ""
        self._folder = folder
        self._builds = list(builds)
        self._reader = Reader(folder)
        self._begun = Begun(folder, self._reader)
        self._changed = asyncio.Condition()
        self._ended = False
        self._files = {file.name: file.read_bytes() for file in (resources.files("moire.reports") / "viewer").iterdir()}

    @property
    def url(self) -> str:
        return f"{self.address}/#token={self.token}"

    @asynccontextmanager
    async def running(self, port: int) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            content = Content(self._reader)
            self.content = await _listening(stack, content.routes(), 0, content_headers)
            self.address = await _listening(stack, self._routes(), port, self._headers, self.token)
            watching = asyncio.create_task(self._watch())
            stack.callback(watching.cancel)
            stack.push_async_callback(self._begun.close)
            stack.push_async_callback(self._end)
            yield

    async def _end(self) -> None:
        """Nobody listens to a server that ends."""
        self._ended = True
        async with self._changed:
            self._changed.notify_all()

    def _headers(self) -> dict[str, str]:
        policy = (
            f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {self.content}; connect-src 'self';"
            " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return {**_HEADERS, "Content-Security-Policy": policy}

    def _routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._file), web.get("/viewer/{name}", self._file), web.get("/data/config.js", self._config),
            web.get("/data/runs.json", self._runs), web.get("/data/run/{name}.json", self._run),
            web.get("/data/findings.json", self._findings), web.get("/data/first.json", self._first),
            web.get("/data/triage.json", self._triage),
            web.get("/data/finding/{id:[0-9]{1,18}}.json", self._finding), web.get("/events", self._events),
            web.post("/control", self._control), web.post("/say", self._say), web.post("/begin", self._begin),
            web.post("/recheck", self._recheck),
        ]  # fmt: skip

    # What there is to see

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info.get("name", "index.html")
        if name not in self._files:
            raise web.HTTPNotFound
        return web.Response(body=self._files[name], content_type=_KINDS[Path(name).suffix], charset="utf-8")

    async def _config(self, request: web.Request) -> web.Response:
        config = {"offline": False, "builds": self._builds, "content": self.content}
        return web.Response(text=f"M.config = {json.dumps(config)};\n", content_type="text/javascript")

    async def _runs(self, request: web.Request) -> web.Response:
        def read(store: Store) -> list[dict[str, Any]]:
            counts = store.counts()
            return [records.brief(store, run, counts.get(run.id, (0, 0, 0))) for run in store.runs()]

        return web.json_response(await self._reader(read))

    async def _run(self, request: web.Request) -> web.Response:
        places = LivePlaces(self.content)

        def read(store: Store) -> dict[str, Any]:
            run = store.run(request.match_info["name"])
            drawn = places.charts(run.name, consensus.DRAWINGS) if run.kind == "consensus" else []
            return {**records.whole(store, run, store.counts().get(run.id, (0, 0, 0)), places), "charts": drawn}

        return web.json_response(await self._reader(read))

    async def _findings(self, request: web.Request) -> web.StreamResponse:
        """Some at a time: all at once, the longest list would stay in memory."""
        since = request.query.get("since", "0")
        if not re.fullmatch("[0-9]{1,18}", since):
            raise web.HTTPBadRequest(text="since is a number.")
        # Those that an earlier Moire wrote meanwhile never changed.
        last = (int(since), _MOST_IDS) if int(since) else (-1, 0)

        def read(store: Store) -> tuple[list[str], tuple[int, int]]:
            kinds = {run.name: run.kind for run in store.runs()}
            found = store.rows_after(*last, _AT_ONCE)
            return [records.row(one, kinds) for one in found], (found[-1].changed, found[-1].id) if found else last

        answer = web.StreamResponse(headers={**self._headers(), "Content-Type": "application/json"})
        lines, last = await self._reader(read)
        await answer.prepare(request)
        await answer.write(b'{"rows": [')
        while lines:
            await answer.write(",\n".join(lines).encode())
            lines, last = await self._reader(read)
            await answer.write(b",\n" if lines else b"")
        await answer.write(f'], "changed": {max(0, last[0])}}}'.encode())
        return answer

    async def _first(self, request: web.Request) -> web.Response:
        """What a long list begins with, while the rest is on its way."""

        def read(store: Store) -> str:
            kinds = {run.name: run.kind for run in store.runs()}
            found = store.rows_most_visible(request.query.get("run", ""), _FIRST)
            return ",".join(records.row(one, kinds) for one in found)

        text = f'{{"rows": [{await self._reader(read)}]}}'
        return web.Response(text=text, content_type="application/json")

    async def _finding(self, request: web.Request) -> web.Response:
        id, places = int(request.match_info["id"]), LivePlaces(self.content)

        def read(store: Store) -> dict[str, Any]:
            name, finding = store.finding(id)
            return records.finding(store, store.run(name), id, finding, places)

        return web.json_response(await self._reader(read))

    async def _triage(self, request: web.Request) -> web.Response:
        return web.json_response(await self._reader(records.triage))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """A line whenever the store has changed."""
        answer = web.StreamResponse(headers={**self._headers(), "Content-Type": "text/event-stream"})
        await answer.prepare(request)
        # What changed while nobody listened.
        await answer.write(b"data: changed\n\n")
        with suppress(ConnectionResetError, asyncio.CancelledError):
            while not self._ended:
                async with self._changed:
                    try:
                        await asyncio.wait_for(self._changed.wait(), _SILENCE)
                        said = b"data: changed\n\n"
                    except TimeoutError:
                        said = b": nothing\n\n"
                await answer.write(said)
        return answer

    async def _watch(self) -> None:
        with Store(self._folder) as store:
            seen = -1
            while True:
                # A store that cannot be read now may be later.
                with suppress(MoireError):
                    now = store.version()
                    if now != seen:
                        seen = now
                        async with self._changed:
                            self._changed.notify_all()
                await asyncio.sleep(_LOOKS)

    # What can be done

    async def _control(self, request: web.Request) -> web.Response:
        facts = await _facts(request)
        await self._reader(lambda store: command(store, str(facts.get("run")), str(facts.get("what"))))
        return web.json_response({})

    async def _say(self, request: web.Request) -> web.Response:
        facts = await _facts(request)
        await self._reader(lambda store: triage(store, facts))
        return web.json_response({})

    async def _begin(self, request: web.Request) -> web.Response:
        return web.json_response({"name": await _told(self._begun.hunt(await _facts(request)))})

    async def _recheck(self, request: web.Request) -> web.Response:
        return web.json_response(await _told(self._begun.recheck(await _facts(request))))


async def _facts(request: web.Request) -> dict[str, Any]:
    try:
        facts = await request.json()
    except (ValueError, LookupError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise web.HTTPBadRequest(text="This is no JSON object.")
    return facts


async def _told(work: Awaitable[T]) -> T:
    try:
        return await work
    except UsageError as error:
        raise web.HTTPBadRequest(text=str(error).strip()) from None


async def _listening(
    stack: AsyncExitStack, routes: Sequence[web.RouteDef], port: int, headers: Callable[[], dict[str, str]],
    token: str = "",
) -> str:  # fmt: skip
    """The address of a server that ends with the stack; any free port, if none is given."""
    actual = port
    app = web.Application(middlewares=[guarded(lambda: actual, headers, token)])
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=LAST_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    try:
        await web.TCPSite(runner, HOST, port).start()
    except OSError as error:
        raise UsageError(f"Nobody can listen on port {port}: {error.strerror}.", "Give --port another, or 0.") from None
    actual = runner.addresses[0][1]
    return f"http://{HOST}:{actual}"
