"""One hunt, whatever it hunts for: pages in order, verdicts out, findings looked into and kept.

Pages are judged several at a time and dealt with in their order, so that the same seed gives the same findings
whatever the machine. What is dealt with is on disk: a run that was killed goes on behind it.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import signal
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from ..browsers.lab import Lab
from ..nouns import Build, Case, MoireError, UsageError, Verdict
from ..pixels import decode, encode, thumbnail
from ..store import Cut, Finding, PageRow, Run, Store, Trial, case_of, earlier, upkeep
from ..store.database import NoRoom
from ..triage.bisect import Visits
from ..triage.reduce import Step, View, Witness
from . import room
from .finding import WORTH, Enough, Judged, Prospect, confirmed
from .guide import PAGES_A_LESSON

T = TypeVar("T")

# Pages without a finding are written together, so many or after so many seconds.
ROWS, SECONDS = 64, 2.0
# Pages of which small pictures are kept.
TRIALS = 24
# The signals that let a run wait and go on; SIGTERM ends it.
PAUSE, GO_ON = signal.SIGUSR1, signal.SIGUSR2
# A store is weighed whenever so large a part of what it may weigh has been added.
WEIGHED_AFTER = 0.05
# What is taken away makes room for some time.
LEFT = 0.9


class Hunt(Protocol):
    """What one kind of hunt does its own way."""

    @property
    def builds(self) -> Sequence[Build]: ...

    @property
    def renews(self) -> bool:
        """Whether a finding is learnt from at once: pages that were made ahead of it are then made anew."""
        ...

    def more(self, number: int) -> bool:
        """Whether there is a page of this number."""
        ...

    def case(self, number: int) -> Case:
        """A page by its number."""
        ...

    async def judge(self, lab: Lab, case: Case) -> list[Judged]: ...

    async def look_into(self, lab: Lab, judged: Judged, enough: Enough, witness: Witness) -> Prospect:
        """Reduce it and name its cause, unless there is enough of it; `witness` follows how its page gets smaller."""
        ...

    def place(self, prospect: Prospect, number: int, known: Sequence[Finding]) -> Finding:
        """Tell it from those that are known, in this run and earlier ones."""
        ...

    def learn(self, known: Sequence[Finding], number: int) -> None:
        """From all that was found before a page, for the pages from there on."""
        ...

    def settle(self, known: Sequence[Finding], told: Visits) -> AsyncIterator[Finding]:
        """At the end of a run, findings with what can only be told of them all together."""
        ...


async def nothing_more() -> AsyncIterator[Finding]:
    """For hunts that tell all of a finding when they look into it."""
    none: Sequence[Finding] = ()
    for finding in none:
        yield finding


class Workers(Protocol):
    """Those who do the work: the browsers of this machine, or of many."""

    @property
    def ahead(self) -> int:
        """Pages under way at once: enough to keep everybody busy while results wait for their turn."""
        ...

    @property
    def abreast(self) -> int:
        """Pages that fail and are looked into at once. With more than one, some are looked into before it is known
        whether there are enough of their kind."""
        ...

    async def judge(self, case: Case) -> list[Judged]: ...

    async def look_into(self, judged: Judged, enough: Enough, witness: Witness) -> Prospect: ...

    def health(self) -> dict[str, dict[str, int]]:
        """How each build's processes do."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """0 is without end. `findings` are kinds of them, `disk` the bytes of the whole store."""

    pages: int = 0
    seconds: float = 0.0
    findings: int = 0
    disk: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told of every page that is dealt with, and of every finding."""

    page: Callable[[int, Sequence[Judged]], None] = lambda number, judged: None
    looking: Callable[[Judged], None] = lambda judged: None
    finding: Callable[[Finding], None] = lambda finding: None
    room: Callable[[str], None] = lambda words: None
    visits: Visits = field(default_factory=Visits)


@dataclass(frozen=True, slots=True)
class Switch:
    """How a run is told to stop, or to wait: nothing new is begun while it is not `going`."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    going: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.going.set()


async def follow(
    store: Store, run: Run, hunt: Hunt, workers: Workers, budget: Budget, switch: Switch, told: Told
) -> bool:  # fmt: skip
    """Hunt until the budget is used up or somebody says stop; whether it is used up. Without room on the disk, wait for
    room, and go on as after any other break."""
    while True:
        try:
            return await _Following(store, store.run(run.name), hunt, workers, budget, switch, told).run()
        except (MoireError, OSError) as error:
            # What fails for want of room fails in many ways.
            lack = error if isinstance(error, NoRoom) else room.lack(store.folder)
            if lack is None:
                raise
            told.room(f"{lack.sentence} Waiting for room.")
            with suppress(NoRoom):
                store.going(run, "paused")
            # Others may make it.
            with store.claim.aside():
                there = await room.again(store.folder, switch.stop)
            if not there:
                return False
            told.room("There is room: going on.")
            with suppress(NoRoom):
                store.going(run, "running")


