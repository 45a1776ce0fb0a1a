"""A hunt that is disturbed all the time finds what one finds that is left alone: the soak of `bench/`, in short."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

# Benchmarks are run from the project's folder and not installed.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from bench.soak import compared

MINUTES, EVERY = 0.3, 2.0


def test_faults_cost_no_finding_and_leave_nothing_behind(tmp_path: Path) -> None:
    own = tmp_path / "pages"
    own.mkdir()
    for n, more in enumerate(("", "<p>more</p>")):
        stale = '<div id=a><span>u</span></div><div style="offset-path:view-box ray(0deg)">a</div>'
        (own / f"{n}.html").write_text(f"<!DOCTYPE html>{more}{stale}")
    words = ("hunt", "update", "chromium@156", "--operations", "2", "--seed", "1", "--from", str(own))
    # How fast it was, and what it held, is told by a longer one.
    same, left = islice(compared(tmp_path, words, MINUTES, EVERY), 2)
    assert same["value"] == 1, same["apart"]
    assert same["findings"] and same["faults"], same
    assert left["value"] == 0, left
