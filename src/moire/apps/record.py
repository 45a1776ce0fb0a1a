"""Sessions of a web application, written down while they happen."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from ..browsers.drivers.base import DriverError
from ..nouns import Build, Environment, UsageError
from ..serve.archive import Archive
from .session import Left, Scripts, Session, session
from .trace import Event, Trace, event

# How long an application may take to come to rest after what a user does, in seconds.
PATIENCE = 2.0
# Between two looks at what a person has done.
LOOK_SECONDS = 1.0


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

    async def rest(self) -> None:
        """Until nothing happens by itself any more, or it has been given time enough."""
        while True:
            pages = self.session.scripts.pages
            try:
                await self.session.ask(f"quiet({self.patience * 1000:.0f})")
                self._keep(await self.session.ask("take()"))
                return
            except Left:
                await self.session.arrive(pages + 1)
                self._hear()

    async def until_stopped(self) -> None:
        """A person's own session: until Ctrl-C, or until the window is closed."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, stop.set)
        waiting = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                pages = self.session.scripts.pages
                another = asyncio.create_task(self.session.another(pages))
                await asyncio.wait([waiting, another], timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                another.cancel()
                try:
                    self._hear()
                    self._keep(await self.session.ask("take()"))
                except Left:
                    await self.session.arrive(self.session.scripts.pages)
                except DriverError:
                    return
        finally:
            waiting.cancel()
            loop.remove_signal_handler(signal.SIGINT)

    async def act(self, action: Mapping[str, Any]) -> bool:
        """As a user would; whether it could be done."""
        done = True
        pages = self.session.scripts.pages
        try:
            done = bool(await self.session.ask(f"perform({json.dumps(action)})"))
        except Left:
            await self.session.arrive(pages + 1)
            self._hear()
        await self.rest()
        return done

    def _hear(self) -> None:
        for said in self.session.scripts.last_words:
            self._keep(said)
        self.session.scripts.last_words.clear()

    def _keep(self, said: Mapping[str, Any]) -> None:
        self.events += [event(row) for row in said["events"]]
        self.locals |= said["locals"]

    @property
    def trace(self) -> Trace:
        self._hear()
        # What a page said when it was left may come after what the next one said.
        order = sorted(self.events, key=lambda one: tuple(map(int, one.id.split("."))))
        return Trace(
            self.url, self.origins, self.build.name, self.environment, tuple(order), self.locals,
            tuple(self.archive.exchanges),
        )  # fmt: skip


@asynccontextmanager
async def recording(
    build: Build, url: str, origins: tuple[str, ...], environment: Environment, patience: float = PATIENCE, *,
    person: bool = False,
) -> AsyncIterator[Recording]:  # fmt: skip
    """Begins at the address, at rest."""
    archive = Archive()
    async with session(build, environment, origins, Scripts(True, person), archive, closed=False) as own:
        found = Recording(url, origins, build, environment, own, archive, patience)
        try:
            await own.open(url)
        except (DriverError, TimeoutError) as error:
            why = own.proxy.unreached or str(error) or "no answer in time"
            raise UsageError(f"{url} cannot be opened: {why}.", "Start the application first.") from None
        if own.proxy.unreached:
            raise UsageError(f"{url} cannot be reached: {own.proxy.unreached}.", "Start the application first.")
        await found.rest()
        yield found
