"""Those who add to a store, and those who take away what no run names, keep out of each other's way."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..nouns import UsageError


class Claim:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._handle = -1
        self._adding = 0

    @contextmanager
    def adding(self) -> Iterator[None]:
        """For as long as the block lasts, nobody takes anything away: what is added may be named in a moment."""
        if not self._adding:
            self._handle = self._opened()
            fcntl.flock(self._handle, fcntl.LOCK_SH)
        self._adding += 1
        try:
            yield
        finally:
            self._adding -= 1
            if not self._adding:
                os.close(self._handle)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """For as long as the block lasts, whoever adds something does not, and others may take away."""
        if self._adding:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
        try:
            yield
        finally:
            if self._adding:
                fcntl.flock(self._handle, fcntl.LOCK_SH)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For as long as the block lasts, nobody else adds anything; refused if anybody does."""
        handle = self._handle if self._adding else self._opened()
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"A run is writing to {self._place.parent}.", "Wait for it, or stop it.") from None
            yield
        finally:
            if self._adding:
                fcntl.flock(handle, fcntl.LOCK_SH)
            else:
                os.close(handle)

    def _opened(self) -> int:
        return os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
