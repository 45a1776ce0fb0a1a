"""A web application in one tab of one browser, with the script in its pages that records or replays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from ..browsers.drivers.base import Closed, DriverError, Tab, Untestable
from ..browsers.lab import Lab, LabOptions
from ..nouns import Build, Environment
from ..serve.archive import Archive
from ..serve.documents import ADOPTING, NAME, TALK, Place
from ..serve.proxy import AppProxy
from .page import Page, parsed

# For a page to be there, and for a question to be answered; for a page to come that was asked for.
PAGE_SECONDS, ANSWER_SECONDS, PATIENCE = 30.0, 30.0, 10.0

# What a page says that is a frame's, and what is said for a page that is there no longer.
FRAME, GONE = "frame", "gone"

# The script in its parts, which share one scope.
_PARTS = ("base", "timers", "answers", "scripts", "held", "tree", "acts", "install", "again", "begin")


@cache
def _shim() -> str:
    folder = files(__package__).joinpath("shim")
    parts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in _PARTS]
    return "(config => {\n'use strict';\n" + "\n".join(parts) + "})"


_MEDDLES = "the page meddles with what is asked of it"


class Left(Exception):
    """The page is gone, and another is there or on its way."""


class Astray(Exception):
    """The window is where no script of ours is: beyond the origins, mostly."""


@dataclass
class Scripts:
    """What each page is told. A page is one when its script runs and asks which one it is: what was only asked for may
    never be shown."""

    live: bool
    # Whether what a person does in the page is written down.
    person: bool = False
    local: Callable[[int], Mapping[str, Any]] = lambda page: {}
    # Of each kind of thing that comes by itself, the events that it was.
    came_as: Callable[[int], Mapping[str, Sequence[str]]] = lambda page: {}
    # Those that were shown.
    pages: int = 0
    # What pages said when they were left.
    last_words: list[dict[str, Any]] = field(default_factory=list)
    # Set whenever a page is shown, or is known to be none.
    came: asyncio.Event = field(default_factory=asyncio.Event)
    # By what they call themselves, which nobody but a page's own script knows: pages that were sent and not shown yet,
    # in their order; and which page each of the others is.
    _sent: dict[str, None] = field(default_factory=dict)
    _shown: dict[str, int] = field(default_factory=dict)

    def script(self, place: Place) -> str:
        token = secrets.token_urlsafe(9)
        if place != "frame":
            self._sent[token] = None
        config = {"name": NAME, "talk": f"{TALK}/{token}", "either": place == "either", "adopting": ADOPTING}
        # What is in it ends no script.
        told = json.dumps(config).replace("</", "<\\/")
        return f"{_ascii(_shim())}({told}); document.currentScript.remove();"

    @property
    def coming(self) -> bool:
        """Whether a page was sent that is not shown yet."""
        return bool(self._sent)

    def give_up(self) -> None:
        """What was sent is not shown: the window was led elsewhere, or stayed where it was."""
        self._sent.clear()

    def begun(self, token: str) -> str:
        """What a page is told when it is shown, as JSON; nothing if there is no such page."""
        if token not in self._sent:
            return ""
        # What was sent before it will not be shown any more.
        for earlier in [*self._sent]:
            del self._sent[earlier]
            if earlier == token:
                break
        page = self._shown[token] = self.pages
        self.pages += 1
        self.came.set()
        told = {"locals": {}, "comes": {}} if self.live else {"locals": self.local(page), "comes": self.came_as(page)}
        return json.dumps({"live": self.live, "person": self.person, "page": page, **told})

    def said(self, token: str, text: str) -> None:
        if text == FRAME:
            self._sent.pop(token, None)
            self.came.set()
        if token not in self._shown:
            return
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict) and isinstance(found.get("events"), list) and isinstance(found.get("locals"), dict):
            self.last_words.append(sound(found))


def sound(value: Any) -> Any:
    """Halves of characters, which a page may have and no file can, are replaced."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {sound(key): sound(inner) for key, inner in value.items()}
    return [sound(inner) for inner in value] if isinstance(value, list) else value


@cache
def _ascii(script: str) -> str:
    """The page's encoding is its own affair."""
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in script).strip().rstrip(";")


