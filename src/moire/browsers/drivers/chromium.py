"""Chromium over its debugging pipe: no port, no WebDriver, any build from 80 on."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ...nouns import Build, Case, Environment, LaunchError, UsageError
from .. import fonts
from ..network import Network
from ..processes import Child, discard, scratch
from ..window import SHOWN, without
from .base import (
    BrowserGone,
    Closed,
    Disturbed,
    DriverError,
    Scripted,
    TabCrashed,
    Unsupported,
    Untestable,
    would_not_start,
)
from .cdp import CommandFailed, Connection, Params
from .ready import at_rest, ready

# A start that takes longer is a failed one; a cold start of a 180 MB binary takes about 2 s.
LAUNCH_SECONDS = 30.0
# A first frame takes a tenth of this on a busy machine; a build that has none to give says nothing.
ON_DEMAND_SECONDS = 5.0
_LAYER_FRAMES = 10
# The most that Linux grants to anyone by default.
PIPE_BYTES = 1 << 20

FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--hide-scrollbars",
    "--mute-audio",
    # One look on every machine: no LCD text, no host profile, no dark mode of the desktop's.
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--blink-settings=imageAnimationPolicy=2",
    # Pictures must not depend on what happens to be decoded or scrolled when they are taken.
    "--disable-checker-imaging",
    "--disable-smooth-scrolling",
    "--disable-low-res-tiling",
    "--disable-partial-raster",
    # A tab that waits its turn is still a visible tab.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # No page may open another.
    "--block-new-web-contents",
    # Nothing leaves the machine, neither for the page nor for the browser itself.
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # A crash reporter would leave its process group behind.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--password-store=basic",
    "--use-mock-keychain",
    # Who goes back to a page loads it again.
    "--disable-features=Translate,MediaRouter,OptimizationHints,PaintHolding,LazyFrameLoading,BackForwardCache",
)

# Frames are drawn when asked for and never else: for a page that is looked at once, all other frames
# are wasted. Only one tab of a process can be asked at a time, so several processes share the work,
# and leaving out the separate GPU process (which draws in software here anyway) makes them cheaper.
ON_DEMAND_FLAGS = ("--enable-begin-frame-control", "--run-all-compositor-stages-before-draw", "--in-process-gpu")

_SHOT: Params = {
    "format": "png",
    "fromSurface": True,
    "captureBeyondViewport": False,
    "optimizeForSpeed": True,
}
_CLEAN = "scrollTo({left: 0, top: 0, behavior: 'instant'}); document.adoptedStyleSheets = []; true"
# What a page calls its own may be called like what a document can do.
_WRITE = (
    "(own => {{ own.open.call(document); own.write.call(document, {}); own.close.call(document); }})"
    "(Document.prototype)"
)
_SHOT_ON_DEMAND: Params = {"format": "png", "optimizeForSpeed": True}
# A page that has just come may have nothing to show in its first frames.
_SHOT_FRAMES = 5
# Between frames of a page that goes on, in seconds: the least, and that of a screen.
_LEAST_PAUSE, _MOST_PAUSE = 0.0005, 0.016


# Of these Chromium heeds only the last it is given: ours and a build's own must become one.
_LISTS = ("--disable-features=", "--enable-features=", "--blink-settings=")


def merged(flags: Iterable[str]) -> list[str]:
    """The flags, with those that are lists joined."""
    lists: dict[str, list[str]] = {}
    plain = []
    for flag in flags:
        kind = next((k for k in _LISTS if flag.startswith(k)), None)
        if kind is None:
            plain.append(flag)
        else:
            lists.setdefault(kind, []).append(flag.removeprefix(kind))
    return plain + [kind + ",".join(values) for kind, values in lists.items()]


def own_flags(build: Build) -> list[str]:
    """Those that every Chromium gets, but for what the build takes back: `--no-hide-scrollbars`."""
    back = {f"--{flag.removeprefix('--no-')}" for flag in build.flags if flag.startswith("--no-")}
    return [flag for flag in FLAGS if flag not in back]


def sandboxed() -> bool:
    """Chromium's own sandbox refuses to run as root."""
    return os.geteuid() != 0


