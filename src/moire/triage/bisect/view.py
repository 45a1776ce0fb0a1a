"""How a page is looked at in one build: by its picture, by whether an update goes wrong, or by a command's word."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations
from typing import Protocol

from ...browsers.drivers.base import Tab
from ...browsers.lab import Lab, LabOptions
from ...browsers.onpaper import written
from ...browsers.processes import Child
from ...nouns import Build, Case, Failure, HarnessError, LaunchError, MoireError, Outcome, Shot
from ...oracles import update
from ...oracles.change import differ, photograph, together
from ...pixels import Measure, decode
from .memory import Blind, Seen
from .search import Eyes

# Pictures of a page in one build, if the first two are not alike; most of them must be.
MORE_LOOKS = 5
# What a command says by its exit, as for `git bisect run`.
GOOD, SKIP, MOST_BAD = 0, 125, 127


Told = Callable[[Case, Seen], None]


async def _visit(
    build: Build, cases: Sequence[Case], options: LabOptions, seen: Callable[[Lab, Build, Case], Awaitable[Seen]],
    told: Told,
) -> None:  # fmt: skip
    async def one(lab: Lab, case: Case) -> None:
        told(case, await seen(lab, build, case))

    try:
        async with Lab([build], options) as lab:
            await together(*(one(lab, case) for case in cases))
    except LaunchError as error:
        for case in cases:
            told(case, Blind(error.sentence, passing=True))


class View(Protocol):
    renders: int

    @property
    def way(self) -> str:
        """What is seen in the same way can be compared."""
        ...

    @property
    def eyes(self) -> Eyes[bytes]: ...

    async def look(self, build: Build, cases: Sequence[Case], told: Told) -> None:
        """All of them in one visit; each is told of as soon as it is seen."""
        ...


async def _twice(lab: Lab, build: Build, case: Case) -> list[Outcome]:
    """In a fresh tab and, where that can make no difference, in one that is there already, which takes much less."""

    async def shot(tab: Tab) -> Shot:
        return Shot(await tab.screenshot(), "navigation")

    async def again() -> Outcome:
        seen = await lab.visit(build, case, shot, warm=case.inert)
        return seen if isinstance(seen, Failure) else seen.value

    return await together(lab.shoot(build, case), again())


@dataclass
class Pictures:
    measure: Measure
    options: LabOptions = field(default_factory=LabOptions)
    renders: int = 0

    @property
    def way(self) -> str:
        return f"picture {self.measure.name}"

    @property
    def eyes(self) -> Eyes[bytes]:
        @lru_cache(maxsize=64)
        def apart(a: bytes, b: bytes) -> float:
            images = decode(a), decode(b)
            return self.measure.distance(*images) if images[0].shape == images[1].shape else math.inf

        return Eyes(lambda a, b: differ(Shot(a, "navigation"), Shot(b, "navigation"), self.measure), apart)

    async def look(self, build: Build, cases: Sequence[Case], told: Told) -> None:
        await _visit(build, cases, self.options, self._seen, told)

    async def _seen(self, lab: Lab, build: Build, case: Case) -> Seen:
        for look in (_twice, partial(photograph, repeats=MORE_LOOKS)):
            outcomes = await look(lab, build, case)
            self.renders += len(outcomes)
            failure = next((one for one in outcomes if isinstance(one, Failure)), None)
            if failure is not None:
                return Blind(f"{failure.kind}: {failure.reason}")
            shots = [one for one in outcomes if isinstance(one, Shot)]
            if not any(differ(a, b, self.measure) for a, b in combinations(shots, 2)):
                return shots[0].png
        alike = [[other for other in shots if not differ(one, other, self.measure)] for one in shots]
        most = max(alike, key=len)
        return most[0].png if len(most) >= MORE_LOOKS - 1 else Blind("flaky: it looks different now and then")


@dataclass
class Updates:
    """Whether the page's operations leave something stale."""

    measure: Measure
    options: LabOptions = field(default_factory=LabOptions)
    renders: int = 0

    @property
    def way(self) -> str:
        return f"update {self.measure.name}"

    @property
    def eyes(self) -> Eyes[bytes]:
        return _WORDS

    async def look(self, build: Build, cases: Sequence[Case], told: Told) -> None:
        await _visit(build, cases, self.options, self._seen, told)

    async def _seen(self, lab: Lab, build: Build, case: Case) -> Seen:
        verdict = (await update.judge(lab, build, case, self.measure, screen=False)).verdict
        self.renders += 2
        if verdict.kind in ("same", "different"):
            return verdict.kind.encode()
        return Blind(f"{verdict.kind}: {verdict.reason}")


_WORDS: Eyes[bytes] = Eyes(lambda a, b: a != b, lambda a, b: float(a != b))


@dataclass
class Said:
    """By a command's exit: 0 is good, 125 says that it cannot tell, anything else up to 127 is bad."""

    command: Sequence[str]
    timeout: float = 60.0
    renders: int = 0

    @property
    def way(self) -> str:
        return f"command {' '.join(self.command)}"

    @property
    def eyes(self) -> Eyes[bytes]:
        return _WORDS

    async def look(self, build: Build, cases: Sequence[Case], told: Told) -> None:
        program = shutil.which(self.command[0]) if self.command else None
        if program is None:
            raise MoireError(f"{' '.join(self.command[:1]) or 'The command'} cannot be run.", "Check the command.")
        for case in cases:
            told(case, await self._seen(program, build, case))

    async def _seen(self, program: str, build: Build, case: Case) -> Seen:
        self.renders += 1
        with written(case) as page:
            told = {"{page}": str(page), "{build}": build.name, "{program}": str(build.path or "")}
            words = list(self.command[1:])
            for name, value in told.items():
                words = [word.replace(name, value) for word in words]
            child = Child([program, *words])
            try:
                async with asyncio.timeout(self.timeout):
                    code = await asyncio.shield(child.exited)
            except TimeoutError:
                return Blind(f"the command did not end within {self.timeout:g} seconds")
            finally:
                await child.kill()
        if code == SKIP:
            return Blind("the command cannot tell")
        if not GOOD <= code <= MOST_BAD:
            raise HarnessError(f"The command ended with {code}.", "Let it end with 0, 125, or 1 to 127.")
        return b"good" if code == GOOD else b"bad"
