"""A build against itself over many pages, and what that costs in memory."""

from __future__ import annotations

import asyncio

from moire.browsers.lab import Lab
from moire.pages.simple import page
from moire.pixels import measure

from .common import Row, build, changes, resident, row

SELF = (("chromium@156", 2000), ("firefox@153", 500), ("webkit@2.50", 300))


async def against_itself(name: str, count: int) -> Row:
    target = build(name)
    kinds: dict[str, int] = {}
    async with Lab([target]) as lab:
        async for verdict in changes(lab, target, target, measure("exact"), (page(n, 2000) for n in range(count))):
            kinds[verdict.kind] = kinds.get(verdict.kind, 0) + 1
    return row(f"{name} against itself, {count} pages: different", kinds.get("different", 0), "0", **kinds)


async def memory() -> Row:
    """The largest of a few readings round each mark, so that a browser just started does not flatter."""
    target = build("chromium@156")
    readings: dict[int, list[int]] = {500: [], 5000: []}
    async with Lab([target]) as lab:
        done = 0

        async def one(n: int) -> None:
            nonlocal done
            await lab.shoot(target, page(n, 2000), "fast")
            done += 1

        for start in range(0, 5100, 20):
            await asyncio.gather(*(one(n) for n in range(start, start + 20)))
            for mark, seen in readings.items():
                if mark - 100 <= done <= mark + 100:
                    seen.append(resident())
    early, late = (max(readings[mark]) for mark in (500, 5000))
    return row("memory after 5,000 pages ÷ after 500", late / early, "1.1 at most", early=early, late=late)


def run() -> list[Row]:
    return [*(asyncio.run(against_itself(name, count)) for name, count in SELF), asyncio.run(memory())]
