"""Room on the disks that a hunt writes to."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ..store.database import NoRoom

# Below this many bytes, a disk counts as full: browsers and databases fail in many ways when the last are gone.
LEAST = 100_000_000
# There is no event for room on a disk: it is looked for so often.
SECONDS = 2.0
# What is written to see whether anything can be: quotas and numbers of files are used up with bytes to spare.
PROBE = 100_000


def lack(folder: Path | None = None) -> NoRoom | None:
    """That there is next to no room in a folder, or for temporary files."""
    for place in (*([folder] if folder else []), Path(tempfile.gettempdir())):
        if shutil.disk_usage(place).free < LEAST:
            return NoRoom(f"The disk of {place} is nearly full.", f"Keep {LEAST // 1_000_000} MB free.")
    return None


def check(folder: Path | None = None) -> None:
    if (found := lack(folder)) is not None:
        raise found


async def again(folder: Path, stop: asyncio.Event) -> bool:
    """Wait until there is room; whether there is before anyone says stop."""
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), SECONDS)
            return False
        with suppress(NoRoom, OSError):
            check(folder)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(PROBE))
                file.flush()
                os.fsync(file.fileno())
            return True
    return False
