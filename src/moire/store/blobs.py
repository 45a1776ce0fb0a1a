"""Pages and pictures by content: each is written once, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from .database import NoRoom, StoreError

_LOST = "It is a part of a run: put it back from a copy, or run `moire runs verify --repair`."
_PART = ".part"
_NAME = re.compile("[0-9a-f]{40}")


def _name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:40]


class Blobs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Bytes that were added by this very object.
        self.written = 0

    def add(self, data: bytes) -> str:
        """Its name, once it is on disk for good."""
        name = _name(data)
        place = self._place(name)
        if not place.exists():
            try:
                self._write(place, data)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise NoRoom(f"There is no room for {place}.", "Make room, then resume the run.") from None
                raise StoreError(f"{place} cannot be written: {error.strerror}.", "Check its permissions.") from None
            self.written += len(data)
        return name

    def _write(self, place: Path, data: bytes) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.{os.getpid()}{_PART}")
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(place)
            # A name is on disk when its folder is.
            for folder in (place.parent, self.folder):
                handle = os.open(folder, os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)
        finally:
            part.unlink(missing_ok=True)

    def read(self, name: str) -> bytes:
        place = self._place(name)
        try:
            data = place.read_bytes()
        except OSError as error:
            raise StoreError(f"{place} cannot be read: {error.strerror}.", _LOST) from None
        if _name(data) != name:
            raise StoreError(f"{place} is damaged.", _LOST)
        return data

    def has(self, name: str) -> bool:
        return self._place(name).exists()

    def made(self, name: str) -> float:
        """When, in seconds since 1970."""
        return self._place(name).stat().st_mtime

    def sound(self, name: str) -> bool:
        """Whether it is what its name says."""
        try:
            self.read(name)
        except StoreError:
            return False
        return True

    def names(self) -> Iterator[tuple[str, int]]:
        """All there are, with their sizes."""
        for file, size in self._files():
            name = f"{file.parent.name}{file.name}"
            if _NAME.fullmatch(name):
                yield name, size

    def remove(self, name: str) -> None:
        self._place(name).unlink(missing_ok=True)

    def sweep(self) -> int:
        """Take away what was written only in part by those who were killed; how much that was."""
        parts = [(file, size) for file, size in self._files() if file.suffix == _PART]
        for file, _ in parts:
            file.unlink(missing_ok=True)
        return sum(size for _, size in parts)

    def _files(self) -> Iterator[tuple[Path, int]]:
        for folder in sorted(self.folder.glob("[0-9a-f][0-9a-f]")):
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda one: one.name):
                    yield Path(entry.path), entry.stat().st_size

    def _place(self, name: str) -> Path:
        return self.folder / name[:2] / name[2:]
