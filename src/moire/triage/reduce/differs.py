"""Two builds disagree about a page, or one of them cannot show it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from ... import inspect
from ...browsers.drivers.base import Tab
from ...browsers.lab import Lab, Path, Visit
from ...inspect.compare import parting
from ...nouns import Build, Case, Dump, Failure, Outcome, Shot
from ...oracles.change import CONFIRMATIONS, compare, decide, differ, together
from ...pixels import Measure
from .judge import Never, View
from .signature import PLAIN_NAMES, Described, Signature, described, mask, strength

# Seconds for a candidate: most pages on the way from a quick one are quick, too.
PATIENCE = 5.0
# Seconds that a tab waits for the other build's picture.
MEETING = 2.0
_NOISE: WeakKeyDictionary[Lab, dict[tuple[Build, Build], frozenset[str]]] = WeakKeyDictionary()
PLAIN = Case(b"<!DOCTYPE html><meta charset=utf-8><title>plain</title><div><p>plain <a href=#>text</a></p></div>")

Seen = tuple[Shot, Dump | None]


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
    view: View = field(default=View(), init=False)
    signature: Signature = field(default=Signature("same"), init=False)
    _learned: Signature = field(default=Signature("same"), init=False)
    # Which of the two cannot show the page, where that is the failure.
    _failing: frozenset[Build] = field(default=frozenset(), init=False)
    _patience: float = field(default=PATIENCE, init=False)
    _noise: frozenset[str] = field(default=frozenset(), init=False)
    _suspects: list[tuple[str, int]] = field(default_factory=list, init=False)
    # The best page so far as the fast path shows it: where both pictures are the same, so is the difference.
    _best: tuple[bytes, bytes, Described] | None = field(default=None, init=False)
    _looks_tell: bool = field(default=True, init=False)

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        if confirmed:
            self.signature = Signature("different")
        elif (never := await self._confirm(case)) is not None:
            return never
        if self.signature.kind == "different" and not self.any_difference:
            self._noise = await self._usual_noise()
            seen = await self._look(case, "navigation")
            if seen is None:
                return Never("flaky", "what differed before did not differ again")
            self.signature, self._suspects = seen.signature, seen.suspects
        self._learned = self.signature
        return self.signature.words

    async def _confirm(self, case: Case) -> Never | None:
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
        return None

    async def _usual_noise(self) -> frozenset[str]:
        """Properties that the two compute differently on any page."""
        known = _NOISE.setdefault(self.lab, {})
        if (self.a, self.b) not in known:
            plain = await self._pair(PLAIN, "navigation", None)
            first, second = [dump for _, dump in plain] if plain else (None, None)
            if first is None or second is None:
                return frozenset()
            known[self.a, self.b] = parting(first, second).styles
        return known[self.a, self.b]

    def suspects(self) -> list[tuple[str, int]]:
        return self._suspects

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False, best: bool = False) -> bool:
        path: Path = "navigation" if careful else "fast"
        if self.signature.kind != "different":
            self.renders += 2
            seen = await together(*(self.lab.shoot(build, case, path) for build in (self.a, self.b)))
            return self._failing == {b for b, one in zip((self.a, self.b), seen, strict=True)
                                     if _all_failed([one], self.signature.kind)}  # fmt: skip
        if best:
            self._best = None
        found = await self._look(case, path, self.signature.strength, best=best)
        if found is None or self.any_difference:
            return found is not None
        wanted = self.signature.renamed(found.signature) if anywhere else self.signature
        kept = wanted.keeps(found.signature)
        if best and not kept:
            # Two differences in one place look the same: from now on, all are looked at closely.
            self._best, self._looks_tell = None, False
        return kept

    async def follow(self, case: Case | None) -> None:
        self._best = None
        if case is None:
            self.signature = self._learned
        elif self.signature.where:
            seen = await self._look(case, "navigation")
            if seen is not None and seen.signature.where in PLAIN_NAMES:
                self.signature = replace(self.signature, where=seen.signature.where)

    async def _look(self, case: Case, path: Path, wanted: str = "", *, best: bool = False) -> Described | None:
        """The signature of a difference and the elements it shows in; none where there is no difference. One that is
        not as strong as asked for is not looked at closely."""
        blind = self.any_difference or "command" in (self.a.engine, self.b.engine)

        def close(a: Shot, b: Shot) -> bool:
            if blind or (path == "fast" and self._known(a, b)) or not differ(a, b, self.measure):
                return False
            return wanted in ("", strength(mask(a.png, b.png)[1]))

        pair = await self._pair(case, path, close)
        if pair is None:
            return None
        (a, dump_a), (b, dump_b) = pair
        if not differ(a, b, self.measure):
            return None
        if (dump_a is None or dump_b is None) and close(a, b):
            # They did not meet in time, and nobody has looked.
            pair = await self._pair(case, path, None)
            if pair is None:
                return None
            (a, dump_a), (b, dump_b) = pair
        if dump_a is None or dump_b is None:
            return self._known(a, b) or described(a, b, None, case.environment.scale)
        found = described(a, b, (dump_a, dump_b), case.environment.scale, self._noise)
        if best:
            self.view = View(((self.a.name, a.png), (self.b.name, b.png)), found.boxes)
        if best and path == "fast":
            self._best = a.png, b.png, found
        return found

    def _known(self, a: Shot, b: Shot) -> Described | None:
        best = self._best if self._looks_tell else None
        return best[2] if best is not None and best[:2] == (a.png, b.png) else None

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


def _all_failed(outcomes: Sequence[Outcome], kind: str) -> bool:
    return all(isinstance(one, Failure) and one.kind == kind for one in outcomes)
