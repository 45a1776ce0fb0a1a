"""A hunt that is disturbed again and again must find what one that is left alone finds, and leave nothing behind.

`MOIRE_SOAK_MINUTES` says for how long (60), `MOIRE_SOAK_EVERY` how many seconds lie between two faults (20).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from moire.store import Store

from .common import Row, family, resident, row

MINUTES = float(os.environ.get("MOIRE_SOAK_MINUTES", "60"))
EVERY = float(os.environ.get("MOIRE_SOAK_EVERY", "20"))
HUNT = ("hunt", "update", "chromium@156", "--operations", "6", "--seed", "1")
NAME = "soak"
# Pages of a hunt that somebody else ends.
WITHOUT_END = "100000000"
# What it says when it is killed, and when it is told to end.
ENDED = (-signal.SIGKILL, 130)
# Of the disk that the store is on while it is disturbed, and for how long it is full.
DISK, FULL_SECONDS = "2G", 6.0
# Seconds between two looks at memory, and at whether there is a run; seconds that a hunt takes to get going.
LOOKS, SOON, WARM = 5.0, 0.2, 60.0


@dataclass
class Soak:
    """One hunt with a folder of its own for all that it writes."""

    folder: Path
    hunt: tuple[str, ...]
    random: random.Random = field(default_factory=lambda: random.Random(1))
    faults: Counter[str] = field(default_factory=Counter)
    process: subprocess.Popen[bytes] | None = None

    @property
    def store(self) -> Path:
        return self.folder / "disk" / "runs"

    def start(self, *words: str) -> None:
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moire.cli", *words, "--store", str(self.store)],
            stdout=subprocess.DEVNULL, stderr=(self.folder / "said.txt").open("ab"),
            env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True,
        )  # fmt: skip

    def begin(self) -> None:
        """And wait until the hunt is at work: what has not begun cannot be disturbed."""
        before = self.spent()
        self.start(
            *(("hunt", "--resume", NAME) if self.known() else (*self.hunt, "--name", NAME, "--pages", WITHOUT_END))
        )
        assert self.process is not None
        while self.spent() == before and self.process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(SOON)

    def spent(self) -> float:
        """Seconds that the hunt has been at work."""
        if not self.known():
            return 0.0
        with Store(self.store) as store:
            return store.run(NAME).seconds

    def known(self) -> bool:
        if not (self.store / "moire.sqlite").exists():
            return False
        with Store(self.store) as store:
            return any(run.name == NAME for run in store.runs())

    def pages(self) -> int:
        if not self.known():
            # One that came to nothing before it was told to end is forgotten.
            return 0
        with Store(self.store) as store:
            return store.next_page(store.run(NAME))

    # Faults

    def browsers(self, main: bool) -> list[int]:
        """Processes of browsers: those that Moire started, or any that those did."""
        assert self.process is not None
        found = []
        for pid in family(self.process.pid) - {self.process.pid}:
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
                if "--user-data-dir" in words or "--type=" in words:
                    found.append((pid, "--type=" not in words))
        return [pid for pid, is_main in found if is_main == main]

    def strike(self, main: bool, blow: signal.Signals) -> None:
        if chosen := self.browsers(main):
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(sorted(chosen)), blow)

    def end(self, blow: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(blow)
        self.process.wait()

    def fill(self) -> None:
        """The disk is full for a while."""
        place = self.store.parent / "filler"
        with place.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(1, shutil.disk_usage(place.parent).free - 4096))
        time.sleep(FULL_SECONDS)
        place.unlink()

    def faulty(self) -> Mapping[str, Callable[[], None]]:
        every: dict[str, Callable[[], None]] = {
            "a browser killed": lambda: self.strike(True, signal.SIGKILL),
            "a renderer killed": lambda: self.strike(False, signal.SIGKILL),
            "a browser stopped": lambda: self.strike(True, signal.SIGSTOP),
            "a renderer stopped": lambda: self.strike(False, signal.SIGSTOP),
            "Moire killed": lambda: self.end(signal.SIGKILL),
            "Moire told to end": lambda: self.end(signal.SIGTERM),
        }
        if os.path.ismount(self.store.parent):
            every["the disk full"] = self.fill
        return every

    def disturbed(self, seconds: float, every: float) -> int:
        """Pages until then, and at least one."""
        faults = self.faulty()
        self.begin()
        assert self.process is not None
        end = time.monotonic() + seconds
        while time.monotonic() < end or not self.pages():
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(every)
            if self.process.poll() is not None:
                # Nothing that befalls it ends it, but for who is told to kill it.
                assert self.process.returncode in ENDED, (self.folder / "said.txt").read_text()
                self.begin()
            elif time.monotonic() < end:
                fault = self.random.choice(sorted(faults))
                faults[fault]()
                self.faults[fault] += 1
        self.end(signal.SIGINT)
        return self.pages()

    def left_alone(self, pages: int) -> list[int]:
        """A hunt for so many pages; what it holds of memory, look by look."""
        held = []
        self.start(*self.hunt, "--name", NAME, "--pages", str(pages))
        assert self.process is not None
        while self.process.poll() is None:
            held.append(resident(self.process.pid))
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(LOOKS)
        assert not self.process.returncode, (self.folder / "said.txt").read_text()
        return held

    def found(self, pages: int) -> list[tuple[object, ...]]:
        with Store(self.store) as store:
            every = store.findings(store.run(NAME))
        told = ("page", "update", "unreduced")
        return [
            (one.number, one.build, one.state, one.signature, *(one.details.get(key) for key in told))
            for one in every
            if one.number < pages
        ]

    def left_behind(self) -> list[str]:
        """Processes that carry the folder in their environment, and what is in it."""
        mark = f"TMPDIR={self.folder / 'tmp'}"
        processes = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if mark in (entry / "environ").read_text(errors="replace"):
                        processes.append(entry.name)
        return [*processes, *(file.name for file in (self.folder / "tmp").iterdir())]


@contextmanager
def disk(place: Path) -> Iterator[bool]:
    """A small disk, for those who may make one; whether it could be."""
    place.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    made = not subprocess.run(words, capture_output=True).returncode
    try:
        yield made
    finally:
        if made:
            subprocess.run(["umount", "-l", place], check=True)


def rates(soak: Soak) -> tuple[float, float]:
    """Pages a second in the first and in the last third, once the hunt has got going: the middle of all moments in
    which pages were judged and none was looked into."""
    with Store(soak.store) as store:
        moments = store.moments(store.run(NAME), 10**6)
    able = [one for one in moments if one[0] > min(WARM, moments[-1][0] / 6)]
    found = [
        (after["pages"] - before["pages"]) / (late - early)
        for (early, before), (late, after) in pairwise(able)
        if after["pages"] > before["pages"] and after["findings"] == before["findings"]
    ]
    third = max(1, len(found) // 3)
    return statistics.median(found[:third]), statistics.median(found[-third:])


def compared(folder: Path, hunt: tuple[str, ...], minutes: float, every: float) -> Iterator[Row]:
    with disk(folder / "a" / "disk") as mounted:
        first = Soak(folder / "a", hunt)
        pages = first.disturbed(60 * minutes, every)
        seen, left = first.found(pages), first.left_behind()
    second = Soak(folder / "b", hunt)
    second.store.mkdir(parents=True)
    held = second.left_alone(pages)
    wanted = second.found(pages)
    faults = dict(first.faults)
    apart = [[repr(one) for one in side if one not in other][:10] for side, other in ((seen, wanted), (wanted, seen))]
    details = {
        "pages": pages, "faults": faults, "disk_filled": mounted, "findings": len(wanted), "apart": apart,
    }  # fmt: skip
    yield row(
        f"soak, {minutes:g} min: findings equal to a run that was left alone", float(seen == wanted), "1", **details
    )
    yield row("soak: processes and temporary folders left", len(left) + len(second.left_behind()), "0", left=left)
    early, late = rates(second)
    yield row("soak: pages a second at the end ÷ at the start", late / early, "0.95", early=early, late=late)
    warm = held[int(min(WARM, len(held) * LOOKS / 6) / LOOKS) :] or held
    third = max(1, len(warm) // 3)
    ratio = (sum(warm[-third:]) / third) / (sum(warm[:third]) / third)
    yield row("soak: memory at the end ÷ at the start", ratio, "1.1 at most", bytes=warm[-1])


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        yield from compared(Path(folder), HUNT, MINUTES, EVERY)
