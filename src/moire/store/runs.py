"""Runs, the pages they judged and what they found."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from ..home import locked
from ..nouns import UsageError
from .blobs import Blobs
from .claim import Claim
from .database import DATABASE, Damaged, damaged, opened, told
from .records import Check, Cut, Finding, PageRow, Row, Run, State, Triage, Trial
from .salvage import kept_aside

BLOBS = "blobs"
# What bisections of a store's runs have seen, each run in a folder of its own.
BISECT = "bisect"
# Of a finding's details, what lists show.
_BRIEF = ("stage", "element", "properties", "bytes", "operations", "bug", "pictures", "features", "benign", "category",
          "at_fault", "unreduced", "known_from")  # fmt: skip
_ROWS = (
    "SELECT findings.id, runs.name, number, build, findings.state, findings.kind, signature, brief, changed"
    " FROM findings JOIN runs ON runs.id = run"
)
# A run of another store, attached as `other`, and what belongs to it.
_TAKE_RUN = (
    "INSERT INTO main.runs (name, kind, settings, begun, seconds, state, notes)"
    " SELECT ?, kind, settings, begun, seconds, state, notes FROM other.runs WHERE id = ?"
)
_TAKE = (
    "INSERT INTO main.pages SELECT :own, number, build, verdict, reason FROM other.pages WHERE run = :run",
    "INSERT INTO main.moments SELECT :own, seconds, facts FROM other.moments WHERE run = :run",
    "INSERT INTO main.steps SELECT :own, number, build, step, name, bytes, page, pictures FROM other.steps"
    " WHERE run = :run",
    "INSERT INTO main.findings (run, number, build, state, kind, signature, details, brief, changed)"
    " SELECT :own, number, build, state, kind, signature, details, brief,"
    " (SELECT coalesce(max(changed), 0) FROM main.findings) + row_number() OVER (ORDER BY changed, id)"
    " FROM other.findings WHERE run = :run",
    "INSERT INTO main.checks SELECT mine.id, builds, verdict, reason, pictures, made FROM other.checks"
    " JOIN other.findings theirs ON theirs.id = finding JOIN main.findings mine"
    " ON mine.run = :own AND mine.number = theirs.number AND mine.build = theirs.build WHERE theirs.run = :run",
)
# Bytes that a database may have for nothing.
_WORTH_IT = 10_000_000
# Seconds from one moment to the next.
_BETWEEN_MOMENTS = 2.0
# How often a lock is tried that others may only be looking at, and the seconds between.
_LOOKS, _A_MOMENT = 20, 0.05


def _now(timespec: str = "seconds") -> str:
    """A run is known by when it was begun."""
    return datetime.now(UTC).isoformat(timespec=timespec)


def _brief(details: Mapping[str, Any]) -> dict[str, Any]:
    impact = details.get("impact", details.get("figures", {}).get("pixels", 0))
    return {"impact": impact, **{name: details[name] for name in _BRIEF if name in details}}


def _has_open(process: int, file: Path) -> bool:
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                if entry.samefile(file):
                    return True
    return False


class Store:
    def __init__(self, folder: Path, *, make: bool = True) -> None:
        self.folder = folder
        self.place = folder / DATABASE
        if not (make or os.path.exists(self.place) or kept_aside(folder)):
            raise UsageError(f"There are no runs in {folder}.", "Hunt first, or give --store the folder that has them.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise UsageError(f"{folder} is a file.", "Give --store a folder.") from None
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror}.", "Give --store another folder.") from None
        if not self.place.exists() and (aside := kept_aside(folder)):
            words = f"{self.place} was being made anew, and is not there."
            raise Damaged(words, f"Rename {aside[-1]} to that, and run `moire runs verify --repair`.")
        if self.place.exists() and not self.place.stat().st_size and any((folder / BLOBS).glob("*/*")):
            raise Damaged(f"{self.place} is empty, and there is content beside it.", "Put it back from a copy.")
        self._db = opened(self.place)
        self.blobs = Blobs(folder / BLOBS)
        self.claim = Claim(folder / ".adding.lock")

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

    def query(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with told(self.place):
            return self._db.execute(query, values).fetchall()

    def parsed(self, words: str) -> Any:
        """What a column has as JSON."""
        try:
            return json.loads(words)
        except ValueError:
            raise damaged(self.place, "a row makes no sense") from None

    # Runs

    def begin(self, kind: str, name: str, settings: Mapping[str, Any]) -> Run:
        """A new run; without a name, it is called after its kind."""
        with self._change() as db:
            taken = self.free(name)
            number = 1
            while not name or name in taken:
                name, number = f"{kind}-{number}", number + 1
            row = (name, kind, json.dumps(settings), _now("microseconds"), "running")
            db.execute("INSERT INTO runs (name, kind, settings, begun, state) VALUES (?, ?, ?, ?, ?)", row)
        return self.run(name)

    def free(self, name: str) -> set[str]:
        """The names of runs; not this one."""
        taken = {row[0] for row in self.query("SELECT name FROM runs")}
        if name in taken:
            raise UsageError(f"There is a run {name} already.", f"Resume it, or give --name another than {name}.")
        return taken

    def state(self, run: Run) -> str:
        """What is going on with a run: one that was killed could not say so itself."""
        with locked(self._lock(run), shared=True, wait=False) as ours:
            return "broken off" if ours and run.state in ("running", "paused") else run.state

    def writer(self, run: Run) -> int | None:
        """The process that goes on with a run, if one does and can be told anything."""
        place = self._lock(run)
        with locked(place, shared=True, wait=False) as ours:
            words = "" if ours else place.read_text("ascii", "replace")
        # One that was killed could not take its number back.
        return int(words) if words.isdecimal() and _has_open(int(words), place) else None

    def _lock(self, run: Run) -> Path:
        return self.folder / f".{run.id}.lock"

    def version(self) -> int:
        """Another number whenever anyone else has changed anything."""
        ((number,),) = self.query("PRAGMA data_version")
        return int(number)

    def runs(self) -> list[Run]:
        rows = self.query("SELECT id, name, kind, settings, begun, seconds, state, notes FROM runs ORDER BY id")
        return [Run(i, n, k, self.parsed(s), b, t, st, self.parsed(no)) for i, n, k, s, b, t, st, no in rows]

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
        with ExitStack() as stack:
            stack.enter_context(self.claim.adding())
            for _ in range(_LOOKS):
                if stack.enter_context(locked(self._lock(run), wait=False)):
                    break
                # Those who only look hold it for a moment.
                time.sleep(_A_MOMENT)
            else:
                raise UsageError(f"{run.name} is running.", "Wait for it to end.")
            self._lock(run).write_text("", "ascii")
            yield

    @contextmanager
    def listening(self, run: Run) -> Iterator[None]:
        """For as long as the block lasts, the process that writes a run takes signals."""
        place = self._lock(run)
        place.write_text(str(os.getpid()), "ascii")
        try:
            yield
        finally:
            place.write_text("", "ascii")

    def going(self, run: Run, state: State) -> None:
        with self._change() as db:
            db.execute("UPDATE runs SET state = ? WHERE id = ?", (state, run.id))

    def end(self, run: Run, state: State, notes: Mapping[str, Any]) -> None:
        with self._change() as db:
            row = (state, json.dumps(notes), run.id)
            db.execute("UPDATE runs SET state = ?, notes = ? WHERE id = ?", row)

    def forget(self, run: Run) -> None:
        """A run that never came to anything."""
        with self._change() as db:
            db.execute("DELETE FROM checks WHERE finding IN (SELECT id FROM findings WHERE run = ?)", (run.id,))
            own = [(table, "run") for table in ("answers", "trials", "steps", "moments", "findings", "pages")]
            for table, column in (*own, ("runs", "id")):
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (run.id,))

    def take_over(self, other: Store, run: Run) -> str:
        """All rows of another store's run; what it is called here."""
        with told(self.place):
            self._db.execute("ATTACH ? AS other", (str(other.place),))
        try:
            with self._change() as db:
                taken = {row[0] for row in db.execute("SELECT name FROM main.runs")}
                names = (f"{run.name}-{n}" for n in range(2, len(taken) + 3))
                name = run.name if run.name not in taken else next(name for name in names if name not in taken)
                own = db.execute(f"{_TAKE_RUN} RETURNING id", (name, run.id)).fetchone()[0]
                for statement in _TAKE:
                    db.execute(statement, {"own": own, "run": run.id})
        finally:
            self._db.execute("DETACH other")
        return name

    def bytes(self) -> int:
        """Of the database."""
        ((size,),) = self.query("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(size)

    def shrink(self) -> None:
        """Give back to the disk what the database no longer needs."""
        with told(self.place):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            ((free,), (each,)) = self.query(
                "SELECT * FROM pragma_freelist_count UNION ALL SELECT * FROM pragma_page_size"
            )
            if free * each > _WORTH_IT:
                self._db.execute("VACUUM")

    # Pages

    def done(self, run: Run, rows: Iterable[PageRow], seconds: float, facts: Mapping[str, Any] | None = None) -> None:
        """Pages that nothing more is to be done about, the time spent since the last, and how things stand."""
        with self._change() as db:
            db.execute("UPDATE runs SET seconds = seconds + ? WHERE id = ?", (seconds, run.id))
            if facts is not None:
                db.execute(
                    "INSERT INTO moments SELECT id, seconds, ? FROM runs WHERE id = ? AND seconds >="
                    " coalesce((SELECT max(seconds) + ? FROM moments WHERE run = runs.id), 0)",
                    (json.dumps(facts), run.id, _BETWEEN_MOMENTS),
                )
            db.executemany(
                "INSERT INTO pages VALUES (?, ?, ?, ?, ?)",
                [(run.id, row.number, row.build, row.verdict, row.reason) for row in rows],
            )

    def next_page(self, run: Run) -> int:
        """Pages are done in order: the first that is not."""
        ((last,),) = self.query("SELECT max(number) FROM pages WHERE run = ?", run.id)
        return 0 if last is None else int(last) + 1

    def verdicts(self, run: Run) -> Counter[tuple[str, str]]:
        rows = self.query("SELECT build, verdict, count(*) FROM pages WHERE run = ? GROUP BY 1, 2", run.id)
        return Counter({(build, verdict): count for build, verdict, count in rows})

    def reasons(self, run: Run, verdict: str) -> Counter[str]:
        query = "SELECT reason, count(*) FROM pages WHERE run = ? AND verdict = ? GROUP BY 1"
        return Counter(dict(self.query(query, run.id, verdict)))

    # Findings

    def keep(self, run: Run, finding: Finding) -> None:
        """On disk when this returns; what was known of it before is replaced."""
        row = (
            run.id, finding.number, finding.build, finding.state, finding.kind, finding.signature,
            json.dumps(finding.details), json.dumps(_brief(finding.details)),
        )  # fmt: skip
        with self._change() as db:
            db.execute(
                "INSERT INTO findings (run, number, build, state, kind, signature, details, brief, changed)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(changed), 0) + 1 FROM findings))"
                " ON CONFLICT (run, number, build) DO UPDATE SET state = excluded.state, kind = excluded.kind,"
                " signature = excluded.signature, details = excluded.details, brief = excluded.brief,"
                " changed = excluded.changed",
                row,
            )
            if finding.state != "confirmed":
                whose = (run.id, finding.number, finding.build)
                db.execute("DELETE FROM answers WHERE run = ? AND number = ? AND build = ?", whose)

    def rewrite(self, id: int, details: Mapping[str, Any]) -> None:
        """A finding's details, by its number in the store."""
        with self._change() as db:
            db.execute(
                "UPDATE findings SET details = ?, brief = ?, changed = (SELECT max(changed) + 1 FROM findings)"
                " WHERE id = ?",
                (json.dumps(details), json.dumps(_brief(details)), id),
            )

    def findings(self, run: Run, only: Sequence[str] = ()) -> list[Finding]:
        """With all their details, or with some that are numbers, words or lists."""
        some = ", ".join(f"'{name}', json_extract(details, '$.{name}')" for name in only)
        columns = f"number, build, state, kind, signature, {f'json_object({some})' if only else 'details'}"
        rows = self.query(f"SELECT {columns} FROM findings WHERE run = ? ORDER BY number, build", run.id)
        found = [Finding(n, b, st, k, sig, self.parsed(details)) for n, b, st, k, sig, details in rows]
        if not only:
            return found
        return [replace(one, details={k: v for k, v in one.details.items() if v is not None}) for one in found]

    def last_ended(self, run: Run) -> tuple[int, int] | None:
        """Of a hunt by runs: the page that ended one last, and which run that was."""
        query = "SELECT number, json_extract(details, '$.run') AS ended FROM findings WHERE run = ?"
        for number, ended in self.query(f"{query} AND ended IS NOT NULL ORDER BY number DESC LIMIT 1", run.id):
            return number, ended
        return None

    def finding(self, id: int) -> tuple[str, Finding]:
        """By its number in the store, with the name of its run."""
        columns = "runs.name, number, build, findings.state, findings.kind, signature, details"
        query = f"SELECT {columns} FROM findings JOIN runs ON runs.id = run WHERE findings.id = ?"
        for name, n, b, st, k, sig, details in self.query(query, id):
            return name, Finding(n, b, st, k, sig, self.parsed(details))
        raise UsageError(f"There is no finding {id}.", "`moire runs show RUN --json` has them all.")

    def rows(self, run: Run) -> Iterator[Row]:
        """Findings of a run as lists have them."""
        with told(self.place):
            yield from (Row(*row) for row in self._db.execute(f"{_ROWS} WHERE run = ? ORDER BY changed", (run.id,)))

    def rows_after(self, changed: int, id: int, most: int) -> list[Row]:
        """Findings of all runs that changed after one that has this `changed` and `id`, in that order."""
        query = f"{_ROWS} WHERE (changed, findings.id) > (?, ?) ORDER BY changed, findings.id LIMIT ?"
        return [Row(*row) for row in self.query(query, changed, id, most)]

    def rows_most_visible(self, run: str, most: int) -> list[Row]:
        """The first that a list of all findings has, or of one run's."""
        order = "json_extract(brief, '$.bug') DESC, json_extract(brief, '$.impact') DESC, findings.id LIMIT ?"
        query = f"{_ROWS} WHERE findings.state != 'duplicate' AND (? = '' OR runs.name = ?) ORDER BY {order}"
        return [Row(*row) for row in self.query(query, run, run, most)]

    def counts(self) -> dict[int, tuple[int, int, int]]:
        """Of each run by its number: pages, findings and kinds of findings."""
        pages = dict(self.query("SELECT id, (SELECT max(number) + 1 FROM pages WHERE run = runs.id) FROM runs"))
        found = {
            run: (every, kinds)
            for run, every, kinds in self.query(
                "SELECT run, count(*), count(DISTINCT nullif(signature, '')) FROM findings GROUP BY run"
            )
        }
        return {run: (count or 0, *found.get(run, (0, 0))) for run, count in pages.items()}

    # What people say of findings

    def triage(self) -> list[Triage]:
        return [Triage(*row) for row in self.query("SELECT kind, signature, state, note, changed FROM triage")]

    def say(self, said: Triage) -> None:
        with self._change() as db:
            row = (said.kind, said.signature, said.state, said.note, _now())
            db.execute("INSERT OR REPLACE INTO triage VALUES (?, ?, ?, ?, ?)", row)

    # How a run goes

    def moments(self, run: Run, most: int) -> list[tuple[float, Mapping[str, Any]]]:
        """So many at the most, from the whole of the run; the last is among them."""
        ((count,),) = self.query("SELECT count(*) FROM moments WHERE run = ?", run.id)
        every = max(1, -(-count // most))
        query = (
            "SELECT seconds, facts FROM (SELECT seconds, facts, row_number() OVER (ORDER BY seconds DESC) AS n"
            " FROM moments WHERE run = ?) WHERE (n - 1) % ? = 0 ORDER BY seconds"
        )
        return [(seconds, self.parsed(facts)) for seconds, facts in self.query(query, run.id, every)]

    def answered(self, run: Run, number: int, build: str, answers: Mapping[str, bool]) -> None:
        """What a reduction was told, until there is a finding."""
        rows = [(run.id, number, build, question, answer) for question, answer in answers.items()]
        with self._change() as db:
            db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", rows)

    def answers(self, run: Run, number: int, build: str) -> dict[str, bool]:
        query = "SELECT question, answer FROM answers WHERE run = ? AND number = ? AND build = ?"
        return {question: bool(answer) for question, answer in self.query(query, run.id, number, build)}

    def cut(self, run: Run, number: int, build: str, step: int, cut: Cut) -> None:
        """A step of a reduction; those of an earlier try that was broken off go when it begins anew."""
        with self._change() as db:
            if step == 0:
                db.execute("DELETE FROM steps WHERE run = ? AND number = ? AND build = ?", (run.id, number, build))
            row = (run.id, number, build, step, cut.name, cut.bytes, cut.page, json.dumps(dict(cut.pictures)))
            db.execute("INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def cuts(self, run: Run, number: int, build: str) -> list[Cut]:
        query = "SELECT name, bytes, page, pictures FROM steps WHERE run = ? AND number = ? AND build = ? ORDER BY step"
        rows = self.query(query, run.id, number, build)
        return [Cut(name, size, page, self.parsed(pictures)) for name, size, page, pictures in rows]

    def tried(self, run: Run, trial: Trial) -> None:
        pictures = {name: b64encode(png).decode() for name, png in trial.pictures.items()}
        row = (run.id, trial.slot, trial.number, trial.build, trial.verdict, json.dumps(pictures))
        with self._change() as db:
            db.execute("INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?)", row)

    def trials(self, run: Run) -> list[Trial]:
        """The last ones last."""
        rows = self.query(
            "SELECT slot, number, build, verdict, pictures FROM trials WHERE run = ? ORDER BY number, slot", run.id
        )
        return [
            Trial(slot, n, build, verdict, {name: b64decode(png) for name, png in self.parsed(pictures).items()})
            for slot, n, build, verdict, pictures in rows
        ]

    def looking(self, run: Run) -> tuple[int, str, bool] | None:
        """The page and the build of what is looked into, or was last, and whether it still is."""
        for query, now in (
            ("SELECT number, build FROM findings WHERE run = ? AND state = 'confirmed' ORDER BY number LIMIT 1", True),
            ("SELECT number, build FROM steps WHERE run = ? ORDER BY number DESC LIMIT 1", False),
        ):
            for number, build in self.query(query, run.id):
                return number, build, now
        return None

    def drop_steps(self, oldest: int) -> None:
        """So many of all steps of reductions, from the oldest on."""
        key = "run, number, build, step"
        with self._change() as db:
            db.execute(
                f"DELETE FROM steps WHERE ({key}) IN (SELECT {key} FROM steps ORDER BY {key} LIMIT ?)", (oldest,)
            )

    def last_pages(self, run: Run, most: int) -> list[PageRow]:
        query = "SELECT number, build, verdict, reason FROM pages WHERE run = ? ORDER BY number DESC, build LIMIT ?"
        return [PageRow(*row) for row in reversed(self.query(query, run.id, most))]

    # Findings looked at again

    def checked(self, id: int, check: Check) -> None:
        with self._change() as db:
            pictures = json.dumps(dict(check.pictures))
            row = (id, json.dumps(list(check.builds)), check.verdict, check.reason, pictures, _now())
            db.execute("INSERT OR REPLACE INTO checks VALUES (?, ?, ?, ?, ?, ?)", row)

    def checks(self, id: int) -> list[Check]:
        query = "SELECT builds, verdict, reason, pictures, made FROM checks WHERE finding = ? ORDER BY made"
        return [Check(self.parsed(b), v, r, self.parsed(p), m) for b, v, r, p, m in self.query(query, id)]
