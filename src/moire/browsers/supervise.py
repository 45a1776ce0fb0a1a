"""Browser processes under supervision.

    (none) ──lease──▶ up ──retire──▶ leaving ──its last page ends──▶ killed

A process that crashed, hung, or showed enough pages takes no new ones: the next lease starts another
beside it, while the pages still in it end by themselves or by their own deadlines.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ..nouns import Environment, LaunchError
from .drivers.base import Browser, DriverError, StruckAtStart, Tab
from .processes import struck

LAUNCH_TRIES = 3
# Starts in a row that somebody else may put an end to, beside those.
MOST_STRUCK = 5
# Doubled after each try: what kept a browser from starting (memory, disk) may pass.
BACK_OFF_SECONDS, MOST_SECONDS = 0.5, 4.0
# A tab that takes longer to close is stuck, and its process with it.
CLOSE_SECONDS = 3.0
# Long enough to be worth the warm-up, short enough that nothing of many pages piles up.
PAGES_A_TAB = 100


@dataclass(slots=True)
class Health:
    """What became of one build's processes, for people and reports."""

    starts: int = 0
    failed_starts: int = 0
    crashes: int = 0
    hangs: int = 0
    trouble: int = 0
    pages: int = 0

    def __str__(self) -> str:
        """In words, and of what went wrong only what did."""
        wrong = {
            "failed starts": self.failed_starts, "crashes": self.crashes, "hangs": self.hangs,
            "pages tried again": self.trouble,
        }  # fmt: skip
        return ", ".join(
            [f"{self.pages} pages in {self.starts} processes", *(f"{n} {what}" for what, n in wrong.items() if n)]
        )


class Process:
    """One running browser, its pages and its spare tabs."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._spare: dict[Environment, list[tuple[Tab, int]]] = {}
        self._retired = False
        # Why it was ended, by nobody's fault but perhaps its pages'.
        self.ended = ""
        self.pages = 0
        self.shown = 0

    @property
    def usable(self) -> bool:
        return not self._retired and self._browser.alive

    @property
    def groups(self) -> Sequence[int]:
        return [child.pid for child in self._browser.children]

    async def struck(self, gone: bool) -> str:
        """What somebody else did to it, in words."""
        return await struck(self._browser.children, gone)

    def retire(self) -> None:
        self._retired = True

    async def end(self, why: str) -> None:
        """Now, whatever it shows."""
        self.ended = why
        await self.close()

    @asynccontextmanager
    async def fresh_tab(self, environment: Environment) -> AsyncIterator[Tab]:
        """A tab that has shown nothing and will show nothing else."""
        if self._browser.single:
            self._spare.clear()
        tab = await self._browser.open(environment)
        try:
            yield tab
        finally:
            await self._close_tab(tab)

    @asynccontextmanager
    async def warm_tab(self, environment: Environment) -> AsyncIterator[Tab]:
        """A tab that other inert pages have used. Any trouble in it ends it."""
        await self._forget_others(environment)
        spare = self._spare.setdefault(environment, [])
        tab, shown = spare.pop() if spare else (await self._browser.open(environment), 0)
        well = False
        try:
            yield tab
            well = True
        finally:
            if well and shown + 1 < PAGES_A_TAB:
                spare.append((tab, shown + 1))
            else:
                await self._close_tab(tab)

    async def _forget_others(self, environment: Environment) -> None:
        """Spare tabs are kept for one environment at a time."""
        for other in [e for e in self._spare if e != environment]:
            for tab, _ in self._spare.pop(other):
                await self._close_tab(tab)

    async def _close_tab(self, tab: Tab) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await tab.close()
        except (TimeoutError, DriverError):
            self.retire()

    async def close(self) -> None:
        self.retire()
        await self._browser.close()


class Berth:
    """A place for one process at a time, which starts, replaces and ends it."""

    def __init__(
        self, launch: Callable[[], Awaitable[Browser]], recycle_after: int, health: Health, closing: asyncio.Event,
        everyone: set[Process],
    ) -> None:  # fmt: skip
        """`everyone` are the processes of all berths."""
        self._launch = launch
        self._recycle_after = recycle_after
        self._health = health
        self._closing = closing
        self._everyone = everyone
        self._starting = asyncio.Lock()
        self._current: Process | None = None
        self._all: set[Process] = set()
        self._leases = 0
        self._cannot_start: LaunchError | None = None

    @property
    def burden(self) -> int:
        return self._leases

    async def ensure(self) -> Process:
        """A usable process, or LaunchError."""
        async with self._starting:
            if self._cannot_start is not None:
                raise self._cannot_start
            old = self._current
            if old is not None and old.usable:
                return old
            self._current = None
            if old is not None and old.pages == 0:
                await self._end(old)
            self._current = Process(await self._start())
            self._all.add(self._current)
            self._everyone.add(self._current)
            return self._current

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Process]:
        """A process to show one page in."""
        self._leases += 1
        try:
            process = await self.ensure()
            process.pages += 1
            try:
                yield process
            finally:
                process.pages -= 1
                process.shown += 1
                self._health.pages += 1
                if process.shown >= self._recycle_after:
                    process.retire()
                if not process.usable and process.pages == 0:
                    await self._end(process)
        finally:
            self._leases -= 1

    async def _start(self) -> Browser:
        delay = BACK_OFF_SECONDS
        tries = blows = 0
        while not self._closing.is_set():
            try:
                browser = await self._launch()
                self._health.starts += 1
                if not self._closing.is_set():
                    return browser
                await browser.close()
                break
            except LaunchError as error:
                self._health.failed_starts += 1
                blows += isinstance(error, StruckAtStart)
                tries += not isinstance(error, StruckAtStart)
                if tries == LAUNCH_TRIES:
                    self._cannot_start = error
                if tries == LAUNCH_TRIES or blows > MOST_STRUCK:
                    raise
            # Not a sleep: closing the lab ends the wait.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), delay)
            delay = min(2 * delay, MOST_SECONDS)
        raise LaunchError("The lab is closing.")

    async def _end(self, process: Process) -> None:
        if process in self._all:
            await process.close()
            self._all.discard(process)
            self._everyone.discard(process)

    async def close(self) -> None:
        await asyncio.gather(*(self._end(process) for process in list(self._all)))


class Crew:
    """Berths of one kind that share the work."""

    def __init__(self, berths: Sequence[Berth], tabs: int) -> None:
        self._berths = berths
        self._slots = asyncio.Semaphore(len(berths) * tabs)

    async def start(self) -> None:
        await self._berths[0].ensure()

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Process]:
        async with self._slots, min(self._berths, key=lambda b: b.burden).lease() as process:
            yield process

    async def close(self) -> None:
        await asyncio.gather(*(berth.close() for berth in self._berths))
