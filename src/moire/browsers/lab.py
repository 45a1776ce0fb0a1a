"""The Lab: give it a page and a build, get an outcome back, thousands of times.

Every build has a *station* of one or more supervised processes with several tabs each. A page that
crashes or hangs is tried again three times, alone in a fresh process; only what repeats every time
is that page's outcome, anything else is trouble of the harness and is counted as such.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Generic, Literal, Protocol, TypeVar

from ..nouns import Build, Case, Environment, Failure, LaunchError, Outcome, Shot
from ..pixels import size
from ..serve import Blocker, PageServer
from . import memory, shelf
from .drivers.base import BrowserGone, Disturbed, DriverError, Tab, TabCrashed, Unsupported, Untestable
from .launch import Launcher
from .network import Network
from .onpaper import written
from .supervise import Berth, Crew, Health, Process

Path = Literal["fast", "navigation"]
T = TypeVar("T")
_Kind = Literal["crashed", "hung", "disturbed"]
Job = Callable[[Tab], Awaitable[T]]
Look = Callable[[Tab, Shot], Awaitable[T]]

# Fresh processes that must all agree before a crash or hang is a page's own.
REPEATS = 3
# As many blows are not counted; a page that is struck more often brings that about itself.
MOST_BLOWS = 5
# What opening a tab before a page and looking at it after its deadline may take.
ASIDE_SECONDS = 5.0
# Chromium alone keeps several tabs busy in one process; the others draw one page at a time well.
TABS = {"chromium": 4, "firefox": 4, "webkit": 1, "webdriver": 1, "command": 1}


@dataclass(frozen=True, slots=True)
class LabOptions:
    """`processes` and `tabs` of 0 mean "as many as suit the machine and the build". For `long` work, an engine that
    draws one page at a time gets two processes, which take some time to start: it mostly waits for frames. `memory` is
    how many bytes all browsers together may hold; 0, as many as there are."""

    deadline: float = 15.0
    processes: int = 0
    tabs: int = 0
    recycle_after: int = 1000
    serve_host: str = ""
    long: bool = False
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Visit(Generic[T]):
    """What a job in a page's tab came to. `blocked` and `trouble` are as in a Shot."""

    value: T
    blocked: tuple[str, ...] = ()
    trouble: int = 0


class _Hung(DriverError):
    pass


class _Late(Disturbed):
    """Not ready in time, though it answers: tried once more and not thrice, since each try takes that time."""


class _Struck(DriverError):
    """Somebody else ended or stopped a process of the browser, which says nothing about the page."""

    def __init__(self, words: str, kind: _Kind) -> None:
        super().__init__(words)
        self.kind = kind


