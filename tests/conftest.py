"""What the tests share: real builds, and a check that nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from moire.browsers import names, processes
from moire.nouns import Build

# A shell that runs the tests in its background has them ignore these, and with them every command under test.
for ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, signal.default_int_handler)

SHARED = Path(__file__).resolve().parents[2] / "shared"


def build(name: str) -> Build:
    """A build that `make setup` installs; its absence is a failure, not a reason to skip."""
    return names.resolve(name)


@pytest.fixture(autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of a test are its own."""
    folder = tmp_path_factory.mktemp("store")
    monkeypatch.setenv("MOIRE_STORE", str(folder))
    return folder


@pytest.fixture(scope="session")
def chromium() -> Build:
    return build("chromium@156")


@pytest.fixture(scope="session")
def older() -> Build:
    return build("chromium@108")


@pytest.fixture(scope="session")
def firefox() -> Build:
    return build("firefox@153")


@pytest.fixture(scope="session")
def webkit() -> Build:
    return build("webkit@2.50")


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Build:
    """Used as `@pytest.mark.parametrize("engine", ENGINES, indirect=True)`."""
    return build(request.param)


@pytest.fixture
def chromedriver() -> Iterator[str]:
    """A WebDriver server that is not ours to start: it stands for any remote end."""
    program = shutil.which("chromedriver")
    assert program, "make setup installs chromium-driver"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([program, f"--port={port}"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "started successfully" in line:
            break
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


@dataclass(frozen=True)
class Running:
    pid: int
    parent: int
    group: int


def running() -> list[Running]:
    """Every process that is not merely waiting to be reaped."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, parent, group = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if state != "Z":
                found.append(Running(int(entry), int(parent), int(group)))
    return found


def descendants(of: int) -> set[int]:
    """By parentage: a browser's helpers wipe the environment they were started with."""
    family, everyone = {of}, running()
    while more := {one.pid for one in everyone if one.parent in family} - family:
        family |= more
    return family - {of}


@pytest.fixture(autouse=True)
def nothing_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    groups: set[int] = set()
    tell = processes.Warden.tell

    def listen(self: processes.Warden, line: str) -> None:
        groups.add(int(line[1:]))
        tell(self, line)

    monkeypatch.setattr(processes.Warden, "tell", listen)
    yield
    # A group that was killed is gone as soon as the system gets round to each of its processes.
    end = time.monotonic() + 5
    while (left := [one for one in running() if one.group in groups]) and time.monotonic() < end:
        os.sched_yield()
    assert left == [], "a browser outlived its lab"
    if processes._warden is not None:
        assert list(processes._warden.folder.iterdir()) == [], "a temp folder outlived its lab"
