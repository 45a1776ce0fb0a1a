"""Stock Firefox over WebDriver BiDi, without geckodriver."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...nouns import Build, Case, Environment, LaunchError
from .. import fonts
from ..network import Network
from ..processes import Child, discard, scratch
from ..window import SHOWN
from .base import BrowserGone, Closed, Scripted, TabCrashed, Untestable, would_not_start
from .bidi import CommandFailed, Connection, Params
from .ready import at_rest, ready

LAUNCH_SECONDS = 60.0
_LISTENING = b"WebDriver BiDi listening on "

PREFS: dict[str, bool | int | str] = {
    # Nothing leaves the machine: a dead end for everything but the page server, with no way round.
    "network.proxy.type": 1,
    "network.proxy.allow_hijacking_localhost": True,
    "network.proxy.failover_direct": False,
    "network.dns.disablePrefetch": True,
    "network.prefetch-next": False,
    "network.http.speculative-parallel-limit": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.manage-offline-status": False,
    "network.trr.mode": 5,
    "media.peerconnection.enabled": False,
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.region.network.url": "",
    "browser.search.update": False,
    "browser.topsites.contile.enabled": False,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.update.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "geo.provider.testing": True,
    "media.gmp-manager.updateEnabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "",
    # No first-run pages, questions or leftovers.
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "browser.startup.homepage": "about:blank",
    "browser.newtabpage.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.sessionstore.resume_from_crash": False,
    "browser.tabs.warnOnClose": False,
    "browser.download.useDownloadDir": False,
    "browser.link.open_newwindow": 3,
    "dom.disable_open_during_load": True,
    "dom.popup_maximum": 0,
    "dom.disable_window_print": True,
    # Links are never visited: a page must not look like having been here before.
    "places.history.enabled": False,
    "layout.css.visited_links_enabled": False,
    # Who goes back to a page loads it again.
    "browser.sessionhistory.max_total_viewers": 0,
    "print.enabled": False,
    "dom.disable_beforeunload": True,
    # Content processes are kept and shared between tabs: starting one for every page costs
    # more than the page. What one page does to another through it shows as trouble, and is tried again.
    "fission.autostart": False,
    "dom.ipc.processCount": 4,
    "dom.ipc.keepProcessesAlive.web": 4,
    "toolkit.startup.max_resumed_crashes": -1,
    "remote.prefs.recommended": True,
    # The same picture each time.
    "image.animation_mode": "none",
    "focusmanager.testmode": True,
    "ui.caretBlinkTime": 0,
    "ui.useOverlayScrollbars": 1,
    "general.smoothScroll": False,
    "gfx.text.disable-aa": False,
    "gfx.color_management.mode": 0,
    "layout.css.prefers-color-scheme.content-override": 1,
    "ui.prefersReducedMotion": 0,
    "layout.testing.overlay-scrollbars.always-visible": False,
    "dom.min_background_timeout_value": 4,
    "dom.timeout.enable_budget_timer_throttling": False,
    "widget.non-native-theme.enabled": True,
    # `hung` is ours to say.
    "dom.max_script_run_time": 0,
    "dom.max_chrome_script_run_time": 0,
    "hangmonitor.timeout": 0,
}


def _user_js(prefs: dict[str, bool | int | str]) -> str:
    return "".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in prefs.items())


def _pref(value: str) -> bool | int | str:
    """A preference from a build's name: JSON where it is JSON, else the words themselves."""
    with contextlib.suppress(ValueError):
        read = json.loads(value)
        if isinstance(read, bool | int | str):
            return read
    return value


