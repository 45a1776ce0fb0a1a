"""Interoperability: where an independent engine agrees with the older build and not with the newer, the newer is wrong.

The table is R2Z2's Figure 7a. `decide` is pure; with several references, most of those that can tell must say bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..nouns import Failure, Outcome, Shot
from ..pixels import Measure
from .change import differ, image

Case7a = Literal["1", "2", "3", "none"]
# What is no farther from the reference than this share of the threshold counts as equal: of 140 bits, 8.
NEAR = {"phash": 8 / 140}


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one reference says: a case of the table, and why."""

    case: Case7a
    reason: str


@dataclass(frozen=True, slots=True)
class Interop:
    bug: bool
    reason: str
    opinions: Mapping[str, Opinion]


def decide(before: Outcome, after: Outcome, references: Mapping[str, Outcome], measure: Measure) -> Interop:
    """From pictures of the build before the step, the one after it, and references by name."""
    opinions = {name: opinion(before, after, shown, measure) for name, shown in references.items()}
    able = [one for one in opinions.values() if one.case != "none"]
    bugs = [one for one in able if one.case == "3"]
    if not able:
        reason = next((one.reason for one in opinions.values()), "there is no reference")
        return Interop(False, f"no reference can tell: {reason}", opinions)
    bug = 2 * len(bugs) > len(able)
    chosen = bugs if bug else [one for one in able if one.case != "3"]
    count = f" ({len(bugs)} of {len(able)} references)" if len(able) > 1 else ""
    return Interop(bug, f"{chosen[0].reason}{count}", opinions)


def opinion(before: Outcome, after: Outcome, reference: Outcome, measure: Measure) -> Opinion:
    for name, one in (("the older build", before), ("the newer build", after), ("the reference", reference)):
        if isinstance(one, Failure):
            return Opinion("none", f"{name} cannot show it: {one.kind}")
    assert isinstance(before, Shot) and isinstance(after, Shot) and isinstance(reference, Shot)
    if not differ(before, after, measure):
        return Opinion("none", "without its fonts, the page looks the same before and after the step")
    with_before, with_after = (_agree(one, reference, measure) for one in (before, after))
    if with_before and with_after:
        # Near enough to both, which differ: pictures in between.
        return Opinion("none", "the reference is near to both")
    if with_before:
        return Opinion("3", "the reference agrees with the older build, and the newer one alone is different")
    if with_after:
        return Opinion("2", "the reference agrees with the newer build: it is a fix")
    return Opinion("1", "the reference agrees with neither")


def _agree(a: Shot, b: Shot, measure: Measure) -> bool:
    near = measure.threshold * NEAR.get(measure.name.partition(":")[0], 1.0)
    first, second = image(a.png), image(b.png)
    return a.png == b.png or (first.shape == second.shape and measure.distance(first, second) <= near)
