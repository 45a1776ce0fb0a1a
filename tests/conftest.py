"""What the tests share: real builds, and a check that nothing is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from moire.browsers import names
from moire.nouns import Build

SHARED = Path(__file__).resolve().parents[2] / "shared"


def build(name: str) -> Build:
    """A build that `make setup` installs; its absence is a failure, not a reason to skip."""
    return names.resolve(name)


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


def browsers_of(marker: str) -> list[int]:
    """Processes that carry a warden's mark."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                environ = Path(f"/proc/{entry}/environ").read_bytes()
                state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if marker.encode() in environ and state != "Z":
                found.append(int(entry))
    return found


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    yield
    from moire.browsers import processes

    if processes._warden is not None:
        assert browsers_of(processes._warden.marker) == [], "a browser outlived its lab"
        assert list(processes._warden.folder.iterdir()) == [], "a temp folder outlived its lab"