class FirefoxBrowser:
    single = False

    def __init__(self, build: Build, child: Child, connection: Connection, folder: Path, network: Network) -> None:
        self.build = build
        self._network = network
        self.version = build.version
        self._child = child
        self._connection = connection
        self._folder = folder
        self._tabs: dict[str, FirefoxTab] = {}
        self._windows: list[str] = []
        self._popups: set[asyncio.Task[None]] = set()
        connection.listener = self._heard

    @classmethod
    async def launch(cls, build: Build, network: Network) -> FirefoxBrowser:
        assert build.path is not None
        folder = scratch("firefox")
        profile = folder / "profile"
        profile.mkdir()
        host, _, port = network.proxy.partition(":")
        prefs = dict(PREFS)
        # Without one for SOCKS, which sockets would prefer, they ask for a tunnel as elsewhere.
        for scheme in ("http", "ssl"):
            prefs[f"network.proxy.{scheme}"] = host
            prefs[f"network.proxy.{scheme}_port"] = int(port)
        prefs["network.proxy.no_proxies_on"] = network.pages
        # What draws pages may read no other files than the system's own.
        prefs["security.sandbox.content.read_path_whitelist"] = f"{fonts.FOLDER}/"
        prefs.update({key: _pref(value) for key, value in build.prefs.items()})
        (profile / "user.js").write_text(_user_js(prefs))
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_line(line: bytes) -> None:
            if line.startswith(_LISTENING) and not address.done():
                address.set_result(line[len(_LISTENING) :].decode().strip())

        argv = [
            str(build.path), "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0",
            "--remote-allow-system-access", *([] if SHOWN in build.flags else ["--headless"]),
            *(flag for flag in build.flags if flag != SHOWN),
        ]  # fmt: skip
        environ = {
            "HOME": str(folder), "TMPDIR": str(folder), "MOZ_CRASHREPORTER_DISABLE": "1",
            "MOZ_DISABLE_AUTO_SAFE_MODE": "1", **fonts.offered(folder), **build.environ,
        }  # fmt: skip
        try:
            child = Child(argv, environ=environ, on_line=on_line)
        except LaunchError:
            discard(folder)
            raise
        connection: Connection | None = None
        try:
            async with asyncio.timeout(LAUNCH_SECONDS):
                await asyncio.wait((address, child.exited), return_when=asyncio.FIRST_COMPLETED)
                if not address.done():
                    raise BrowserGone("it ended at once")
                connection = await Connection.open(address.result() + "/session")
                browser = cls(build, child, connection, folder, network)
                await browser._begin()
                return browser
        except (BrowserGone, CommandFailed, TimeoutError) as error:
            words = child.tail().splitlines()
            try:
                raise await would_not_start(build, error, words[-1] if words else error, [child]) from None
            finally:
                await cls._end(child, connection, folder)
        except asyncio.CancelledError:
            await cls._end(child, connection, folder)
            raise

    async def _begin(self) -> None:
        answer = await self._connection.call(
            "session.new",
            {
                "capabilities": {
                    "alwaysMatch": {
                        "unhandledPromptBehavior": {"default": "dismiss", "beforeUnload": "accept"},
                        "acceptInsecureCerts": self._network.stands_in,
                    }
                }
            },
        )
        self.version = str(answer["capabilities"].get("browserVersion", self.build.version))
        await self._connection.call(
            "session.subscribe",
            {"events": [
                "browsingContext.navigationStarted", "browsingContext.contextCreated",
                "browsingContext.contextDestroyed", "network.beforeRequestSent",
            ]},
        )  # fmt: skip

    def _heard(self, method: str, params: Params) -> None:
        if method == "browsingContext.contextCreated":
            if params.get("originalOpener"):
                popup = asyncio.create_task(self._close_popup(params["context"]))
                self._popups.add(popup)
                popup.add_done_callback(self._popups.discard)
            return
        tab = self._tabs.get(params.get("context") or "")
        if tab is not None:
            tab.heard(method, params)

    async def _close_popup(self, context: str) -> None:
        with contextlib.suppress(CommandFailed, BrowserGone):
            await self._connection.call("browsingContext.close", {"context": context})

    async def open(self, environment: Environment) -> FirefoxTab:
        call = self._connection.call
        try:
            # A tab gets frames only in front, so each has a window to itself; windows are costly
            # to open and are kept for the next tab.
            window = (
                self._windows.pop()
                if self._windows
                else (await call("browsingContext.create", {"type": "window"}))["context"]
            )
            user = (await call("browser.createUserContext"))["userContext"]
            place = {"type": "tab", "userContext": user, "referenceContext": window, "background": False}
            context = (await call("browsingContext.create", place))["context"]
            tab = FirefoxTab(self._connection, user, context, environment, self._network)
            self._tabs[context] = tab
            tab.on_close = lambda: self._closed(context, window)
            await tab.prepare()
        except CommandFailed as error:
            raise BrowserGone(f"no tab could be opened: {error}") from None
        return tab

    def _closed(self, context: str, window: str) -> None:
        self._tabs.pop(context, None)
        self._windows.append(window)

    @property
    def alive(self) -> bool:
        return self._child.alive

    @property
    def children(self) -> Sequence[Child]:
        return (self._child,)

    async def close(self) -> None:
        await self._end(self._child, self._connection, self._folder)

    @staticmethod
    async def _end(child: Child, connection: Connection | None, folder: Path) -> None:
        try:
            await child.kill()
        finally:
            if connection is not None:
                await connection.close()
        await asyncio.to_thread(discard, folder)


