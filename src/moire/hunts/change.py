"""Change hunt: seeded pages over two builds; whatever looks different, and stays so, is a finding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from ..browsers.lab import Lab
from ..nouns import Build, Case, Outcome, Verdict
from ..oracles.change import screen_and_confirm
from ..pages.make import Pages
from ..pixels import Measure

# Pages under way at once: enough to keep every tab busy while results wait for their turn.
AHEAD = 16


@dataclass(frozen=True, slots=True)
class Judged:
    case: Case
    verdict: Verdict
    outcomes: list[list[Outcome]]


def cases(source: Pages, seed: int, pages: int, size: int) -> Iterator[Case]:
    """Page n of a seed is the same page however many are asked for."""
    return (source.page(seed * 1_000_000 + n, size) for n in range(pages))


async def hunt(
    lab: Lab, base: Build, new: Build, measure: Measure, pages: Iterator[Case]
) -> AsyncGenerator[Judged, None]:
    """Judged pages in the order of `pages`, however they finish."""
    waiting: list[asyncio.Task[Judged]] = []

    async def judge(case: Case) -> Judged:
        verdict, outcomes = await screen_and_confirm(lab, base, new, case, measure)
        return Judged(case, verdict, outcomes)

    try:
        for case in pages:
            waiting.append(asyncio.create_task(judge(case)))
            if len(waiting) >= AHEAD:
                yield await waiting.pop(0)
        while waiting:
            yield await waiting.pop(0)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
