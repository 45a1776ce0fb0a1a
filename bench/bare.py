"""The yardstick: a bare loop over the DevTools protocol, with nothing of a lab about it.

Set the document, take the picture, next. No readiness, no deadlines, no supervision, no isolation.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from moire.browsers.drivers.chromium import FLAGS


class Bare:
    def __init__(self, program: Path) -> None:
        self._folder = tempfile.mkdtemp()
        their_in, self._out = os.pipe()
        self._in, their_out = os.pipe()
        argv = ["/bin/bash", "-c", f'exec "$@" 3<&{their_in} 4>&{their_out}', "bash", str(program), *FLAGS]
        argv += ["--no-sandbox", f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(
            argv, pass_fds=(their_in, their_out), start_new_session=True, stderr=subprocess.DEVNULL
        )
        os.close(their_in)
        os.close(their_out)
        self._next = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def start(self) -> None:
        reader = asyncio.StreamReader(limit=1 << 28)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._in, "rb", 0))
        self._task = asyncio.create_task(self._read(reader))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while message := json.loads((await reader.readuntil(b"\0"))[:-1]):
            future = self._waiting.pop(message.get("id"), None)
            if future is not None:
                future.set_result(message.get("result"))

    async def call(self, method: str, params: dict[str, Any], session: str = "") -> Any:
        self._next += 1
        future = self._waiting[self._next] = asyncio.get_running_loop().create_future()
        message = {"id": self._next, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return await future

    async def tab(self) -> tuple[str, str]:
        target = (await self.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
        session = (await self.call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
        size = {"width": 800, "height": 600, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", size, session)
        tree = await self.call("Page.getFrameTree", {}, session)
        return session, tree["frameTree"]["frame"]["id"]

    def close(self) -> None:
        self._task.cancel()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)


async def rate(programs: list[Path], pages: list[str], tabs: int) -> float:
    """Pages a second over one process a program, every page in each program once it is asked for.

    Several equal programs share the pages; the caller passes one program as often as it wants
    processes.
    """
    browsers = [Bare(program) for program in programs]
    for browser in browsers:
        await browser.start()
    todo = list(pages)
    shot = {"format": "png", "optimizeForSpeed": True, "captureBeyondViewport": False}

    async def work(browser: Bare, queue: list[str]) -> None:
        session, frame = await browser.tab()
        while queue:
            html = queue.pop()
            await browser.call("Page.setDocumentContent", {"frameId": frame, "html": html}, session)
            base64.b64decode((await browser.call("Page.captureScreenshot", shot, session))["data"])

    await asyncio.gather(*(work(browser, pages[:2]) for browser in browsers))
    begun = time.perf_counter()
    await asyncio.gather(*(work(browser, todo) for browser in browsers for _ in range(tabs)))
    seconds = time.perf_counter() - begun
    for browser in browsers:
        browser.close()
    return len(pages) / seconds
