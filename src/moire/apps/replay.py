"""A recorded session in any browser: the same events in the same order, and what the page is after them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..browsers.drivers.base import BrowserGone, TabCrashed, Untestable
from ..nouns import Build
from ..serve.archive import Archive
from .page import Page
from .session import Left, Scripts, Session, session
from .trace import Event, Trace

# In a row of events that nobody brought about, the page is looked at after so many; and after each that runs code which
# none before it in the row has run, but for frames, which are mostly motion.
AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Where a replay left the recording: at which event, in which way, and in words."""

    event: str
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Step:
    """One or more events, and the page after them. The first step of a page is the page itself."""

    page: int
    events: tuple[Event, ...]
    behaviour: tuple[Behaviour, ...]
    data: Page
    png: bytes
    # How far the window is scrolled, to the right and down.
    scroll: tuple[float, float] = (0.0, 0.0)

    @property
    def words(self) -> str:
        return self.events[-1].words if self.events else f"page {self.page + 1} is loaded"


@dataclass(frozen=True, slots=True)
class Replayed:
    """Steps as far as it came; `ended` says why it went no further than that."""

    build: str
    steps: tuple[Step, ...]
    behaviour: tuple[Behaviour, ...]
    ended: str = ""
    refused: Mapping[str, int] | None = None


def rows(trace: Trace, events: Sequence[Event]) -> Iterator[tuple[Event, ...]]:
    """Events that are replayed together: a row of inputs, a row of what comes by itself, or one of anything else. It is
    the same for every browser, since it does not depend on what they do."""
    row: list[Event] = []
    known: set[str] = set()
    for one in events:
        if row and _sort(one) != _sort(row[0]):
            yield tuple(row)
            row = []
        if one.kind == "act":
            known.clear()
        row.append(one)
        code = trace.code(one)
        news = one.kind not in ("act", "frame") and code not in known
        known.add(code)
        if _sort(one) == "act" or news or len(row) >= AT_ONCE:
            yield tuple(row)
            row = []
    if row:
        yield tuple(row)


def _sort(one: Event) -> str:
    return "typed" if one.typed else "act" if one.kind == "act" else "by itself"


async def replay(trace: Trace, build: Build, told: Callable[[Step], None] = lambda step: None) -> Replayed:
    scripts = Scripts(live=False, local=trace.local)
    archive = Archive(trace.exchanges)
    async with session(build, trace.environment, trace.origins, scripts, archive, closed=True) as own:
        found = _Replaying(trace, own, told)
        try:
            ended = await found.run()
        except (TabCrashed, BrowserGone) as error:
            ended = f"the browser crashed: {error}"
        except (Untestable, TimeoutError) as error:
            ended = str(error) or "the page did not answer in time"
        return Replayed(build.name, tuple(found.steps), tuple(found.loose), ended, dict(own.proxy.refused))


class _Replaying:
    def __init__(self, trace: Trace, own: Session, told: Callable[[Step], None]) -> None:
        self._trace = trace
        self._own = own
        self._told = told
        self.steps: list[Step] = []
        # What is only known when a page is done with.
        self.loose: list[Behaviour] = []

    async def run(self) -> str:
        """Why it ended before its end, if it did."""
        await self._own.open(self._trace.url)
        for page in range(self._trace.pages):
            last = page == self._trace.pages - 1
            if not await self._own.arrive(page + 1):
                return f"page {page + 1} did not come"
            await self._look(page, (), [])
            if self._own.scripts.pages > page + 1 and last:
                return "the page went on to another that it did not go to before"
            for row in rows(self._trace, self._trace.on(page)):
                leaves = not last and row[-1] is self._trace.on(page)[-1]
                if leaves:
                    await self._leftovers()
                try:
                    said = await self._own.ask(f"replay({json.dumps([one.plain for one in row])})")
                    if not leaves:
                        await self._look(page, row, [_behaviour(one) for one in said])
                except Left:
                    if not leaves:
                        return f"the page was left at {row[-1].words}"
        await self._leftovers()
        return ""

    async def _look(self, page: int, row: tuple[Event, ...], said: Sequence[Behaviour]) -> None:
        await self._own.tab.settle()
        png = await self._own.tab.screenshot()
        data, scroll = await self._own.page()
        step = Step(page, row, tuple(said), data, png, scroll)
        self.steps.append(step)
        self._told(step)

    async def _leftovers(self) -> None:
        self.loose += [_behaviour(one) for one in await self._own.ask("leftovers()")]


def _behaviour(one: Mapping[str, Any]) -> Behaviour:
    return Behaviour(str(one["event"]), str(one["kind"]), str(one["words"]))