class Station:
    """One build's processes."""

    def __init__(self, lab: Lab, build: Build, processes: int, tabs: int) -> None:
        self._lab = lab
        self.build = build
        self.health = Health()
        self._crew = Crew([self._berth() for _ in range(processes)], tabs)
        # Pages of the fast path: with a tab each, one process more keeps the cores busy between answers.
        self._screens = Crew([self._berth(screening=True) for _ in range(processes + 1)], tabs=1)
        self._screening = self._screens if build.engine == "chromium" else self._crew
        # Of a Firefox's windows, one has the focus: pages that are about it have one to themselves.
        self._alone = Crew([self._berth()], tabs=1) if build.engine == "firefox" else self._crew
        # Whether pages can be shown by content and changed before anything is drawn.
        self._warms = True
        # A page on trial gets a process of its own, one page at a time: trials must not starve
        # each other into looking hung.
        self._trial = asyncio.Lock()

    def _berth(self, recycle_after: int = 0, *, screening: bool = False) -> Berth:
        launch = partial(self._lab.launcher.launch, self.build, screening=screening)
        return Berth(
            launch,
            recycle_after or self._lab.options.recycle_after,
            self.health,
            self._lab.closing,
            self._lab.processes,
        )

    async def start(self) -> None:
        await self._crew.start()

    async def shoot(self, case: Case, path: Path) -> Outcome:
        async def given(tab: Tab, shot: Shot) -> Shot:
            return shot

        seen = await self.look(case, given, path)
        if isinstance(seen, Failure):
            return seen
        return replace(seen.value, blocked=seen.blocked, trouble=seen.trouble)

    async def look(
        self, case: Case, job: Look[T], path: Path, sure: bool = True, deadline: float = 0.0
    ) -> Visit[T] | Failure:
        async def pictured(tab: Tab) -> T:
            png = await tab.screenshot()
            _check_size(self.build, case.environment, png)
            return await job(tab, Shot(png, "command" if self.build.engine == "command" else "navigation"))

        quick = partial(self._screen, case, job, deadline) if path == "fast" and case.inert else None
        return await self.visit(case, pictured, quick, sure=sure, deadline=deadline)

    async def visit(
        self, case: Case, job: Job[T], quick: Callable[[], Awaitable[Visit[T] | None]] | None = None, *,
        sure: bool = True, deadline: float = 0.0, afresh: bool = True, warm: bool = False, calm: bool = False,
    ) -> Visit[T] | Failure:  # fmt: skip
        """Do a job on a page, under supervision; `quick` may know a shorter way to the same."""
        seconds = deadline or self._lab.options.deadline

        async def navigate(process: Process) -> Visit[T]:
            opened = process.warm_tab if warm else process.fresh_tab
            async with self._lab.published(self.build, case) as address, opened(case.environment) as tab:
                try:
                    async with asyncio.timeout(seconds):
                        await tab.load(address, afresh=afresh)
                        return Visit(await job(tab), tab.blocked)
                except TimeoutError:
                    if reason := await tab.excuse():
                        process.retire()
                        # What holds nothing that runs or leaves did not try to: something befell the browser.
                        raise (_Late if calm or case.inert else Untestable)(reason) from None
                    raise

        try:
            if quick is not None and (seen := await quick()) is not None:
                return seen
            async with (self._alone if case.focuses else self._crew).lease() as process:
                return await self._attempt(process, navigate, seconds + ASIDE_SECONDS)
        except (_Struck, _Hung, TabCrashed, BrowserGone, Untestable) as error:
            if isinstance(error, Untestable) and not isinstance(error, Disturbed):
                return Failure("untestable", str(error))
            return await self._verify(navigate, sure)

    async def _screen(self, case: Case, job: Look[T], deadline: float) -> Visit[T] | None:
        async def show(process: Process) -> Visit[T] | None:
            async with self._lab.published(self.build, case) as address, process.warm_tab(case.environment) as tab:
                png = await tab.screen(case, address)
                if png is None:
                    return None
                _check_size(self.build, case.environment, png)
                return Visit(await job(tab, Shot(png, "fast")))

        # Frames on demand are drawn at a scale of 1, whatever is asked for.
        crew = self._screening if case.environment.scale == 1 else self._crew
        try:
            return await self._short(crew, show, deadline or self._lab.options.deadline)
        except Unsupported:
            self._screening = self._crew
            return await self._screen(case, job, deadline)

    async def _short(self, crew: Crew, work: Callable[[Process], Awaitable[T]], seconds: float) -> T:
        """By a path that is shorter than a navigation, and may show something else: what befalls a browser on it from
        elsewhere must not decide which of the two it is."""
        blows = others = 0
        while True:
            try:
                async with crew.lease() as process:
                    return await self._attempt(process, work, seconds)
            except _Struck:
                blows += 1
                if blows == MOST_BLOWS:
                    raise
            except (_Hung, TabCrashed, BrowserGone, Disturbed):
                others += 1
                if others > 1:
                    raise

    async def warm(self, case: Case, job: Job[T], afresh: bool) -> T | None:
        environment = case.environment

        async def work(process: Process) -> T:
            async with process.fresh_tab(environment) if afresh else process.warm_tab(environment) as tab:
                return await job(tab)

        if not self._warms or environment.scale != 1:
            return None
        try:
            crew = self._alone if case.focuses and self._screening is self._crew else self._screening
            return await self._short(crew, work, self._lab.options.deadline)
        except Unsupported:
            self._warms = False
            return None
        except (Untestable, _Struck, _Hung, TabCrashed, BrowserGone):
            return None

    async def _attempt(self, process: Process, work: Callable[[Process], Awaitable[T]], seconds: float) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await work(process)
        except Unsupported:
            raise
        except (TimeoutError, DriverError) as error:
            hung = isinstance(error, TimeoutError)
            if hung or isinstance(error, BrowserGone):
                process.retire()
            if process.ended and not isinstance(error, Untestable):
                # Who was in it may have had no part in it: alone, it will show.
                raise Disturbed(process.ended) from None
            killed = isinstance(error, TabCrashed) and error.killed
            if blow := await process.struck(isinstance(error, BrowserGone)) or (str(error) if killed else ""):
                process.retire()
                kind: _Kind = "disturbed" if isinstance(error, Untestable) else "crashed"
                raise _Struck(blow, "hung" if hung else kind) from None
            if hung:
                self.health.hangs += 1
                raise _Hung("not done before the deadline") from None
            self.health.crashes += isinstance(error, TabCrashed)
            raise

    async def _verify(self, work: Callable[[Process], Awaitable[Visit[T]]], sure: bool) -> Visit[T] | Failure:
        """Alone, in fresh processes: does it repeat? What does not repeat every time is untestable, and who need not
        be sure waits for one hang only."""
        kinds: list[_Kind] = []
        blows: list[_Kind] = []
        reason = ""
        async with self._trial:
            while len(kinds) < REPEATS and len(blows) < MOST_BLOWS and (sure or "hung" not in kinds):
                berth = self._berth(recycle_after=1)
                try:
                    async with berth.lease() as process:
                        visit = await self._attempt(process, work, self._lab.options.deadline + ASIDE_SECONDS)
                    self.health.trouble += 1
                    return replace(visit, trouble=len(kinds) + len(blows) + 1)
                except Untestable as error:
                    if not isinstance(error, Disturbed) or isinstance(error, _Late):
                        return Failure("untestable", str(error), len(kinds) + len(blows) + 2)
                    kinds.append("disturbed")
                    reason = str(error)
                except _Struck as error:
                    blows.append(error.kind)
                    reason = str(error)
                except _Hung as error:
                    kinds.append("hung")
                    reason = str(error)
                except (TabCrashed, BrowserGone) as error:
                    kinds.append("crashed")
                    reason = str(error)
                finally:
                    await berth.close()
        # What is struck every time is so by itself: it takes too much memory, or sends what no page may send.
        seen = kinds or blows
        first, tries = seen[0], len(kinds) + len(blows)
        if len(set(seen)) > 1:
            return Failure("untestable", f"{tries} fresh processes tell different things: {', '.join(seen)}", tries)
        return Failure("untestable" if first == "disturbed" or len(seen) < REPEATS else first, reason, tries)

    @asynccontextmanager
    async def tab(self, environment: Environment, on_demand: bool) -> AsyncIterator[Tab]:
        async with AsyncExitStack() as stack:
            try:
                tab = await _fresh_tab(
                    self._screens if on_demand and environment.scale == 1 else self._crew, environment, stack
                )
            except Unsupported:
                tab = await _fresh_tab(self._crew, environment, stack)
            yield tab

    async def close(self) -> None:
        await asyncio.gather(*(crew.close() for crew in {self._crew, self._screens, self._alone}))


