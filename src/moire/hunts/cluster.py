"""The work of a hunt, done by many machines: workers of a Dask cluster, each with browsers of its own.

The process that hunts gives pages out and takes results back; it alone writes the store. What a worker says of a page
does not depend on the worker, so that the same seed gives the same findings whoever does the work.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import secrets
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, WorkerPlugin, get_worker
from distributed.client import FutureCancelledError

from .. import __version__
from ..browsers import names, shelf
from ..browsers.lab import Lab, LabOptions
from ..browsers.processes import MARKER, discard, scratch, warden
from ..nouns import Build, Case, HarnessError, LaunchError, MoireError, UnknownBuild, UsageError
from ..pages.beside import needed
from ..triage.reduce import Step, View, Witness
from . import begin, room
from .finding import WORTH, Enough, Judged, Prospect
from .here import Here
from .run import SECONDS

LOCAL = re.compile(r"local:([1-9]\d?)")
# Of one worker of this machine at once: as many as keep its tabs busy while some pages wait for others.
PAGES_A_WORKER = 8
# A worker of this machine that says nothing for so long is taken for gone.
SILENCE = "20s"
# Dask gives a task up when so many workers have died of it, and we when that has happened so often.
DEATHS, TRIES = 5, 3
# Seconds between two looks at who is there, that a cluster may take to answer, and a worker to end its browsers.
LOOK_SECONDS, ANSWER_SECONDS, END_SECONDS = 2.0, 20.0, 10.0
# So often one looks for workers, when those that are left can do nothing.
LOOKS_FOR_OTHERS = 5
# A worker that nobody has given anything to for so long ends its browsers.
IDLE_SECONDS = 600.0


class CannotWork(Exception):
    """One worker cannot do the work, and why; others may, and what is `passing` it may do itself another time."""

    def __init__(self, worker: str, sentence: str, passing: bool) -> None:
        super().__init__(worker, sentence, passing)
        self.worker = worker
        self.sentence = sentence
        self.passing = passing


@dataclass(frozen=True, slots=True)
class Errand:
    """All that a worker must know of a run."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    options: LabOptions
    # Whether workers are children of the process that hunts.
    local: bool = False
    moire: str = __version__


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker has to say, who it is, and how its browsers do."""

    value: Any
    worker: str
    health: Mapping[str, Mapping[str, int]]


class Hands(WorkerPlugin):
    """A worker's own: a lab in a thread, since Dask needs the main one."""

    def __init__(self, errand: Errand) -> None:
        self._errand = errand

    def setup(self, worker: Any) -> None:
        self._worker: str = worker.address
        self._opening: asyncio.Task[Here] | None = None
        self._busy = 0
        self._shown = -math.inf
        self._last = time.monotonic()
        if self._errand.local:
            # Ctrl-C is for the process that hunts: it ends in order, and its workers with it.
            with suppress(ValueError):
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="moire", daemon=True).start()

    async def teardown(self, worker: Any) -> None:
        ending = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        # What is not done by then, the warden does.
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(ending), END_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task(), self._opening}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._close()

    async def _close(self) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            with suppress(MoireError):
                await (await opening).lab.__aexit__(None, None, None)

    async def _close_if_idle(self) -> None:
        """The process that hunts may be gone for good; should it be back, browsers are started again."""
        if not self._busy and time.monotonic() - self._last >= IDLE_SECONDS:
            await self._close()

    def do(self, work: Callable[[Here], Awaitable[object]]) -> Done:
        return asyncio.run_coroutine_threadsafe(self._do(work), self._loop).result()

    async def _do(self, work: Callable[[Here], Awaitable[object]]) -> Done:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        self._busy += 1
        try:
            here = await asyncio.shield(self._opening)
            return Done(await work(here), self._worker, here.health())
        except (MoireError, OSError) as error:
            who = f"The worker on {socket.gethostname()} (process {os.getpid()})"
            if (lack := room.lack()) is not None:
                raise CannotWork(self._worker, f"{who} waits: {lack.sentence}", True) from None
            raise CannotWork(self._worker, f"{who} is left out: {error}", False) from None
        finally:
            self._busy -= 1
            self._last = time.monotonic()
            asyncio.get_running_loop().call_later(IDLE_SECONDS + 1, self._look_whether_idle)

    def _look_whether_idle(self) -> None:
        self._closing = asyncio.ensure_future(self._close_if_idle())

    def shows(self) -> bool:
        """Whether it is time for a page's pictures to be seen."""
        now = time.monotonic()
        due = now - self._shown >= SECONDS
        if due:
            self._shown = now
        return due

    async def _open(self) -> Here:
        errand = self._errand
        if errand.moire != __version__:
            raise UsageError(f"it has Moire {__version__}, and not {errand.moire}.", "Install that there.")
        builds = await asyncio.to_thread(_ready, errand.settings)
        lab = await Lab(builds, errand.options).__aenter__()
        try:
            for build in builds:
                await lab.start(build)
        except BaseException:
            await lab.__aexit__(None, None, None)
            raise
        return Here(lab, begin.judging(errand.kind, errand.settings, builds))


