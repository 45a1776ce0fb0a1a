"""A web application in one tab of one browser, with the script in its pages that records or replays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from ..browsers.drivers.base import DriverError, Tab, Untestable
from ..browsers.lab import Lab, LabOptions
from ..nouns import Build, Environment
from ..serve.archive import Archive
from ..serve.proxy import SAID, AppProxy
from .page import Page, parsed

# Under which pages have the script.
NAME = "__moire"
# For a page to be there, and for a question to be answered.
PAGE_SECONDS, ANSWER_SECONDS = 30.0, 30.0


# The script in its parts, which share one scope.
_PARTS = ("base", "timers", "answers", "scripts", "held", "tree", "acts", "install", "again", "begin")


@cache
def _shim() -> str:
    folder = files(__package__).joinpath("shim")
    parts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in _PARTS]
    return "(config => {\n" + "\n".join(parts) + "})"


class Left(Exception):
    """The page is gone, and another is there or on its way."""


@dataclass
class Scripts:
    """What each document is told, in the order in which they are asked for."""

    live: bool
    # Whether what a person does in the page is written down.
    person: bool = False
    local: Callable[[int], Mapping[str, Any]] = lambda page: {}
    pages: int = 0
    # What pages said when they were left.
    last_words: list[dict[str, Any]] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    def script(self, url: str, *, top: bool) -> str:
        page = self.pages if top else max(0, self.pages - 1)
        if top:
            self.pages += 1
            self.came.set()
        config = {
            "name": NAME, "live": self.live, "page": page, "first": page == 0, "said": SAID, "person": self.person,
            "locals": {} if self.live else self.local(page),
        }  # fmt: skip
        text = json.dumps(config).replace("</", "<\\/").replace("<!--", "<\\!--")
        return f"{_ascii(_shim())}({text}); document.currentScript.remove();"

    def said(self, text: str) -> None:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        # Anyone in the page may say something there.
        if isinstance(found, dict) and isinstance(found.get("events"), list) and isinstance(found.get("locals"), dict):
            self.last_words.append(found)


@cache
def _ascii(script: str) -> str:
    """The page's encoding is its own affair."""
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in script).strip().rstrip(";")


@dataclass
class Session:
    tab: Tab
    scripts: Scripts
    proxy: AppProxy

    async def open(self, url: str) -> None:
        async with asyncio.timeout(PAGE_SECONDS):
            await self.tab.go(url)

    async def ask(self, words: str) -> Any:
        """Of the script in the page."""
        page = self.scripts.pages
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.tab.evaluate(f"window.{NAME}.{words}")
        except Untestable as error:
            if self.scripts.pages != page:
                raise Left from None
            # Some engines tell before the next page is asked for.
            try:
                async with asyncio.timeout(1.0):
                    await self.another(page)
            except TimeoutError:
                raise error from None
            raise Left from None

    async def arrive(self, pages: int) -> bool:
        """Whether so many pages were asked for in time; then the last of them is ready."""
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                while self.scripts.pages < pages:
                    await self.another(self.scripts.pages)
                await self._ready()
        except TimeoutError:
            return False
        return True

    async def another(self, page: int) -> None:
        while self.scripts.pages == page:
            self.scripts.came.clear()
            await self.scripts.came.wait()

    async def _ready(self) -> None:
        """A page that is replaced while it comes is waited for once more."""
        while True:
            before = self.scripts.pages
            try:
                await self.tab.arrive()
                if await self.tab.evaluate(f"window.{NAME} ? window.{NAME}.page : -1") == self.scripts.pages - 1:
                    return
            except DriverError:
                if self.scripts.pages == before:
                    raise

    async def page(self) -> tuple[Page, tuple[float, float]]:
        """Its nodes, and how far it is scrolled."""
        found = await self.ask("look()")
        return parsed(found["nodes"]), (float(found["scroll"][0]), float(found["scroll"][1]))


@asynccontextmanager
async def session(
    build: Build, environment: Environment, origins: tuple[str, ...], scripts: Scripts, archive: Archive, *,
    closed: bool,
) -> AsyncIterator[Session]:  # fmt: skip
    """A browser of its own: what it stores and what it asks for is this session's."""
    proxy = AppProxy(origins, scripts, archive, closed=closed)
    async with Lab([build], LabOptions(processes=1), proxy) as lab, lab.tab(build, environment) as tab:
        yield Session(tab, scripts, proxy)
