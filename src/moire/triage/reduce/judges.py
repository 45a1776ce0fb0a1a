"""Does a page still fail, and in the same way?"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from inspect import isawaitable
from typing import Literal, Protocol
from weakref import WeakKeyDictionary

import cv2
import numpy as np

from ... import inspect
from ...browsers.drivers.base import Tab
from ...browsers.lab import Lab, Path, Visit
from ...browsers.onpaper import written
from ...browsers.processes import Child
from ...inspect.compare import Mask, Parting, bulk, parting, within
from ...nouns import Build, Case, Dump, Failure, HarnessError, MoireError, Outcome, Shot
from ...oracles.change import CONFIRMATIONS, compare, decide, differ, image, together
from ...pixels import Measure, common

# A channel that is off by more than this is seen by anyone.
CLEAR = 64
# Seconds for a candidate: most pages on the way from a quick one are quick, too.
PATIENCE = 5.0
# Seconds that a tab waits for the other build's picture.
MEETING = 2.0
_NOISE: WeakKeyDictionary[Lab, dict[tuple[Build, Build], frozenset[str]]] = WeakKeyDictionary()
# What elements are renamed to.
PLAIN_NAMES = ("div", "span")
PLAIN = Case(b"<!DOCTYPE html><meta charset=utf-8><title>plain</title><div><p>plain <a href=#>text</a></p></div>")

Seen = tuple[Shot, Dump | None]


@dataclass(frozen=True, slots=True)
class Signature:
    """What must stay: the kind of verdict, how strong the difference is, the stage it comes from, of style the
    properties, and the kind of element that has most of it, if one has."""

    kind: str
    strength: Literal["", "faint", "clear"] = ""
    stage: str = ""
    properties: frozenset[str] = frozenset()
    where: str = ""

    def keeps(self, other: Signature) -> bool:
        """Whether the other is the same difference, or part of it."""
        if (self.kind, self.strength, self.stage) != (other.kind, other.strength, other.stage):
            return False
        if self.where not in ("", other.where):
            return False
        return not self.properties or bool(self.properties & other.properties)

    @property
    def words(self) -> str:
        style = ", ".join(sorted(self.properties)[:3])
        return " ".join(filter(None, [self.kind, self.strength, self.stage, style, self.where and f"in {self.where}"]))


@dataclass(frozen=True, slots=True)
class Never:
    """Why a page cannot be reduced."""

    verdict: Literal["same", "flaky", "untestable"]
    reason: str


class Judge(Protocol):
    renders: int

    async def learn(self, case: Case) -> Never | str:
        """Look at the page as it is given: what its failure is, in words."""
        ...

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False) -> bool:
        """Whether the page still fails in the same way; `anywhere`, whatever its elements are called; `careful`, as
        a browser shows it to anyone, and not by a shorter way."""
        ...

    async def follow(self, case: Case | None) -> None:
        """The page is still the same, but calls its parts by plain names now; by those it began with, if none is
        given."""
        ...

    def suspects(self) -> list[tuple[str, int]]:
        """Elements that the failure shows in, by name and place among those of that name; the likeliest first."""
        ...


@dataclass
class Differs:
    """Two builds disagree about a page, or one of them cannot show it."""

    lab: Lab
    a: Build
    b: Build
    measure: Measure
    any_difference: bool = False
    # One render at a time, to measure against.
    serial: bool = False
    renders: int = 0
    signature: Signature = field(default=Signature("same"), init=False)
    _learned: Signature = field(default=Signature("same"), init=False)
    # Which of the two cannot show the page, where that is the failure.
    _failing: frozenset[Build] = field(default=frozenset(), init=False)
    _patience: float = field(default=PATIENCE, init=False)
    _noise: frozenset[str] = field(default=frozenset(), init=False)
    _suspects: list[tuple[str, int]] = field(default_factory=list, init=False)

    async def learn(self, case: Case) -> Never | str:
        # The closer look is one more confirmation.
        self.renders += 2 * (CONFIRMATIONS - 1)
        begun = time.monotonic()
        if self.serial:
            taken = [[await self.lab.shoot(b, case) for _ in range(CONFIRMATIONS - 1)] for b in (self.a, self.b)]
            verdict = decide(taken[0], taken[1], self.measure)
        else:
            outcomes, (compared,) = await compare(self.lab, [self.a, self.b], case, self.measure, CONFIRMATIONS - 1)
            taken, verdict = [outcomes[self.a], outcomes[self.b]], compared.verdict
        self._patience = max(PATIENCE, 2 * (time.monotonic() - begun))
        if verdict.kind in ("same", "flaky", "untestable"):
            return Never(verdict.kind, verdict.reason or "the builds agree about it")
        self.signature = Signature(verdict.kind)
        both = zip((self.a, self.b), taken, strict=True)
        self._failing = frozenset(build for build, outcomes in both if _all_failed(outcomes, verdict.kind))
        if verdict.kind != "different" and not self._failing:
            return Never("flaky", "it could not be shown some of the time")
        if verdict.kind == "different" and not self.any_difference:
            self._noise = await self._usual_noise()
            seen = await self._look(case, "navigation")
            if seen is None:
                return Never("flaky", "what differed before did not differ again")
            self.signature, self._suspects = seen
        self._learned = self.signature
        return self.signature.words

    async def _usual_noise(self) -> frozenset[str]:
        """Properties that the two compute differently on any page."""
        known = _NOISE.setdefault(self.lab, {})
        if (self.a, self.b) not in known:
            plain = await self._pair(PLAIN, "navigation", None)
            first, second = [dump for _, dump in plain] if plain else (None, None)
            if first is None or second is None:
                return frozenset()
            known[self.a, self.b] = parting(first, second).properties
        return known[self.a, self.b]

    def suspects(self) -> list[tuple[str, int]]:
        return self._suspects

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False) -> bool:
        path: Path = "navigation" if careful else "fast"
        if self.signature.kind != "different":
            self.renders += 2
            seen = await together(*(self.lab.shoot(build, case, path) for build in (self.a, self.b)))
            return self._failing == {b for b, one in zip((self.a, self.b), seen, strict=True)
                                     if _all_failed([one], self.signature.kind)}  # fmt: skip
        found = await self._look(case, path, self.signature.strength)
        if found is None or self.any_difference:
            return found is not None
        renamed = anywhere and self.signature.where and found[0].where in PLAIN_NAMES
        return (replace(self.signature, where="") if renamed else self.signature).keeps(found[0])

    async def follow(self, case: Case | None) -> None:
        if case is None:
            self.signature = self._learned
        elif self.signature.where:
            seen = await self._look(case, "navigation")
            if seen is not None and seen[0].where in PLAIN_NAMES:
                self.signature = replace(self.signature, where=seen[0].where)

    async def _look(self, case: Case, path: Path, strength: str = "") -> tuple[Signature, list[tuple[str, int]]] | None:
        """The signature of a difference and the elements it shows in; none where there is no difference. One that is
        not as strong as asked for is not looked at closely."""
        blind = self.any_difference or "command" in (self.a.engine, self.b.engine)

        def close(a: Shot, b: Shot) -> bool:
            return not blind and differ(a, b, self.measure) and strength in ("", _strength(_mask(a.png, b.png)[1]))

        pair = await self._pair(case, path, close)
        if pair is None:
            return None
        (a, dump_a), (b, dump_b) = pair
        if not differ(a, b, self.measure):
            return None
        mask, most = _mask(a.png, b.png)
        mask = _in_css_pixels(mask, case.environment.scale)
        if dump_a is None or dump_b is None:
            return Signature("different", _strength(most)), []
        chief = bulk(dump_b, mask)
        name = "" if chief is None else dump_b.nodes[chief].name
        # A page may show several differences: stage and properties are those of the one it shows most of.
        most_of_it = mask if chief is None else within(mask, dump_b.nodes[chief])
        parts = parting(dump_a, dump_b, most_of_it, self._noise)
        found = Signature("different", _strength(most), parts.stage, parts.properties, name)
        return found, _named(dump_b, chief, parts)

    async def _pair(self, case: Case, path: Path, close: Callable[[Shot, Shot], bool] | None) -> list[Seen] | None:
        """Both pictures and, where a closer look is wanted (always, if `close` is None), both dumps: the tabs wait
        for each other's picture, so that the page need not be shown again."""
        shots: dict[int, Shot] = {}
        seen: dict[int, Visit[Seen] | Failure] = {}
        wanted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def settle(answer: bool) -> None:
            if not wanted.done():
                wanted.set_result(answer)

        async def look(n: int, meanwhile: Callable[[], Awaitable[None]] | None = None) -> None:
            async def job(tab: Tab, shot: Shot) -> Seen:
                shots[n] = shot
                if meanwhile is not None:
                    await meanwhile()
                if close is None:
                    settle(True)
                elif len(shots) == 2:
                    settle(close(shots[0], shots[1]))
                await asyncio.wait([wanted], timeout=MEETING)
                return shot, await inspect.take(tab) if wanted.done() and wanted.result() else None

            # A page that cannot be shown in time does not look different, and why not is another story.
            deadline = self._patience if path == "fast" else 0.0
            seen[n] = await self.lab.look((self.a, self.b)[n], case, job, path, sure=False, deadline=deadline)
            if isinstance(seen[n], Failure):
                settle(False)

        self.renders += 2
        if self.serial:
            await look(0, lambda: look(1))
        else:
            await together(look(0), look(1))
        found = [one.value for _, one in sorted(seen.items()) if isinstance(one, Visit)]
        if len(found) == 2 and wanted.done() and wanted.result() and any(dump is None for _, dump in found):
            # One came too late for the other.
            return await self._pair(case, path, None)
        return found if len(found) == 2 else None


