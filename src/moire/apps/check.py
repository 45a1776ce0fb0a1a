"""Whether an application does and looks the same in every browser."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ..nouns import Build
from ..oracles.change import together
from .detect import Detector, Issue
from .replay import Replayed, replay
from .trace import Trace


@dataclass(frozen=True, slots=True)
class Compared:
    """One session in the reference and in another build. `issues` were there twice; `passing` were not."""

    trace: Trace
    reference: Replayed
    other: Replayed
    issues: tuple[Issue, ...]
    passing: tuple[Issue, ...]


async def compared(trace: Trace, reference: Build, others: Sequence[Build]) -> list[Compared]:
    """Each of the others against the reference; what differs is replayed once more in both."""
    gate = asyncio.Semaphore(2)

    async def run(build: Build) -> Replayed:
        async with gate:
            return await replay(trace, build)

    first, *rest = await together(*(run(build) for build in (reference, *others)))
    found = []
    again: Replayed | None = None
    for build, one in zip(others, rest, strict=True):
        issues = [*Detector().issues(first, one)]
        passing: list[Issue] = []
        if issues:
            if again is None:
                again, second = await together(run(reference), run(build))
            else:
                second = await run(build)
            twice = {issue.signature for issue in Detector().issues(again, second)}
            passing = [issue for issue in issues if issue.signature not in twice]
            issues = [issue for issue in issues if issue.signature in twice]
        found.append(Compared(trace, first, one, tuple(issues), tuple(passing)))
    return found
