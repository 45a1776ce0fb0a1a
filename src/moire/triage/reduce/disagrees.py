"""The builds of a pool do not agree about a page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from ... import inspect
from ...browsers.drivers.base import Tab
from ...browsers.lab import Lab, Path
from ...nouns import Case, Dump, Failure, Shot
from ...oracles.change import CONFIRMATIONS, differ, together
from ...oracles.consensus import Consensus, Pool, but_blank, decide, judge
from ...pixels import decode
from .differs import MEETING, PATIENCE
from .judge import Never, View
from .signature import PLAIN_NAMES, Described, Signature, described, drawn, mask, strength


@dataclass
class Disagrees:
    """Two of the pool are looked at first, those that disagree most; only where they do, the others are. What a page
    came to must be what it was, or a part of that: the two disagree as strongly and in the same element, nobody else
    does who did not, and the pool's rule still says that it fails."""

    lab: Lab
    pool: Pool
    any_difference: bool = False
    renders: int = 0
    view: View = field(default=View(), init=False)
    signature: Signature = field(default=Signature("same"), init=False)
    consensus: Consensus = field(default=Consensus(0, frozenset()), init=False)
    # Places in the pool: the first is taken for right, where one of the two may be.
    chief: tuple[int, int] = field(default=(0, 1), init=False)
    _learned: Signature = field(default=Signature("same"), init=False)
    _suspects: list[tuple[str, int]] = field(default_factory=list, init=False)

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        repeats = 1 if confirmed else CONFIRMATIONS - 1
        self.renders += repeats * len(self.pool.builds)
        looked = await judge(self.lab, self.pool, case, repeats, screen=False)
        if looked.verdict.kind != "different" or looked.consensus is None:
            # What cannot be shown has no smallest page here.
            kind = looked.verdict.kind
            return Never(kind if kind in ("same", "flaky") else "untestable", looked.verdict.reason or "all agree")
        self.consensus = looked.consensus
        self.chief = self._chief([own[0] for own in looked.taken if isinstance(own[0], Shot)])
        seen = await self._look(case, "navigation")
        if seen is None:
            return Never("flaky", "what differed before did not differ again")
        self.signature, self._suspects = seen.signature, seen.suspects
        self._learned = self.signature
        return f"{looked.verdict.reason}, {self.signature.words}"

    def _chief(self, shots: list[Shot]) -> tuple[int, int]:
        """The pair that is farthest apart; of the two, one that is not at fault comes first."""
        images = [decode(shot.png) for shot in shots]
        # Of pairs as far apart, the first in the pool's order.
        apart = sorted(self.consensus.apart)
        a, b = max(apart, key=lambda pair: (self.pool.measure.distance(*(images[n] for n in pair)), -apart.index(pair)))
        faulty = self.consensus.at_fault

        def worse(n: int) -> tuple[bool, bool]:
            # What is looked at closely is the first, and programs cannot be.
            return self.pool.builds[n].engine == "command", n in faulty

        return (b, a) if worse(a) > worse(b) else (a, b)

    def suspects(self) -> list[tuple[str, int]]:
        return self._suspects

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False, best: bool = False) -> bool:
        strength_wanted = "" if self.any_difference else self.signature.strength
        found = await self._look(case, "navigation" if careful else "fast", strength_wanted, best=best)
        if found is None or self.any_difference:
            return found is not None
        wanted = self.signature.renamed(found.signature) if anywhere else self.signature
        return wanted.keeps(found.signature)

    async def follow(self, case: Case | None) -> None:
        if case is None:
            self.signature = self._learned
        elif self.signature.where:
            seen = await self._look(case, "navigation")
            if seen is not None and seen.signature.where in PLAIN_NAMES:
                self.signature = replace(self.signature, where=seen.signature.where)

    async def _look(self, case: Case, path: Path, wanted: str = "", *, best: bool = False) -> Described | None:
        """The signature of the disagreement and the element it shows in; none where it is another, or none."""
        shown = self.pool.shown(case)
        shots: dict[int, Shot] = {}
        first, second = self.chief
        blind = self.any_difference or self.pool.builds[first].engine == "command"
        # A page that cannot be shown in time does not look different, and why not is another story.
        deadline = PATIENCE if path == "fast" else 0.0
        met: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def taken(tab: Tab, shot: Shot) -> Shot:
            return shot

        async def picture(n: int) -> None:
            self.renders += 1
            seen = await self.lab.look(self.pool.builds[n], shown, taken, path, sure=False, deadline=deadline)
            if not isinstance(seen, Failure):
                shots[n] = seen.value

        async def other() -> None:
            try:
                await picture(second)
            finally:
                if not met.done():
                    met.set_result(second in shots)

        async def job(tab: Tab, shot: Shot) -> tuple[Shot, Dump | None]:
            shots[first] = shot
            # The page need not be shown again to look closer: the tab waits for the other's picture.
            await asyncio.wait([met], timeout=MEETING)
            there = met.done() and met.result() and self._apart(shots, wanted)
            return shot, await inspect.take(tab) if there and not blind else None

        async def closely() -> Dump | None:
            self.renders += 1
            seen = await self.lab.look(self.pool.builds[first], shown, job, path, sure=False, deadline=deadline)
            return None if isinstance(seen, Failure) else seen.value[1]

        dump = (await together(closely(), other()))[0]
        if len(shots) < 2 or not self._apart(shots, wanted):
            return None
        if dump is None and not blind and (dump := await closely()) is None:
            return None
        await together(*(picture(n) for n in range(len(self.pool.builds)) if n not in self.chief))
        if len(shots) < len(self.pool.builds):
            return None
        pictures = [one for one in but_blank([shots[n] for n in range(len(shots))]) if isinstance(one, Shot)]
        if len(pictures) < len(shots):
            return None
        found = decide(self.pool, pictures)
        if not found.apart <= self.consensus.apart or not found.fails(self.pool.rule, self.pool.target):
            return None
        a, b, scale = shots[first], shots[second], case.environment.scale
        seen = described(a, b, None, scale) if dump is None else drawn(a, b, dump, scale)
        if best:
            self.view = View([(name, shots[n].png) for n, name in enumerate(self.pool.names)], seen.boxes)
        return seen

    def _apart(self, shots: dict[int, Shot], wanted: str) -> bool:
        a, b = (shots[n] for n in self.chief)
        return differ(a, b, self.pool.measure) and wanted in ("", strength(mask(a.png, b.png)[1]))
