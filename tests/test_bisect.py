"""Bisection: every step that the visited builds show, past builds that show nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from moire.triage.bisect.search import Change, Eyes, NoEnd, SameEnds, search

NUMBERS: Eyes[float] = Eyes(lambda a, b: abs(a - b) > 1, lambda a, b: abs(a - b))


def looked(history: Sequence[float | None], eyes: Eyes[float] = NUMBERS) -> tuple[list[Change], list[int]]:
    """The changes, and the places that were looked at."""
    looking = search(len(history), eyes)
    visited = [next(looking)]
    try:
        while True:
            visited.append(looking.send(history[visited[-1]]))
    except StopIteration as done:
        return done.value, visited


@pytest.mark.parametrize("count", [2, 3, 7, 20, 64, 1000])
def test_one_change_takes_no_more_looks_than_halving(count: int) -> None:
    for step in random.Random(count).sample(range(1, count), min(20, count - 1)):
        found, visited = looked([0] * step + [10] * (count - step))
        assert found == [Change(step - 1, step)]
        assert len(visited) == len(set(visited)) <= math.ceil(math.log2(count)) + 2


def test_every_change_that_is_seen_is_found_the_last_first() -> None:
    found, _ = looked([0] * 10 + [10] * 20 + [20] * 30 + [30] * 4)
    assert found == [Change(59, 60), Change(29, 30), Change(9, 10)]
    # There and back between two that were looked at is not seen.
    assert looked([0] * 30 + [5] + [0] * 20 + [9] * 14)[0] == [Change(50, 51)]


def test_what_shows_nothing_is_passed_over_and_widens_the_step() -> None:
    history: list[float | None] = [0] * 8 + [10] * 8
    history[7] = history[8] = None
    found, visited = looked(history)
    assert found == [Change(6, 9)] and {7, 8} <= set(visited)
    assert looked([0, None, None, 10])[0] == [Change(0, 3)]


def test_small_steps_that_add_up_lead_to_the_largest() -> None:
    found, _ = looked([0, 0.2, 0.4, 1.2, 1.3, 1.5])
    assert found == [Change(2, 3)]


def test_ends_are_verified_first() -> None:
    with pytest.raises(SameEnds):
        looked([0, 10, 0.5])
    for history in ([None, 0, 10], [0, 10, None]):
        with pytest.raises(NoEnd) as error:
            looked(history)
        assert history[error.value.place] is None


def test_any_history_ends_in_steps_that_differ() -> None:
    draw = random.Random(1)
    step: Callable[[], float | None] = lambda: None if draw.random() < 0.2 else float(draw.randrange(4) * 5)  # noqa: E731
    for _ in range(300):
        history = [0.0, *(step() for _ in range(draw.randrange(30))), 5.0]
        found, visited = looked(history)
        assert found and len(visited) == len(set(visited))
        assert sorted(found, key=lambda change: -change.after) == found
        for change in found:
            assert abs((history[change.before] or 0) - (history[change.after] or 0)) > 1
            assert all(history[place] is None for place in range(change.before + 1, change.after))
