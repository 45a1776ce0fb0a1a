"""What keeps a store sound over weeks: looked over, mended, rid of what nobody needs, and put together with others."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..nouns import UsageError
from .database import StoreError, opened
from .records import Run
from .runs import BISECT, DATABASE, Store

# Called with how much of the work is done, and how much there is.
Progress = Callable[[int, int], None]
# Whatever may be the name of something that is kept by content.
_NAME = re.compile('"([0-9a-f]{40})"')
# All that names such things, and the run it is of; a finding's brief says nothing that its details do not.
_OTHERS = (
    "SELECT settings AS words, id AS run FROM runs",
    "SELECT details AS words, run FROM findings",
    "SELECT checks.pictures AS words, run FROM checks JOIN findings ON findings.id = finding",
)
_STEPS = """SELECT '"' || page || '"' || pictures AS words, run FROM steps"""
_OF_A_RUN = ("pages", "findings", "moments", "steps", "trials", "answers")


@dataclass(frozen=True, slots=True)
class Looked:
    """`damage` is the database's, a sentence each. `lost` is what findings name and is not there as it was, by
    finding; `unnamed` is what nobody names, in files and bytes."""

    damage: Sequence[str]
    lost: Mapping[int, Sequence[str]]
    unnamed: tuple[int, int]
    broken_off: Sequence[str]

    @property
    def sound(self) -> bool:
        return not self.damage and not self.lost


def look_over(store: Store, told: Progress = lambda done, of: None) -> Looked:
    """Read all of a store, and compare all content with its name."""
    damage = [str(row[0]) for row in store.query("PRAGMA integrity_check") if row[0] != "ok"]
    damage += [f"{table} has a row of no run" for table, *_ in store.query("PRAGMA foreign_key_check")]
    there = dict(store.blobs.names())
    wrong = set()
    for n, name in enumerate(there):
        if not store.blobs.sound(name):
            wrong.add(name)
        told(n + 1, len(there))
    lost = {
        id: sorted({name for name in named(json.loads(details)) if name not in there or name in wrong})
        for id, details in store.query("SELECT id, details FROM findings")
    }
    unnamed = there.keys() - mentioned(store)
    broken = [run.name for run in store.runs() if store.state(run) == "broken off"]
    return Looked(
        damage, {id: names for id, names in lost.items() if names},
        (len(unnamed), sum(there[name] for name in unnamed)), broken,
    )  # fmt: skip


def named(details: Mapping[str, Any]) -> Iterator[str]:
    """What a finding keeps by content."""
    for one in (details, details.get("before", {})):
        if "page" in one:
            yield one["page"]
    for kind in ("pictures", "resources"):
        yield from details.get(kind, {}).values()


def mentioned(store: Store, run: Run | None = None) -> set[str]:
    """All content that a run, or any, may mean: rather too much than too little."""
    where, values = (" WHERE run = ?", [run.id]) if run else ("", [])
    queries = [f"SELECT words FROM ({query}){where}" for query in (*_OTHERS, _STEPS)]
    found = {name for query in queries for (words,) in store.query(query, *values) for name in _NAME.findall(words)}
    for one in [run] if run else store.runs():
        # What it knows of earlier runs names their pages.
        note = one.settings.get("earlier", "")
        if note and store.blobs.sound(note):
            found.update(_NAME.findall(store.blobs.read(note).decode("utf-8", "replace")))
    return found


def mend(store: Store, looked: Looked) -> None:
    """Findings say what of theirs is lost, and nothing names it any more; damaged content is taken away, so that the
    same content can be kept again."""
    with store.claim.alone():
        for name in {name for names in looked.lost.values() for name in names}:
            store.blobs.remove(name)
        for id, gone in looked.lost.items():
            _, finding = store.finding(id)
            store.rewrite(id, _without(finding.details, gone))


def _without(details: Mapping[str, Any], gone: Sequence[str]) -> dict[str, Any]:
    """What a finding still has. A page that is not whole is none: it might look otherwise for that alone."""
    left = {**details, "lost": len(gone) + details.get("lost", 0)}
    for kind in ("pictures", "resources"):
        left[kind] = {key: blob for key, blob in details.get(kind, {}).items() if blob not in gone}
    whole = len(left["resources"]) == len(details.get("resources", {}))
    if not whole or left.get("before", {}).get("page") in gone:
        left.pop("before", None)
    if not whole or left.get("page") in gone:
        left.pop("page", None)
    if whole and "page" not in left and "before" in left:
        size = len(details.get("bytes", ())) * details.get("bytes", [])[:1]
        left |= {**left["before"], "bytes": size, "unreduced": "what it was reduced to is lost"}
    return left


def salvage(folder: Path) -> tuple[Path, dict[str, int]]:
    """What can be read of a damaged database becomes a new one. Where the damaged one is kept, and how many rows of
    each table that was."""
    place = folder / DATABASE
    fresh, old = place.with_name(f"{DATABASE}.new"), _free(place.with_name(f"{DATABASE}.damaged"))
    fresh.unlink(missing_ok=True)
    counts: dict[str, int] = {}
    with closing(opened(fresh)) as new, closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as damaged:
        new.execute("PRAGMA foreign_keys = OFF")
        new.execute("BEGIN")
        for table in ("runs", *_OF_A_RUN, "triage", "checks"):
            columns = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
            rows = list(_readable(damaged, table, columns, _keys(new, table)))
            marks = ", ".join("?" * len(columns))
            new.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
            counts[table] = new.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for table in _OF_A_RUN:
            new.execute(f"DELETE FROM {table} WHERE run NOT IN (SELECT id FROM runs)")
        new.execute("DELETE FROM checks WHERE finding NOT IN (SELECT id FROM findings)")
        new.execute("COMMIT")
        new.execute("PRAGMA journal_mode = DELETE")
    if not counts["runs"]:
        fresh.unlink()
        raise StoreError(f"Nothing of {place} can be read.", "Put it back from a copy, or give --store another folder.")
    for suffix in ("", "-wal", "-shm"):
        part = place.with_name(f"{DATABASE}{suffix}")
        if part.exists():
            part.rename(old.with_name(f"{old.name}{suffix}"))
    fresh.rename(place)
    return old, counts


def _free(place: Path) -> Path:
    return next(one for n in range(1, 10_000) if not (one := place.with_name(f"{place.name}-{n}")).exists())


def _keys(db: sqlite3.Connection, table: str) -> list[str]:
    rows = [(row[5], row[1]) for row in db.execute(f"PRAGMA table_info({table})") if row[5]]
    return [name for _, name in sorted(rows)]


def _readable(
    db: sqlite3.Connection, table: str, columns: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Rows from the beginning up to what cannot be read, and from the end back to it."""
    try:
        there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        return
    if not there:
        return
    words = ", ".join(name if name in there else "''" for name in columns)
    for way in ("ASC", "DESC"):
        order = ", ".join(f"{key} {way}" for key in keys)
        try:
            yield from db.execute(f"SELECT {words} FROM {table} ORDER BY {order}")
            return
        except sqlite3.DatabaseError:
            continue