class _Following:
    def __init__(
        self, store: Store, run: Run, hunt: Hunt, workers: Workers, budget: Budget, switch: Switch, told: Told
    ) -> None:
        self._store = store
        self._run = run
        self._hunt = hunt
        self._workers = workers
        self._budget = budget
        self._stop = switch.stop
        self._going = switch.going
        self._told = told
        self._under_way: deque[tuple[int, asyncio.Task[list[Judged]]]] = deque()
        # Pages that fail and are looked into before their turn.
        self._ahead: dict[tuple[int, str], asyncio.Task[Prospect]] = {}
        self._abreast = asyncio.Semaphore(0)
        self._admitted = 0
        self._rows: list[PageRow] = []
        self._begun = self._written = time.monotonic()
        self._weighed: int | None = None
        self._shown = 0.0
        self._slots = itertools.cycle(range(TRIALS))
        self._full = False
        # Before the run was broken off.
        self._spent = run.seconds
        self._next = self._dealt = store.next_page(run)
        self._verdicts = Counter[str]()
        for (_, verdict), count in store.verdicts(run).items():
            self._verdicts[verdict] += count
        every = store.findings(run)
        self._known = [one for one in every if one.number < self._next]
        # Found before the run was broken off, and not looked into yet.
        self._pending = {one.number for one in every if one.state == "confirmed"}
        self._found = {(one.number, one.build): one for one in every if one.number >= self._next}
        before = earlier.noted(store, run)
        self._earlier = [one for _, one in before]
        self._first_seen = {one.signature: name for name, one in reversed(before)}

    async def run(self) -> bool:
        behind = 0 if self._hunt.renews else self._next % PAGES_A_LESSON
        self._hunt.learn(self._known, self._next - behind)
        try:
            while not self._over() or self._pending:
                if not self._going.is_set():
                    await self._pause()
                self._fill()
                if not self._under_way:
                    return not self._stop.is_set() and await self._settle()
                number, task = self._under_way[0]
                if not await self._unless_stopped(task) or not await self._deal_with(number, task.result()):
                    return False
                self._under_way.popleft()
            return not self._stop.is_set() and await self._settle()
        finally:
            await _end([*(task for _, task in self._under_way), *self._ahead.values()])
            self._write()

    async def _unless_stopped(self, task: asyncio.Task[T]) -> bool:
        """Whether it is done before anyone says stop."""
        stop = asyncio.create_task(self._stop.wait())
        try:
            while not (await asyncio.wait([task, stop], timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED))[0]:
                # For those who watch, time goes on.
                self._write()
        finally:
            stop.cancel()
        return task.done()

    async def _pause(self) -> None:
        """Until somebody says to go on, or to stop; the time counts for nothing."""
        self._write()
        self._store.going(self._run, "paused")
        begun = time.monotonic()
        waiting = [asyncio.create_task(event.wait()) for event in (self._going, self._stop)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(waiting)
        self._store.going(self._run, "running")
        self._begun += time.monotonic() - begun
        self._written = time.monotonic()

    async def _settle(self) -> bool:
        """Whether it was done before anyone said stop; what is settled by then stays so."""
        self._write()

        async def all_of_them() -> None:
            async for finding in self._hunt.settle(self._known, self._told.visits):
                self._store.keep(self._run, finding)
                self._told.finding(finding)

        settling = asyncio.create_task(all_of_them())
        try:
            if not await self._unless_stopped(settling):
                return False
        finally:
            settling.cancel()
            await asyncio.wait([settling])
        settling.result()
        return True

    def _over(self) -> bool:
        spent = self._spent + time.monotonic() - self._begun
        late = bool(self._budget.seconds and spent >= self._budget.seconds)
        return self._stop.is_set() or late or self._full or self._found_enough()

    def _found_enough(self) -> bool:
        return bool(self._budget.findings and len({one.found_as for one in self._known}) >= self._budget.findings)

    def _fill(self) -> None:
        # Workers may come at any time.
        for _ in range(self._workers.abreast - self._admitted):
            self._abreast.release()
            self._admitted += 1
        last = self._budget.pages or math.inf
        while len(self._under_way) < self._workers.ahead and self._next < last:
            if self._over() and self._next > max(self._pending, default=-1):
                return
            if not self._hunt.more(self._next):
                return
            if not self._hunt.renews and self._next and self._next % PAGES_A_LESSON == 0:
                if self._under_way:
                    return
                self._hunt.learn(self._known, self._next)
            judging = self._judge(self._next, self._hunt.case(self._next))
            self._under_way.append((self._next, asyncio.create_task(judging)))
            self._next += 1

    async def _judge(self, number: int, case: Case) -> list[Judged]:
        judged = await self._workers.judge(case)
        # A hunt that learns at once may never get to this page.
        if self._workers.abreast > 1 and not self._hunt.renews:
            for one in judged:
                if one.verdict.kind in WORTH:
                    self._ahead[number, one.build] = asyncio.create_task(self._look_into(number, one))
        return judged

    async def _look_into(self, number: int, one: Judged) -> Prospect:
        async with self._abreast:
            enough = Enough.of([*self._earlier, *self._known])
            return await self._workers.look_into(one, enough, self._witness(number, one.build))

    async def _deal_with(self, number: int, judged: list[Judged]) -> bool:
        """Whether it was done before anyone said stop: then a finding waits as it is for the run to go on."""
        for one in (self._as_found(number, one) for one in judged):
            if one.verdict.kind in WORTH:
                # What goes wrong on a disk that is full is nobody's fault.
                room.check(self._store.folder)
                self._write()
                self._store.keep(self._run, confirmed(self._store.blobs, number, one))
                self._told.looking(one)
                if self._hunt.renews:
                    await self._forget_ahead(number)
                begun = self._ahead.pop((number, one.build), None)
                looking = begun or asyncio.create_task(self._look_into(number, one))
                try:
                    if not await self._unless_stopped(looking):
                        return False
                finally:
                    await _end([looking])
                finding = self._placed(looking.result(), number)
                self._store.keep(self._run, finding)
                self._known.append(finding)
                self._pending.discard(number)
                self._told.finding(finding)
                if self._hunt.renews:
                    self._hunt.learn(self._known, number + 1)
        self._dealt = number + 1
        self._verdicts.update(one.verdict.kind for one in judged)
        self._rows += [PageRow(number, one.build, one.verdict.kind, one.verdict.reason) for one in judged]
        self._told.page(number, judged)
        self._show(number, judged)
        if len(self._rows) >= ROWS or time.monotonic() - self._written > SECONDS:
            self._write()
            room.check(self._store.folder)
        self._keep_small()
        return True

    def _show(self, number: int, judged: Sequence[Judged]) -> None:
        """Small pictures of a page, now and then, for people who watch."""
        now = time.monotonic()
        if now - self._shown < SECONDS or not any(one.pictures for one in judged):
            return
        self._shown = now
        for one in judged:
            small = {name: encode(thumbnail(decode(png))) for name, png in one.pictures}
            if small:
                self._store.tried(self._run, Trial(next(self._slots), number, one.build, one.verdict.kind, small))

    def _placed(self, prospect: Prospect, number: int) -> Finding:
        finding = self._hunt.place(prospect, number, [*self._earlier, *self._known])
        known_from = self._first_seen.get(finding.found_as)
        return replace(finding, details={**finding.details, "known_from": known_from}) if known_from else finding

    def _keep_small(self) -> None:
        """The store within its share of the disk: what nobody will miss goes; if that is not enough, the run ends."""
        most, written = self._budget.disk, self._store.blobs.written
        if not most or (self._weighed is not None and written - self._weighed < most * WEIGHED_AFTER):
            return
        self._weighed = written
        if upkeep.size(self._store) <= most:
            return
        # While another run adds to the store, nothing can be taken away.
        with suppress(UsageError):
            upkeep.collect(self._store, round(most * LEFT))
        if upkeep.size(self._store) > most:
            self._full = True
            self._told.room("The store is as large as it may be.")

    def _witness(self, number: int, build: str) -> Witness:
        """Keeps how a page gets smaller, for people, and all answers: what is broken off goes on from there."""
        steps = itertools.count()
        fresh: dict[str, bool] = {}
        written = time.monotonic()

        def told(digest: str, answer: bool) -> None:
            nonlocal written
            fresh[digest] = answer
            if time.monotonic() - written > SECONDS:
                self._store.answered(self._run, number, build, fresh)
                fresh.clear()
                written = time.monotonic()

        def shown(step: Step, view: View) -> None:
            page = step.text.encode(step.coding)
            blobs = self._store.blobs
            small = {name: blobs.add(encode(thumbnail(decode(png)))) for name, png in view.pictures}
            self._store.cut(self._run, number, build, next(steps), Cut(step.name, len(page), blobs.add(page), small))

        return Witness(shown, told, self._store.answers(self._run, number, build))

    async def _forget_ahead(self, number: int) -> None:
        """What was made after a page is no longer wanted; the page itself stays where it is."""
        await _end([task for other, task in self._under_way if other > number])
        self._under_way = deque((other, task) for other, task in self._under_way if other <= number)
        self._next = number + 1

    def _as_found(self, number: int, one: Judged) -> Judged:
        """What was confirmed before the run was broken off stays so, whatever is seen now."""
        before = self._found.get((number, one.build))
        if before is None or one.verdict.kind in WORTH or before.kind not in WORTH:
            return one
        details = before.details
        pictures = [(name, self._store.blobs.read(blob)) for name, blob in details.get("pictures", {}).items()]
        case = case_of(self._store.blobs, before) if "page" in details else one.case
        return Judged(case, one.build, Verdict("different", details["reason"], details["figures"]), pictures)

    def _write(self) -> None:
        now = time.monotonic()
        self._store.done(self._run, self._rows, now - self._written, self._facts())
        self._rows, self._written = [], now

    def _facts(self) -> dict[str, object]:
        """How things stand."""
        return {
            "pages": self._dealt, "findings": len(self._known),
            "signatures": len({one.signature for one in self._known}), "verdicts": dict(self._verdicts),
            "health": self._workers.health(),
        }  # fmt: skip


async def _end(tasks: Sequence[asyncio.Task[T]]) -> None:
    """Whatever they came to, or would have."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
