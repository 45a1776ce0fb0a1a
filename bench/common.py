"""What the benchmarks share."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from pathlib import Path
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


def family(of: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {of}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def resident(of: int = 0) -> int:
    """Bytes of this process, or another, and all that descend from it. What is shared is counted by its share."""
    total = 0
    for pid in family(of or os.getpid()):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def moire(*words: object, store: Path) -> str:
    """What a verb prints."""
    whole = [sys.executable, "-m", "moire.cli", *map(str, words), "--store", str(store)]
    return subprocess.run(whole, check=True, stdout=subprocess.PIPE, text=True).stdout


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
