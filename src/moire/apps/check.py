"""Whether an application does and looks the same in every browser."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..nouns import Build
from ..oracles.change import together
from .detect import Detector, Issue
from .replay import Replayed, replay
from .trace import Trace

# Of a replay that meets with trouble.
TRIES = 3


@dataclass(frozen=True, slots=True)
class Compared:
    """One session in the reference and in another build. `issues` were there twice; `passing` were not."""

    trace: Trace
    reference: Replayed
    other: Replayed
    issues: tuple[Issue, ...]
    passing: tuple[Issue, ...]
    # Why it was not looked at again up to its end, if some of what differs was to be.
    unsure: str = ""

    @property
    def trouble(self) -> str:
        """Why it was not compared up to its end, if so, and nobody but the harness is to blame for that."""
        whose = self.reference if self.reference.ended else self.other if self.other.trouble else None
        return f"{whose.build}: {whose.ended}" if whose is not None else self.unsure


async def compared(trace: Trace, reference: Build, others: Sequence[Build]) -> list[Compared]:
    """Each of the others against the reference; what differs is replayed once more in both."""
    gate = asyncio.Semaphore(2)

    async def run(build: Build) -> Replayed:
        async with gate:
            tried = [await replay(trace, build)]
            while tried[-1].trouble and len(tried) < TRIES:
                tried.append(await replay(trace, build))
        # What crashes whenever it is tried crashes by what the application does.
        crashes = all(one.trouble == "crashed" for one in tried)
        return replace(tried[-1], trouble="") if crashes else tried[-1]

    first, *rest = await together(*(run(build) for build in (reference, *others)))
    found = []
    again: Replayed | None = None
    for build, one in zip(others, rest, strict=True):
        issues = [*Detector().issues(first, one)]
        passing: list[Issue] = []
        unsure = ""
        if issues:
            if again is None:
                again, second = await together(run(reference), run(build))
            else:
                second = await run(build)
            twice = {issue.signature for issue in Detector().issues(again, second)}
            passing = [issue for issue in issues if issue.signature not in twice]
            issues = [issue for issue in issues if issue.signature in twice]
            # What was not reached again was not seen to pass, either.
            unsure = next((f"{side.build}: {side.ended}" for side in (again, second) if passing and side.trouble), "")
        found.append(Compared(trace, first, one, tuple(issues), tuple(passing), unsure))
    return found
