"""Classic WebDriver over HTTP: one session, one tab. WebKitGTK here, any remote end elsewhere."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Sequence
from typing import Any

import aiohttp

from ...nouns import Build, Case, Environment, LaunchError
from ..network import Network
from ..processes import Child
from .base import BrowserGone, DriverError, Scripted, TabCrashed, Unsupported, Untestable
from .ready import at_rest, ready

# A remote end may start a machine first.
SESSION_SECONDS = 120.0
Params = dict[str, Any]

# Deadlines are the Lab's affair: the driver's own must not come first.
_NEVER = 24 * 3600 * 1000
_SESSION: Params = {
    "unhandledPromptBehavior": "dismiss",
    "timeouts": {"script": _NEVER, "pageLoad": _NEVER, "implicit": 0},
}

# Codes after which the session, not the page, is at fault.
_LOST = {"invalid session id", "no such window", "session not created"}


class CommandFailed(DriverError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Session:
    """The commands of one WebDriver session."""

    def __init__(self, http: aiohttp.ClientSession, base: str, session: str, capabilities: Params) -> None:
        self._http = http
        self._base = f"{base}/session/{session}"
        self.capabilities = capabilities

    @classmethod
    async def open(cls, base: str, capabilities: Params, seconds: float = SESSION_SECONDS) -> Session:
        http = aiohttp.ClientSession(trust_env=False)
        try:
            async with asyncio.timeout(seconds):
                answer = await _request(
                    http, "POST", f"{base}/session",
                    {"capabilities": {"alwaysMatch": {**_SESSION, **capabilities}}},
                )  # fmt: skip
                if not isinstance(answer, dict) or not {"sessionId", "capabilities"} <= answer.keys():
                    raise BrowserGone(f"{base} does not speak W3C WebDriver")
                return cls(http, base, answer["sessionId"], answer["capabilities"])
        except BaseException:
            await http.close()
            raise

    async def call(self, method: str, path: str, body: Params | None = None) -> Any:
        return await _request(self._http, method, self._base + path, body)

    async def end(self, *, politely: bool) -> None:
        if politely:
            with contextlib.suppress(DriverError, TimeoutError):
                async with asyncio.timeout(5):
                    await self.call("DELETE", "")
        await self._http.close()


async def _request(http: aiohttp.ClientSession, method: str, url: str, body: Params | None) -> Any:
    # An empty object, not an empty body: drivers refuse a POST without one.
    data = None if method != "POST" else json.dumps(body or {})
    try:
        async with http.request(
            method, url, data=data, headers={"Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=None),
        ) as response:  # fmt: skip
            value = json.loads(await response.read()).get("value")
    except (aiohttp.ClientError, OSError) as error:
        raise BrowserGone(f"WebDriver at {url.split('/session')[0]} did not answer: {error}") from None
    except (ValueError, AttributeError):
        raise BrowserGone(f"{url.split('/session')[0]} does not speak WebDriver") from None
    if isinstance(value, dict) and "error" in value:
        raise CommandFailed(str(value["error"]), str(value.get("message", "")))
    return value


class WebDriverBrowser:
    """A session at an address. Its isolation is the remote end's affair."""

    single = True

    def __init__(self, build: Build, session: Session) -> None:
        self.build = build
        self.session = session
        self.version = str(session.capabilities.get("browserVersion", build.version))
        self._alive = True

    @classmethod
    async def launch(cls, build: Build, network: Network) -> WebDriverBrowser:
        try:
            session = await Session.open(build.address.rstrip("/"), {**build.capabilities, **_led(network)})
        except (DriverError, TimeoutError) as error:
            raise LaunchError(
                f"{build.name} gave no session: {error or 'no answer in time'}.",
                "Check that the WebDriver server runs there and offers these capabilities.",
            ) from None
        return cls(build, session)

    async def open(self, environment: Environment) -> WebDriverTab:
        if environment.medium == "print":
            raise Untestable(f"{self.build.name} cannot show a page as printed")
        if environment.color_scheme != "light":
            raise Untestable(f"{self.build.name} cannot be told a colour scheme")
        try:
            return await WebDriverTab.open(self, environment)
        except CommandFailed as error:
            raise BrowserGone(f"no tab could be opened: {error}") from None

    def lost(self) -> None:
        self._alive = False

    @property
    def alive(self) -> bool:
        return self._alive

    @property
    def children(self) -> Sequence[Child]:
        return ()

    async def close(self) -> None:
        alive, self._alive = self._alive, False
        await self.session.end(politely=alive)


def _led(network: Network) -> Params:
    """What has a session's browser ask the proxy for pages, where that is the way to them; this machine's own, too."""
    if not network.carries:
        return {}
    way = {"proxyType": "manual", "httpProxy": network.proxy, "sslProxy": network.proxy, "noProxy": ["<-loopback>"]}
    return {"proxy": way, "acceptInsecureCerts": network.stands_in}


