"""What to draw more or less often, by what it has brought so far, what that has cost, and what was seen with what.

All of it follows from findings and from pages by their numbers: a run that goes on after a break has learnt what it
would have without one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..nouns import Case
from ..pages import steer
from ..pages.make import Pages
from ..pages.read import declared, features
from ..store import Finding

# Nothing is drawn so many times less or more than usual, whatever it has brought.
LEAST, MOST = 0.05, 4.0
# Renders of a finding that nobody had to reduce: it was confirmed.
CONFIRMED = 8
# How strongly what was not seen with many others yet is preferred to what was.
CURIOSITY = 0.5
# What is learnt is learnt after so many pages, so that it does not depend on who was faster.
PAGES_A_LESSON = 200
# After so many, nearly every feature has been seen with every other.
PAGES_COUNTED = 4000
# Near enough to count by, and a hundred times as fast as reading a page.
_FEATURES = re.compile(rb"<([a-z][a-z0-9]*)|[\"{;\s]([a-z-]+:)")


def about(before: Case, after: Case) -> list[str]:
    """What a reduced page has in it, as `color:` or `table`; and the shorthands that said so in the page before."""
    small, large = declared(after), declared(before)
    tags = set(features(after.html).tags) - steer.USUAL_TAGS
    return sorted([*(f"{name}:" for name in small | steer.shorthands(small, large)), *tags])


def worth(known: Sequence[Finding], detail: str) -> dict[str, float]:
    """How often to draw what findings have in common, against what is in none of them: kinds that were new, for the
    renders that all of them have cost."""
    costs = [CONFIRMED + one.details.get("questions", 0) for one in known]
    usual = sum(costs) / max(1, len(costs))
    new, spent = Counter[str](), Counter[str]()
    for finding, cost in zip(known, costs, strict=True):
        for name in set(finding.details.get(detail, ())):
            new[name] += bool(finding.details.get("first"))
            spent[name] += cost
    return {name: bounded((1 + new[name]) / (1 + spent[name] / usual)) for name in spent}


def bounded(factor: float) -> float:
    return min(MOST, max(LEAST, factor))


def _little(factor: float) -> float:
    return min(2.0, max(0.5, factor))


@dataclass
class Coverage:
    """Features of pages, and which of them were on one page."""

    known: frozenset[str]
    _together: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set), init=False)

    def add(self, html: bytes) -> None:
        found = {(tag or name).decode() for tag, name in _FEATURES.findall(html)} & self.known
        for one in found:
            self._together[one] |= found

    def curiosity(self) -> dict[str, float]:
        """For each feature, how much less than others it was seen with others."""
        # In an order that is always the same, and so are sums of fractions.
        fresh = {name: 1 - len(self._together[name]) / len(self.known) for name in sorted(self.known)}
        mean = sum(fresh.values()) / max(1, len(fresh))
        return {name: _little((one / mean) ** CURIOSITY) if mean else 1.0 for name, one in fresh.items()}


@dataclass
class Guide:
    """The weights of pages, from lesson to lesson. `page` gives one by its number, as the weights are then."""

    pages: Pages
    page: Callable[[int], Case]
    _learnt: int = field(default=0, init=False)
    _covered: Coverage | None = field(default=None, init=False)

    def learn(self, known: Sequence[Finding], number: int) -> None:
        """All lessons up to a page, in their order: as long as pages are counted, each depends on the pages that those
        before it led to."""
        if number < self._learnt or self._covered is None:
            # A run that was broken off goes on before what was learnt last.
            self._learnt, self._covered = 0, Coverage(frozenset(self.pages.favourable))
            self.pages.favour({})
        while self._learnt + PAGES_A_LESSON <= number:
            if self._learnt < PAGES_COUNTED:
                for n in range(self._learnt, self._learnt + PAGES_A_LESSON):
                    self._covered.add(self.page(n).html)
            self._learnt += PAGES_A_LESSON
            if self._learnt <= PAGES_COUNTED or self._learnt + PAGES_A_LESSON > number:
                self.pages.favour(self._factors([one for one in known if one.number < self._learnt], self._covered))

    def _factors(self, known: Sequence[Finding], covered: Coverage) -> Mapping[str, float]:
        brought = worth(known, "about")
        return {name: bounded(brought.get(name, 1.0) * more) for name, more in covered.curiosity().items()}
