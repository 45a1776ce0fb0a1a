"""Runs, the pages they judged and what they found."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ..home import locked
from ..nouns import Case, Environment, UsageError
from ..nouns.update import read
from .blobs import Blobs
from .database import opened, told

DATABASE = "moire.sqlite"
BLOBS = "blobs"
State = Literal["running", "stopped", "done"]
FindingState = Literal["confirmed", "example", "duplicate"]


@dataclass(frozen=True, slots=True)
class Run:
    """`settings` are all that decides what the run does; `notes` what it tells about itself."""

    id: int
    name: str
    kind: str
    settings: Mapping[str, Any]
    begun: str
    seconds: float
    state: State
    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page in one build."""

    number: int
    build: str
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """`confirmed` is what was found and not looked into yet; `example` is shown; `duplicate` is one more of what
    there are enough examples of. `details` hold the names of what is kept by content."""

    number: int
    build: str
    state: FindingState
    kind: str
    signature: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def case_of(blobs: Blobs, finding: Finding) -> Case:
    """The reduced page of a finding, with its operations and what it takes from beside it."""
    details = finding.details
    return Case(
        blobs.read(details["page"]), details.get("name", "page.html"),
        {path: blobs.read(blob) for path, blob in details.get("resources", {}).items()},
        environment=Environment(**details.get("environment", {})), update=read(details.get("update", "[]")),
    )  # fmt: skip


class Store:
    def __init__(self, folder: Path, *, make: bool = True) -> None:
        self.folder = folder
        self.place = folder / DATABASE
        if not make and not self.place.exists():
            raise UsageError(f"There are no runs in {folder}.", "Hunt first, or give --store the folder that has them.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise UsageError(f"{folder} is a file.", "Give --store a folder.") from None
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror}.", "Give --store another folder.") from None
        self._db = opened(self.place)
        self.blobs = Blobs(folder / BLOBS)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing."""
        with told(self.place):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                # A disk that is full has it rolled back already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with told(self.place):
            return self._db.execute(query, values).fetchall()

    # Runs

    def begin(self, kind: str, name: str, settings: Mapping[str, Any]) -> Run:
        """A new run; without a name, it is called after its kind."""
        with self._change() as db:
            taken = self.free(name)
            number = 1
            while not name or name in taken:
                name, number = f"{kind}-{number}", number + 1
            begun = datetime.now(UTC).isoformat(timespec="seconds")
            row = (name, kind, json.dumps(settings), begun, "running")
            db.execute("INSERT INTO runs (name, kind, settings, begun, state) VALUES (?, ?, ?, ?, ?)", row)
        return self.run(name)

    def free(self, name: str) -> set[str]:
        """The names of runs; not this one."""
        taken = {row[0] for row in self._all("SELECT name FROM runs")}
        if name in taken:
            raise UsageError(f"There is a run {name} already.", f"Resume it, or give --name another than {name}.")
        return taken

    def state(self, run: Run) -> str:
        """What is going on with a run: one that was killed could not say so itself."""
        with locked(self.folder / f".{run.id}.lock", wait=False) as ours:
            return "broken off" if ours and run.state == "running" else run.state

    def runs(self) -> list[Run]:
        rows = self._all("SELECT id, name, kind, settings, begun, seconds, state, notes FROM runs ORDER BY id")
        return [Run(i, n, k, json.loads(s), b, t, st, json.loads(no)) for i, n, k, s, b, t, st, no in rows]

    def run(self, name: str) -> Run:
        found = self.runs()
        for one in found:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in found[-5:])
        raise UsageError(f"There is no run {name!r}.", f"The last ones are {names}." if names else "There is none yet.")

    @contextmanager
    def writing(self, run: Run) -> Iterator[None]:
        """For as long as the block lasts, nobody else goes on with this run."""
        with locked(self.folder / f".{run.id}.lock", wait=False) as ours:
            if not ours:
                raise UsageError(f"{run.name} is running.", "Wait for it to end.")
            with self._change() as db:
                db.execute("UPDATE runs SET state = 'running' WHERE id = ?", (run.id,))
            yield

    def end(self, run: Run, state: State, notes: Mapping[str, Any]) -> None:
        with self._change() as db:
            row = (state, json.dumps(notes), run.id)
            db.execute("UPDATE runs SET state = ?, notes = ? WHERE id = ?", row)

    def forget(self, run: Run) -> None:
        """A run that never came to anything."""
        with self._change() as db:
            for table, column in (("findings", "run"), ("pages", "run"), ("runs", "id")):
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (run.id,))

    # Pages

    def done(self, run: Run, rows: Iterable[PageRow], seconds: float) -> None:
        """Pages that nothing more is to be done about, and the time that was spent since the last."""
        with self._change() as db:
            db.execute("UPDATE runs SET seconds = seconds + ? WHERE id = ?", (seconds, run.id))
            db.executemany(
                "INSERT INTO pages VALUES (?, ?, ?, ?, ?)",
                [(run.id, row.number, row.build, row.verdict, row.reason) for row in rows],
            )

    def next_page(self, run: Run) -> int:
        """Pages are done in order: the first that is not."""
        ((last,),) = self._all("SELECT max(number) FROM pages WHERE run = ?", run.id)
        return 0 if last is None else int(last) + 1

    def verdicts(self, run: Run) -> Counter[tuple[str, str]]:
        rows = self._all("SELECT build, verdict, count(*) FROM pages WHERE run = ? GROUP BY 1, 2", run.id)
        return Counter({(build, verdict): count for build, verdict, count in rows})

    def reasons(self, run: Run, verdict: str) -> Counter[str]:
        query = "SELECT reason, count(*) FROM pages WHERE run = ? AND verdict = ? GROUP BY 1"
        return Counter(dict(self._all(query, run.id, verdict)))

    # Findings

    def keep(self, run: Run, finding: Finding) -> None:
        """On disk when this returns; what was known of it before is replaced."""
        row = (
            run.id, finding.number, finding.build, finding.state, finding.kind, finding.signature,
            json.dumps(finding.details),
        )  # fmt: skip
        with self._change() as db:
            db.execute(
                "INSERT INTO findings (run, number, build, state, kind, signature, details)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (run, number, build) DO UPDATE SET state = excluded.state, kind = excluded.kind,"
                " signature = excluded.signature, details = excluded.details",
                row,
            )

    def findings(self, run: Run) -> list[Finding]:
        columns = "number, build, state, kind, signature, details"
        rows = self._all(f"SELECT {columns} FROM findings WHERE run = ? ORDER BY number, build", run.id)
        return [Finding(n, b, st, k, sig, json.loads(details)) for n, b, st, k, sig, details in rows]
