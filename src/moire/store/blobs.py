"""Pages and pictures by content: each is written once, whole or not at all."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .database import StoreError

_LOST = "It is a part of a run: put it back from a copy, or hunt again."


def _name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:40]


class Blobs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, data: bytes) -> str:
        """Its name, once it is on disk for good."""
        name = _name(data)
        place = self._place(name)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            part = place.with_name(f"{place.name}.{os.getpid()}.part")
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
        return name

    def read(self, name: str) -> bytes:
        place = self._place(name)
        try:
            data = place.read_bytes()
        except OSError as error:
            raise StoreError(f"{place} cannot be read: {error.strerror}.", _LOST) from None
        if _name(data) != name:
            raise StoreError(f"{place} is damaged.", _LOST)
        return data

    def _place(self, name: str) -> Path:
        return self.folder / name[:2] / name[2:]
