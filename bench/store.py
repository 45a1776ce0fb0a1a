"""The store's bookkeeping for a million pages: how fast they go in, how soon lists are there, how large it gets."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from moire.hunts.run import ROWS
from moire.reports import records
from moire.store import Finding, PageRow, Store

from .common import Row, row

PAGES = int(os.environ.get("MOIRE_BENCH_PAGES", "1000000"))
RUNS = 4
# One page in so many has a finding.
PAGES_A_FINDING = 500


def run() -> Iterator[Row]:
    # Where the figures come from is where hunts write: not a disk in memory.
    with tempfile.TemporaryDirectory(dir=".") as folder, Store(Path(folder)) as store:
        page = store.blobs.add(b"<p>")
        begun = time.monotonic()
        for n in range(RUNS):
            hunt = store.begin("update", "", {"builds": ["chromium@156"], "measure": "exact"})
            for first in range(0, PAGES // RUNS, ROWS):
                rows = [PageRow(first + k, "chromium@156", "same") for k in range(ROWS)]
                store.done(hunt, rows, 2.0, {"pages": first + ROWS, "findings": first // PAGES_A_FINDING})
                if first % PAGES_A_FINDING < ROWS:
                    details = {"page": page, "figures": {"pixels": first % 999}, "stage": "layout", "first": True}
                    store.keep(hunt, Finding(first, "chromium@156", "example", "different", f"kind {n}", details))
        seconds = time.monotonic() - begun
        pages = sum(store.next_page(one) for one in store.runs())
        yield row("store: pages put in a second", pages / seconds, "2000", pages=pages)
        begun = time.monotonic()
        counts = store.counts()
        listed = [records.brief(store, one, counts[one.id]) for one in store.runs()]
        yield row("store: runs listed, s", time.monotonic() - begun, "1 at most", runs=len(listed))
        begun = time.monotonic()
        records.summary(store, hunt)
        yield row("store: a run's figures, s", time.monotonic() - begun, "1 at most")
        begun = time.monotonic()
        found = len(store.rows_after(-1, 0, 10**9))
        yield row("store: all findings listed, s", time.monotonic() - begun, "1 at most", findings=found)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        yield row("store: bytes a page", size / pages, "reported", bytes=size)
