"""What to draw more or less often, by what it has brought so far, what that has cost, and what was seen with what.

All of it follows from findings and from pages by their numbers: a run that goes on after a break has learnt what it
would have without one.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..nouns import Case
from ..pages import steer
from ..pages.make import Pages
from ..pages.read import declared, features
from ..store import Finding

Factors = Mapping[str, float]
# Nothing is drawn so many times less or more than usual, whatever it has brought.
LEAST, MOST = 0.05, 4.0
# Renders of a finding that was reduced, mostly, and of one that nobody had to reduce: it was confirmed. How many there
# were is now and then a few more or less, and what is learnt must be the same each time.
REDUCED, CONFIRMED = 100, 8
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


def _costs(known: Sequence[Finding]) -> list[float]:
    """Of each finding, its renders: of the usual, so much."""
    spent = [REDUCED if "questions" in one.details else CONFIRMED for one in known]
    usual = sum(spent) / max(1, len(spent))
    return [cost / usual for cost in spent]


def worth(known: Sequence[Finding], named: Callable[[Finding], Collection[str]], drawn: Mapping[str, float]) -> Factors:
    """How often to draw what findings have in common: by the kinds that were new with it, against as many as there
    would be if it made no difference, as often as it was `drawn`; and by what all of its findings have cost."""
    new, spent = Counter[str](), defaultdict[str, float](float)
    for finding, cost in zip(known, _costs(known), strict=True):
        for name in {*named(finding)} & drawn.keys():
            new[name] += bool(finding.details.get("first"))
            spent[name] += cost
    each = sum(new.values()) / (sum(drawn.values()) or 1)
    return {
        name: bounded((1 + new[name]) / (1 + each * times) * (1 + new[name]) / (1 + spent[name]))
        for name, times in drawn.items()
    }


def bounded(factor: float) -> float:
    return min(MOST, max(LEAST, factor))


def _little(factor: float) -> float:
    return min(2.0, max(0.5, factor))


@dataclass
class Coverage:
    """Features of pages, and which of them were on one page."""

    known: frozenset[str]
    # On how many pages each was.
    pages: Counter[str] = field(default_factory=Counter, init=False)
    _together: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set), init=False)

    def add(self, html: bytes) -> None:
        found = {(tag or name).decode() for tag, name in _FEATURES.findall(html)} & self.known
        self.pages.update(found)
        for one in found:
            self._together[one] |= found

    def curiosity(self) -> dict[str, float]:
        """For each feature, how much less than others it was seen with others."""
        # In an order that is always the same, and so are sums of fractions.
        fresh = {name: 1 - len(self._together[name]) / len(self.known) for name in sorted(self.known)}
        mean = sum(fresh.values()) / max(1, len(fresh))
        return {name: _little((one / mean) ** CURIOSITY) if mean else 1.0 for name, one in fresh.items()}


@dataclass
class Drawn:
    """Choices of one sort, by how often each is made, and how often it was so far. `named` says which a finding rests
    on; where nothing is said, it is the one that its page was made by."""

    sort: str
    usual: Mapping[str, float]
    named: Callable[[Finding], Collection[str]] | None = None
    weights: Mapping[str, float] = field(init=False)
    _times: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float), init=False)
    # Of pages that brought findings, which one it was.
    _of: dict[int, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.weights = self.usual

    def one(self, number: int) -> str:
        """The choice for a page, as the weights are now."""
        own = self.weights
        (chosen,) = random.Random(f"{self.sort} {number}").choices([*own], [*own.values()])
        return chosen

    def learn(self, known: Sequence[Finding]) -> None:
        """From the pages since the last lesson."""
        if not self.usual:
            return
        whole = sum(self.weights.values())
        for name, weight in self.weights.items():
            self._times[name] += weight / whole * PAGES_A_LESSON
        for finding in known:
            self._of.setdefault(finding.number, self.one(finding.number))
        factors = worth(known, self.named or (lambda finding: [self._of[finding.number]]), self._times)
        self.weights = {name: weight * factors[name] for name, weight in self.usual.items()}


def _operations(one: Finding) -> Collection[str]:
    found: Sequence[str] = one.details.get("operations", ())
    return found


# Pages of the size that was asked for, and larger ones, with more in them that may fail for as many renders.
SIZES: Factors = {"1": 1.0, "2": 2.0, "4": 1.0}


@dataclass
class Guide:
    """The weights of pages, from lesson to lesson, and of operations on them if there are any, `most` on a page. `page`
    gives one by its number and how many times as large as usual it is, as the weights are then."""

    pages: Pages
    page: Callable[[int, int], Case]
    usual: Factors = field(default_factory=dict)
    most: int = 0
    operations: Drawn = field(init=False)
    _sizes: Drawn = field(init=False)
    _counts: Drawn = field(init=False)
    _learnt: int = field(default=0, init=False)
    # Those who only judge pages have none to count.
    _covered: Coverage | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._learnt = 0
        self.operations = Drawn("operation", self.usual, _operations)
        self._sizes = Drawn("size", SIZES)
        # As with sizes: any of many operations may be the one that fails.
        self._counts = Drawn("operations", {str(n): float(n * n) for n in range(1, self.most + 1)})

    def learn(self, known: Sequence[Finding], number: int) -> None:
        """All lessons up to a page, in their order: as long as pages are counted, each depends on the pages that those
        before it led to."""
        if number < self._learnt or self._covered is None:
            # A run that was broken off goes on before what was learnt last.
            self._begin()
            self._covered = Coverage(frozenset(self.pages.favourable))
            self.pages.favour({})
        while self._learnt + PAGES_A_LESSON <= number:
            if self._learnt < PAGES_COUNTED:
                for n in range(self._learnt, self._learnt + PAGES_A_LESSON):
                    self._covered.add(self.case(n).html)
            self._learnt += PAGES_A_LESSON
            before = [one for one in known if one.number < self._learnt]
            for drawn in (self.operations, self._sizes, self._counts):
                drawn.learn(before)
            if self._learnt <= PAGES_COUNTED or self._learnt + PAGES_A_LESSON > number:
                self.pages.favour(self._factors(before, self._covered))

    def _factors(self, known: Sequence[Finding], covered: Coverage) -> Factors:
        brought = worth(known, lambda one: one.details.get("about", ()), covered.pages)
        return {name: bounded(brought.get(name, 1.0) * more) for name, more in covered.curiosity().items()}

    def case(self, number: int) -> Case:
        return self.page(number, int(self._sizes.one(number)))

    def count(self, number: int) -> int:
        """Of operations on a page."""
        return int(self._counts.one(number))
