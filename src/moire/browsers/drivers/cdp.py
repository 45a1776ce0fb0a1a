"""The Chrome DevTools protocol over a pair of pipes: NUL-separated JSON, many sessions at once."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

from .base import BrowserGone, DriverError

Params = dict[str, Any]
Listener = Callable[[str, Params], None]


class CommandFailed(DriverError):
    """The browser refused a command. An internal matter: drivers translate it."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        super().__init__(f"{method}: {error.get('message', error)}")
        self.message = str(error.get("message", ""))


class Connection:
    """Commands out, answers and events in. Dead for good once the other side closes."""

    def __init__(self) -> None:
        self._next = 0
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._buffer = bytearray()
        self._read: asyncio.ReadTransport | None = None
        self._write: asyncio.WriteTransport | None = None
        self._closed = False

    async def attach(self, read_fd: int, write_fd: int) -> None:
        loop = asyncio.get_running_loop()
        reader, writer = os.fdopen(read_fd, "rb", 0), os.fdopen(write_fd, "wb", 0)
        self._read, _ = await loop.connect_read_pipe(lambda: _Receiver(self), reader)
        self._write, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writer)

    def listen(self, session: str, listener: Listener) -> None:
        """Events of one session ("" for the browser's own) go to one listener."""
        self._listeners[session] = listener

    def forget(self, session: str) -> None:
        self._listeners.pop(session, None)

    def send(self, method: str, params: Params | None = None, session: str = "") -> asyncio.Future[Any]:
        """Send now; the future holds the result. Order of sending is order of execution."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._closed or self._write is None:
            future.set_exception(BrowserGone("the connection is closed"))
            return future
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        self._waiting[self._next] = (method, future)
        # An answer that nobody waits for any more (the page crashed, time ran out) is no news.
        future.add_done_callback(_ignore)
        self._write.write(json.dumps(message).encode() + b"\0")
        return future

    def post(self, method: str, params: Params | None = None, session: str = "") -> None:
        """Send, and let the answer be what it may."""
        self.send(method, params, session)

    async def call(self, method: str, params: Params | None = None, session: str = "") -> Any:
        return await self.send(method, params, session)

    def received(self, data: bytes) -> None:
        start = len(self._buffer)
        self._buffer += data
        while (end := self._buffer.find(0, start)) >= 0:
            try:
                message = json.loads(bytes(self._buffer[:end]))
            except ValueError:
                # Whoever talks like this is no browser, or no longer one.
                self.close()
                return
            del self._buffer[: end + 1]
            start = 0
            self._dispatch(message)

    def _dispatch(self, message: dict[str, Any]) -> None:
        if "id" in message:
            method, future = self._waiting.pop(message["id"], ("", None))
            if future is None or future.done():
                return
            if "error" in message:
                future.set_exception(CommandFailed(method, message["error"]))
            else:
                future.set_result(message.get("result", {}))
            return
        listener = self._listeners.get(message.get("sessionId", ""))
        if listener is not None:
            listener(message.get("method", ""), message.get("params", {}))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._read is not None:
            self._read.close()
        if self._write is not None and not self._write.is_closing():
            # What is still unsent must not hold the descriptor open.
            self._write.abort()
        waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            if not future.done():
                future.set_exception(BrowserGone("the browser ended"))


def _ignore(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


class _Receiver(asyncio.Protocol):
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def data_received(self, data: bytes) -> None:
        self._connection.received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.close()
