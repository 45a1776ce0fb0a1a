"""What browsers hold of the machine's memory, and who must go when it is too much."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Collection
from contextlib import suppress

from .processes import everyone
from .supervise import Process

# There is no event for memory: it is looked at so often.
SECONDS = 1.0
_PAGE = os.sysconf("SC_PAGE_SIZE")


async def watch(processes: Collection[Process], most: int, closing: asyncio.Event) -> None:
    """Keep all processes together below so many bytes. The largest takes no new pages and goes with its last one; if
    that is not soon enough, it is ended."""
    while not closing.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(closing.wait(), SECONDS)
        held = _held()
        sizes = {one: sum(held[group] for group in one.groups) for one in processes}
        if sum(sizes.values()) > most:
            largest = max(sizes, key=lambda one: sizes[one])
            if largest.usable:
                largest.retire()
            else:
                await largest.end(f"with it, browsers held more than {most / 1e6:.0f} MB of memory")


def _held() -> Counter[int]:
    """Bytes that each process group has for itself: what several share is nobody's."""
    found: Counter[int] = Counter()
    for pid, _, group in everyone():
        # It may be gone by now.
        with suppress(OSError, ValueError), open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = map(int, file.read().split())
            found[group] += (resident - shared) * _PAGE
    return found
