"""Guided hunts and plain ones, by the kinds of findings that they have after as many renders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from moire.store import Store

from .common import Row, moire, row

SEEDS = (1, 2, 3)
# Hunts that were done are kept: all of them take more than an hour.
STORE = Path("runs") / "guidance"
HUNTS = {
    "update": ("update", "chromium@156", "--operations", "6"),
    "change": ("change", "--base", "chromium@108", "--new", "chromium@156"),
}
PAGES = {"update": 4000, "change": 800}
PAGES |= {name: int(pages) for name in PAGES if (pages := os.environ.get("MOIRE_BENCH_PAGES"))}


def kinds(kind: str, seed: int, guided: bool) -> list[tuple[int, int]]:
    """Renders so far and kinds of findings so far, from moment to moment."""
    name = f"{kind}-{seed}-{'guided' if guided else 'plain'}-{PAGES[kind]}"
    STORE.mkdir(parents=True, exist_ok=True)
    with Store(STORE) as store:
        known = {run.name: run.state for run in store.runs()}
    words = ["hunt", *HUNTS[kind], "--seed", seed, "--pages", PAGES[kind], "--afresh", "--name", name]
    if known.get(name) != "done":
        if name in known:
            # A lab counts its renders from its beginning on.
            moire("runs", "gc", "--forget", name, store=STORE)
        moire(*words, *([] if guided else ["--no-guidance"]), store=STORE)
    with Store(STORE) as store:
        moments = store.moments(store.run(name), 10**6)
    return [(sum(one["pages"] for one in facts["health"].values()), facts["signatures"]) for _, facts in moments]


def run() -> Iterator[Row]:
    for kind in HUNTS:
        counts = []
        for seed in SEEDS:
            guided, plain = (kinds(kind, seed, which) for which in (True, False))
            # As far as both went.
            most = min(guided[-1][0], plain[-1][0])
            counts.append([max(found for renders, found in one if renders <= most) for one in (guided, plain)])
        ratio = sum(one for one, _ in counts) / max(1, sum(other for _, other in counts))
        yield row(f"{kind}: kinds of findings, guided ÷ plain at as many renders", ratio, "1.3", by_seed=counts)
