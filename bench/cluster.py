"""The same hunt done here and by two workers of this machine: what giving the work out costs."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from moire.store import Store

from .common import Row, moire, row

PAGES = int(os.environ.get("MOIRE_BENCH_PAGES", "800"))
ROUNDS = 3
HUNT = ("hunt", "update", "chromium@156", "--seed", "7", "--operations", "6", "--afresh", "--pages")


def rate(store: Path, name: str, *more: str) -> tuple[float, list[tuple[object, ...]]]:
    """Pages a second, and what was found."""
    moire(*HUNT, PAGES, "--name", name, *more, store=store)
    with Store(store) as kept:
        run = kept.run(name)
        found = [(one.number, one.state, one.signature, one.details.get("page")) for one in kept.findings(run)]
        return PAGES / run.seconds, found


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        # In turn, so that whatever else the machine does is shared.
        turns = [(rate(store, f"here-{n}"), rate(store, f"workers-{n}", "--cluster", "local:2")) for n in range(ROUNDS)]
    ratios = [workers[0] / here[0] for here, workers in turns]
    alike = all(one[1] == turns[0][0][1] for turn in turns for one in turn)
    yield row(
        "two workers ÷ none, pages a second", statistics.median(ratios), "0.9", all=[round(one, 3) for one in ratios],
        pages=PAGES, findings=len(turns[0][0][1]),
    )  # fmt: skip
    yield row("the same findings with two workers and with none", float(alike), "1")
