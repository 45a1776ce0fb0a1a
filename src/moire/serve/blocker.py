"""A proxy that lets nothing through and remembers what was asked of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

# A page may ask for as many hosts as it likes; what is remembered stays small.
MOST_REMEMBERED = 1000
ANSWER_SECONDS = 5.0
REFUSAL = b"HTTP/1.1 403 Blocked by Moire\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Blocker:
    carries = stands_in = False

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self.address = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=16384)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError, ValueError):
            async with asyncio.timeout(ANSWER_SECONDS):
                words = (await reader.readline()).decode("latin-1").split()
                if len(words) >= 2 and len(self.asked) < MOST_REMEMBERED:
                    self.asked[words[1][:500]] += 1
                writer.write(REFUSAL)
                await writer.drain()
        writer.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
