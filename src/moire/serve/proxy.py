"""The proxy of a web application: to its own origins and nowhere else, recorded, or answered from a recording.

Browsers send everything here. A document gets a script at its very beginning, and its policy is told of that script;
all else goes through as it is.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
from collections import Counter
from collections.abc import Collection
from typing import Protocol

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from .archive import Archive, Exchange, digest

# What concerns one connection, and what a browser must not keep for another time.
_HOP = frozenset([
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "content-length", "content-encoding", "cache-control", "expires", "etag",
    "last-modified", "age", "alt-svc", "strict-transport-security", "service-worker-allowed",
])  # fmt: skip
# A browser asks for the whole, since nothing was kept.
_ASKED = _HOP | {"accept-encoding", "if-none-match", "if-modified-since", "host"}
_DOCUMENTS = frozenset(["document", "iframe", "frame"])
MOST_REMEMBERED = 1000
MOST_HEAD, HEAD_SECONDS = 65536, 30.0
MOST_BODY = 256 << 20
# Where pages leave what they still have to say when they go.
SAID = "/.moire/said"


class Pages(Protocol):
    """Who has a say in documents."""

    def script(self, url: str, *, top: bool) -> str:
        """What runs in a document before anything else; a `top` one is no frame."""

    def said(self, text: str) -> None:
        """What a page had to say when it was left."""


class AppProxy:
    """`origins` as `http://host:port`. With an archive that is `closed`, all answers come from it."""

    def __init__(self, origins: Collection[str], pages: Pages, archive: Archive, *, closed: bool) -> None:
        self._origins = frozenset(origins)
        self._pages = pages
        self._archive = archive
        self._closed = closed
        # What was asked for in vain: beyond the origins, or not in the recording.
        self.refused: Counter[str] = Counter()
        # Why the application itself could not be asked, if so.
        self.unreached = ""
        self.address = ""
        self._front: asyncio.Server | None = None
        self._back: web.AppRunner | None = None
        self._port = 0
        self._client: aiohttp.ClientSession | None = None
        self._pipes: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_route("*", "/{path:.*}", self._serve)
        server = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0)
        await server.setup()
        await web.TCPSite(server, "127.0.0.1", 0).start()
        self._back, self._port = server, server.addresses[0][1]
        jar = aiohttp.DummyCookieJar()
        self._client = aiohttp.ClientSession(cookie_jar=jar, auto_decompress=True, trust_env=False)
        self._front = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=MOST_HEAD)
        self.address = f"127.0.0.1:{self._front.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        if self._front is not None:
            self._front.close()
        for pipe in self._pipes:
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
        if self._back is not None:
            await self._back.cleanup()

    # Connections

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Plain requests go to the server behind; a tunnel, which sockets ask for, to its origin."""
        task = asyncio.current_task()
        assert task is not None
        self._pipes.add(task)
        try:
            # Cancelled by nobody but our own end.
            with contextlib.suppress(
                OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, asyncio.CancelledError
            ):
                async with asyncio.timeout(HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n")
                method, target, *_ = head.decode("latin-1").split() or [""] * 2
                if method != "CONNECT":
                    await self._joined(reader, writer, "127.0.0.1", self._port, head)
                    return
                await reader.readuntil(b"\r\n\r\n")
                if self._closed or f"http://{target.removesuffix(':80')}" not in self._origins:
                    self._refuse(target)
                    writer.write(b"HTTP/1.1 403 Blocked by Moire\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    await writer.drain()
                    return
                host, _, port = target.rpartition(":")
                await self._joined(reader, writer, host, int(port), b"", b"HTTP/1.1 200 OK\r\n\r\n")
        finally:
            self._pipes.discard(task)
            writer.close()

    async def _joined(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, head: bytes,
        answer: bytes = b"",
    ) -> None:  # fmt: skip
        far_reader, far_writer = await asyncio.open_connection(host, port)
        far_writer.write(head)
        writer.write(answer)
        try:
            await asyncio.gather(_pour(reader, far_writer), _pour(far_reader, writer))
        finally:
            far_writer.close()

    def _refuse(self, what: str) -> None:
        if len(self.refused) < MOST_REMEMBERED:
            self.refused[what[:500]] += 1

    # Requests

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        url = request.url
        body = await request.read()
        if f"{url.origin()}" not in self._origins:
            self._refuse(str(url))
            return web.Response(status=403)
        if url.path == SAID:
            self._pages.said(body.decode("utf-8", "replace"))
            return web.Response(status=204)
        dest = request.headers.get("Sec-Fetch-Dest", "")
        known = self._archive.answer(request.method, str(url), body) if self._closed else None
        if known is None and self._closed:
            self._refuse(str(url))
            return web.Response(status=404)
        if known is None:
            known = await self._forward(request, url, body)
            self._archive.add(known)
        return self._told(known, dest)

    async def _forward(self, request: web.Request, url: URL, body: bytes) -> Exchange:
        assert self._client is not None
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in _ASKED)
        try:
            async with self._client.request(
                request.method, url, headers=headers, data=body or None, allow_redirects=False
            ) as answer:
                data = await answer.read()
                kept = tuple((name, value) for name, value in answer.headers.items() if name.lower() not in _HOP)
                return Exchange(request.method, str(url), digest(body), answer.status, kept, data)
        except (aiohttp.ClientError, TimeoutError) as error:
            self.unreached = str(error) or type(error).__name__
            words = f"Moire could not reach {url.origin()}: {self.unreached}".encode()
            return Exchange(request.method, str(url), digest(body), 502, (("Content-Type", "text/plain"),), words)

    def _told(self, one: Exchange, dest: str) -> web.Response:
        headers = CIMultiDict(one.headers)
        headers["Cache-Control"] = "no-store"
        body = one.body
        kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind == "text/html" and (dest in _DOCUMENTS or not dest) and one.status not in (204, 304):
            script = self._pages.script(one.url, top=dest not in ("iframe", "frame"))
            body = _with_script(body, script)
            _allow(headers, script)
        return web.Response(status=one.status, headers=headers, body=body)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


_FIRST = re.compile(rb"\s*(?:<!--.*?-->\s*)*(?:<!doctype[^>]*>)?(?:\s*<html[^>]*>)?(?:\s*<head[^>]*>)?", re.I | re.S)


def _with_script(body: bytes, script: str) -> bytes:
    """Before all else that runs, and after what says how the page is to be read."""
    start = 3 if body.startswith(b"\xef\xbb\xbf") else 0
    found = _FIRST.match(body, start)
    place = found.end() if found else start
    # What is not of this world is written as a script writes it: whatever the page's encoding is.
    return body[:place] + b"<script>" + script.encode("ascii") + b"</script>" + body[place:]


def _allow(headers: CIMultiDict[str], script: str) -> None:
    """The script by its hash, where a policy would not let it run."""
    mark = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode('ascii')).digest()).decode()}'"
    for name in ("Content-Security-Policy",):
        policies = headers.popall(name, [])
        for policy in policies:
            headers.add(name, "; ".join(_amended(policy.split(";"), mark)))


def _amended(directives: list[str], mark: str) -> list[str]:
    names = {words[0].lower(): words for part in directives if (words := part.split())}
    for name, more in (("script-src-elem", mark), ("script-src", mark), ("connect-src", SAID)):
        own = names.get(name) or names.get("default-src")
        if own is None or (name == "script-src-elem" and name not in names):
            continue
        names[name] = [name, *_widened(own[1:], more)]
    return [" ".join(words) for words in names.values()]


def _widened(sources: list[str], more: str) -> list[str]:
    """A hash takes back `'unsafe-inline'`, so where that holds it is not given."""
    marked = any(one.startswith(("'nonce-", "'sha")) for one in sources)
    if more.startswith("'sha") and "'unsafe-inline'" in sources and not marked:
        return sources
    if more == SAID:
        return sources if {"'self'", "*"} & {*sources} else [*(s for s in sources if s != "'none'"), "'self'"]
    return [*(s for s in sources if s != "'none'"), more]
