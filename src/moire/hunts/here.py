"""The work of a hunt, done by the browsers of this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from ..browsers.lab import Lab
from ..nouns import Case
from ..triage.reduce import Witness
from . import room
from .finding import Enough, Judged, Prospect
from .run import Hunt


@dataclass(frozen=True)
class Here:
    lab: Lab
    hunt: Hunt
    # A reduction fills the machine.
    abreast: ClassVar[int] = 1

    @property
    def ahead(self) -> int:
        """While a page that hangs is waited for, others are judged; not too many where they may be thrown away."""
        return 16 if self.hunt.renews else 64

    async def judge(self, case: Case) -> list[Judged]:
        judged = await self.hunt.judge(self.lab, case)
        if any(one.verdict.kind not in ("same", "different") for one in judged):
            # What goes wrong on a disk that is full is nobody's fault.
            room.check()
        return judged

    async def look_into(self, judged: Judged, enough: Enough, witness: Witness) -> Prospect:
        return await self.hunt.look_into(self.lab, judged, enough, witness)

    def health(self) -> dict[str, dict[str, int]]:
        return {build.name: asdict(self.lab.health(build)) for build in self.lab.builds}
