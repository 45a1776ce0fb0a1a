"""Pictures and pages under test, from an origin of their own: nothing there can reach the live page."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from aiohttp import web

from ..nouns import Case
from ..pages.normal import normalised
from ..pixels import average, close_up, decode, difference, encode
from ..reports import consensus, records
from ..store import Finding, Run, Store, Trial, case_of
from ..store.blobs import Blobs
from .reader import Reader

# Nothing runs, nothing is sent and nothing is fetched from elsewhere, whatever the page says.
_SAFE = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'self' 'unsafe-inline' data:;"
    " img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "cross-origin",
}  # fmt: skip
# What is named by its content never changes.
_FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}
_BLOB = re.compile(r"[0-9a-f]{40}")


def headers() -> dict[str, str]:
    return dict(_SAFE)


class LivePlaces:
    """Where the live page finds pictures and pages."""

    def __init__(self, address: str) -> None:
        self._address = address

    def picture(self, blob: str) -> str:
        return f"{self._address}/picture/{blob}"

    def difference(self, a: str, b: str) -> str:
        return f"{self._address}/difference/{a}/{b}"

    def close_up(self, a: str, b: str) -> str:
        return f"{self._address}/close-up/{a}/{b}"

    def average(self, blobs: Sequence[str]) -> str:
        return f"{self._address}/average/{'/'.join(blobs)}"

    def pages(self, id: int, finding: Finding) -> Mapping[str, str]:
        end = records.end(finding.details)
        details = finding.details
        found = {"page": f"page{end}"} if "page" in details else {}
        found |= {"before reduction": f"before{end}"} if "before" in details else {}
        found |= {"operations": "update.json"} if details.get("update", "[]") != "[]" else {}
        return {words: f"{self._address}/page/{id}/{name}" for words, name in found.items()}

    def trial(self, run: Run, trial: Trial, name: str) -> str:
        place = list(trial.pictures).index(name)
        # A slot is used again: the number tells its pictures apart.
        return f"{self._address}/trial/{run.name}/{trial.slot}/{place}.png?{trial.number}"

    def command(self, run: Run, finding: Finding) -> str:
        return records.command(run, finding, "page")

    def charts(self, run: str, names: Sequence[str]) -> list[str]:
        return [f"{self._address}/chart/{run}/{name}.svg" for name in names]


@lru_cache(maxsize=64)
def _drawn(folder: Path, kind: str, blobs: tuple[str, ...]) -> bytes:
    kept = Blobs(folder)
    images = [decode(_png(kept.read(blob))) for blob in blobs]
    if kind == "average":
        return encode(average(images))
    make = {"difference": difference, "close-up": close_up}[kind]
    return encode(make(images[0], images[1]))


class Content:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._drawing = asyncio.Lock()
        self._key: tuple[object, ...] = ()
        self._charts: Mapping[str, str] = {}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/picture/{blob}", self._picture), web.get("/{kind:difference|close-up}/{a}/{b}", self._made),
            web.get("/{kind:average}/{blobs:.+}", self._made), web.get("/page/{id:[0-9]{1,18}}/{path:.+}", self._page),
            web.get("/chart/{run}/{name}.svg", self._chart),
            web.get("/trial/{run}/{slot:[0-9]{1,3}}/{place:[0-9]{1,2}}.png", self._trial),
        ]  # fmt: skip

    async def _picture(self, request: web.Request) -> web.Response:
        blob = _named(request.match_info["blob"])
        data = await self._reader(lambda store: _png(store.blobs.read(blob)))
        return web.Response(body=data, content_type="image/png", headers=_FOR_EVER)

    async def _made(self, request: web.Request) -> web.Response:
        found = request.match_info
        names = found["blobs"].split("/") if "blobs" in found else [found["a"], found["b"]]
        blobs = tuple(map(_named, names))
        data = await self._reader(lambda store: _drawn(store.blobs.folder, found["kind"], blobs))
        return web.Response(body=data, content_type="image/png", headers=_FOR_EVER)

    async def _page(self, request: web.Request) -> web.Response:
        """The page of a finding as browsers got to see it, or what it takes from beside it."""
        id, path = int(request.match_info["id"]), request.match_info["path"]

        def read(store: Store) -> bytes | None:
            name, finding = store.finding(id)
            if path == "update.json":
                return records.lines(finding.details.get("update", "[]")).encode()
            case = case_of(store.blobs, finding)
            end = records.end(finding.details)
            if path == f"before{end}" and "before" in finding.details:
                case = replace(case, html=store.blobs.read(finding.details["before"]["page"]))
            elif path != f"page{end}":
                return case.resources.get(path)
            seen: Case = normalised(case) if store.run(name).settings.get("normal") else case
            return seen.html

        data = await self._reader(read)
        if data is None:
            raise web.HTTPNotFound
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        return web.Response(body=data, headers={"Content-Type": kind, "Cache-Control": "no-store"})

    async def _trial(self, request: web.Request) -> web.Response:
        slot, place = int(request.match_info["slot"]), int(request.match_info["place"])

        def read(store: Store) -> bytes | None:
            trials = store.trials(store.run(request.match_info["run"]))
            pictures = next((list(one.pictures.values()) for one in trials if one.slot == slot), [])
            return pictures[place] if place < len(pictures) else None

        data = await self._reader(read)
        if data is None:
            raise web.HTTPNotFound
        return web.Response(body=_png(data), content_type="image/png", headers={"Cache-Control": "no-store"})

    async def _chart(self, request: web.Request) -> web.Response:
        def draw(store: Store) -> Mapping[str, str]:
            run = store.run(request.match_info["run"])
            if run.kind != "consensus":
                return {}
            key = (run.name, *store.counts().get(run.id, (0, 0, 0)))
            if key != self._key:
                found = store.findings(run, consensus.DRAWN)
                self._key, self._charts = key, consensus.drawings(store, run, found)
            return self._charts

        # All of a run's charts are drawn at once, and asked for at once.
        async with self._drawing:
            chart = (await self._reader(draw)).get(request.match_info["name"])
        if chart is None:
            raise web.HTTPNotFound
        return web.Response(text=chart, content_type="image/svg+xml", headers={"Cache-Control": "no-store"})


def _png(data: bytes) -> bytes:
    """Pages are shown by the findings they belong to."""
    if not data.startswith(b"\x89PNG"):
        raise web.HTTPNotFound
    return data


def _named(blob: str) -> str:
    if not _BLOB.fullmatch(blob):
        raise web.HTTPNotFound
    return blob
