"""Which steps of a history change what is seen: a search that asks for all places at once that it can know it needs.

It knows nothing of browsers: places are numbers, and what is seen there is whatever can be told apart. Searches that
are at the same depth at the same time meet at the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """Between two places that were looked at, with nothing between them that could be."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Eyes(Generic[T]):
    """Whether two sights differ, and how far apart they are."""

    differ: Callable[[T, T], bool]
    distance: Callable[[T, T], float]


# Places are asked for, each is answered.
Looking = Generator[frozenset[int], Mapping[int, T | None], list[Change]]


class SameEnds(Exception):
    """The two ends look the same."""


class NoEnd(Exception):
    """One of the ends cannot be seen."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


def search(count: int, eyes: Eyes[T]) -> Looking[T]:
    """The changes between the first and the last of so many places, the last one first. A place that has nothing to
    show is answered by None and passed over."""
    ends = yield frozenset([0, count - 1])
    first, last = ends[0], ends[count - 1]
    if first is None:
        raise NoEnd(0)
    if last is None:
        raise NoEnd(count - 1)
    if not eyes.differ(first, last):
        raise SameEnds
    blind: set[int] = set()
    found: list[Change] = []
    waiting = [((0, first), (count - 1, last))]
    while waiting:
        middles = {(low[0], high[0]): _middle(low[0], high[0], blind) for low, high in waiting}
        asked = frozenset(place for place in middles.values() if place is not None)
        answers = (yield asked) if asked else {}
        blind |= {place for place in asked if answers[place] is None}
        narrower: list[tuple[tuple[int, T], tuple[int, T]]] = []
        for low, high in waiting:
            place = middles[low[0], high[0]]
            if place is None:
                found.append(Change(low[0], high[0]))
                continue
            seen = answers[place]
            if seen is None:
                narrower.append((low, high))
                continue
            halves = [(low, (place, seen)), ((place, seen), high)]
            changed = [half for half in halves if eyes.differ(half[0][1], half[1][1])]
            # Steps that are each too small to count may add up: then it is the larger one, and of two the later.
            narrower += changed or [max(halves, key=lambda half: (eyes.distance(half[0][1], half[1][1]), half[0][0]))]
        waiting = narrower
    return sorted(found, key=lambda change: -change.before)


def _middle(low: int, high: int, blind: set[int]) -> int | None:
    """The place nearest to the middle that may have something to show."""
    middle = (low + high) // 2
    able = (place for place in range(low + 1, high) if place not in blind)
    return min(able, key=lambda place: (abs(place - middle), place), default=None)
