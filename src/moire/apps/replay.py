"""A recorded session in any browser: the same events in the same order, and what the page is after them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..browsers.drivers.base import BrowserGone, TabCrashed, Untestable
from ..nouns import Build
from ..serve.archive import Archive
from .page import Node, Page
from .session import Astray, Left, Scripts, Session, session
from .trace import Event, Trace, printable

# In a row of events that nobody brought about, the page is looked at after so many; and after each that runs code which
# none before it in the row has run, but for frames, which are mostly motion.
AT_ONCE = 20
# Of a page that is longer than the window; so much of it is looked at after each step.
MOST_VIEWS = 8
# For a page to come to rest and to be looked at.
LOOK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Where a replay left the recording: at which event, in which way, and in words."""

    event: str
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class View:
    """What the window shows, and how far it is scrolled, to the right and down."""

    png: bytes
    scroll: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Step:
    """One or more events, and the page after them. The first step of a page is the page itself. The first view is what
    a user sees; others show what changed beyond the window's edges."""

    page: int
    events: tuple[Event, ...]
    behaviour: tuple[Behaviour, ...]
    data: Page
    views: tuple[View, ...]

    @property
    def words(self) -> str:
        return self.events[-1].words if self.events else f"page {self.page + 1} is loaded"


Trouble = Literal["", "crashed", "stuck"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """Steps as far as it came; `ended` says why it went no further than that, and `trouble` that it is nothing that the
    application did."""

    build: str
    steps: tuple[Step, ...]
    behaviour: tuple[Behaviour, ...]
    ended: str = ""
    trouble: Trouble = ""
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
        if (_sort(one) == "act" and not one.leads) or news or len(row) >= AT_ONCE:
            yield tuple(row)
            row = []
    if row:
        yield tuple(row)


def _sort(one: Event) -> str:
    return "typed" if one.typed else "act" if one.kind == "act" else "by itself"


async def replay(trace: Trace, build: Build, told: Callable[[Step], None] = lambda step: None) -> Replayed:
    scripts = Scripts(live=False, local=trace.local, came_as=trace.came_as)
    archive = Archive(trace.exchanges)
    async with session(build, trace.environment, trace.origins, scripts, archive, closed=True) as own:
        return await replayed(trace, own, told)


async def replayed(trace: Trace, own: Session, told: Callable[[Step], None] = lambda step: None) -> Replayed:
    """In a session that has just begun."""
    found = _Replaying(trace, own, told)
    trouble: Trouble = ""
    try:
        ended = await found.run()
    except (Left, Astray):
        ended = "the page was left"
    except (TabCrashed, BrowserGone) as error:
        ended, trouble = f"the browser crashed: {error}", "crashed"
    except (Untestable, TimeoutError) as error:
        # What a script says where it failed, each engine says in its own words.
        ended, trouble = printable(str(error).partition("\n")[0]) or "the page did not answer in time", "stuck"
    return Replayed(own.build, tuple(found.steps), tuple(found.loose), ended, trouble, dict(own.proxy.refused))


def beyond(
    before: Page | None, after: Page, scroll: tuple[float, float], window: tuple[int, int]
) -> Iterator[tuple[float, float]]:
    """Where to scroll to, from one place to the next, to see all that is new or otherwise and not in the window."""
    old: Mapping[int, Node] = before.by_id if before is not None else {}
    changed = (node for node in after.nodes if node.visible and old.get(node.id) is not node)
    width, height = window
    left, top = scroll
    places = 0
    for node in sorted((one for one in changed if not after.inside[one.id]), key=lambda one: one.edges[1]):
        x, y, right, bottom = node.edges
        seen = top <= y and min(bottom, y + height) <= top + height
        within = left <= x and min(right, x + width) <= left + width
        if right <= 0 or bottom <= 0 or (seen and within):
            continue
        left, top = (left if within else max(0.0, x)), (top if seen else y)
        yield left, top
        places += 1
        if places == MOST_VIEWS:
            return


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
            if not await self._own.arrive(page + 1):
                return f"page {page + 1} did not come"
            if ended := await self._page(page, last=page == self._trace.pages - 1):
                return ended
        if not self._trace.astray:
            await self._leftovers()
        return ""

    async def _page(self, page: int, last: bool) -> str:
        """Why it ended on this page, if it did. A page may be left as soon as there is nothing more to do in it: what
        came by itself after that came while the next was on its way. From there on, there is nothing to look at that
        would be the same each time; in a page that leads on by itself, there never is."""
        every = [*rows(self._trace, self._trace.on(page))]
        stays = last and not self._trace.astray
        acts = [n for n, row in enumerate(every) if any(one.kind == "act" for one in row)]
        if stays or acts:
            try:
                self._check_here(page)
                await self._look(page, (), [])
            except (Left, Astray):
                return "the page went on to another that it did not go to before"
        leads = len(every) if stays else acts[-1] if acts else 0
        for n, row in enumerate(every):
            try:
                self._check_here(page)
                if n == leads:
                    await self._leftovers()
                said = [_behaviour(one) for one in await self._own.rows(f"replay({_asked(row)})")]
                if n < leads:
                    await self._look(page, row, said)
                else:
                    self.loose += said
            except (Left, Astray) as error:
                if n < leads or isinstance(error, Astray) != last:
                    return f"the page was left at {self._trace.told(row[-1])}"
                return ""
        if last and not stays and not await self._own.strays():
            return "the window stayed in the application, which it left before"
        return ""

    def _check_here(self, page: int) -> None:
        """A page that led on at once was never arrived at."""
        if self._own.arrived != page + 1:
            raise Left

    async def _look(self, page: int, row: tuple[Event, ...], said: Sequence[Behaviour]) -> None:
        async with asyncio.timeout(LOOK_SECONDS):
            await self._looked(page, row, said)

    async def _looked(self, page: int, row: tuple[Event, ...], said: Sequence[Behaviour]) -> None:
        # What was asked for is answered from the recording, and soon.
        await self._own.answered()
        await self._own.tab.settle()
        png = await self._own.tab.screenshot()
        before = self.steps[-1].data if self.steps and self.steps[-1].page == page else None
        data, scroll = await self._own.page(before)
        views = [View(png, scroll)]
        environment = self._trace.environment
        for place in beyond(before, data, scroll, (environment.width, environment.height)):
            at = await self._own.peek(place)
            await self._own.tab.settle()
            views.append(View(await self._own.tab.screenshot(), at))
        if len(views) > 1:
            await self._own.peek(scroll)
            await self._own.tab.settle()
            await self._own.ask("peeked()")
        step = Step(page, row, tuple(said), data, tuple(views))
        self.steps.append(step)
        self._told(step)

    async def _leftovers(self) -> None:
        self.loose += [_behaviour(one) for one in await self._own.rows("leftovers()")]


def _asked(row: Sequence[Event]) -> str:
    return json.dumps([one.plain for one in row])


def _behaviour(one: Mapping[str, Any]) -> Behaviour:
    event, kind, words = (str(one.get(name, "")) for name in ("event", "kind", "words"))
    return Behaviour(event, kind, printable(words))
