"""The database file: ours or not, its version, and what is wrong with it in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..home import locked
from ..nouns import MoireError

DATABASE = "moire.sqlite"
# "Moir", so that a file says whose it is.
APPLICATION = 0x4D6F6972
# Seconds that one writer waits for another.
PATIENCE = 30.0
_PERMISSIONS = "Check the path, its permissions and the free space."
# Each is done once, in order; `user_version` counts them. None is ever changed.
MIGRATIONS = (
    """
    CREATE TABLE runs (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, settings TEXT NOT NULL,
      begun TEXT NOT NULL, seconds REAL NOT NULL DEFAULT 0, state TEXT NOT NULL, notes TEXT NOT NULL DEFAULT '{}'
    );
    CREATE TABLE pages (
      run INTEGER NOT NULL REFERENCES runs, number INTEGER NOT NULL, build TEXT NOT NULL,
      verdict TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (run, number, build)
    ) WITHOUT ROWID;
    CREATE TABLE findings (
      id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, number INTEGER NOT NULL, build TEXT NOT NULL,
      state TEXT NOT NULL, kind TEXT NOT NULL, signature TEXT NOT NULL, details TEXT NOT NULL,
      UNIQUE (run, number, build)
    );
    CREATE INDEX findings_by_signature ON findings (run, signature);
    """,
    # What lists show of a finding, so that nobody need read all of it; `changed` grows with every change, so that
    # those who have a list can ask for what is new.
    """
    ALTER TABLE findings ADD COLUMN brief TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE findings ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX findings_by_change ON findings (changed);
    UPDATE findings SET changed = id, brief = json_object(
      'impact', coalesce(json_extract(details, '$.figures.pixels'), 0),
      'stage', json_extract(details, '$.stage'), 'element', json_extract(details, '$.element'),
      'properties', json(json_extract(details, '$.properties')), 'bytes', json(json_extract(details, '$.bytes')),
      'operations', json(json_extract(details, '$.operations')), 'bug', json_extract(details, '$.bug'),
      'pictures', json(json_extract(details, '$.pictures')), 'features', json(json_extract(details, '$.features')),
      'benign', json_extract(details, '$.benign'), 'category', json_extract(details, '$.category'),
      'at_fault', json(json_extract(details, '$.at_fault')), 'unreduced', json_extract(details, '$.unreduced'));
    CREATE TABLE triage (
      kind TEXT NOT NULL, signature TEXT NOT NULL, state TEXT NOT NULL, note TEXT NOT NULL, changed TEXT NOT NULL,
      PRIMARY KEY (kind, signature)
    ) WITHOUT ROWID;
    CREATE TABLE moments (
      run INTEGER NOT NULL REFERENCES runs, seconds REAL NOT NULL, facts TEXT NOT NULL, PRIMARY KEY (run, seconds)
    ) WITHOUT ROWID;
    CREATE TABLE steps (
      run INTEGER NOT NULL REFERENCES runs, number INTEGER NOT NULL, build TEXT NOT NULL, step INTEGER NOT NULL,
      name TEXT NOT NULL, bytes INTEGER NOT NULL, page TEXT NOT NULL, pictures TEXT NOT NULL,
      PRIMARY KEY (run, number, build, step)
    ) WITHOUT ROWID;
    CREATE TABLE checks (
      finding INTEGER NOT NULL REFERENCES findings, builds TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
      pictures TEXT NOT NULL, made TEXT NOT NULL, PRIMARY KEY (finding, builds)
    ) WITHOUT ROWID;
    """,
    # Small pictures of the last pages; they make room for each other.
    """
    CREATE TABLE trials (
      run INTEGER NOT NULL REFERENCES runs, slot INTEGER NOT NULL, number INTEGER NOT NULL, build TEXT NOT NULL,
      verdict TEXT NOT NULL, pictures TEXT NOT NULL, PRIMARY KEY (run, slot)
    ) WITHOUT ROWID;
    """,
    # What reductions under way were told.
    """
    CREATE TABLE answers (
      run INTEGER NOT NULL REFERENCES runs, number INTEGER NOT NULL, build TEXT NOT NULL, question TEXT NOT NULL,
      answer INTEGER NOT NULL, PRIMARY KEY (run, number, build, question)
    ) WITHOUT ROWID;
    """,
)


def text(data: bytes) -> str:
    """One letter that is damaged does not cost the rest."""
    return data.decode("utf-8", "replace")


class StoreError(MoireError):
    """The store cannot be used as it is."""


class NoRoom(StoreError):
    """The disk is full; what was to be written can be written when there is room."""


class Damaged(StoreError):
    """What is in the file is no database, or no longer."""


@contextmanager
def told(place: Path) -> Iterator[None]:
    """SQLite's errors as sentences."""
    try:
        yield
    except sqlite3.IntegrityError:
        # Not the file's fault: ours.
        raise
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise StoreError(f"{place} is in use by another run.", "Wait for it to end.") from None
        if "full" in str(error):
            raise NoRoom(f"There is no room for {place}.", "Make room, then resume the run.") from None
        if any(words in str(error) for words in ("no such", "malformed", "already exists")):
            raise damaged(place, error) from None
        raise StoreError(f"{place} cannot be used: {error}.", _PERMISSIONS) from None
    except sqlite3.DatabaseError as error:
        raise damaged(place, error) from None


def damaged(place: Path, how: object) -> Damaged:
    return Damaged(f"{place} is damaged: {how}.", f"Run `moire runs verify --repair --store {place.parent}`.")


def opened(place: Path) -> sqlite3.Connection:
    """The database, made or brought up to date."""
    with told(place):
        try:
            # One at a time: neither the switch to WAL nor the look at whose file it is can share a transaction with
            # what follows.
            with locked(place.with_name(".opening.lock")):
                connection = sqlite3.connect(place, timeout=PATIENCE, isolation_level=None)
                connection.text_factory = text
                try:
                    _up_to_date(connection, place)
                except BaseException:
                    connection.close()
                    raise
        except OSError as error:
            raise StoreError(f"{place} cannot be opened: {error.strerror}.", _PERMISSIONS) from None
    return connection


def _up_to_date(connection: sqlite3.Connection, place: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (whose,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if whose != APPLICATION and (tables or version):
        raise StoreError(f"{place} is a database of something else.", "Give --store another folder.")
    if version > len(MIGRATIONS):
        raise StoreError(f"{place} was written by a newer Moire.", "Use that one, or give --store another folder.")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if version < len(MIGRATIONS):
        connection.execute("BEGIN IMMEDIATE")
        for statement in ";".join(MIGRATIONS[version:]).split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
