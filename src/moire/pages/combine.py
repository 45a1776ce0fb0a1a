"""N-wise pages: every combination of n features comes up once before any comes up again.

Combinations are numbered, and taken in an order that a seed mixes, so that any stretch of pages is a fair
sample of all, and all of them are reached in the end.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..nouns import UsageError


@dataclass(frozen=True, slots=True)
class Combinations:
    """`features` are tags (`div`) and properties (`color:`)."""

    features: Sequence[str]
    n: int
    seed: int

    def __post_init__(self) -> None:
        if not 1 <= self.n <= len(self.features):
            raise UsageError(
                f"{self.n} features cannot be chosen out of {len(self.features)}.",
                "Name more features, or combine fewer.",
            )

    def __len__(self) -> int:
        return math.comb(len(self.features), self.n)

    def __getitem__(self, place: int) -> tuple[str, ...]:
        """The combination at a place of the mixed order; after the last, the first again."""
        total = len(self)
        number = random.Random(self.seed).random
        step = 1 + int(number() * (total - 1)) if total > 1 else 1
        while math.gcd(step, total) != 1:
            step += 1
        return self._numbered((int(number() * total) + place * step) % total)

    def _numbered(self, rank: int) -> tuple[str, ...]:
        """The combination of that number, in the order in which one would write them down."""
        chosen, first, left = [], 0, self.n
        while left:
            with_first = math.comb(len(self.features) - first - 1, left - 1)
            if rank < with_first:
                chosen.append(self.features[first])
                left -= 1
            else:
                rank -= with_first
            first += 1
        return tuple(chosen)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (self[place] for place in range(len(self)))