@dataclass(frozen=True, slots=True)
class Freed:
    files: int
    bytes: int
    steps: int


def collect(store: Store, most: int = 0, forget: Sequence[Run] = (), *, dry: bool = False) -> Freed:
    """Take away what nobody names; if the store is still larger than `most` bytes (0: however large), the steps of
    reductions go too, the oldest first. Findings never go, but for those of runs that are to be forgotten."""
    with store.claim.alone():
        there = dict(store.blobs.names())
        steps = 0
        kept = [run for run in store.runs() if run.id not in {one.id for one in forget}]
        gone = there.keys() - {name for run in kept for name in mentioned(store, run)}
        whole = size(store) - sum(there[name] for name in gone)
        if most and whole > most:
            steps, more = _expendable(store, there, whole - most)
            gone |= more
        freed = Freed(len(gone), sum(there[name] for name in gone), steps)
        if dry:
            return freed
        for run in forget:
            store.forget(run)
        if steps:
            store.drop_steps(steps)
        for name in gone:
            store.blobs.remove(name)
        store.blobs.sweep()
        runs = {run.name for run in store.runs()}
        for memory in store.folder.glob(f"{BISECT}/*"):
            if memory.name not in runs:
                shutil.rmtree(memory)
        store.shrink()
        return freed


def _expendable(store: Store, there: Mapping[str, int], wanted: int) -> tuple[int, set[str]]:
    """How many steps, from the oldest on, free so many bytes, and the content that only they name."""
    left: Counter[str] = Counter()
    for query in (*_OTHERS, _STEPS):
        for (words,) in store.query(f"SELECT words FROM ({query})"):
            left.update(_NAME.findall(words))
    rows = store.query("SELECT page, pictures FROM steps ORDER BY run, number, build, step")
    own = [[page, *json.loads(pictures).values()] for page, pictures in rows]
    gone: set[str] = set()
    freed = 0
    for n, names in enumerate(own):
        if freed >= wanted:
            return n, gone
        for name in names:
            left[name] -= 1
            if not left[name] and name in there:
                gone.add(name)
                freed += there[name]
    return len(own), gone


def size(store: Store) -> int:
    """With what bisections remember."""
    memory = sum(file.stat().st_size for file in (store.folder / BISECT).rglob("*") if file.is_file())
    return store.bytes() + memory + sum(size for _, size in store.blobs.names())


@dataclass(frozen=True, slots=True)
class Merged:
    """`name` is the run's in the store that it came to; empty, if it is there already. `lost` is what it names and its
    store does not have."""

    run: str
    name: str
    lost: int


def merge(store: Store, other: Store, only: Sequence[str] = ()) -> Iterator[Merged]:
    """Take over another store's runs, with all that they found, and what people say of it."""
    if store.place.samefile(other.place):
        raise UsageError(f"{other.folder} is the very same store.", "Name another.")
    chosen = [other.run(name) for name in only] or other.runs()
    for run in chosen:
        if other.state(run) in ("running", "paused"):
            raise UsageError(f"{run.name} is running.", "Wait for it to end.")
    with store.claim.adding():
        for run in chosen:
            alike = (run.kind, run.begun, run.settings)
            if any((one.kind, one.begun, one.settings) == alike for one in store.runs()):
                yield Merged(run.name, "", 0)
                continue
            lost = 0
            for name in sorted(mentioned(other, run)):
                # A commit may look like the name of something.
                if other.blobs.has(name):
                    if other.blobs.sound(name):
                        store.blobs.add(other.blobs.read(name))
                    else:
                        lost += 1
            name = store.take_over(other, run)
            memory = other.folder / BISECT / run.name
            if memory.is_dir():
                shutil.copytree(memory, store.folder / BISECT / name, dirs_exist_ok=True)
            yield Merged(run.name, name, lost)
        for said in other.triage():
            known = {(one.kind, one.signature): one for one in store.triage()}
            mine = known.get((said.kind, said.signature))
            if mine is None or mine.changed < said.changed:
                store.say(said)
