"""What was seen at which build: kept at once, so that a bisection that is broken off goes on where it was."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ...nouns import Case
from ...store.blobs import Blobs
from ...store.database import StoreError


@dataclass(frozen=True, slots=True)
class Blind:
    """There is nothing to be seen there, and why not; what is `passing` may be otherwise another time."""

    reason: str
    passing: bool = False


Seen = bytes | Blind


class Memory:
    """`way` names how one looks: what was seen in another way is something else. Without a folder, nothing is kept."""

    def __init__(self, folder: Path | None, way: str) -> None:
        self._way = way
        self._known: dict[tuple[str, str], Seen] = {}
        self._file = folder / "seen.jsonl" if folder is not None else None
        self._blobs = Blobs(folder / "blobs") if folder is not None else None
        if self._file is not None and self._blobs is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._read(self._file, self._blobs)

    def _read(self, file: Path, blobs: Blobs) -> None:
        lines = file.read_text("utf-8", "replace").splitlines() if file.exists() else []
        for line in lines:
            try:
                case, build, way, blind, blob = json.loads(line)
                if way == self._way:
                    self._known[case, build] = blobs.read(blob) if blob else Blind(blind)
            except (ValueError, TypeError, StoreError):
                # The last line of a process that was killed may be half a line, and what it named may be lost.
                continue

    def known(self, case: Case, build: str) -> Seen | None:
        return self._known.get((case.digest, build))

    def keep(self, case: Case, build: str, seen: Seen) -> None:
        self._known[case.digest, build] = seen
        if self._file is None or self._blobs is None or (isinstance(seen, Blind) and seen.passing):
            return
        blob = self._blobs.add(seen) if isinstance(seen, bytes) else ""
        line = json.dumps([case.digest, build, self._way, seen.reason if isinstance(seen, Blind) else "", blob])
        with self._file.open("a", encoding="utf-8") as out:
            # A half line before it must not spoil this one.
            out.write(f"\n{line}\n")
            out.flush()
            os.fsync(out.fileno())

    def forget(self) -> None:
        """Nothing is left on disk."""
        if self._file is not None:
            shutil.rmtree(self._file.parent, ignore_errors=True)
