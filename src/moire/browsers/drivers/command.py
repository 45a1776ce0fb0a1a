"""Any program that turns a file into a PNG."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...nouns import Build, Case, Environment, LaunchError
from ...pixels import decode
from ..processes import Child, discard, scratch
from .base import TabCrashed, Unsupported, Untestable


class CommandBrowser:
    single = False

    """There is no process between pages: each page starts the program anew."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.version = build.version

    @classmethod
    async def launch(cls, build: Build) -> CommandBrowser:
        if shutil.which(build.command[0]) is None:
            raise LaunchError(f"{build.command[0]} is not a program on this machine.", "Install it, or give its path.")
        return cls(build)

    async def open(self, environment: Environment) -> CommandTab:
        return CommandTab(self.build, environment)

    @property
    def alive(self) -> bool:
        return True

    @property
    def children(self) -> Sequence[Child]:
        return ()

    async def close(self) -> None:
        return None


class CommandTab:
    """`{page}`, `{png}`, `{width}` and `{height}` in the command are filled in; a command without
    `{page}` gets page and picture as its last two arguments."""

    def __init__(self, build: Build, environment: Environment) -> None:
        self._build = build
        self._environment = environment
        self._png: bytes | None = None
        self._child: Child | None = None

    async def load(self, address: str, *, afresh: bool = True) -> None:
        """`address` is a file here: the Lab writes the page to disk for command renderers."""
        folder = scratch("command")
        try:
            await self._run(address, folder / "out.png")
        finally:
            await asyncio.to_thread(discard, folder)

    async def go(self, address: str) -> None:
        raise Untestable("a program that draws a file cannot run a web application")

    async def arrive(self) -> None:
        return None

    async def _run(self, page: str, png: Path) -> None:
        words = list(self._build.command)
        if not any("{page}" in word for word in words):
            words += ["{page}", "{png}"]
        values = {
            "{page}": page, "{png}": str(png),
            "{width}": str(self._environment.width), "{height}": str(self._environment.height),
        }  # fmt: skip
        for key, value in values.items():
            words = [word.replace(key, value) for word in words]
        program = shutil.which(words[0])
        if program is None:
            raise Untestable(f"{words[0]} is not a program on this machine")
        self._child = Child([program, *words[1:]], environ=self._build.environ)
        try:
            code = await asyncio.shield(self._child.exited)
        finally:
            await self._child.kill()
        if code < 0:
            raise TabCrashed(f"the renderer died of signal {-code}")
        if code != 0:
            said = self._child.tail().splitlines()
            raise Untestable(f"the renderer ended with {code}: {said[-1] if said else 'no word'}")
        try:
            self._png = await asyncio.to_thread(png.read_bytes)
            decode(self._png)
        except OSError:
            raise Untestable("the renderer wrote no picture") from None
        except ValueError:
            raise Untestable("the renderer's picture is broken") from None

    async def screen(self, case: Case, address: str) -> bytes | None:
        return None

    async def set_content(self, html: str) -> None:
        raise Untestable("a command renderer takes files only")

    async def evaluate(self, expression: str) -> Any:
        raise Untestable("a command renderer runs no scripts")

    async def inspect(self, expression: str) -> Any:
        return await self.evaluate(expression)

    async def show(self, case: Case, at_once: str = "") -> Any:
        raise Unsupported("a command renderer takes files only")

    async def frame(self) -> None:
        return None

    async def settle(self) -> None:
        return None

    async def resize(self, width: int, height: int) -> None:
        raise Untestable("a command renderer shows a page once")

    async def scroll(self, x: int, y: int) -> None:
        raise Untestable("a command renderer does not scroll")

    async def focus(self, selector: str) -> None:
        raise Untestable("a command renderer does not focus")

    async def screenshot(self) -> bytes:
        if self._png is None:
            raise Untestable("nothing was rendered")
        return self._png

    async def layers(self) -> list[dict[str, Any]] | None:
        return None

    async def excuse(self) -> str:
        return ""

    @property
    def blocked(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        if self._child is not None:
            await self._child.kill()
