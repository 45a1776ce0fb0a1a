"""The proxy of a web application: to its own origins and nowhere else, recorded, or answered from a recording.

Browsers send everything here. Documents get a script; all else goes through as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from ipaddress import ip_address
from typing import Protocol

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from . import certificate
from .archive import UNANSWERED, Archive, Exchange, Headers, digest
from .documents import (
    TALK,
    Place,
    as_module,
    is_module,
    is_page,
    kind_of,
    leaves_alone,
    place,
    shown,
    with_script,
)  # fmt: skip

# What concerns one connection, and what a browser must not keep for another time.
_HOP = frozenset([
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "content-length", "content-encoding", "cache-control", "expires", "age", "alt-svc",
    "strict-transport-security", "service-worker-allowed",
])  # fmt: skip
# A browser asks for the whole, since nothing was kept, and others may want other parts.
_ASKED = _HOP | {"accept-encoding", "if-none-match", "if-modified-since", "host", "range", "if-range"}
MOST_REMEMBERED = 1000
MOST_HEAD, HEAD_SECONDS = 65536, 30.0
# For a server to say anything at all.
ANSWER_SECONDS = 120.0
MOST_BODY = 256 << 20
# For an answer to a script to be whole; what takes longer goes on as it comes.
WHOLE_SECONDS = 2.0
# What concerns one socket, and is said anew to the next.
_SOCKET = frozenset(
    ["sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions", "sec-websocket-protocol"]
)
_HARMLESS = frozenset(["GET", "HEAD", "OPTIONS"])


class Pages(Protocol):
    """Who has a say in documents."""

    def script(self, place: Place) -> str:
        """What runs in a document before anything else."""

    def begun(self, token: str) -> str:
        """What a page is told that is shown; nothing if there is no such page."""

    def said(self, token: str, text: str) -> None:
        """What a page has to say."""


class AppProxy:
    """`origins` as `http://host:port`, or with `https:`. With an archive that is `closed`, all answers come from it."""

    carries = True

    def __init__(
        self, origins: Collection[str], pages: Pages, archive: Archive, *, closed: bool, read_only: bool = False
    ) -> None:
        self._origins = frozenset(origins)
        self._pages = pages
        self._archive = archive
        self._closed = closed
        self._read_only = read_only
        secure = {host for one in origins if one.startswith("https:") and (host := URL(one).host)}
        self._context = certificate.context(secure) if secure else None
        # What was asked for in vain: beyond the origins, or not in the recording.
        self.refused: Counter[str] = Counter()
        # Why the application itself could not be asked, if so; and the origin that the window was last kept away from.
        self.unreached = self.kept_from = ""
        self.address = ""
        self._front: asyncio.Server | None = None
        self._back: web.AppRunner | None = None
        # Of what comes in plainly, and of what came in by `https:`.
        self._plain = self._secure = 0
        self._client: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        # What was asked for and not answered yet, sockets and streams aside; and what a window is to show.
        self._asked, self._leading = Waited(), Waited()

    @property
    def busy(self) -> bool:
        """Whether anything that was asked for was not answered yet; sockets and streams do not count."""
        return bool(self._asked.count)

    async def rest(self) -> None:
        """Until everything was."""
        await self._asked.none.wait()

    @property
    def leads(self) -> bool:
        """Whether a page for the window is on its way."""
        return bool(self._leading.count)

    async def led(self) -> None:
        await self._leading.none.wait()

    @property
    def stands_in(self) -> bool:
        """Whether it answers for others with a certificate of its own."""
        return self._context is not None

    async def start(self) -> None:
        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_route("*", "/{path:.*}", self._serve)
        # What a browser no longer waits for is no longer asked for.
        server = web.AppRunner(
            app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=0,
            max_line_size=MOST_HEAD, max_field_size=MOST_HEAD,
        )  # fmt: skip
        await server.setup()
        for _ in range(2):
            await web.TCPSite(server, "127.0.0.1", 0).start()
        self._back = server
        self._plain, self._secure = (address[1] for address in server.addresses)
        jar = aiohttp.DummyCookieJar()
        self._client = aiohttp.ClientSession(cookie_jar=jar, auto_decompress=True, trust_env=False)
        self._front = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=MOST_HEAD)
        self.address = f"127.0.0.1:{self._front.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        if self._front is not None:
            self._front.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
        if self._back is not None:
            await self._back.cleanup()

    # Connections

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """All goes to the server behind: what comes plainly, and what comes in a tunnel, as sockets and `https:` do."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled by nobody but our own end.
            with contextlib.suppress(
                OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, asyncio.CancelledError
            ):
                async with asyncio.timeout(HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n")
                    method, target, *_ = head.decode("latin-1").split() or [""] * 2
                    if method != "CONNECT":
                        port = self._plain
                    else:
                        await reader.readuntil(b"\r\n\r\n")
                        head = b""
                        port = await self._tunnelled(writer, target)
                if port:
                    await self._joined(reader, writer, port, head)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _tunnelled(self, writer: asyncio.StreamWriter, target: str) -> int:
        """Where behind a tunnel ends; 0 is nowhere."""
        secure = f"https://{target.removesuffix(':443')}" in self._origins
        if not secure and f"http://{target.removesuffix(':80')}" not in self._origins:
            self._refuse(target)
            writer.write(b"HTTP/1.1 403 Blocked by Moire\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return 0
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        if not secure:
            return self._plain
        assert self._context is not None
        await writer.start_tls(self._context)
        return self._secure

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, head: bytes) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        far_writer.write(head)
        try:
            await asyncio.gather(_pour(reader, far_writer), _pour(far_reader, writer))
        finally:
            far_writer.close()

    def _refuse(self, what: str) -> None:
        if len(self.refused) < MOST_REMEMBERED:
            self.refused[what[:500]] += 1

    # Requests

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None and request.transport is not None
        secure = request.transport.get_extra_info("sockname")[1] == self._secure
        url = request.url.with_scheme("https") if secure else request.url
        self._tasks.add(task)
        try:
            if url.path.startswith(f"{TALK}/"):
                return await self._talk(request, url.path.removeprefix(f"{TALK}/"))
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return await self._socket(request, url)
            return await self._answered(request, url)
        finally:
            self._tasks.discard(task)

    async def _talk(self, request: web.Request, token: str) -> web.Response:
        """A page may be of no origin; what it is told is nobody else's, since nobody else knows how to ask."""
        headers = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store"}
        if request.method == "GET":
            told = self._pages.begun(token)
            return web.Response(status=200 if told else 404, text=told, headers=headers)
        self._pages.said(token, (await request.read()).decode("utf-8", "replace"))
        return web.Response(status=204, headers=headers)

    async def _answered(self, request: web.Request, url: URL) -> web.StreamResponse:
        to = place(request.headers)
        with ExitStack() as waiting:
            waiting.enter_context(self._asked.one())
            if to in ("window", "either"):
                waiting.enter_context(self._leading.one())
            body = await request.read()
            try:
                known = self._known(request, url, body) or await self._forward(request, url, body, waiting.close)
            except asyncio.CancelledError:
                if to == "window":
                    # The window stayed where it was, or went elsewhere.
                    self._archive.add(Exchange(request.method, str(url), digest(body), UNANSWERED, (), b""))
                raise
            return self._told(known, request.headers) if isinstance(known, Exchange) else known

    def _known(self, request: web.Request, url: URL, body: bytes) -> Exchange | None:
        """What need not be asked of anyone."""
        wrong = 0
        if f"{url.origin()}" not in self._origins or (self._read_only and request.method not in _HARMLESS):
            wrong = 403
            if place(request.headers) in ("window", "either"):
                self.kept_from = str(url.origin())
        elif request.headers.get("Service-Worker") == "script" or "Sec-Purpose" in request.headers:
            # A worker would answer with pages that nobody has put a script into; and what is asked for ahead of time
            # may never be shown.
            wrong = 404
        elif self._closed:
            if (known := self._archive.answer(request.method, str(url), body)) is not None:
                return known
            wrong = 404
        if not wrong:
            return None
        self._refuse(str(url))
        words = f"Moire does not reach {url.origin() if wrong == 403 else url}.".encode()
        return Exchange(request.method, str(url), digest(body), wrong, (("Content-Type", "text/plain"),), words)

    async def _forward(
        self, request: web.Request, url: URL, body: bytes, done: Callable[[], None]
    ) -> Exchange | web.StreamResponse:
        assert self._client is not None
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in _ASKED)
        asked = digest(body)
        try:
            async with self._client.request(
                request.method, url, headers=headers, data=body or None, allow_redirects=False, ssl=_proven(url),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_SECONDS, sock_read=ANSWER_SECONDS),
            ) as answer:  # fmt: skip
                kept = tuple(_plain(answer.headers))
                streams = answer.content_type == "text/event-stream"
                # Browsers do not say it to hosts that they do not trust.
                scripted = request.headers.get("Sec-Fetch-Dest", "" if place(request.headers) else "empty") == "empty"
                data, whole = await _read(answer, 0 if streams else WHOLE_SECONDS if scripted else None)
                if not whole:
                    done()
                    self._archive.add(Exchange(request.method, str(url), asked, answer.status, kept, b""))
                    return await _streamed(request, answer, kept, data)
                found = Exchange(request.method, str(url), asked, answer.status, kept, data)
        except (aiohttp.ClientError, TimeoutError) as error:
            self.unreached = str(error) or type(error).__name__
            words = f"Moire could not reach {url.origin()}: {self.unreached}".encode()
            found = Exchange(request.method, str(url), asked, 502, (("Content-Type", "text/plain"),), words)
        self._archive.add(found)
        return found

    async def _socket(self, request: web.Request, url: URL) -> web.StreamResponse:
        """What goes over a socket is written down by the page, which is told it again."""
        assert self._client is not None
        if self._closed or self._read_only or f"{url.origin()}" not in self._origins:
            self._refuse(str(url))
            return web.Response(status=403)
        asked = _ASKED | _SOCKET
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in asked)
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        far = url.with_scheme("wss" if url.scheme == "https" else "ws")
        try:
            async with self._client.ws_connect(
                far, headers=headers, protocols=[*filter(None, offered)], ssl=_proven(url), max_msg_size=MOST_BODY
            ) as there:
                chosen = [there.protocol] if there.protocol else []
                here = web.WebSocketResponse(protocols=chosen, max_msg_size=MOST_BODY)
                await here.prepare(request)
                await asyncio.gather(_speak(here, there), _speak(there, here))
                return here
        except (aiohttp.ClientError, OSError):
            return web.Response(status=502)

    def _told(self, one: Exchange, asked: Mapping[str, str]) -> web.Response:
        to = place(asked)
        if to == "window" and leaves_alone(one) and one.status in (200, UNANSWERED):
            # What is to be saved is not saved anywhere, and the window stays where it is.
            return web.Response(status=204)
        if to and not leaves_alone(one):
            one = one if to == "frame" else shown(one)
        headers, body = CIMultiDict(one.headers), one.body
        if to and not leaves_alone(one) and is_page(one):
            headers, body = with_script(one, self._pages.script(to))
        elif is_module(asked):
            body = as_module(one)
        if body:
            headers.setdefault("Content-Type", kind_of(headers, body))
        headers["Cache-Control"] = "no-store"
        return web.Response(status=one.status, headers=headers, body=body)


