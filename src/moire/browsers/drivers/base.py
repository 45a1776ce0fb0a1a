"""The one protocol behind which every engine looks the same.

A *browser* is one running process (or one remote session); a *tab* shows one page at a time. Both
raise the exceptions below and nothing else; the Lab turns those into outcomes.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from ...nouns import Build, Case, Environment, LaunchError
from ..processes import Child, struck
from .ready import frame, settle

# For a page that is not busy.
ANSWER_SECONDS = 2.0


class DriverError(Exception):
    """The root of what a driver may raise."""


class BrowserGone(DriverError):
    """The process or its connection ended."""


class TabCrashed(DriverError):
    """The page took its tab down, or somebody else its process (`killed`); the browser may live on."""

    def __init__(self, words: str, *, killed: bool = False) -> None:
        super().__init__(words)
        self.killed = killed


class Untestable(DriverError):
    """The page cannot be shown this way (it left, it is a download, the engine cannot do it)."""


class Disturbed(Untestable):
    """The same, unless something befell the browser meanwhile, which shows in no other way: to be tried again."""


class Closed(Untestable):
    """The tab is gone: the page closed it, or somebody who sees it did."""

    def __init__(self) -> None:
        super().__init__("the page closed its window")


class Unsupported(DriverError):
    """The build has no such way of being driven; another will do."""


class StruckAtStart(LaunchError):
    """Somebody else ended or stopped it: that says nothing about the build."""


async def would_not_start(build: Build, error: Exception, said: object, children: Sequence[Child]) -> LaunchError:
    """What to tell people: to be asked before the children are ended."""
    killed = isinstance(error, TabCrashed) and error.killed
    if blow := await struck(children, isinstance(error, BrowserGone)) or (str(error) if killed else ""):
        return StruckAtStart(f"{build.name} would not start: {blow}.", "Try again.")
    words = str(said or "no answer").strip().rstrip(".")
    if build.source == "path":
        remedy = f"Check that {build.path} is a browser that Moire can drive: Chromium, Firefox or WebKitWebDriver."
    elif build.flags or build.environ or build.prefs:
        remedy = "Try it without its arguments, then run `moire browsers doctor`."
    else:
        remedy = "Run `moire browsers doctor`."
    return LaunchError(f"{build.name} would not start: {words}.", remedy)


class Tab(Protocol):
    async def load(self, address: str, *, afresh: bool = True) -> None:
        """Navigate, and return when the page is ready: load, fonts, a reftest's own word, or laid out `afresh` where
        that can make no difference, stilled, two frames. Without `afresh`, neither."""

    async def go(self, address: str) -> None:
        """Navigate to wherever the address leads, and return when the page there is ready. From then on, pages may
        leave for others: this is for web applications."""

    async def arrive(self) -> None:
        """Return when the page that is there now, or is on its way, is ready."""

    async def set_content(self, html: str) -> None:
        """Replace the document by `html`, and return when the page is ready."""

    async def screen(self, case: Case, address: str) -> bytes | None:
        """Show an inert page, by content or from its address, and take its picture: as fast as the
        engine can without showing anything else than a navigation in a fresh tab would.

        None when the engine has no such path, or the page needs the full wait after all.
        """

    async def show(self, case: Case, at_once: str = "") -> Any:
        """Show an inert page by content; the value of an expression in it, from before anything of it is drawn.

        Unsupported where the engine has no such path.
        """

    async def frame(self) -> None:
        """Have what scripts changed drawn."""

    async def settle(self) -> None:
        """Wait until what scripts changed is on the screen, at rest."""

    async def evaluate(self, expression: str) -> Any:
        """The JSON value of an expression in the page, awaited if it is a promise."""

    async def inspect(self, expression: str) -> Any:
        """The same in a world of our own, where the engine has one: there the page's scripts cannot
        change what things mean."""

    async def resize(self, width: int, height: int) -> None: ...

    async def scroll(self, x: int, y: int) -> None: ...

    async def focus(self, selector: str) -> None: ...

    async def screenshot(self) -> bytes:
        """The viewport as PNG."""

    async def layers(self) -> list[dict[str, Any]] | None:
        """What is composited, as the engine tells it: each layer's place, the reasons for it and the commands that
        paint it. None where the engine does not tell."""

    async def excuse(self) -> str:
        """Why a page that was not ready in time may not hang all the same, where the engine's events do
        not tell; empty if it does hang."""

    @property
    def blocked(self) -> tuple[str, ...]:
        """Addresses beyond the page server that the page asked for, in order, each once."""

    async def close(self) -> None: ...


class Scripted(ABC):
    """What a tab that evaluates scripts can do by them, the same in every engine."""

    @abstractmethod
    async def evaluate(self, expression: str) -> Any: ...

    @abstractmethod
    async def inspect(self, expression: str) -> Any: ...

    async def frame(self) -> None:
        await self.inspect(frame())

    async def settle(self) -> None:
        await self.inspect(settle())

    async def scroll(self, x: int, y: int) -> None:
        await self.evaluate(f"(window.scrollTo({x:d}, {y:d}), true)")

    async def focus(self, selector: str) -> None:
        find = f"document.querySelector({json.dumps(selector)})"
        await self.evaluate(f"(e => e ? (e.focus(), true) : false)({find})")

    async def layers(self) -> list[dict[str, Any]] | None:
        return None

    async def excuse(self) -> str:
        """A page that still answers does not hang: it tried to leave and could not, whereupon engines stop
        drawing it, or it keeps itself from ever being loaded."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self.evaluate("1")
        except (TimeoutError, DriverError):
            return ""
        return "the page answers but was not ready in time: it may have tried to leave"


class Browser(Protocol):
    version: str
    # Whether a new tab ends the one before it.
    single: bool

    async def open(self, environment: Environment) -> Tab:
        """A fresh tab that shares no state with any other."""

    @property
    def alive(self) -> bool: ...

    @property
    def children(self) -> Sequence[Child]:
        """The processes that it is, if it runs here."""

    async def close(self) -> None:
        """End the process and remove its folder. Never raises, never waits for a page."""