@lru_cache(maxsize=8)
def _mask(a: bytes, b: bytes) -> tuple[Mask, int]:
    """Where two pictures differ: clearly, if they do so anywhere; and by how much at the most."""
    red, green, blue = cv2.split(cv2.absdiff(*common(image(a), image(b))))
    worst = cv2.max(cv2.max(red, green), blue)
    most = int(worst.max(initial=0))
    return worst > (CLEAR if most > CLEAR else 0), most


def _in_css_pixels(mask: Mask, scale: float) -> Mask:
    if scale == 1:
        return mask
    height, width = mask.shape
    size = (max(1, round(width / scale)), max(1, round(height / scale)))
    return cv2.resize(mask.astype(np.uint8) * 255, size, interpolation=cv2.INTER_AREA) > 0


def _all_failed(outcomes: Sequence[Outcome], kind: str) -> bool:
    return all(isinstance(one, Failure) and one.kind == kind for one in outcomes)


def _strength(most: int) -> Literal["faint", "clear"]:
    return "clear" if most > CLEAR else "faint"


def _named(dump: Dump, chief: int | None, parts: Parting) -> list[tuple[str, int]]:
    """The chief suspect, and the elements among the nodes that part, the smallest first: what is round them
    differs because they do."""
    sizes: dict[tuple[str, int], float] = {}
    count: dict[str, int] = {}
    places: dict[int, tuple[str, int]] = {}
    for n, node in enumerate(dump.nodes):
        if node.kind == "element":
            places[n] = (node.name, count.get(node.name, 0))
            count[node.name] = count.get(node.name, 0) + 1
    for n in parts.nodes:
        owner = n if n in places else dump.nodes[n].parent
        if owner in places and dump.nodes[owner].name not in ("html", "body", "head"):
            sizes[places[owner]] = sum(w * h for _, _, w, h in dump.nodes[owner].boxes)
    found = sorted(sizes, key=lambda place: (sizes[place], place))
    return list(dict.fromkeys([*([places[chief]] if chief is not None else []), *found]))


@dataclass
class Command:
    """A command that ends with 0 for a page that is interesting, as for Lithium and C-Reduce."""

    command: Sequence[str]
    timeout: float = 60.0
    renders: int = 0

    async def learn(self, case: Case) -> Never | str:
        if not self.command or shutil.which(self.command[0]) is None:
            raise MoireError(f"{' '.join(self.command[:1]) or 'The command'} cannot be run.", "Check the command.")
        answers = [await self._interesting(case) for _ in range(CONFIRMATIONS)]
        if None in answers:
            raise HarnessError(f"The command did not end within {self.timeout:g} seconds.", "Give it more --timeout.")
        return "interesting" if any(answers) else Never("same", "the command does not find it interesting")

    def suspects(self) -> list[tuple[str, int]]:
        return []

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False) -> bool:
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

    async def learn(self, case: Case) -> Never | str:
        if any([await self.fails(case) for _ in range(CONFIRMATIONS)]):
            return "interesting"
        return Never("same", "the function does not find it interesting")

    def suspects(self) -> list[tuple[str, int]]:
        return []

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False) -> bool:
        self.renders += 1
        answer = self.function(case)
        return bool(await answer if isawaitable(answer) else answer)

    async def follow(self, case: Case | None) -> None:
        return None
