"""Pages by number: generated, or the user's own in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..nouns import Case
from ..pages.make import Pages


@dataclass(frozen=True)
class Source:
    """Page n of a seed is the same page however many are asked for."""

    pages: Pages
    seed: int
    size: int
    own: Sequence[Path] = ()

    def larger(self, number: int, times: int) -> Case:
        return self.case(number, self.size * times)

    def case(self, number: int, size: int = 0) -> Case:
        """Of another size than usual, if one is given."""
        seed = self.seed * 1_000_000 + number
        if self.own:
            return replace(Case.from_file(self.own[number % len(self.own)]), seed=seed)
        return self.pages.page(seed, size or self.size)
