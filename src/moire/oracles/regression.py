"""Regression: whether a step between two builds broke a page, by what other engines and the web's own tests say."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..browsers.lab import Lab
from ..nouns import Build, Case, Failure, Outcome, Shot
from ..pages.normal import in_ahem
from ..pixels import Measure
from ..wpt.near import Checkout
from ..wpt.run import Status, open_test
from ..wpt.run import run as run_test
from . import feature, interop
from .change import differ, photograph, together

# Tests that are tried for one page.
MOST_TESTS = 20
LOOKS = 2
_WORST: tuple[Status, ...] = ("pass", "error", "timeout", "fail")
# Of two words about one test, the one that says least against the build.
_BELIEVED: tuple[Status, ...] = ("pass", "error", "fail", "timeout")


@dataclass(frozen=True, slots=True)
class Judgement:
    """`bug` is what both oracles leave. Where the first says no, the second is not asked."""

    bug: bool
    reason: str
    interop: interop.Interop
    feature: feature.Feature | None = None


async def judge(
    lab: Lab, before: Build, after: Build, references: Sequence[Build], case: Case, measure: Measure,
    checkout: Checkout | None = None, found: bytes = b"",
) -> Judgement:  # fmt: skip
    """`before` and `after` are the builds round the step, as bisection found them. Tests are those that the step
    touched, where that is known; else those near the page; never the page itself, as it is or as it was `found`."""
    first = await interoperable(lab, before, after, references, case, measure)
    if not first.bug or checkout is None:
        return Judgement(first.bug, first.reason, first)
    agreeing = [build for build in references if first.opinions[build.name].case == "3"]
    touched = await asyncio.to_thread(checkout.touched, before, after)
    paths = checkout.near(case, MOST_TESTS, touched, (case.html, found))
    second = await featured(lab, before, after, agreeing, checkout, paths)
    return Judgement(second.bug, second.reason, first, second)


async def interoperable(
    lab: Lab, before: Build, after: Build, references: Sequence[Build], case: Case, measure: Measure
) -> interop.Interop:
    """Figure 7a, with every letter in Ahem."""
    plain = in_ahem(case)
    seen = await together(*(photograph(lab, build, plain, LOOKS) for build in (before, after, *references)))
    shown = [_steady(one, measure) for one in seen]
    named: Mapping[str, Outcome] = {build.name: one for build, one in zip(references, shown[2:], strict=True)}
    return interop.decide(shown[0], shown[1], named, measure)


def _steady(looks: Sequence[Outcome], measure: Measure) -> Outcome:
    """One picture for all, or none."""
    first = looks[0]
    for one in looks:
        if isinstance(one, Failure):
            return one
        if isinstance(first, Shot) and differ(first, one, measure):
            return Failure("untestable", "it looks different now and then")
    return first


async def featured(
    lab: Lab, before: Build, after: Build, references: Sequence[Build], checkout: Checkout, tests: Sequence[str]
) -> feature.Feature:
    """Figure 7b. What does not begin to pass with the step need not be run anywhere else; of several references, the
    worst word counts."""
    tried: list[feature.Tried] = []
    for path in tests:
        case = open_test(checkout.root, path)
        newer = (await run_test(lab, after, case)).status
        older: Status = (await run_test(lab, before, case)).status
        if newer == "pass" and older != "pass":
            # What tells is seen twice: a slow start is no missing feature.
            older = min(older, (await run_test(lab, before, case)).status, key=_BELIEVED.index)
        asked = newer == "pass" and older in ("fail", "timeout")
        said = [(await run_test(lab, one, case)).status for one in references] if asked else []
        tried.append(feature.Tried(path, older, newer, max(said, key=_WORST.index, default="error")))
    return feature.decide(tried)
