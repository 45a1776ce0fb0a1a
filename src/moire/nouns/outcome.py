"""What comes back from a browser, and what is concluded from it.

Failures of a page or a browser are values, not exceptions: a hunt goes on past them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

How = Literal["fast", "navigation", "command"]
FailureKind = Literal["crashed", "hung", "untestable"]
VerdictKind = Literal["same", "different", "crashed", "hung", "flaky", "untestable"]


def readable(text: str) -> str:
    """A page's words as anyone can write them down: scripts may say halves of characters."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class Shot:
    """Pixels as the browser encoded them, and how they were taken.

    `blocked` lists addresses the page tried to reach and could not. `trouble` counts attempts
    at this shot that failed for reasons that did not repeat.
    """

    png: bytes = field(repr=False)
    how: How
    blocked: tuple[str, ...] = ()
    trouble: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there are no pixels. `crashed` and `hung` were seen in every fresh process tried."""

    kind: FailureKind
    reason: str
    attempts: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", readable(self.reason))


Outcome = Shot | Failure


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an oracle concluded, with the figures it rests on."""

    kind: VerdictKind
    reason: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    flake_rate: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", readable(self.reason))