class Outside(Protocol):
    """A proxy to which browsers send whatever is not for the page server."""

    address: str
    # Whether the pages themselves come through it.
    carries: bool

    @property
    def stands_in(self) -> bool:
        """Whether it answers for servers of `https:` with a certificate of its own."""
        ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class Lab:
    """A pool over many builds at once, with the page server and the network block they share."""

    def __init__(
        self, builds: Iterable[Build], options: LabOptions | None = None, outside: Outside | None = None
    ) -> None:
        self.builds = tuple(dict.fromkeys(builds))
        self.options = options or LabOptions()
        self.closing = asyncio.Event()
        self.pages = PageServer(self.options.serve_host)
        self.outside = outside or Blocker()
        self.launcher: Launcher
        self._stations: dict[Build, Station] = {}
        # All that run.
        self.processes: set[Process] = set()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Lab:
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _open(self) -> None:
        marks = ExitStack()
        self._stack.push(marks.__exit__)
        for build in self.builds:
            shelf.use(build, marks)
        await self.pages.start()
        self._stack.push_async_callback(self.pages.close)
        await self.outside.start()
        self._stack.push_async_callback(self.outside.close)
        outside = self.outside
        self.launcher = Launcher(Network(self.pages.address, outside.address, outside.stands_in, outside.carries))
        share = max(1, (os.cpu_count() or 1) // max(1, len(self.builds)))
        for build in self.builds:
            # Two processes of several tabs fill two cores; more builds than cores share them.
            processes = self.options.processes or share
            if self.options.long and build.engine == "webkit":
                processes = max(processes, 2)
            tabs = min(self.options.tabs or TABS[build.engine], TABS[build.engine] if TABS[build.engine] == 1 else 64)
            station = Station(self, build, processes, tabs)
            self._stations[build] = station
            self._stack.push_async_callback(station.close)
        if self.options.memory:
            watching = asyncio.create_task(memory.watch(self.processes, self.options.memory, self.closing))
            self._stack.push_async_callback(_ended, watching)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        await self._stack.aclose()

    async def start(self, build: Build) -> None:
        """Start a build's first process now, so that one that cannot start is known at once."""
        await self._stations[build].start()

    async def shoot(self, build: Build, case: Case, path: Path = "navigation") -> Outcome:
        """One picture of one page in one build.

        `navigation` is a true load in a fresh tab. `fast` may show an inert page by content in a
        warm tab; what it shows is to be confirmed by navigation before anyone is told.
        Raises LaunchError when the build cannot be started at all.
        """
        return await self._stations[build].shoot(case, path)

    async def look(
        self, build: Build, case: Case, job: Look[T], path: Path = "navigation", *, sure: bool = True,
        deadline: float = 0.0,
    ) -> Visit[T] | Failure:  # fmt: skip
        """The same, and a job with the picture in the tab that shows the page.

        A page that crashes or hangs is tried again; if nobody needs to be `sure`, one more hang is enough.
        A `deadline` other than the lab's counts from when there is a tab for it.
        """
        return await self._stations[build].look(case, job, path, sure, deadline)

    async def visit(
        self, build: Build, case: Case, job: Job[T], *, sure: bool = True, afresh: bool = True, warm: bool = False,
        calm: bool = False,
    ) -> Visit[T] | Failure:  # fmt: skip
        """Load a page in a fresh tab and do a job there, with the same care as for a picture.

        The job may run more than once: again in fresh processes after a crash or a hang. The page is laid out
        `afresh` before the job, where that can make no difference. A `warm` tab, which may have shown other inert
        pages, is for what is to be confirmed anyway. A page is `calm` that is known not to leave, whatever it holds.
        """
        return await self._stations[build].visit(case, job, sure=sure, afresh=afresh, warm=warm, calm=calm)

    def shares_tabs(self, build: Build) -> bool:
        """Whether a new tab takes longer than most pages."""
        return TABS[build.engine] == 1

    async def warm(self, build: Build, case: Case, job: Job[T], *, afresh: bool = False) -> T | None:
        """A job for an inert page in a tab that shows such pages by content, one after the other, or `afresh` in one of
        its own. None where it cannot be done there, for whatever reason: a navigation will tell."""
        return await self._stations[build].warm(case, job, afresh)

    @asynccontextmanager
    async def tab(
        self, build: Build, environment: Environment | None = None, *, on_demand: bool = False
    ) -> AsyncIterator[Tab]:
        """A fresh tab to drive by hand. Its exceptions are the drivers'. With frames `on_demand`, where the build has
        them, a page that goes where it likes is looked at faster."""
        async with self._stations[build].tab(environment or Environment(), on_demand) as tab:
            yield tab

    @asynccontextmanager
    async def published(self, build: Build, case: Case) -> AsyncIterator[str]:
        """The address under which this build finds the case, for as long as the block lasts."""
        if build.engine == "command":
            with written(case) as file:
                yield str(file)
            return
        try:
            shared = build.engine in ("webkit", "webdriver")
            yield self.pages.add(case, remote=build.engine == "webdriver", forget=shared)
        finally:
            self.pages.remove(case)

    def health(self, build: Build) -> Health:
        station = self._stations.get(build)
        return station.health if station is not None else Health()


async def _fresh_tab(crew: Crew, environment: Environment, stack: AsyncExitStack) -> Tab:
    process = await stack.enter_async_context(crew.lease())
    return await stack.enter_async_context(process.fresh_tab(environment))


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def _check_size(build: Build, environment: Environment, png: bytes) -> None:
    """A picture of another size shows another page."""
    try:
        width, height = size(png)
    except ValueError:
        raise Untestable("the picture is not a PNG") from None
    wanted = (round(environment.width * environment.scale), round(environment.height * environment.scale))
    if build.engine != "command" and (width, height) != wanted:
        raise Untestable(f"the picture is {width}×{height}, not {wanted[0]}×{wanted[1]}")


__all__ = ["Job", "Lab", "LabOptions", "LaunchError", "Look", "Visit"]
