"""Which steps of a history change what is seen: a search that asks for one place at a time.

It knows nothing of browsers: places are numbers, and what is seen there is whatever can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
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


Looking = Generator[int, T | None, list[Change]]


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
    first = yield 0
    if first is None:
        raise NoEnd(0)
    last = yield count - 1
    if last is None:
        raise NoEnd(count - 1)
    if not eyes.differ(first, last):
        raise SameEnds
    blind: set[int] = set()
    found: list[Change] = []
    waiting = [((0, first), (count - 1, last))]
    while waiting:
        low, high = waiting.pop()
        place, seen = yield from _middle(low[0], high[0], blind)
        if seen is None:
            found.append(Change(low[0], high[0]))
            continue
        halves = [(low, (place, seen)), ((place, seen), high)]
        changed = [half for half in halves if eyes.differ(half[0][1], half[1][1])]
        # Steps that are each too small to count may add up: then it is the larger one, and of two the later.
        waiting += changed or [max(halves, key=lambda half: (eyes.distance(half[0][1], half[1][1]), half[0][0]))]
    return found


def _middle(low: int, high: int, blind: set[int]) -> Generator[int, T | None, tuple[int, T | None]]:
    """What is seen as near to the middle as can be."""
    middle = (low + high) // 2
    for place in sorted(range(low + 1, high), key=lambda place: (abs(place - middle), place)):
        if place not in blind:
            seen = yield place
            if seen is not None:
                return place, seen
            blind.add(place)
    return middle, None
