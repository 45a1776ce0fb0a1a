"""What the benchmarks share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from moire.browsers import names, shelf
from moire.browsers.lab import Lab
from moire.nouns import Build, Case, UnknownBuild, Verdict
from moire.oracles.change import screen_and_confirm
from moire.pages.simple import page
from moire.pixels import Measure

Row = dict[str, Any]
T = TypeVar("T")
# Pages under way at once, as in a hunt.
AHEAD = 16


async def in_order(cases: Iterable[Case], judge: Callable[[Case], Coroutine[Any, Any, T]]) -> AsyncIterator[T]:
    """What a judge says of each, several at once."""
    waiting: list[asyncio.Task[T]] = []
    for case in cases:
        waiting.append(asyncio.create_task(judge(case)))
        if len(waiting) >= AHEAD:
            yield await waiting.pop(0)
    for task in waiting:
        yield await task


async def changes(lab: Lab, base: Build, new: Build, measure: Measure, cases: Iterable[Case]) -> AsyncIterator[Verdict]:
    async def judge(case: Case) -> Verdict:
        return (await screen_and_confirm(lab, base, new, case, measure))[0]

    async for verdict in in_order(cases, judge):
        yield verdict


def build(name: str) -> Build:
    """A build, installed if it is not there yet."""
    try:
        return names.resolve(name)
    except UnknownBuild:
        shelf.install(name)
        return names.resolve(name)


def pages(count: int, size: int, first: int = 0) -> list[str]:
    return [page(first + n, size).html.decode() for n in range(count)]


def row(measure: str, value: float, least: str, **details: Any) -> Row:
    return {"measure": measure, "value": round(value, 3), "wanted": least, **details}