class WebDriverTab(Scripted):
    """A window of the session. A session has one at a time in use."""

    def __init__(self, browser: WebDriverBrowser, environment: Environment) -> None:
        self._browser = browser
        self._session = browser.session
        self._environment = environment
        self._address = ""

    @classmethod
    async def open(cls, browser: WebDriverBrowser, environment: Environment) -> WebDriverTab:
        """A new window, and the ones before it closed: a fresh tab for a fresh page.

        A window, not a tab: a tab in the background gets no frames. An end that cannot open
        windows shows its only one again, emptied.
        """
        session = browser.session
        try:
            new = await session.call("POST", "/window/new", {"type": "window"})
        except CommandFailed:
            await session.call("POST", "/url", {"url": "about:blank"})
        else:
            handle = str(new["handle"])
            for other in await session.call("GET", "/window/handles"):
                if other != handle:
                    await session.call("POST", "/window", {"handle": other})
                    await session.call("DELETE", "/window")
            await session.call("POST", "/window", {"handle": handle})
        tab = cls(browser, environment)
        await tab.resize(environment.width, environment.height)
        return tab

    async def _call(self, method: str, path: str, body: Params | None = None) -> Any:
        try:
            return await self._session.call(method, path, body)
        except CommandFailed as error:
            if error.code in _LOST:
                self._browser.lost()
                raise TabCrashed(f"the page's tab is gone ({error})") from None
            raise Untestable(str(error)) from None
        except BrowserGone:
            self._browser.lost()
            raise

    async def load(self, address: str, *, afresh: bool = True) -> None:
        self._address = address
        await self._call("POST", "/url", {"url": address})
        await self._dismiss()
        await self.evaluate(ready(self._environment, afresh=afresh))
        await self._stayed()

    async def go(self, address: str) -> None:
        self._address = ""
        await self._call("POST", "/url", {"url": address})
        await self.arrive()

    async def arrive(self) -> None:
        await self._dismiss()
        await self.evaluate(ready(self._environment, afresh=False))

    async def _dismiss(self) -> None:
        """Send dialogs away, one after the other, until there is none.

        The session is told to dismiss them by itself, but WebKit's gets stuck at a second one.
        """
        with contextlib.suppress(CommandFailed):
            while True:
                await self._session.call("POST", "/alert/dismiss")

    async def _stayed(self) -> None:
        here = await self._call("GET", "/url")
        if self._address and str(here).split("#")[0] != self._address.split("#")[0]:
            raise Untestable(f"the page went away to {here}")

    async def set_content(self, html: str) -> None:
        self._address = ""
        await self.evaluate(f"(document.open(), document.write({json.dumps(html)}), document.close(), true)")
        await self.evaluate(ready(self._environment))

    async def screen(self, case: Case, address: str) -> bytes | None:
        """By address: a document written by script looks different in WebKit now and then. A page that is final as soon
        as it is loaded is drawn for the picture itself, and neither leaves nor asks anything."""
        if not case.at_rest:
            await self.load(address)
            return await self.screenshot()
        self._address = address
        await self._call("POST", "/url", {"url": address})
        if not await self.evaluate(at_rest(self._environment, afresh=True)):
            await self.evaluate(ready(self._environment))
        return base64.b64decode(await self._call("GET", "/screenshot"))

    async def show(self, case: Case, at_once: str = "") -> Any:
        raise Unsupported("a document written by script looks different now and then")

    async def evaluate(self, expression: str) -> Any:
        script = (
            "const done = arguments[arguments.length - 1];"
            "(async () => JSON.stringify(await (" + expression + ")))().then("
            "v => done([true, v]), e => done([false, String(e)]));"
        )
        answer = None
        while answer is None:
            answer = await self._call("POST", "/execute/async", {"script": script, "args": []})
            if answer is None:
                # A dialog took the script's answer with it.
                await self._dismiss()
        try:
            well, value = answer
            parsed = None if value is None else json.loads(value) if well else value
        except (ValueError, TypeError):
            raise Untestable("the page meddles with the answers of scripts") from None
        if not well:
            raise Untestable(f"a script failed: {parsed}")
        return parsed

    async def inspect(self, expression: str) -> Any:
        # WebDriver knows no world but the page's own.
        return await self.evaluate(expression)

    async def resize(self, width: int, height: int) -> None:
        """The window is made larger than the viewport by what the browser's own bars take."""
        for _ in range(3):
            inner = await self.evaluate("[innerWidth, innerHeight]")
            if inner == [width, height]:
                return
            rect = await self._call("GET", "/window/rect")
            await self._call(
                "POST", "/window/rect",
                {"width": rect["width"] + width - inner[0], "height": rect["height"] + height - inner[1]},
            )  # fmt: skip
            await self.settle()
        inner = await self.evaluate("[innerWidth, innerHeight]")
        if inner != [width, height]:
            raise Untestable(f"the viewport is {inner[0]}×{inner[1]}, not {width}×{height}")

    async def screenshot(self) -> bytes:
        png = base64.b64decode(await self._call("GET", "/screenshot"))
        await self._stayed()
        return png

    @property
    def blocked(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        """The window stays, emptied, until the next one opens: a session without a window is over."""
        with contextlib.suppress(CommandFailed):
            await self._session.call("POST", "/url", {"url": "about:blank"})
