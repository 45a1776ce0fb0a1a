"""The consensus of three engines: agreement about plain pages, how fast, and what steering by weights brings."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from moire.browsers.lab import Lab, LabOptions
from moire.hunts.consensus import Trials
from moire.inspect.support import support
from moire.nouns import Case, Environment, Shot
from moire.oracles.consensus import Looked, Pool, judge
from moire.pages import profile
from moire.pages.make import Pages
from moire.pages.spec import web
from moire.pixels import measure
from moire.triage.reduce import Disagrees, Reduced, Settings, reduce

from .common import Row, build, in_order, moire, row

ENGINES = ("chromium@156", "firefox@153", "webkit@2.50")
PAGES = int(os.environ.get("MOIRE_BENCH_PAGES", "1000"))
# Bytes of a plain page.
SIZE = 1500
# Of the pages that engines do not agree about, so many are reduced to say why.
EXPLAINED = 40
RUNS = int(os.environ.get("MOIRE_BENCH_RUNS", "100"))
SEEDS = (1, 2, 3)
# Hunts of the steering benchmark are kept here, and two builds that are fast to ask.
STORE = Path("runs") / "steering"
QUICK = ("chromium@108", "chromium@156")
# The thesis's rate, with two browsers: 712,193 iterations in 89 hours.
THESIS = 2.2


async def pages(name: str, pool: Pool) -> Pages:
    """As far as all of the pool understand them."""
    weights = web.weights()
    async with Lab(pool.builds, LabOptions(deadline=300)) as lab:
        for one in pool.builds:
            weights = (await support(lab, one)).over(weights)
    made = Pages(profile.shaped(weights, name), adjustable=True)
    made.page(0, SIZE)
    return made


def the_pool(*names: str) -> Pool:
    return Pool(tuple(build(name) for name in names or ENGINES), measure("sqdiff"))


async def agreement() -> list[Row]:
    pool = the_pool()
    source = await pages("plain", pool)
    cases = [replace(source.page(n, SIZE), environment=Environment(500, 400)) for n in range(PAGES)]
    seen: Counter[str] = Counter()
    why: Counter[str] = Counter()
    failing: list[Case] = []
    async with Lab(pool.builds, LabOptions(long=True)) as lab:

        async def look(case: Case) -> tuple[Case, Looked]:
            return case, await judge(lab, pool, case)

        async for case, found in in_order(cases, look):
            seen[found.verdict.kind] += 1
            if found.verdict.kind == "different":
                failing.append(case)
        for case in failing[:EXPLAINED]:
            result = await reduce(case, Disagrees(lab, pool), Settings(2, steady=True))
            if isinstance(result, Reduced):
                told = (await judge(lab, pool, result.case, 1, screen=False)).verdict.reason
                why[f"{told}: {result.case.html.decode('utf-8', 'replace')[15:]}"] += 1
            else:
                why[result.reason] += 1
    tested = seen["same"] + seen["different"]
    return [row("three engines agree about plain pages", seen["same"] / tested, "0.97", **seen, why=dict(why))]


async def speed() -> list[Row]:
    """Iterations as a hunt has them: growing pages, by the usual profile, without what a failure brings. A page that
    crashes or hangs a build is one, and is left out: being sure of that takes four deadlines."""
    pool = the_pool()
    source = await pages("specified", pool)
    trials = Trials()
    environment = Environment(500, 400)
    cases = [
        replace(source.page(n, trials.bytes(n % trials.iterations)), environment=environment) for n in range(PAGES // 2)
    ]
    async with Lab(pool.builds, LabOptions(long=True)) as lab:
        for one in pool.builds:
            await lab.start(one)

        async def look(case: Case) -> tuple[Case, bool]:
            shown = pool.shown(case)
            taken = await asyncio.gather(*(lab.shoot(one, shown, "fast") for one in pool.builds))
            return case, all(isinstance(one, Shot) for one in taken)

        able = [case async for case, shown in in_order(cases, look) if shown]
        begun = time.monotonic()
        again = [shown async for _, shown in in_order(able, look)]
        rate = len(again) / (time.monotonic() - begun)
    left_out = len(cases) - len(able)
    measured = rate / THESIS
    return [row("iterations a second with three engines ÷ the thesis's", measured, "3", rate=rate, left_out=left_out)]


def steered(seed: int, edges: int) -> list[dict[str, Any]]:
    """The findings of one hunt, which goes on where it was broken off: all of them take more than an hour."""

    # What other code found is no figure of this one's.
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
    name = f"seed-{seed}-edges-{edges}-runs-{RUNS}-at-{head.stdout.strip()}"
    known = [one["name"] for one in json.loads(moire("runs", "list", "--json", store=STORE))] if STORE.exists() else []
    # All of the grammar: the thesis had no profiles.
    words = ["consensus", *QUICK, "--profile", "all", "--runs", str(RUNS), "--seed", str(seed), "--edges", str(edges)]
    words += ["--afresh", "--name", name]
    moire("hunt", *(["--resume", name] if name in known else words), store=STORE)
    found: list[dict[str, Any]] = json.loads(moire("runs", "show", name, "--json", store=STORE))["findings"]
    return found


def steering() -> Iterator[Row]:
    """Runs of a hunt with and without lowered weights."""
    counts: dict[int, list[int]] = {}
    same = reduced = 0
    for seed in SEEDS:
        counts[seed] = []
        for edges in (3, 0):
            told = steered(seed, edges)
            counts[seed].append(len({one["signature"] for one in told}))
            if edges:
                blobs = Counter(one["page"] for one in told if one["reduced"])
                reduced += sum(blobs.values())
                same += sum(n - 1 for n in blobs.values())
    ratio = sum(a for a, _ in counts.values()) / max(1, sum(b for _, b in counts.values()))
    yield row(f"distinct signatures in {RUNS} runs, steered ÷ not", ratio, "1.5", by_seed=counts)
    yield row("reduced pages that were reduced to before", same / max(1, reduced), "0.05 at most", of=reduced)


PARTS: dict[str, Callable[[], list[Row] | Iterator[Row]]] = {
    "agreement": lambda: asyncio.run(agreement()),
    "speed": lambda: asyncio.run(speed()),
    "steering": steering,
}


def run() -> Iterator[Row]:
    for part in PARTS.values():
        yield from part()