def _ready(settings: Mapping[str, Any]) -> list[Build]:
    """The builds of a run on a worker, fetched if they are not there, and the very same as elsewhere."""
    builds = []
    for name, called in begin.exact(settings):
        try:
            build = names.resolve(name)
        except UnknownBuild:
            shelf.install(name)
            build = names.resolve(name)
        builds.append(build.named(called))
    # Pages of the user's own are where the hunt is.
    begin.check({**settings, "own": []}, builds)
    return builds


def _judge(name: str, case: Case) -> Done:
    async def work(here: Here) -> list[Judged]:
        judged = await here.judge(case)
        # Pictures of what nobody looks into need not travel, but for some now and then, for people who watch.
        if hands.shows():
            return judged
        return [one if one.verdict.kind in WORTH else replace(one, pictures=()) for one in judged]

    hands = _hands(name)
    return hands.do(work)


def _look_into(name: str, judged: Judged, enough: Enough, known: Mapping[str, bool]) -> Done:
    steps: list[tuple[Step, View]] = []
    witness = Witness(lambda step, view: steps.append((step, view)), known=known)

    async def work(here: Here) -> tuple[Prospect, list[tuple[Step, View]]]:
        return await here.look_into(judged, enough, witness), steps

    return _hands(name).do(work)


def _hands(name: str) -> Hands:
    found = get_worker().plugins[name]
    assert isinstance(found, Hands)
    return found


