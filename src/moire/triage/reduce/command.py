"""Judges that others bring along: a command, or a function."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable

from ...browsers.onpaper import written
from ...browsers.processes import Child
from ...nouns import Case, HarnessError, MoireError
from ...oracles.change import CONFIRMATIONS
from .judge import Never, View


@dataclass
class Command:
    """A command that ends with 0 for a page that is interesting, as for Lithium and C-Reduce."""

    command: Sequence[str]
    timeout: float = 60.0
    renders: int = 0
    view: View = field(default=View(), init=False)

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        if not self.command or shutil.which(self.command[0]) is None:
            raise MoireError(f"{' '.join(self.command[:1]) or 'The command'} cannot be run.", "Check the command.")
        answers = [await self._interesting(case) for _ in range(CONFIRMATIONS)]
        if None in answers:
            raise HarnessError(f"The command did not end within {self.timeout:g} seconds.", "Give it more --timeout.")
        return "interesting" if any(answers) else Never("same", "the command does not find it interesting")

    def suspects(self) -> list[tuple[str, int]]:
        return []

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False, best: bool = False) -> bool:
        return await self._interesting(case) is True

    async def _interesting(self, case: Case) -> bool | None:
        """None if the command takes too long."""
        self.renders += 1
        with written(case) as page:
            words = [word.replace("{page}", str(page)) for word in self.command]
            if words == list(self.command):
                words.append(str(page))
            child = Child([shutil.which(words[0]) or words[0], *words[1:]])
            try:
                async with asyncio.timeout(self.timeout):
                    code = await asyncio.shield(child.exited)
            except TimeoutError:
                return None
            finally:
                await child.kill()
        return code == 0

    async def follow(self, case: Case | None) -> None:
        return None


@dataclass
class Asked:
    """Any function of a page, for use from Python."""

    function: Callable[[Case], Awaitable[object] | object]
    renders: int = 0
    view: View = field(default=View(), init=False)

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        if any([await self.fails(case) for _ in range(CONFIRMATIONS)]):
            return "interesting"
        return Never("same", "the function does not find it interesting")

    def suspects(self) -> list[tuple[str, int]]:
        return []

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False, best: bool = False) -> bool:
        self.renders += 1
        answer = self.function(case)
        return bool(await answer if isawaitable(answer) else answer)

    async def follow(self, case: Case | None) -> None:
        return None
