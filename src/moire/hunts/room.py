"""Room on the disks that a hunt writes to."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ..store.database import NoRoom

# Below this many bytes, a disk counts as full: browsers and databases fail in many ways when the last are gone.
LEAST = 100_000_000
# There is no event for room on a disk: it is looked for so often.
SECONDS = 2.0


def check(folder: Path) -> None:
    """Raises NoRoom while there is next to none in a folder, or for temporary files."""
    for place in (folder, Path(tempfile.gettempdir())):
        if shutil.disk_usage(place).free < LEAST:
            raise NoRoom(f"The disk of {place} is nearly full.", f"Keep {LEAST // 1_000_000} MB free.")


async def again(folder: Path, stop: asyncio.Event) -> bool:
    """Wait until there is room; whether there is before anyone says stop."""
    while not stop.is_set():
        try:
            check(folder)
            return True
        except NoRoom:
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), SECONDS)
    return False
