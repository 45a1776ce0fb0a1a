"""WebDriver BiDi over a WebSocket: the commands and events of one session."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import aiohttp

from .base import BrowserGone, DriverError

Params = dict[str, Any]
Listener = Callable[[str, Params], None]

# A full-page PNG in base64 stays far below; a hostile page's console must not grow past it.
MOST_MESSAGE_BYTES = 256 * 1024 * 1024


class CommandFailed(DriverError):
    """The browser refused a command. An internal matter: drivers translate it."""

    def __init__(self, method: str, code: str, message: str) -> None:
        super().__init__(f"{method}: {code}: {message}")
        self.code = code
        self.message = message


class Connection:
    def __init__(self, http: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._http = http
        self._socket = socket
        self._next = 0
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self.listener: Listener = lambda method, params: None
        self._closed = False
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, address: str) -> Connection:
        http = aiohttp.ClientSession()
        try:
            socket = await http.ws_connect(address, max_msg_size=MOST_MESSAGE_BYTES, proxy=None)
        except BaseException as error:
            await http.close()
            if not isinstance(error, aiohttp.ClientError | OSError):
                raise
            raise BrowserGone(f"no connection to {address}: {error}") from None
        return cls(http, socket)

    async def call(self, method: str, params: Params | None = None) -> Any:
        if self._closed:
            raise BrowserGone("the connection is closed")
        self._next += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._next] = (method, future)
        message = {"id": self._next, "method": method, "params": params or {}}
        try:
            await self._socket.send_str(json.dumps(message))
        except (aiohttp.ClientError, OSError) as error:
            raise BrowserGone(str(error)) from None
        return await future

    async def _read(self) -> None:
        try:
            async for message in self._socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._dispatch(json.loads(message.data))
        finally:
            self._end()

    def _dispatch(self, message: dict[str, Any]) -> None:
        if message.get("type") == "event":
            self.listener(message["method"], message["params"])
            return
        method, future = self._waiting.pop(message.get("id") or 0, ("", None))
        if future is None or future.done():
            return
        if message.get("type") == "error":
            future.set_exception(CommandFailed(method, message.get("error", ""), message.get("message", "")))
        else:
            future.set_result(message.get("result", {}))

    def _end(self) -> None:
        self._closed = True
        waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            if not future.done():
                future.set_exception(BrowserGone("the browser ended"))

    async def close(self) -> None:
        self._end()
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        # Closing politely would wait for an answer that a stopped browser never gives.
        await self._http.close()
