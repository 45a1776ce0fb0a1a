"""Hunts whose work others do: the same findings, whoever does it and whatever befalls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import descendants, running
from moire.browsers.lab import LabOptions
from moire.hunts import cluster
from moire.nouns import UsageError
from moire.pixels import encode
from moire.store import Store

MOIRE = [sys.executable, "-m", "moire.cli"]
DASK = [sys.executable, "-m", "dask"]
PLAIN, OTHER = (encode(np.full((40, 40, 3), shade, np.uint8)) for shade in (255, 0))
PAGES = 24
# A program that shows some pages otherwise when it is called the new one.
_RENDERER = """
import sys
page, png, *new = sys.argv[1:]
odd = new and any(word in open(page).read() for word in ("zoom", "order", "quotes"))
open(png, "wb").write({other} if odd else {plain})
"""


@pytest.fixture
def words(tmp_path: Path) -> list[object]:
    """A hunt over some pages that fail and many that do not."""
    program = tmp_path / "renderer.py"
    program.write_text(_RENDERER.format(plain=PLAIN, other=OTHER))
    own = tmp_path / "pages"
    own.mkdir()
    for n in range(PAGES):
        odd = {3: "zoom: 2", 4: "order: 1", 11: "quotes: none", 12: "zoom: 3", 13: "zoom: 4", 14: "zoom: 5"}.get(n, "")
        page = (
            f"<!DOCTYPE html><style>b {{ color: red }}</style><p style='{odd}; width: {n}px'><b>{n}</b><i>more</i></p>"
        )
        (own / f"{n:02}.html").write_text(page)
    render = f"cmd:{sys.executable} {program} {{page}} {{png}}"
    return ["hunt", "change", "--base", render, "--new", f"{render} new", "--from", own, "--measure", "exact"]


def found(folder: Path) -> list[tuple[object, ...]]:
    with Store(folder, make=False) as store:
        (run,) = store.runs()
        assert run.state == "done" and store.next_page(run) == PAGES
        told = ("page", "unreduced", "rough")
        return [
            (one.number, one.state, one.signature, *(one.details.get(key) for key in told))
            for one in store.findings(run)
        ]


def moire(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MOIRE, *map(str, words)], capture_output=True, text=True, timeout=240)


def test_workers_find_what_one_machine_finds_and_one_that_dies_costs_nothing(
    tmp_path: Path, words: list[object]
) -> None:
    here = moire(*words, "--store", tmp_path / "here")
    assert here.returncode == 0, here.stderr
    wanted = found(tmp_path / "here")
    # One more of many: without the order of pages, it might have been any of them.
    assert [one[0] for one in wanted] == [3, 4, 11, 12, 13, 14] and wanted[-1][1] == "duplicate"
    hunting = subprocess.Popen(
        [*MOIRE, *map(str, words), "--store", tmp_path / "there", "--cluster", "local:2"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "OF_THIS_TEST": str(tmp_path)},
    )  # fmt: skip
    _until(lambda: _pages(tmp_path / "there") > 2 or hunting.poll() is not None)
    workers = [one for one in descendants(hunting.pid) if "spawn_main" in _words_of(one)]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    said, _ = hunting.communicate(timeout=200)
    assert hunting.returncode == 0, said
    assert found(tmp_path / "there") == wanted
    _until(lambda: not [one for one in running() if f"OF_THIS_TEST={tmp_path}" in _words_of(one.pid, "environ")])


def test_a_hunt_that_is_killed_takes_its_workers_with_it(tmp_path: Path, words: list[object]) -> None:
    folders = set(Path("/tmp").glob("moire-*"))
    hunting = subprocess.Popen(
        [*MOIRE, *map(str, words), "--store", tmp_path / "s", "--cluster", "local:2"], stdout=subprocess.DEVNULL
    )
    _until(lambda: _pages(tmp_path / "s") > 2)
    family = descendants(hunting.pid)
    stopped = next(one for one in family if "spawn_main" in _words_of(one))
    os.kill(stopped, signal.SIGSTOP)
    hunting.kill()
    hunting.wait()
    _until(lambda: not family & {one.pid for one in running()})
    _until(lambda: not set(Path("/tmp").glob("moire-*")) - folders)
    again = moire("hunt", "--resume", "change-1", "--store", tmp_path / "s")
    assert again.returncode == 0 and len(found(tmp_path / "s")) == 6


def test_ctrl_c_ends_a_hunt_and_its_workers_in_order(tmp_path: Path, words: list[object]) -> None:
    hunting = subprocess.Popen(
        [*MOIRE, *map(str, words), "--store", tmp_path / "s", "--cluster", "local:2"], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    _until(lambda: _pages(tmp_path / "s") > 2)
    # As from a terminal: all of them hear it.
    os.killpg(hunting.pid, signal.SIGINT)
    said, _ = hunting.communicate(timeout=100)
    assert hunting.returncode == 130 and "Go on with" in said and "Open" in said and "Traceback" not in said, said


def test_a_cluster_of_ones_own_whose_workers_come_late(tmp_path: Path, words: list[object]) -> None:
    with _scheduler(tmp_path) as address:
        hunting = subprocess.Popen(
            [*MOIRE, *map(str, words), "--store", tmp_path / "late", "--cluster", address],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert hunting.stdout is not None
        assert "no workers" in hunting.stdout.readline()
        with _worker(address, tmp_path):
            said, _ = hunting.communicate(timeout=200)
    assert hunting.returncode == 0, said
    assert [one[0] for one in found(tmp_path / "late")] == [3, 4, 11, 12, 13, 14]


def test_a_worker_that_cannot_do_it_is_left_out(tmp_path: Path, words: list[object]) -> None:
    with _scheduler(tmp_path) as address, _worker(address, tmp_path):
        # The run is begun with one program, and its workers have another.
        program = tmp_path / "renderer.py"
        hunting = subprocess.Popen(
            [*MOIRE, *map(str, words), "--store", tmp_path / "s", "--cluster", address],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        _until(lambda: (tmp_path / "s" / "moire.sqlite").exists() and bool(_runs(tmp_path / "s")))
        program.write_text(program.read_text() + "# another\n")
        said, _ = hunting.communicate(timeout=200)
    assert hunting.returncode == 4 and said.count("is left out") == 1 and "not what it was" in said, said
    assert "No worker of the cluster can do the work" in said and "Traceback" not in said


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "local:0", "nonsense://x"])
async def test_clusters_that_are_none_get_a_sentence(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 1.0)
    with pytest.raises(UsageError, match=f"no cluster at {address}"):
        async with cluster.opened(address, cluster.Errand("r", "change", {}, LabOptions()), print):
            pass


def test_a_cluster_that_is_none_costs_one_sentence(tmp_path: Path) -> None:
    words = ["hunt", "update", "chromium@156", "--cluster", "nonsense://x", "--store", tmp_path]
    done = subprocess.run([*MOIRE, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr


def test_real_browsers_on_workers(tmp_path: Path) -> None:
    """One page of four is shown otherwise since nesting came."""
    own = tmp_path / "pages"
    own.mkdir()
    for n, style in enumerate(("div { width: 9px }", "p { color: red }", "div { & p { background: red } }", "")):
        (own / f"{n}.html").write_text(f"<!DOCTYPE html><style>{style}</style><div><p>words</p></div>")
    words = ["hunt", "change", "--base", "chromium@108", "--new", "chromium@116", "--from", own, "--measure", "exact"]
    told = []
    for name, more in (("here", ()), ("there", ("--cluster", "local:2"))):
        done = moire(*words, "--store", tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
        with Store(tmp_path / name) as store:
            run = store.run("change-1")
            assert "pages in" in run.notes["chromium@108"]
            # Pages that pass are seen as well, now and then.
            assert any(trial.verdict == "same" and len(trial.pictures) == 2 for trial in store.trials(run))
            (found,) = store.findings(run)
            assert found.details["differs_at"] == "style" and found.details["sides"] == ["chromium@108", "chromium@116"]
            assert "background-color" in {each["property"] for each in found.details["differences"]}
            told.append([(one.number, one.signature, one.details["page"]) for one in store.findings(run)])
    assert told[0] == told[1] and [one[0] for one in told[0]] == [2]


def _until(done: Any) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def _runs(folder: Path) -> list[Any]:
    with Store(folder) as store:
        return list(store.runs())


def _pages(folder: Path) -> int:
    if not (folder / "moire.sqlite").exists():
        return 0
    with Store(folder) as store:
        return max((store.next_page(run) for run in store.runs()), default=0)


def _words_of(pid: int, what: str = "cmdline") -> str:
    try:
        return Path(f"/proc/{pid}/{what}").read_text(errors="replace")
    except OSError:
        return ""


@contextmanager
def _scheduler(folder: Path) -> Iterator[str]:
    file = folder / "scheduler.json"
    words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    with _ended(subprocess.Popen([*DASK, *words], stderr=subprocess.DEVNULL, cwd=folder)):
        _until(lambda: file.exists() and file.read_text().endswith("}"))
        yield json.loads(file.read_text())["address"]


@contextmanager
def _worker(address: str, folder: Path) -> Iterator[None]:
    words = ["worker", address, "--nthreads", "4", "--no-dashboard", "--local-directory", str(folder / "dask")]
    with _ended(subprocess.Popen([*DASK, *words], stderr=subprocess.DEVNULL, cwd=folder)):
        yield


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)
