"""Commands to the one writer of a run, and hunts and checks that are begun from the live page."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, get_args

from ..hunts.run import GO_ON, PAUSE
from ..nouns import UsageError
from ..store import Store, Triage, TriageState
from .reader import Reader

SIGNALS = {"pause": PAUSE, "go-on": GO_ON, "stop": signal.SIGTERM}
# Seconds between two looks at whether a hunt that is being begun is there.
_A_MOMENT = 0.3
MOST_NOTE = 2000


def command(store: Store, name: str, what: str) -> None:
    """To the process that hunts: it says by its lock who it is."""
    if what not in SIGNALS:
        raise UsageError(f"There is no command {what!r}.", f"The commands are {', '.join(SIGNALS)}.")
    run = store.run(name)
    writer = store.writer(run)
    if writer is None:
        if store.state(run) in ("running", "paused"):
            raise UsageError(f"{name} is beginning or ending and takes no commands.", "Try again in a moment.")
        raise UsageError(f"{name} is not running.", f"Go on with `moire hunt --resume {name}`.")
    try:
        os.kill(writer, SIGNALS[what])
    except OSError as error:
        raise UsageError(f"{name} cannot be told: {error.strerror}.", "Tell it where it runs, by Ctrl-C.") from None


def triage(store: Store, facts: dict[str, Any]) -> None:
    words = [facts.get(name) for name in ("kind", "signature", "state", "note")]
    kind, signature, state, note = map(str, words)
    found = next((one for one in get_args(TriageState) if one == state), None)
    if found is None or not all(isinstance(word, str) for word in words):
        raise UsageError("This says nothing of a finding.", f"A state is one of {', '.join(get_args(TriageState))}.")
    if not signature:
        raise UsageError("This finding has no name yet.", "Wait until it has been looked into.")
    if len(note) > MOST_NOTE:
        raise UsageError(f"A note has {MOST_NOTE} characters at the most.", "Write a shorter one.")
    # Half of a character is none that could be kept.
    store.say(Triage(kind, signature, found, note.encode("utf-8", "replace").decode()))


class Begun:
    """Hunts that were begun here. They go on when the server ends: their runs are in the store."""

    def __init__(self, folder: Path, reader: Reader) -> None:
        self._folder = folder
        self._reader = reader
        self._looking: set[asyncio.subprocess.Process] = set()

    async def hunt(self, facts: dict[str, Any]) -> str:
        """The name of a run, once there is one that is going."""
        taken = await self._reader(lambda store: {run.name for run in store.runs()})
        if "resume" in facts:
            name = str(facts["resume"])
            if name not in taken:
                raise UsageError(f"There is no run {name}.", "Choose one that is there.")
            words = ["--resume", name]
        else:
            words = hunt_words(facts)
            name = next(name for n in range(1, len(taken) + 2) if (name := f"{words[0]}-{n}") not in taken)
            words += ["--name", name]
        log = self._folder / f"{name}.log"
        with _made(log) as out:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "moire.cli", "hunt", *words, "--store", str(self._folder),
                stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        ended = asyncio.create_task(process.wait())

        def going(store: Store) -> bool:
            return any(run.name == name and store.state(run) == "running" for run in store.runs())

        while not await self._reader(going):
            # The store tells nobody of a change.
            await asyncio.wait([ended], timeout=_A_MOMENT)
            if ended.done():
                if not process.returncode:
                    break
                said = log.read_text("utf-8", "replace").strip().splitlines()
                log.unlink(missing_ok=True)
                raise UsageError(said[-1] if said else "The hunt ended at once.", "")
        return name

    async def close(self) -> None:
        """Looks that nobody waits for any more are ended, in order."""
        for process in self._looking:
            with suppress(ProcessLookupError):
                process.terminate()
        await asyncio.gather(*(process.wait() for process in self._looking))

    async def recheck(self, facts: dict[str, Any]) -> object:
        """What `moire recheck` says of one finding."""
        id, builds = facts.get("finding"), _names(facts.get("builds"))
        if not isinstance(id, int) or not 0 < id < 2**63 or not builds:
            raise UsageError("No finding or build is named.", "Choose a build.")
        name, _ = await self._reader(lambda store: store.finding(id))
        chosen = [word for build in builds for word in ("--build", build)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "moire.cli", "recheck", name, "--finding", str(id), *chosen, "--json",
            "--store", str(self._folder), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._looking.add(process)
        try:
            out, said = await process.communicate()
        finally:
            self._looking.discard(process)
        if not out.strip():
            raise UsageError(
                (said.decode("utf-8", "replace").strip().splitlines() or ["It could not be looked at."])[-1], ""
            )
        return json.loads(out)["findings"]


def _made(file: Path) -> BinaryIO:
    try:
        return file.open("wb")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}.", "Make room there.") from None


def hunt_words(facts: dict[str, Any]) -> list[str]:
    """A hunt as its command line has it; nothing of what a page sends is taken for an option."""
    kind, builds = facts.get("kind"), _names(facts.get("builds"))
    if kind not in ("update", "consensus", "change", "regression") or not builds:
        raise UsageError("No hunt or build is named.", "Choose what to look for, and a build.")
    try:
        minutes, seed = int(facts.get("minutes", 0)), int(facts.get("seed", 1))
    except (TypeError, ValueError, OverflowError):
        raise UsageError("Minutes and seed are numbers.", "Write for example 10 and 1.") from None
    if minutes < 1 or seed < 0:
        raise UsageError("Minutes and seed are numbers from 1 and 0 on.", "Write for example 10 and 1.")
    between = kind in ("change", "regression")
    if between and len(builds) != 2:
        raise UsageError(f"A {kind} is one between two builds.", "Choose two.")
    named = ["--base", builds[0], "--new", builds[1]] if between else builds
    # Whoever presses a button does not expect builds to be fetched.
    more = ["--installed"] if kind == "regression" else []
    return [kind, *named, *more, "--time", f"{minutes}m", "--seed", str(seed)]


def _names(value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [name for name in value if isinstance(name, str) and not name.startswith("-") and name.isprintable()]
