"""A page of ours in a real browser: what tests and scripts do to the live page and to reports."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from moire.browsers.drivers.chromium import ChromiumBrowser
from moire.browsers.network import Network
from moire.nouns import Build

# A machine may have much else to do.
PATIENCE = 120.0
# Nobody listens there: whatever is not the page's own is refused.
NOWHERE = "127.0.0.1:9"


class View:
    def __init__(self, browser: ChromiumBrowser, session: str) -> None:
        self._connection = browser._connection
        self._session = session
        self.errors: list[str] = []
        self._connection.listen(session, self._heard)

    def _heard(self, method: str, params: dict[str, Any]) -> None:
        """What scripts and policies complain of."""
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"].get("exception", {}).get("description", params)))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])

    async def call(self, method: str, **params: Any) -> Any:
        async with asyncio.timeout(PATIENCE):
            return await self._connection.call(method, params, self._session)

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete' && document.querySelector('h1')")

    async def js(self, expression: str) -> Any:
        answer = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {json.dumps(answer['exceptionDetails'])[:1000]}")
        return answer["result"].get("value")

    async def until(self, condition: str) -> None:
        """Until it holds; a page that goes away meanwhile is asked again."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    if await self.js(f"Boolean({condition})"):
                        return
                except AssertionError:
                    pass
                await asyncio.sleep(0.02)

    async def text(self) -> str:
        return str(await self.js("document.body.innerText"))

    async def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    async def size(self, width: int, height: int, scheme: str = "light") -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def picture(self) -> bytes:
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])


@asynccontextmanager
async def viewing(build: Build, *hosts: str) -> AsyncIterator[View]:
    """A tab that reaches these hosts and nothing else; files too."""
    browser = await ChromiumBrowser.launch(build, Network(";".join(hosts) or NOWHERE, NOWHERE))
    try:
        connection = browser._connection
        target = await connection.call("Target.createTarget", {"url": "about:blank", "width": 1280, "height": 900})
        attached = await connection.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
        view = View(browser, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            await view.call(f"{domain}.enable")
        yield view
    finally:
        await browser.close()
