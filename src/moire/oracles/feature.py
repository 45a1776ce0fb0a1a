"""Non-feature-update: a step that makes a test pass which the reference still fails brings a feature, and no bug.

The table is R2Z2's Figure 7b, run on all three: the build before the step, the one after it, and the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..wpt.run import Status

Case7b = Literal["1", "2", "3", "4", "none", "unknown"]
_REASONS: dict[Case7b, str] = {
    "1": "it fails before and after the step",
    "2": "it passes since the step, and the reference fails it: the step brings a feature",
    "3": "it passes since the step, and the reference passes it, too: the feature is not what differs",
    "4": "it passes before the step already",
    "none": "it could not be run before and after the step",
    "unknown": "it passes since the step, and could not be run in the reference",
}


# Tests that began to pass with the step.
TELLING: tuple[Case7b, ...] = ("2", "3", "unknown")


@dataclass(frozen=True, slots=True)
class Tried:
    """One test on the three."""

    test: str
    before: Status
    after: Status
    reference: Status

    @property
    def case(self) -> Case7b:
        if "error" in (self.before, self.after):
            return "none"
        if self.before == "pass":
            return "4"
        # A test of what is not there yet may as well wait for it in vain.
        if self.after != "pass":
            return "1"
        if self.reference == "error":
            return "unknown"
        return "3" if self.reference == "pass" else "2"

    @property
    def reason(self) -> str:
        return _REASONS[self.case]


@dataclass(frozen=True, slots=True)
class Feature:
    bug: bool
    reason: str
    tried: tuple[Tried, ...]


def decide(tried: Sequence[Tried]) -> Feature:
    """Of tests near the page, none that the step made pass is a bug, and so are all of those passing in the reference;
    any failing there is a feature. Tests that do not begin to pass with the step say nothing about it."""
    telling = [one for one in tried if one.case in TELLING]
    # Rather a bug too few than a feature called one.
    features = [one for one in telling if one.case != "3"]
    if not telling:
        return Feature(True, "no test began to pass with the step", tuple(tried))
    if features:
        return Feature(False, f"{features[0].test}: {features[0].reason}", tuple(tried))
    return Feature(True, f"{telling[0].test}: {telling[0].reason}", tuple(tried))
