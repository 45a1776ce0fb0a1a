"""Sessions of a web application, written down while they happen."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ..browsers.drivers.base import DriverError
from ..nouns import Build, Environment, HarnessError, UsageError
from ..serve.archive import Archive
from .session import ANSWER_SECONDS, PAGE_SECONDS, Astray, Left, Scripts, Session, session
from .trace import Event, Trace, checked, event

# How long an application may take to come to rest after what a user does, in seconds.
PATIENCE = 2.0
# Between two looks at what a person has done.
LOOK_SECONDS = 1.0
# A page that leads to the next by itself, again and again, is followed so often.
MOST_RESTS = 30


@dataclass
class Recording:
    """A session that goes on, and all of it so far."""

    url: str
    origins: tuple[str, ...]
    build: Build
    environment: Environment
    session: Session
    archive: Archive
    patience: float
    events: list[Event] = field(default_factory=list)
    locals: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # Whether it has left the application.
    astray: bool = False
    # Why it cannot go on, if it cannot: all until then is known.
    stuck: str = ""

    async def rest(self) -> None:
        """Until nothing happens by itself any more, or it has been given time enough. What it has asked for is waited
        for, and for a page that is on its way as long as it takes."""
        proxy = self.session.proxy
        end = time.monotonic() + self.patience
        for _ in range(MOST_RESTS):
            pages = self.session.arrived
            left = max(0.0, end - time.monotonic())
            try:
                await self.session.ask(f"quiet({left * 1000:.0f})", left + ANSWER_SECONDS)
                if proxy.leads:
                    await _within(PAGE_SECONDS, proxy.led(), self.session.another(pages))
                elif proxy.busy and left:
                    await _within(left, proxy.rest(), self.session.another(pages))
                else:
                    self._keep(await self.session.taken())
                    return
            except Left:
                await self._follow()
                if self.astray:
                    return
                end = time.monotonic() + self.patience
            except Astray:
                self._stray()
                return

    async def until_stopped(self) -> None:
        """A person's own session: until Ctrl-C, or until the window is closed."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, stop.set)
        waiting = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                another = asyncio.create_task(self.session.another(self.session.arrived))
                await asyncio.wait([waiting, another], timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                another.cancel()
                try:
                    self._hear()
                    self._keep(await self.session.taken())
                except Left:
                    with suppress(DriverError, TimeoutError):
                        await self._follow()
                except Astray:
                    # A person may come back.
                    continue
                except (DriverError, TimeoutError):
                    return
        finally:
            waiting.cancel()
            loop.remove_signal_handler(signal.SIGINT)

    async def act(self, action: Mapping[str, Any]) -> bool:
        """As a user would; whether it could be done."""
        done = True

        async def work() -> None:
            nonlocal done
            try:
                done = bool(await self.session.ask(f"perform({json.dumps(action)})"))
            except Left:
                await self._follow()
            await self.rest()

        return await self._guarded(work()) and done

    async def settle(self) -> None:
        """At rest, or over."""
        await self._guarded(self.rest())

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> bool:
        """Whether it was done: what ends the session costs nothing of what is known."""
        try:
            await work
            return True
        except Astray:
            self._stray()
        except (DriverError, TimeoutError) as error:
            self.stuck = str(error) or "no answer in time"
        return False

    @property
    def over(self) -> bool:
        """Whether there is nothing more to be done in it."""
        return self.astray or bool(self.stuck)

    async def _follow(self) -> None:
        arrived = await self.session.arrive(self.session.arrived + 1)
        self._hear()
        # One that is never ready is no page of ours.
        self.astray = self.astray or not arrived

    def _stray(self) -> None:
        """There is nothing more to be seen where no script of ours is."""
        self._hear()
        self.astray = True

    def _hear(self) -> None:
        for said in self.session.scripts.last_words:
            self._keep(said)
        self.session.scripts.last_words.clear()

    def _keep(self, said: Mapping[str, Any]) -> None:
        """What a page says may be anything: what makes no sense was not said by our script."""
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            events, own = [event(row) for row in said["events"]], checked(said["locals"])
            self.events += events
            self.locals |= own

    @property
    def trace(self) -> Trace:
        self._hear()
        # What a page said when it was left may come after what the next one said.
        order = sorted(self.events, key=lambda one: tuple(map(int, one.id.split("."))))
        return Trace(
            self.url, self.origins, self.build.name, self.environment, tuple(order), self.locals,
            tuple(self.archive.exchanges), max(1, self.session.arrived), self.astray,
        )  # fmt: skip


@asynccontextmanager
async def recording(
    build: Build, url: str, origins: tuple[str, ...], environment: Environment, patience: float = PATIENCE, *,
    person: bool = False, read_only: bool = False,
) -> AsyncIterator[Recording]:  # fmt: skip
    """Begins at the address, at rest."""
    archive = Archive()
    scripts = Scripts(True, person)
    async with session(build, environment, origins, scripts, archive, closed=False, read_only=read_only) as own:
        found = Recording(url, origins, build, environment, own, archive, patience)
        try:
            await own.open(url)
        except (DriverError, TimeoutError) as error:
            why = own.proxy.unreached or str(error) or "no answer in time"
            raise UsageError(f"{url} cannot be opened: {why}.", "Start the application first.") from None
        # Frames of other origins are refused, too.
        if own.proxy.kept_from and not scripts.pages:
            raise UsageError(
                f"{url} leads a browser to {own.proxy.kept_from}, which is not reached.",
                "Give the address as browsers write it, or name all origins that the application needs, by --origin.",
            )
        if own.proxy.unreached:
            raise UsageError(f"{url} cannot be reached: {own.proxy.unreached}.", "Start the application first.")
        try:
            await found.rest()
            if found.astray:
                raise UsageError(f"{url} leads elsewhere.", "Name all origins that the application needs, by --origin.")
            yield found
        except (DriverError, TimeoutError) as error:
            why = str(error) or "no answer in time"
            raise HarnessError(f"{build.name} does not go on: {why}.", "Try again, or record in another.") from None


async def _within(seconds: float, *works: Coroutine[Any, Any, None]) -> None:
    """Until one of them is done, or the time is over."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