class Waited:
    """How many there are of something, and when there are none."""

    def __init__(self) -> None:
        self.count = 0
        self.none = asyncio.Event()
        self.none.set()

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        self.count += 1
        self.none.clear()
        try:
            yield
        finally:
            self.count -= 1
            if not self.count:
                self.none.set()


def _plain(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Those that are the page's affair; bytes that are no letters are those of Latin-1, as for browsers."""
    for name, value in headers.items():
        if name.lower() not in _HOP:
            sound = value.isascii() or value.isprintable()
            yield name, value if sound else value.encode("utf-8", "surrogateescape").decode("latin-1")


async def _read(answer: aiohttp.ClientResponse, seconds: float | None) -> tuple[bytes, bool]:
    """The body as far as it comes in time, and whether that is all of it."""
    data = bytearray()
    try:
        async with asyncio.timeout(seconds) as limit:
            async for part in answer.content.iter_any():
                data += part
                if len(data) > MOST_BODY:
                    raise aiohttp.ClientPayloadError(f"the answer is larger than {MOST_BODY >> 20} MiB")
    except TimeoutError:
        if not limit.expired():
            raise
        return bytes(data), False
    return bytes(data), True


async def _streamed(
    request: web.Request, answer: aiohttp.ClientResponse, headers: Headers, begun: bytes
) -> web.StreamResponse:
    """As it comes; what comes is written down by the page."""
    response = web.StreamResponse(status=answer.status, headers=CIMultiDict(headers))
    with contextlib.suppress(OSError, aiohttp.ClientError, TimeoutError):
        await response.prepare(request)
        await response.write(begun)
        async for data in answer.content.iter_any():
            await response.write(data)
    return response


def _proven(url: URL) -> bool:
    """Whether a server must show that it is who it says. On this machine, nobody else can be in its place, and
    certificates are mostly made by hand."""
    with contextlib.suppress(ValueError):
        return not ip_address(url.host or "").is_loopback
    return url.host != "localhost"


Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


async def _speak(one: Socket, other: Socket) -> None:
    """What the one hears the other is told, up to the end."""
    async for message in one:
        with contextlib.suppress(OSError):
            if message.type is aiohttp.WSMsgType.TEXT:
                await other.send_str(message.data)
            elif message.type is aiohttp.WSMsgType.BINARY:
                await other.send_bytes(message.data)
    code = one.close_code
    # What went away without a word has no code that may be sent.
    sent = code if code is not None and (code < 1004 or 3000 <= code < 5000 or 1006 < code < 1015) else 1000
    await other.close(code=sent)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What went away without a word has come to its end, too."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
