"""A damaged database made anew from what can be read of it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from ..home import locked
from ..nouns import UsageError
from .claim import Claim
from .database import DATABASE, StoreError, opened, text

# A run's own are left out where their run is.
OF_A_RUN = ("pages", "findings", "moments", "steps", "trials", "answers")
# What is written as JSON.
_JSON = {
    "runs": ("settings", "notes"), "findings": ("details", "brief"), "moments": ("facts",), "steps": ("pictures",),
    "trials": ("pictures",), "checks": ("builds", "pictures"),
}  # fmt: skip
# What nobody can go on without.
_WHOLE = {"runs": "json_type(settings, '$.builds') IS 'array'"}
# Of what a row is a part, by its first key.
_OWNERS = {"run": "runs", "finding": "findings"}
# The last page of a table may be damaged: then all numbers that are not there look like rows that cannot be read.
_MOST_IN_A_ROW = 5000
_LARGEST = 61
# The lock of whoever goes on with a run.
_OF_RUN = re.compile(r"\.[0-9]+\.lock")

Rows = Iterator[tuple[Any, ...]]


def misread(query: Callable[[str], list[tuple[Any, ...]]]) -> list[str]:
    """Tables with rows that can be read and make no sense, in words."""
    found = []
    for table, columns in _JSON.items():
        valid = " AND ".join(f"json_valid({name})" for name in columns)
        # What is no JSON has no parts to be looked at.
        ((count,),) = query(
            f"SELECT count(*) FROM {table} WHERE NOT CASE WHEN {valid} THEN {_WHOLE.get(table, '1')} ELSE 0 END"
        )
        if count:
            found.append(f"{count} of {table} make no sense")
    return found


def salvage(folder: Path) -> tuple[Path, dict[str, int]]:
    """What can be read of a damaged database becomes a new one. Where the damaged one is kept, and how many rows of
    each table that was. Refused while anybody writes to it."""
    with Claim(folder / ".adding.lock").alone(), ExitStack() as stack:
        # Those that wait for room let others take away, and nothing else.
        for file in folder.glob(".*.lock"):
            if _OF_RUN.fullmatch(file.name) and not stack.enter_context(locked(file, shared=True, wait=False)):
                raise UsageError(f"A run is writing to {folder}.", "Wait for it, or stop it.")
        return _salvaged(folder)


def _salvaged(folder: Path) -> tuple[Path, dict[str, int]]:
    place = folder / DATABASE
    fresh, old = place.with_name(f"{DATABASE}.new"), _free(place.with_name(f"{DATABASE}.damaged"))
    fresh.unlink(missing_ok=True)
    counts: dict[str, int] = {}
    address = f"{place.absolute().as_uri()}?mode=ro"
    with closing(opened(fresh)) as new, closing(sqlite3.connect(address, uri=True)) as damaged:
        damaged.text_factory = text
        # One that is too short may still have nearly everything.
        damaged.execute("PRAGMA writable_schema = ON")
        new.execute("PRAGMA foreign_keys = OFF")
        new.execute("BEGIN")
        for table in ("runs", *OF_A_RUN, "triage", "checks"):
            told = new.execute(f"PRAGMA table_info({table})").fetchall()
            marks = ", ".join("?" * len(told))
            names = [one[1] for one in told]
            rows = (row for row in _readable(damaged, new, table, told) if _makes_sense(table, names, row))
            new.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
        for table in OF_A_RUN:
            new.execute(f"DELETE FROM {table} WHERE run NOT IN (SELECT id FROM runs)")
        new.execute("DELETE FROM checks WHERE finding NOT IN (SELECT id FROM findings)")
        for table in ("runs", *OF_A_RUN, "triage", "checks"):
            counts[table] = new.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
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


def kept_aside(folder: Path) -> list[Path]:
    """Damaged databases that were made anew, the last one last."""
    found = folder.glob(f"{DATABASE}.damaged-*")
    return sorted(
        (one for one in found if one.suffix[-1].isdecimal()), key=lambda one: int(one.name.rpartition("-")[2])
    )


def _free(place: Path) -> Path:
    return next(one for n in range(1, 10_000) if not (one := place.with_name(f"{place.name}-{n}")).exists())


def _makes_sense(table: str, names: Sequence[str], row: Sequence[Any]) -> bool:
    try:
        found = {name: _parsed(row[names.index(name)]) for name in _JSON.get(table, ())}
    except (ValueError, TypeError, RecursionError):
        return False
    settings = found.get("settings", {"builds": []})
    return isinstance(settings, dict) and isinstance(settings.get("builds"), list)


def _parsed(words: str) -> Any:
    """As strictly as SQLite does, which knows no NaN."""

    def never(word: str) -> Any:
        raise ValueError(word)

    return json.loads(words, parse_constant=never)


def _readable(db: sqlite3.Connection, new: sqlite3.Connection, table: str, told: Sequence[Sequence[Any]]) -> Rows:
    """All rows that can be read; some more than once. `told` is what SQLite says of the columns that there should be;
    those that an older database does not have are what a new row has."""
    try:
        there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        return
    if not there:
        return
    words = ", ".join(one[1] if one[1] in there else one[4] or "''" for one in told)
    query = f"SELECT {words} FROM {table}"
    keys = [(one[1], one[2]) for one in sorted(told, key=lambda one: one[5]) if one[5]]
    (first, _), *others = keys
    if first not in _OWNERS:
        yield from _parts(db, query, keys, "1", ())
    elif not (yield from _read(db, query)):
        for (owner,) in new.execute(f"SELECT id FROM {_OWNERS[first]}").fetchall():
            yield from _parts(db, query, others, f"{first} = ?", (owner,))


def _parts(
    db: sqlite3.Connection, query: str, keys: Sequence[tuple[str, str]], where: str, values: tuple[object, ...]
) -> Rows:
    """Where something cannot be read, the values of the first key are halved until it stands alone, and then those of
    the next."""
    query = f"{query} WHERE {where}"
    if (yield from _read(db, query, values)) or not keys:
        return
    (key, kind), *others = keys
    forth, back = (f"{query} ORDER BY {key} {way}" for way in ("ASC", "DESC"))
    if kind != "INTEGER":
        yield from _read(db, forth, values)
        yield from _read(db, back, values)
        return
    ranges = [*((1 << n, 2 << n) for n in range(_LARGEST, -1, -1)), (0, 1)]
    in_a_row = 0
    while ranges and in_a_row < _MOST_IN_A_ROW:
        low, high = ranges.pop()
        if (yield from _read(db, f"{query} AND {key} >= ? AND {key} < ?", (*values, low, high))):
            in_a_row = 0
        elif high - low > 1:
            middle = (low + high) // 2
            ranges += [(middle, high), (low, middle)]
        else:
            in_a_row += 1
            if others:
                yield from _parts(db, query.partition(" WHERE ")[0], others, f"{where} AND {key} = ?", (*values, low))
    if ranges:
        yield from _read(db, back, values)


def _read(db: sqlite3.Connection, query: str, values: Sequence[object] = ()) -> Generator[tuple[Any, ...], None, bool]:
    """Whether all of it could be."""
    try:
        yield from db.execute(query, values)
    except sqlite3.DatabaseError:
        return False
    return True