@dataclass
class Session:
    build: str
    tab: Tab
    scripts: Scripts
    proxy: AppProxy
    # Pages that were arrived at.
    arrived: int = 0

    async def open(self, url: str) -> None:
        async with asyncio.timeout(PAGE_SECONDS):
            await self.tab.go(url)
        self.arrived = self.scripts.pages

    async def ask(self, words: str, seconds: float = ANSWER_SECONDS) -> Any:
        """Of the script in the page that was arrived at; Left if another is there."""
        page = self.arrived
        await self._shown()
        if self.scripts.pages != page:
            raise Left
        try:
            async with asyncio.timeout(seconds):
                # The next page may come between our look and our question.
                here = f"window.{NAME}.page === {page - 1}"
                answer = await self.tab.evaluate(f"{here} ? window.{NAME}.{words} : {json.dumps(GONE)}")
        except Closed:
            raise
        except Untestable as error:
            if await self._replaced(page):
                raise Left from None
            if await self._strange():
                raise Astray from None
            raise error from None
        if answer == GONE:
            raise Left
        return sound(answer)

    async def rows(self, words: str) -> list[dict[str, Any]]:
        """What is told one by one."""
        answer = await self.ask(words)
        if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
            raise Untestable(_MEDDLES)
        return answer

    async def taken(self) -> dict[str, Any]:
        """What has happened in the page since it was asked last."""
        answer = await self.ask("take()")
        if not isinstance(answer, dict) or not isinstance(answer.get("events"), list):
            raise Untestable(_MEDDLES)
        return answer

    async def _shown(self) -> None:
        """Until a page that was sent is there."""
        try:
            async with asyncio.timeout(PATIENCE):
                while self.scripts.coming:
                    await self._came()
        except TimeoutError:
            self.scripts.give_up()

    async def _came(self) -> None:
        self.scripts.came.clear()
        await self.scripts.came.wait()

    async def strays(self) -> bool:
        """Whether the window goes where no script of ours is, in time."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not await self._strange():
                    with contextlib.suppress(DriverError):
                        await self.tab.frame()
        except TimeoutError:
            return False
        return True

    async def _strange(self) -> bool:
        """Whether our script is not in the page."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return not await self.tab.evaluate(f"'{NAME}' in window")
        except (DriverError, TimeoutError):
            return True

    async def arrive(self, pages: int) -> bool:
        """Whether so many pages were shown in time; then the last of them is ready."""
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                while self.scripts.pages < pages:
                    await self.another(self.scripts.pages)
                await self._ready()
                self.arrived = self.scripts.pages
        except TimeoutError:
            return False
        return True

    async def another(self, page: int) -> None:
        while self.scripts.pages == page:
            await self._came()

    async def _ready(self) -> None:
        """A page that is replaced while it comes is waited for once more."""
        while True:
            before = self.scripts.pages
            try:
                await self.tab.arrive()
                if await self.tab.evaluate(f"window.{NAME} ? window.{NAME}.page : -1") == self.scripts.pages - 1:
                    return
            except DriverError as error:
                if not await self._replaced(before):
                    raise error from None

    async def _replaced(self, page: int) -> bool:
        """Whether the page that could not answer makes way for another: some engines tell before that is asked for."""
        try:
            async with asyncio.timeout(PATIENCE if self.proxy.busy else 1.0):
                await self.another(page)
        except TimeoutError:
            return False
        return True

    async def answered(self) -> None:
        """Until all that was asked for was answered, or that took too long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self.proxy.rest()
        await self._shown()

    async def peek(self, place: tuple[float, float]) -> tuple[float, float]:
        """Scroll there, unnoticed by the application; how far it could be."""
        x, y = await self.ask(f"peek({place[0]:g}, {place[1]:g})")
        return float(x), float(y)

    async def page(self, before: Page | None = None) -> tuple[Page, tuple[float, float]]:
        """Its nodes, and how far it is scrolled."""
        found = await self.ask("look()")
        try:
            return parsed(found["nodes"], before), (float(found["scroll"][0]), float(found["scroll"][1]))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            raise Untestable(_MEDDLES) from None


@asynccontextmanager
async def session(
    build: Build, environment: Environment, origins: tuple[str, ...], scripts: Scripts, archive: Archive, *,
    closed: bool, read_only: bool = False,
) -> AsyncIterator[Session]:  # fmt: skip
    """A browser of its own: what it stores and what it asks for is this session's."""
    proxy = AppProxy(origins, scripts, archive, closed=closed, read_only=read_only)
    async with (
        Lab([build], LabOptions(processes=1), proxy) as lab,
        # What is seen live is seen as users see it.
        lab.tab(build, environment, on_demand=not scripts.live) as tab,
    ):
        yield Session(build.name, tab, scripts, proxy)
