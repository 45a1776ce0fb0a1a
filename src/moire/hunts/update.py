"""Update hunt: pages changed by script that do not look like the same pages loaded fresh."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..browsers.lab import Lab
from ..nouns import Build, Case, Failure, Shot, UsageError
from ..oracles import update
from ..oracles.change import CONFIRMATIONS, differ, together
from ..oracles.reload import reloaded
from ..pages.read import declared
from ..pages.update.draw import USUAL, Updates
from ..pixels import Measure
from ..store import Finding
from ..store.blobs import Blobs
from ..triage.bisect import Visits
from ..triage.reduce import Signature, Stale, Witness
from ..triage.stage import stale
from ..wpt.export import reftest
from .finding import Enough, Judged, Looking, Prospect, at_stage, placed
from .guide import Guide
from .run import nothing_more
from .source import Source

# Questions of a reduction at once: each keeps one tab busy.
AHEAD = 2
MOST_NAMED = 3


@dataclass
class UpdateHunt:
    builds: Sequence[Build]
    source: Source
    # A page, at the most.
    operations: int
    measure: Measure
    blobs: Blobs
    guided: bool = True
    # Others that a finding is tried in, to grade it.
    references: Sequence[Build] = ()
    renews: ClassVar[bool] = False
    _guide: Guide = field(init=False)

    def __post_init__(self) -> None:
        self._guide = Guide(self.source.pages, self.source.larger, USUAL, self.operations)

    def more(self, number: int) -> bool:
        return True

    def case(self, number: int) -> Case:
        case = self._guide.case(number) if self.guided else self.source.case(number)
        assert case.seed is not None
        weights, count = USUAL, 1 + number % self.operations
        if self.guided:
            weights, count = self._guide.operations.weights, self._guide.count(number)
        return Updates(self.source.pages, weights).updated(case, case.seed, count)

    def learn(self, known: Sequence[Finding], number: int) -> None:
        """Towards operations and features that bring something new, away from those that bring what is known."""
        if self.guided:
            self._guide.learn(known, number)

    def settle(self, known: Sequence[Finding], told: Visits) -> AsyncIterator[Finding]:
        return nothing_more()

    async def judge(self, lab: Lab, case: Case) -> list[Judged]:
        return await together(*(self._judge(lab, build, case) for build in self.builds))

    async def _judge(self, lab: Lab, build: Build, case: Case, *, once: bool = False) -> Judged:
        """With all confirmations, or once and by navigation."""
        repeats = 1 if once else CONFIRMATIONS
        one = await update.judge(lab, build, case, self.measure, repeats, screen=not once)
        sides = (("updated", one.updated), ("fresh", one.fresh))
        pictures = [(name, seen[0].png) for name, seen in sides if seen and isinstance(seen[0], Shot)]
        return Judged(case, build.name, one.verdict, pictures)

    async def look_into(self, lab: Lab, judged: Judged, enough: Enough, witness: Witness) -> Prospect:
        build = next(one for one in self.builds if one.name == judged.build)

        async def more(case: Case) -> Mapping[str, object]:
            return {
                "references": await self._references(lab, build, case), "reftest": await _reftest(lab, build, case),
                **at_stage(await stale(lab, build, case), "updated", "fresh"),
            }  # fmt: skip

        async def crashes(judged: Judged, case: Case) -> bool:
            return (await self._judge(lab, build, case, once=True)).verdict.kind == "crashed"

        looking = Looking(
            lambda signature, case: _words(build, signature, case),
            lambda case: self._judge(lab, build, case, once=True), more, crashes, witness, AHEAD,
        )  # fmt: skip
        return await looking.into(Stale(lab, build, self.measure), judged, enough)

    def place(self, prospect: Prospect, number: int, known: Sequence[Finding]) -> Finding:
        return placed(self.blobs, prospect, number, known)

    async def _references(self, lab: Lab, build: Build, case: Case) -> dict[str, str]:
        """What other references say of it: the tree loaded anew, other engines, other versions."""
        found: dict[str, str] = {}
        shown, again = await reloaded(lab, build, case)
        fresh = await update.fresh(lab, build, case)
        if isinstance(shown, Failure) or isinstance(fresh, Failure) or not isinstance(again, Shot):
            found["reload"] = "untestable"
        elif not differ(again, fresh.shot, self.measure):
            found["reload"] = "like the fresh page"
        else:
            found["reload"] = "like neither" if differ(again, shown.shot, self.measure) else "like the updated page"
        for other in [*self.builds, *self.references]:
            if other != build:
                found[other.name] = (await update.judge(lab, other, case, self.measure, screen=False)).verdict.kind
        return found


async def _reftest(lab: Lab, build: Build, case: Case) -> str:
    """Whether the finding can be shown as a reftest: one that does not fail is no use to anyone."""
    try:
        pair = reftest(case, "reftest")
    except UsageError as error:
        return error.sentence
    pages = [replace(case, html=data, name=name, update=()) for name, data in (pair.test, pair.reference)]
    shots = [await lab.shoot(build, page) for page in pages]
    if not all(isinstance(shot, Shot) for shot in shots):
        return "untestable"
    return "fails" if len({shot.png for shot in shots if isinstance(shot, Shot)}) == 2 else "passes"


def _words(build: Build, signature: Signature, case: Case) -> str:
    """By build, operations, stage, element and property: where no property differs, those that a small page sets."""
    operations = "+".join(sorted({one.op for one in case.update}))
    named = declared(case)
    properties = signature.properties or (named if len(named) <= MOST_NAMED else ())
    words = [build.name, operations, signature.strength, signature.stage, ",".join(sorted(properties)[:MOST_NAMED]),
             signature.where]  # fmt: skip
    return " ".join(filter(None, words))