class FirefoxTab(Scripted):
    def __init__(
        self, connection: Connection, user: str, context: str, environment: Environment, network: Network
    ) -> None:
        self._network = network
        self._connection = connection
        self._user = user
        self._context = context
        self._environment = environment
        # Navigations still to come that are our own.
        self._ours = 0
        self._documents = 0
        self._left: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._gone = False
        self._roams = False
        self._blocked: dict[str, None] = {}
        self.on_close: Callable[[], object] = lambda: None

    async def prepare(self) -> None:
        e = self._environment
        await self._connection.call("browsingContext.setViewport", self._viewport(e.width, e.height))
        if e.color_scheme != "light" or e.medium != "screen":
            await self._override_media()

    async def _override_media(self) -> None:
        """What BiDi has no command for, the browser's own window can do, for the tab with our mark."""
        mark = f"about:blank#{self._context}"
        await self._connection.call("browsingContext.navigate", {"context": self._context, "url": mark})
        tree = await self._connection.call("browsingContext.getTree", {"moz:scope": "chrome"})
        medium = json.dumps(self._environment.medium if self._environment.medium == "print" else "")
        scheme = json.dumps(self._environment.color_scheme)
        for window in tree["contexts"]:
            await self._connection.call(
                "script.evaluate",
                {
                    "expression": "for (const b of globalThis.gBrowser?.browsers ?? []) {"
                    f" if (b.currentURI.spec !== {json.dumps(mark)}) continue;"
                    f" b.browsingContext.mediumOverride = {medium};"
                    f" b.browsingContext.prefersColorSchemeOverride = {scheme}; }}",
                    "target": {"context": window["context"]},
                    "awaitPromise": False,
                },
            )

    def _viewport(self, width: int, height: int) -> Params:
        return {
            "context": self._context,
            "viewport": {"width": width, "height": height},
            "devicePixelRatio": self._environment.scale,
        }

    def heard(self, method: str, params: Params) -> None:
        if method == "browsingContext.contextDestroyed":
            self._gone = True
        elif method == "browsingContext.navigationStarted":
            self._ours -= 1
            if self._ours < 0:
                self._leave(params.get("url", ""))
        elif method == "network.beforeRequestSent":
            url = params["request"]["url"]
            if params.get("navigation") and url.startswith("http"):
                # A page that loads itself again is told by its requests alone.
                self._documents -= 1
                if self._documents < 0:
                    self._leave(url)
            if self._network.blocks(url):
                self._blocked[url] = None

    def _leave(self, where: str) -> None:
        if not self._left.done() and not self._roams:
            self._left.set_result(where)

    async def _ask(self, method: str, params: Params) -> Any:
        """One command's answer, or what became of the page instead."""
        command = asyncio.ensure_future(self._connection.call(method, params))
        try:
            await asyncio.wait((command, self._left), return_when=asyncio.FIRST_COMPLETED)
            if self._left.done():
                raise Untestable(f"the page went away to {self._left.result()}")
            return await command
        except CommandFailed as error:
            if self._gone:
                raise Closed from None
            if self._left.done():
                raise Untestable(f"the page went away to {self._left.result()}") from None
            if error.code == "no such frame" or "win is null" in error.message:
                raise TabCrashed("the page's process crashed") from None
            raise Untestable(f"{error.code}: {error.message}") from None
        finally:
            command.cancel()
            command.add_done_callback(lambda c: c.cancelled() or c.exception())

    async def load(self, address: str, *, afresh: bool = True) -> None:
        self._stay(navigations=1)
        await self._ask("browsingContext.navigate", {"context": self._context, "url": address, "wait": "interactive"})
        await self.inspect(ready(self._environment, afresh=afresh))
        if await self.inspect("document.URL") != address:
            # No event tells of a download: the tab stays as it was.
            raise Untestable("the page is a download")

    async def go(self, address: str) -> None:
        self._roams = True
        await self._ask("browsingContext.navigate", {"context": self._context, "url": address, "wait": "interactive"})
        await self.arrive()

    async def arrive(self) -> None:
        await self.inspect(ready(self._environment, afresh=False))

    def _stay(self, navigations: int) -> None:
        """From here on, any navigation beyond these is the page's own doing."""
        self._ours = self._documents = navigations
        if self._left.done():
            self._left = asyncio.get_running_loop().create_future()

    async def set_content(self, html: str) -> None:
        await self._write(html)
        await self.inspect(ready(self._environment))

    async def show(self, case: Case, at_once: str = "") -> Any:
        value = await self._write(case.html.decode("utf-8"), at_once)
        await self.inspect(ready(self._environment, afresh=False))
        return value

    async def _write(self, html: str, at_once: str = "") -> Any:
        self._stay(navigations=0)
        clean = "scrollTo({left: 0, top: 0, behavior: 'instant'}), document.open(), document.adoptedStyleSheets = []"
        write = f"{clean}, document.write({json.dumps(html)})"
        # The end of the page is the end of its operations' time: what comes after is drawn.
        return await self.evaluate(f"({write}, (value => (document.close(), value))({at_once or 'null'}))")

    async def screen(self, case: Case, address: str) -> bytes | None:
        await self._write(case.html.decode("utf-8"))
        # A page that is final as soon as it is there is drawn for the picture itself.
        if not case.at_rest or not await self.inspect(at_rest(self._environment, afresh=True)):
            await self.inspect(ready(self._environment))
        return await self.screenshot()

    async def _evaluate(self, expression: str, sandbox: str = "") -> Any:
        target = {"context": self._context, **({"sandbox": sandbox} if sandbox else {})}
        # JSON carries the value: BiDi's own value format would have to be turned back.
        wrapped = f"(async () => JSON.stringify(await ({expression})) ?? 'null')()"
        answer = await self._ask("script.evaluate", {"expression": wrapped, "target": target, "awaitPromise": True})
        if answer["type"] == "exception":
            raise Untestable(f"a script failed: {answer['exceptionDetails'].get('text', '')}")
        try:
            return json.loads(answer["result"]["value"])
        except (ValueError, TypeError, KeyError):
            raise Untestable("the page meddles with the answers of scripts") from None

    async def evaluate(self, expression: str) -> Any:
        return await self._evaluate(expression)

    async def inspect(self, expression: str) -> Any:
        return await self._evaluate(expression, sandbox="moire")

    async def resize(self, width: int, height: int) -> None:
        await self._ask("browsingContext.setViewport", self._viewport(width, height))

    async def screenshot(self) -> bytes:
        shot = await self._ask("browsingContext.captureScreenshot", {"context": self._context, "origin": "viewport"})
        return base64.b64decode(shot["data"])

    @property
    def blocked(self) -> tuple[str, ...]:
        return tuple(self._blocked)

    async def close(self) -> None:
        with contextlib.suppress(CommandFailed):
            await self._connection.call("browsingContext.close", {"context": self._context})
        with contextlib.suppress(CommandFailed):
            await self._connection.call("browser.removeUserContext", {"userContext": self._user})
        self.on_close()