class ChromiumBrowser:
    single = False

    def __init__(
        self, build: Build, child: Child, connection: Connection, folder: Path, network: Network, on_demand: bool
    ) -> None:
        self.build = build
        self._network = network
        self.version = build.version
        self._on_demand = on_demand
        self._child = child
        self._connection = connection
        self._folder = folder
        self._tabs: dict[str, ChromiumTab] = {}
        # Targets whose renderer went before their tab was known here, and whether it was killed.
        self._stillborn: dict[str, bool] = {}
        connection.listen("", self._heard)

    @classmethod
    async def launch(cls, build: Build, network: Network, *, on_demand: bool = False) -> ChromiumBrowser:
        """With `on_demand`, tabs can `screen` and nothing else, one tab at a time, and fast; a build that says that it
        cannot draw frames on demand raises Unsupported."""
        assert build.path is not None
        folder = scratch("chromium")
        argv = [
            str(build.path),
            *merged([*own_flags(build), *(ON_DEMAND_FLAGS if on_demand else ()), *build.flags]),
            *([] if sandboxed() else ["--no-sandbox"]),
            f"--user-data-dir={folder / 'profile'}",
            f"--proxy-server=http://{network.proxy}",
            f"--proxy-bypass-list=<-loopback>;{network.pages}",
            *(["--ignore-certificate-errors"] if network.stands_in else []),
            "about:blank",
        ]
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()
        # A picture in one read instead of a dozen. More than the system grants is no reason to fail.
        with contextlib.suppress(OSError):
            fcntl.fcntl(our_in, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        try:
            child = Child(
                argv,
                environ={"HOME": str(folder), "TMPDIR": str(folder), **fonts.offered(folder), **build.environ},
                fds={3: their_in, 4: their_out},
            )
        except LaunchError:
            os.close(our_in)
            os.close(our_out)
            discard(folder)
            raise
        finally:
            os.close(their_in)
            os.close(their_out)
        connection = Connection()
        browser = cls(build, child, connection, folder, network, on_demand)
        try:
            await connection.attach(our_in, our_out)
            async with asyncio.timeout(LAUNCH_SECONDS):
                about = await connection.call("Browser.getVersion")
                kind, _, version = str(about.get("product", "")).rpartition("/")
                browser.version = version or build.version
                if SHOWN in build.flags and kind.startswith("Headless"):
                    raise without(build)
                await connection.call("Target.setDiscoverTargets", {"discover": True})
                if on_demand and not kind.startswith("Headless"):
                    raise Unsupported("only headless shells draw frames on demand")
            if on_demand:
                await browser._try_on_demand()
        except Unsupported:
            await browser.close()
            raise
        except (DriverError, TimeoutError) as error:
            words = child.tail().splitlines()
            try:
                raise await would_not_start(build, error, words[-1] if words else error, [child]) from None
            finally:
                await browser.close()
        except (asyncio.CancelledError, UsageError):
            await browser.close()
            raise
        return browser

    async def _try_on_demand(self) -> None:
        """Nothing but trying tells whether a build can."""
        async with asyncio.timeout(ON_DEMAND_SECONDS):
            tab = await self.open(Environment())
            picture = await tab.screen(Case(b"<!DOCTYPE html><p>a"), "")
            await tab.close()
        if picture is None:
            raise Disturbed("it draws no frame")

    def _heard(self, method: str, params: Params) -> None:
        if method == "Target.targetCrashed":
            if (tab := self._tabs.get(params["targetId"])) is not None:
                tab.crash(params.get("status") == "killed")
            else:
                self._stillborn[params["targetId"]] = params.get("status") == "killed"
        elif method == "Target.targetCreated":
            info = params["targetInfo"]
            if info.get("type") == "page" and info.get("openerId"):
                self._connection.post("Target.closeTarget", {"targetId": info["targetId"]})

    async def open(self, environment: Environment) -> ChromiumTab:
        call = self._connection.call
        try:
            context = (await call("Target.createBrowserContext"))["browserContextId"]
            self._connection.post("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": context})
            target = (
                await call(
                    "Target.createTarget",
                    {
                        "url": "about:blank",
                        "browserContextId": context,
                        "width": environment.width,
                        "height": environment.height,
                        "enableBeginFrameControl": self._on_demand,
                    },
                )
            )["targetId"]
            attached = await call("Target.attachToTarget", {"targetId": target, "flatten": True})
            session = attached["sessionId"]
            tab = ChromiumTab(self._connection, context, session, environment, self._network, self._on_demand)
            self._tabs[target] = tab
            tab.on_close = lambda: self._tabs.pop(target, None)
            if target in self._stillborn:
                tab.crash(self._stillborn[target])
            await tab.prepare()
        except CommandFailed as error:
            raise BrowserGone(f"no tab could be opened: {error}") from None
        return tab

    @property
    def alive(self) -> bool:
        return self._child.alive

    @property
    def children(self) -> Sequence[Child]:
        return (self._child,)

    async def close(self) -> None:
        self._connection.close()
        await self._child.kill()
        await asyncio.to_thread(discard, self._folder)


