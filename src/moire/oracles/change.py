"""Change: does a page look the same in two builds?

`decide` is pure: it concludes from pictures already taken. `compare` takes them by navigation;
`screen_and_confirm` takes them the fast way first and by navigation only where they differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeVar

from ..browsers.lab import Lab
from ..nouns import Build, Case, Failure, Outcome, Shot, Verdict
from ..pixels import Image, Measure, decode, figures

T = TypeVar("T")

# True navigations in fresh tabs that must all agree before anyone is told of a difference.
CONFIRMATIONS = 3

# Worst first: what a pair's verdict is when one of the two has no pixels.
FAILURES = ("crashed", "hung", "untestable")


# A page's pictures are looked at together, and not again.
@lru_cache(maxsize=16)
def image(png: bytes) -> Image:
    return decode(png)


def _same_pixels(a: bytes, b: bytes) -> bool:
    """Equal bytes are equal pixels; the other way round is for the decoder to say."""
    return a == b or bool(image(a).shape == image(b).shape and (image(a) == image(b)).all())


def differ(a: Shot, b: Shot, measure: Measure) -> bool:
    return not _same_pixels(a.png, b.png) and measure.different(image(a.png), image(b.png))


def decide(a: Sequence[Outcome], b: Sequence[Outcome], measure: Measure, *, one_build: bool = False) -> Verdict:
    """Same, different, flaky, or what kept the page from being tested.

    Every picture of one build must be the same as every other of that build, and the first of one with
    the first of the other, the second with the second and so on must agree on whether they differ;
    anything else is flaky. A build never differs from itself.
    """
    failures = [o for o in (*a, *b) if isinstance(o, Failure)]
    if failures:
        worst = min(failures, key=lambda f: FAILURES.index(f.kind))
        return Verdict(worst.kind, worst.reason)
    shots_a = [o for o in a if isinstance(o, Shot)]
    shots_b = [o for o in b if isinstance(o, Shot)]
    within = [differ(x, y, measure) for shots in (shots_a, shots_b) for x, y in combinations(shots, 2)]
    across = [differ(x, y, measure) for x, y in zip(shots_a, shots_b, strict=False)]
    numbers = figures(image(shots_a[0].png), image(shots_b[0].png))
    minority = min(sum(across), len(across) - sum(across))
    unstable = sum(within) + minority
    rate = unstable / (len(within) + len(across)) if unstable else 0.0
    if unstable:
        return Verdict("flaky", f"{unstable} of {len(within) + len(across)} comparisons did not repeat", numbers, rate)
    if all(across):
        if one_build:
            return Verdict("flaky", "a build cannot differ from itself", numbers, 1.0)
        return Verdict("different", f"{measure.name} is above its threshold", numbers, 0.0)
    return Verdict("same", "", numbers, 0.0)


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """All at once; if one fails, the others are ended before anyone hears of it."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Pair:
    a: Build
    b: Build
    verdict: Verdict


async def photograph(lab: Lab, build: Build, case: Case, repeats: int) -> list[Outcome]:
    """`repeats` true navigations; one failure ends them, since it has been verified already."""
    first = await lab.shoot(build, case)
    if isinstance(first, Failure):
        return [first]
    rest = await together(*(lab.shoot(build, case) for _ in range(repeats - 1)))
    return [first, *rest]


async def compare(
    lab: Lab, builds: Sequence[Build], case: Case, measure: Measure, repeats: int = CONFIRMATIONS
) -> tuple[dict[Build, list[Outcome]], list[Pair]]:
    """Every build's pictures, and a verdict for every pair, in the order given."""
    taken = await together(*(photograph(lab, build, case, repeats) for build in dict.fromkeys(builds)))
    outcomes = dict(zip(dict.fromkeys(builds), taken, strict=True))
    pairs = [
        Pair(a, b, decide(outcomes[a], outcomes[b], measure, one_build=a.same_program(b)))
        for a, b in combinations(builds, 2)
    ]
    return outcomes, pairs


async def screen_and_confirm(
    lab: Lab, a: Build, b: Build, case: Case, measure: Measure, repeats: int = CONFIRMATIONS
) -> tuple[Verdict, list[list[Outcome]]]:
    """The fast path to *same*, and the sure path to anything else."""
    quick = await together(lab.shoot(a, case, "fast"), lab.shoot(b, case, "fast"))
    if isinstance(quick[0], Shot) and isinstance(quick[1], Shot) and not differ(quick[0], quick[1], measure):
        return Verdict("same"), [[quick[0]], [quick[1]]]
    sure = await together(photograph(lab, a, case, repeats), photograph(lab, b, case, repeats))
    return decide(sure[0], sure[1], measure, one_build=a.same_program(b)), list(sure)
