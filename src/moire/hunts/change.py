"""Change hunt: pages that two builds do not show alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ..browsers.lab import Lab
from ..nouns import Build, Case, Shot
from ..oracles.change import screen_and_confirm, together
from ..pixels import Measure
from ..store import Finding
from ..store.blobs import Blobs
from ..triage.bisect import Visits
from ..triage.reduce import Differs, Signature, Witness
from ..triage.stage import stage
from .finding import Enough, Judged, Looking, Prospect, at_stage, crashed, placed
from .guide import Guide
from .run import nothing_more
from .source import Source

# Questions of a reduction at once: each is a render in two builds, which fills two cores.
AHEAD = 1


@dataclass
class ChangeHunt:
    builds: Sequence[Build]
    source: Source
    measure: Measure
    blobs: Blobs
    guided: bool
    renews: ClassVar[bool] = False
    _guide: Guide = field(init=False)

    def __post_init__(self) -> None:
        self._guide = Guide(self.source.pages, self.source.larger)

    @property
    def _pair(self) -> str:
        return " | ".join(build.name for build in self.builds)

    def more(self, number: int) -> bool:
        return True

    def case(self, number: int) -> Case:
        return self._guide.case(number) if self.guided else self.source.case(number)

    def learn(self, known: Sequence[Finding], number: int) -> None:
        if self.guided and not self.source.own:
            self._guide.learn(known, number)

    def settle(self, known: Sequence[Finding], told: Visits) -> AsyncIterator[Finding]:
        return nothing_more()

    async def judge(self, lab: Lab, case: Case) -> list[Judged]:
        return [await self._judge(lab, case)]

    async def _judge(self, lab: Lab, case: Case) -> Judged:
        base, new = self.builds
        verdict, taken = await screen_and_confirm(lab, base, new, case, self.measure)
        shots = [(build.name, seen[0]) for build, seen in zip(self.builds, taken, strict=True) if seen]
        return Judged(case, self._pair, verdict, [(name, shot.png) for name, shot in shots if isinstance(shot, Shot)])

    async def look_into(self, lab: Lab, judged: Judged, enough: Enough, witness: Witness) -> Prospect:
        async def more(case: Case) -> Mapping[str, object]:
            base, new = self.builds
            return at_stage(await stage(lab, base, new, case), base.name, new.name)

        async def crashes(judged: Judged, case: Case) -> bool:
            return any(map(crashed, await together(*(lab.shoot(build, case) for build in self.builds))))

        looking = Looking(
            lambda signature, case: _words(self._pair, signature), lambda case: self._judge(lab, case), more, crashes,
            witness, AHEAD,
        )  # fmt: skip
        return await looking.into(Differs(lab, self.builds[0], self.builds[1], self.measure), judged, enough)

    def place(self, prospect: Prospect, number: int, known: Sequence[Finding]) -> Finding:
        return placed(self.blobs, prospect, number, known)


def _words(pair: str, signature: Signature) -> str:
    properties = ",".join(sorted(signature.properties)[:3])
    return " ".join(filter(None, [pair, signature.strength, signature.stage, properties, signature.where]))