class ChromiumTab(Scripted):
    def __init__(
        self, connection: Connection, context: str, session: str, environment: Environment, network: Network,
        on_demand: bool,
    ) -> None:  # fmt: skip
        self._connection = connection
        self._context = context
        self._session = session
        self._environment = environment
        self._network = network
        self._on_demand = on_demand
        self._size = (environment.width, environment.height)
        self._frame = ""
        # A world of our own in the page, which lives as long as the document: in tabs that take pages by content, as
        # long as the tab.
        self._world = 0
        # The document we asked for, and the last one that came, by the browser's own marks.
        self._loader = ""
        self._came = ("", "")
        self._roams = False
        self._blocked: dict[str, None] = {}
        self._layers: list[Params] = []
        # Whether it was killed.
        self._crashed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.on_close: Callable[[], object] = lambda: None
        connection.listen(session, self._heard)

    async def prepare(self) -> None:
        """All at once: the order of sending is the order of execution."""
        e = self._environment
        features = [{"name": "prefers-color-scheme", "value": e.color_scheme}]
        media = {"media": "print" if e.medium == "print" else "", "features": features}
        answers = [
            self._send("Page.enable"),
            self._send("Page.getFrameTree"),
            self._send("Emulation.setDeviceMetricsOverride", self._metrics(e.width, e.height)),
            self._send("Emulation.setEmulatedMedia", media),
            self._send("Network.enable"),
            # Every tab behaves as the one in front: focus must not depend on who else is there.
            self._send("Emulation.setFocusEmulationEnabled", {"enabled": True}),
        ]
        await self._first(answers[-1])
        results = await asyncio.gather(*answers)
        self._frame = results[1]["frameTree"]["frame"]["id"]
        self._loader = results[1]["frameTree"]["frame"]["loaderId"]

    def _metrics(self, width: int, height: int) -> Params:
        return {
            "width": width, "height": height,
            "deviceScaleFactor": self._environment.scale, "mobile": False,
        }  # fmt: skip

    def _heard(self, method: str, params: Params) -> None:
        if method == "Page.javascriptDialogOpening":
            # Dismissing is the answer that lets a page go on in every engine alike, but for
            # beforeunload, where dismissing would keep the page.
            accept = params.get("type") == "beforeunload"
            self._connection.post("Page.handleJavaScriptDialog", {"accept": accept}, self._session)
        elif method == "Page.frameNavigated":
            frame = params["frame"]
            if frame["id"] == self._frame:
                self._came = (frame["loaderId"], frame.get("url", ""))
        elif method == "LayerTree.layerTreeDidChange":
            self._layers = params.get("layers", self._layers)
        elif method == "Network.requestWillBeSent":
            self._asked(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self._asked(params["url"])

    def _asked(self, url: str) -> None:
        if self._network.blocks(url):
            self._blocked[url] = None

    def crash(self, killed: bool) -> None:
        if not self._crashed.done():
            self._crashed.set_result(killed)

    def _send(self, method: str, params: Params | None = None) -> asyncio.Future[Any]:
        return self._connection.send(method, params, self._session)

    async def _call(self, method: str, params: Params | None = None) -> Any:
        return await self._first(self._send(method, params))

    async def _first(self, answer: asyncio.Future[Any]) -> Any:
        """A command's result, or the exception that says what became of the tab."""
        await asyncio.wait((answer, self._crashed), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise self._crash()
        try:
            return answer.result()
        except CommandFailed as error:
            if self._crashed.done() or "crashed" in error.message:
                raise self._crash() from None
            if "Session with given id not found" in error.message:
                raise Closed from None
            self._stay()
            raise

    def _crash(self) -> TabCrashed:
        killed = self._crashed.done() and self._crashed.result()
        return TabCrashed(f"the page's renderer {'was killed' if killed else 'crashed'}", killed=killed)

    def _stay(self) -> None:
        """Untestable, if another page than ours is shown."""
        loader, url = self._came
        if loader and loader != self._loader and not self._roams:
            raise Untestable(f"the page went away to {url or 'another page'}")

    async def load(self, address: str, *, afresh: bool = True) -> None:
        self._came = ("", "")
        try:
            answer = await self._call("Page.navigate", {"url": address})
        except CommandFailed as error:
            raise Disturbed(str(error)) from None
        if answer.get("errorText"):
            raise Disturbed(f"the page did not load: {answer['errorText']}")
        self._loader = answer.get("loaderId", "")
        await self._wait_ready(afresh=afresh)

    async def go(self, address: str) -> None:
        self._roams = True
        await self.load(address, afresh=False)

    async def arrive(self) -> None:
        await self._wait_ready(afresh=False)

    async def set_content(self, html: str) -> None:
        try:
            await self._call("Page.setDocumentContent", {"frameId": self._frame, "html": html})
        except CommandFailed as error:
            raise Untestable(f"the page cannot be shown: {error.message}") from None
        await self._wait_ready()

    async def screen(self, case: Case, address: str) -> bytes | None:
        try:
            return await self._screen(case)
        except CommandFailed:
            return None

    async def _screen(self, case: Case) -> bytes | None:
        """All commands in one go: nothing waits for the pipe but the last answer."""
        html = case.html.decode("utf-8")
        answers = [self._send("Page.setDocumentContent", {"frameId": self._frame, "html": html})]
        if not case.at_rest or self._environment.direction != "ltr":
            check = at_rest(self._environment)
            answers.append(self._send("Runtime.evaluate", {"expression": check, "returnByValue": True}))
        if self._on_demand:
            # A frame asked for too early shows the page before.
            for answer in answers:
                await self._first(answer)
            shot = await self._call("HeadlessExperimental.beginFrame", {"screenshot": _SHOT_ON_DEMAND})
            data = shot.get("screenshotData")
        else:
            data = (await self._call("Page.captureScreenshot", _SHOT))["data"]
        _, *asked = await asyncio.gather(*answers)
        if data is None or any(answer.get("result", {}).get("value") is not True for answer in asked):
            return None
        return base64.b64decode(data)

    async def _wait_ready(self, *, afresh: bool = True) -> None:
        try:
            await self._aside(ready(self._environment, afresh=afresh))
        except CommandFailed as error:
            # The world ended under the question: the page is on its way to somewhere else.
            raise Disturbed(f"the page went away while it loaded ({error.message})") from None
        self._stay()

    async def _aside(self, expression: str) -> Any:
        """Ask in a world of our own, where the page's scripts cannot change what things mean."""
        if not self._on_demand or self._roams or not self._world:
            world = {"frameId": self._frame, "worldName": "moire"}
            self._world = (await self._call("Page.createIsolatedWorld", world))["executionContextId"]
        return await self._evaluate(expression, self._world)

    async def _evaluate(self, expression: str, context: int | None = None) -> Any:
        params: Params = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        if context is not None:
            params["contextId"] = context
        answer = self._send("Runtime.evaluate", params)
        if self._on_demand and self._roams:
            await self._live(answer)
        return _value(await self._first(answer))

    async def _live(self, answer: asyncio.Future[Any]) -> None:
        """Frames until there is an answer: what a page does, it does between them."""
        pause = _LEAST_PAUSE
        while True:
            done, _ = await asyncio.wait((answer, self._crashed), timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
            # There may be none in a page that is going.
            with contextlib.suppress(CommandFailed):
                await self._call("HeadlessExperimental.beginFrame")
            pause = min(2 * pause, _MOST_PAUSE)

    async def evaluate(self, expression: str) -> Any:
        try:
            return await self._evaluate(expression)
        except CommandFailed as error:
            raise Untestable(f"a script could not run: {error.message}") from None

    async def inspect(self, expression: str) -> Any:
        try:
            return await self._aside(expression)
        except CommandFailed as error:
            raise Untestable(f"a script could not run: {error.message}") from None

    async def resize(self, width: int, height: int) -> None:
        if self._size == (width, height):
            return
        try:
            await self._call("Emulation.setDeviceMetricsOverride", self._metrics(width, height))
        except CommandFailed as error:
            raise Untestable(f"the page cannot be resized: {error.message}") from None
        self._size = (width, height)

    async def show(self, case: Case, at_once: str = "") -> Any:
        """Only where frames are drawn on demand is it sure that nothing of the page is drawn before its time."""
        if not self._on_demand:
            raise Unsupported("frames are drawn at any time")
        html = json.dumps(case.html.decode("utf-8"))
        # In one go: between two commands, the browser may lay out what there is by then.
        written = f"(() => {{ {_WRITE.format(html)}; return {at_once or 'null'}; }})()"
        answers = [
            # The document stays, with what was done to it.
            self._send("Runtime.evaluate", {"expression": _CLEAN}),
            self._send("Runtime.evaluate", {"expression": written, "returnByValue": True, "awaitPromise": True}),
        ]
        try:
            _, value = [await self._first(answer) for answer in answers]
        except CommandFailed as error:
            raise Untestable(f"the page cannot be shown: {error.message}") from None
        return _value(value)

    async def frame(self) -> None:
        if self._on_demand:
            await self._begin_frame({})
        else:
            await super().frame()

    async def _begin_frame(self, params: Params) -> Any:
        try:
            return await self._call("HeadlessExperimental.beginFrame", params)
        except CommandFailed as error:
            raise Disturbed(f"no frame could be drawn: {error.message}") from None

    async def screenshot(self) -> bytes:
        if self._on_demand:
            for _ in range(_SHOT_FRAMES if self._roams else 1):
                shot = await self._begin_frame({"screenshot": _SHOT_ON_DEMAND})
                if shot.get("screenshotData"):
                    return base64.b64decode(shot["screenshotData"])
            raise Disturbed("no picture could be taken")
        try:
            shot = await self._call("Page.captureScreenshot", _SHOT)
        except CommandFailed as error:
            raise Disturbed(f"no picture could be taken: {error.message}") from None
        self._stay()
        return base64.b64decode(shot["data"])

    async def layers(self) -> list[Params] | None:
        try:
            await self._call("LayerTree.enable")
            # They are told of with the next frame that has anything new.
            for _ in range(_LAYER_FRAMES):
                if self._layers:
                    break
                await self.frame()
            return [await self._layer(layer) for layer in self._layers]
        except CommandFailed:
            return None

    async def _layer(self, layer: Params) -> Params:
        which = {"layerId": layer["layerId"]}
        reasons = await self._call("LayerTree.compositingReasons", which)
        found = {**layer, "reasons": reasons.get("compositingReasonIds", []), "commands": []}
        # The root draws nothing, and says otherwise.
        if layer.get("drawsContent") and layer["width"] and layer["height"]:
            snapshot = {"snapshotId": (await self._call("LayerTree.makeSnapshot", which))["snapshotId"]}
            found["commands"] = (await self._call("LayerTree.snapshotCommandLog", snapshot))["commandLog"]
            await self._call("LayerTree.releaseSnapshot", snapshot)
        return found

    @property
    def blocked(self) -> tuple[str, ...]:
        return tuple(self._blocked)

    async def close(self) -> None:
        self._connection.forget(self._session)
        self.on_close()
        with contextlib.suppress(CommandFailed):
            await self._connection.call("Target.disposeBrowserContext", {"browserContextId": self._context})


def _value(answer: Any) -> Any:
    """What an expression came to."""
    if "exceptionDetails" in answer:
        details = answer["exceptionDetails"]
        said = details.get("exception", {}).get("description") or details.get("text", "")
        raise Untestable(f"a script failed: {said}")
    return answer["result"].get("value")