class Cluster:
    """Those who do the work of one run."""

    def __init__(self, client: Client, name: str, told: Callable[[str], None], *, shares_files: bool) -> None:
        self._client = client
        self._name = name
        self._told = told
        self._shares_files = shares_files
        self._threads: Mapping[str, int] = {}
        self._looked = -math.inf
        self._left_out: set[str] = set()
        self._said: set[str] = set()
        self._health: dict[str, Mapping[str, Mapping[str, int]]] = {}

    @property
    def workers(self) -> int:
        return len(self._threads)

    @property
    def ahead(self) -> int:
        return 2 * max(PAGES_A_WORKER, sum(self._threads.values()))

    @property
    def abreast(self) -> int:
        return max(2, self.workers)

    async def judge(self, case: Case) -> list[Judged]:
        if not self._shares_files:
            case = replace(case, root=None, resources={**case.resources, **needed(case)})
        judged: list[Judged] = (await self._do(_judge, case)).value
        return judged

    async def look_into(self, judged: Judged, enough: Enough, witness: Witness) -> Prospect:
        prospect: Prospect
        prospect, steps = (await self._do(_look_into, judged, enough, dict(witness.known), priority=1)).value
        for step, view in steps:
            witness.shown(step, view)
        return prospect

    def health(self) -> dict[str, dict[str, int]]:
        whole: dict[str, Counter[str]] = {}
        for builds in self._health.values():
            for build, counts in builds.items():
                whole.setdefault(build, Counter()).update(counts)
        return {build: dict(counts) for build, counts in whole.items()}

    async def look_round(self) -> None:
        """Who is there now."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            there: Mapping[str, int] = await self._client.nthreads()
            self._threads = {worker: threads for worker, threads in there.items() if worker not in self._left_out}

    async def _do(self, work: Callable[..., Done], *given: object, priority: int = 0) -> Done:
        deaths = 0
        while True:
            future: Future[Done] | None = None
            try:
                only = await self._able()
                # Those that were left out refuse once more: better than to wait for one that is gone.
                future = self._client.submit(
                    work, self._name, *given, pure=False, priority=priority, workers=only,
                    allow_other_workers=only is not None,
                )  # fmt: skip
                done: Done = await future
            except CannotWork as error:
                if error.worker not in self._left_out and error.sentence not in self._said:
                    self._said.add(error.sentence)
                    self._told(error.sentence)
                if error.passing or error.worker in self._left_out:
                    # There is no event for what is to pass.
                    await asyncio.sleep(LOOK_SECONDS)
                else:
                    self._left_out.add(error.worker)
                self._looked = -math.inf
            except KilledWorker:
                deaths += 1
                if deaths == TRIES:
                    raise HarnessError("Worker after worker dies.", "Look at what they say, then resume.") from None
            except (FutureCancelledError, OSError, RuntimeError) as error:
                if isinstance(error, RuntimeError) and self._client.status == "running":
                    # A mistake of ours on a worker: not the cluster's.
                    raise
                raise HarnessError("The cluster is gone.", "Start it again, then resume the run.") from None
            else:
                self._health[done.worker] = done.health
                return done
            finally:
                if future is not None:
                    future.release()

    async def _able(self) -> list[str] | None:
        """Those that were not left out; nobody, if nobody was. One that died may be back in a moment."""
        for _ in range(LOOKS_FOR_OTHERS):
            await self.look_round()
            if not self._left_out:
                return None
            if self._threads:
                return [*self._threads]
            self._looked = -math.inf
            # Nobody tells of a worker that comes.
            await asyncio.sleep(LOOK_SECONDS)
        raise LaunchError("No worker of the cluster can do the work.", "Start others, then resume the run.")


@asynccontextmanager
async def opened(address: str, errand: Errand, told: Callable[[str], None]) -> AsyncIterator[Cluster]:
    """A cluster by the address of its scheduler, or `local:N`: so many workers of this machine."""
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Several hunts may share a cluster, and have runs of one name.
    errand = replace(errand, name=f"moire-{errand.name}-{secrets.token_hex(4)}")
    local = LOCAL.fullmatch(address)
    if local is None and address.startswith("local:"):
        raise UsageError(f"There is no cluster at {address}.", "Write for example local:2.")
    async with AsyncExitStack() as stack:
        if local is not None:
            client = await stack.enter_async_context(_local(int(local[1])))
            errand = replace(errand, options=_shared(errand, int(local[1])), local=True)
        else:
            client = await stack.enter_async_context(_remote(address))
        try:
            await client.register_plugin(Hands(errand), name=errand.name)
        except Exception as error:
            words = f"A worker of the cluster cannot have anything to do with Moire: {error}."
            raise UsageError(words, f"Install Moire {__version__} there.") from None
        stack.push_async_callback(_let_go, client, errand.name)
        cluster = Cluster(client, errand.name, told, shares_files=local is not None)
        await cluster.look_round()
        if not cluster.workers:
            told("The cluster has no workers: waiting for the first.")
        yield cluster


async def _let_go(client: Client, name: str) -> None:
    """What goes wrong now is no part of the hunt."""
    with suppress(Exception):
        await asyncio.wait_for(client.unregister_worker_plugin(name), END_SECONDS + ANSWER_SECONDS)


def _shared(errand: Errand, workers: int) -> LabOptions:
    """Workers of one machine share its cores and its memory."""
    share = (os.cpu_count() or 1) // (len(errand.settings["builds"]) * workers)
    return replace(errand.options, processes=max(1, share), memory=errand.options.memory // workers)


@asynccontextmanager
async def _local(workers: int) -> AsyncIterator[Client]:
    folder = scratch("dask")
    settings = {
        "distributed.scheduler.worker-ttl": SILENCE, "distributed.scheduler.allowed-failures": DEATHS,
        # Should this process be killed while one of them is stopped, it is ended all the same.
        "distributed.nanny.pre-spawn-environ": {MARKER: warden().marker},
        "distributed.worker.profile.enabled": False, "temporary-directory": str(folder),
    }  # fmt: skip
    with dask.config.set(settings):
        # Whoever can reach a scheduler can have anything done: on loopback, and with certificates that nobody else has.
        async with (
            LocalCluster(
                n_workers=workers, threads_per_worker=PAGES_A_WORKER, host="127.0.0.1", security=True,
                dashboard_address=None, memory_limit=0, asynchronous=True, silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, asynchronous=True) as client,
        ):  # fmt: skip
            yield client
    discard(folder)


@asynccontextmanager
async def _remote(address: str) -> AsyncIterator[Client]:
    client = Client(address, asynchronous=True, timeout=ANSWER_SECONDS)
    try:
        await client
    except (OSError, ValueError, TypeError) as error:
        # One that nobody closed tells of it on its own.
        await client.close()
        words = str(error).strip().rstrip(".") or "no answer"
        raise UsageError(f"There is no cluster at {address}: {words}.", "Give its scheduler's address.") from None
    async with client:
        yield client
