"""Bisection of many pages over one history: each build is visited once for all that want it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...browsers.download import Progress, silent
from ...browsers.history import Stop
from ...nouns import Case, MoireError
from .memory import Blind, Memory
from .search import Change, Looking, NoEnd, SameEnds, search
from .view import View


@dataclass(frozen=True, slots=True)
class Bisected:
    """The changes, the last one first, by the names of builds; `skipped` are builds that had nothing to show, and why
    not."""

    changes: tuple[tuple[str, str], ...]
    visited: tuple[str, ...]
    skipped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """No bisection, and why not; what is `passing` may be otherwise another time."""

    reason: str
    visited: tuple[str, ...]
    skipped: Mapping[str, str]
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Visits:
    """Who hears of every visit: the build, how many pages it is for, and how many of all are settled."""

    visit: Callable[[str, int, int, int], None] = lambda build, pages, settled, all: None
    fetch: Progress = silent


@dataclass
class _Way:
    """One page on its way."""

    case: Case
    looking: Looking[bytes]
    wanted: frozenset[int] = frozenset()
    visited: list[int] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    result: Bisected | Unsettled | None = None


async def bisect(
    history: Sequence[Stop], cases: Sequence[Case], view: View, memory: Memory, told: Visits | None = None
) -> list[Bisected | Unsettled]:
    """What changes each of the pages between the first and the last build."""
    told = told or Visits()
    ways = [_Way(case, search(len(history), view.eyes)) for case in cases]
    for way in ways:
        way.wanted = next(way.looking)
    while open_ways := [way for way in ways if way.result is None]:
        # The build that most wait for goes first: if it cannot be had, that is known soon.
        places = Counter(place for way in open_ways for place in way.wanted)
        for place, _ in sorted(places.items(), key=lambda one: (-one[1], one[0])):
            here = [way for way in open_ways if place in way.wanted]
            told.visit(history[place].name, len(here), len(ways) - len(open_ways), len(ways))
            await _visit(history[place], here, view, memory, told)
            for way in here:
                way.visited.append(place)
        for way in open_ways:
            _go_on(way, history, memory)
    return [way.result for way in ways if way.result is not None]


async def _visit(stop: Stop, here: Sequence[_Way], view: View, memory: Memory, told: Visits) -> None:
    new = list({way.case.digest: way.case for way in here if memory.known(way.case, stop.name) is None}.values())
    if not new:
        return
    try:
        build = await asyncio.to_thread(stop.ready, told.fetch)
    except MoireError as error:
        for case in new:
            memory.keep(case, stop.name, Blind(error.sentence, passing=True))
        return
    await view.look(build, new, lambda case, seen: memory.keep(case, stop.name, seen))


def _go_on(way: _Way, history: Sequence[Stop], memory: Memory) -> None:
    answers: dict[int, bytes | None] = {}
    for place in way.wanted:
        seen = memory.known(way.case, history[place].name)
        answers[place] = seen if isinstance(seen, bytes) else None
        if isinstance(seen, Blind):
            way.skipped[history[place].name] = seen.reason
    visited = tuple(history[place].name for place in way.visited)
    try:
        way.wanted = way.looking.send(answers)
    except StopIteration as done:
        changes: list[Change] = done.value
        named = tuple((history[one.before].name, history[one.after].name) for one in changes)
        way.result = Bisected(named, visited, way.skipped)
    except SameEnds:
        words = f"{history[0].name} and {history[-1].name} show it alike"
        way.result = Unsettled(words, visited, way.skipped)
    except NoEnd as end:
        seen = memory.known(way.case, history[end.place].name)
        passing = isinstance(seen, Blind) and seen.passing
        reason = way.skipped[history[end.place].name]
        way.result = Unsettled(f"{history[end.place].name} cannot show it: {reason}", visited, way.skipped, passing)
