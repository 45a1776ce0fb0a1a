"""Databases that are damaged in every way: what can be read is read, and nothing else is lost by that."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from moire.nouns import UsageError
from moire.store import Finding, PageRow, Store, upkeep
from moire.store.database import Damaged
from moire.store.salvage import salvage
from test_upkeep import SETTINGS, moire

FINDINGS, PAGES = 60, 1500


def _filled(folder: Path) -> Path:
    with Store(folder) as store:
        run = store.begin("update", "update-1", SETTINGS)
        store.done(run, [PageRow(n, "b", "same", f"{n} {'long ' * 20}") for n in range(PAGES)], 1.0, {"pages": PAGES})
        for n in range(FINDINGS):
            # Long enough to have pages of the database to itself.
            page = store.blobs.add(f"<p>{n}".encode())
            details = {"figures": {}, "page": page, "long": "x" * 9000}
            store.keep(run, Finding(n, "b", "example", "different", f"words {n}", details))
        store.end(run, "done", {})
        store.shrink()
    return folder / "moire.sqlite"


def _pages(place: Path, table: str, kind: str) -> tuple[list[int], int]:
    db = sqlite3.connect(place)
    found = db.execute("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY pageno", (table, kind))
    pages = [one for (one,) in found]
    ((size,),) = db.execute("PRAGMA page_size")
    db.close()
    return pages, size


def _spoil(place: Path, page: int, size: int) -> None:
    data = bytearray(place.read_bytes())
    data[(page - 1) * size : page * size] = b"\x99" * size
    place.write_bytes(data)


def _left(folder: Path) -> tuple[int, int]:
    with Store(folder) as store:
        assert upkeep.look_over(store).sound
        return len(store.findings(store.run("update-1"))), store.query("SELECT count(*) FROM pages")[0][0]


@pytest.mark.parametrize("table", ["findings", "pages"])
def test_what_is_between_two_damaged_places_is_read(table: str, tmp_path: Path) -> None:
    place = _filled(tmp_path / "a #%41?")
    pages, size = _pages(place, table, "leaf")
    for at in (len(pages) // 4, 3 * len(pages) // 4, -1):
        _spoil(place, pages[at], size)
    with pytest.raises(Damaged), Store(place.parent) as store:
        store.query("SELECT * FROM findings, pages")
    salvage(place.parent)
    findings, rows = _left(place.parent)
    assert findings > FINDINGS - 20 and rows > PAGES - 200 and (findings, rows) != (FINDINGS, PAGES)
    # Nothing else came of the folder's odd name.
    assert [one.name for one in tmp_path.iterdir()] == ["a #%41?"]


def test_a_database_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    place = _filled(tmp_path)
    with place.open("rb+") as file:
        file.truncate(place.stat().st_size - 2 * 4096)
    done = moire("runs", "verify", "--repair", "--store", tmp_path)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done
    findings, rows = _left(tmp_path)
    assert findings > FINDINGS - 12 and rows > PAGES - 200


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("UPDATE findings SET details = substr(details, 1, 100) WHERE number = 7", FINDINGS - 1),
        ("UPDATE findings SET brief = '{' WHERE number = 7", FINDINGS - 1),
        # One letter that is none.
        ("UPDATE findings SET details = CAST(replace(CAST(details AS BLOB), x'78787878', x'78ff7878') AS TEXT)"
         " WHERE number = 7", FINDINGS),
    ],
)  # fmt: skip
def test_a_row_that_makes_no_sense_costs_itself(change: str, left: int, tmp_path: Path) -> None:
    place = _filled(tmp_path)
    with sqlite3.connect(place) as db:
        db.execute(change)
    db.close()
    with Store(tmp_path) as store:
        looked = upkeep.look_over(store)
        assert looked.damage == ([] if left == FINDINGS else ["1 of findings make no sense"])
        if looked.damage:
            with pytest.raises(Damaged):
                upkeep.collect(store)
    salvage(tmp_path)
    assert _left(tmp_path)[0] == left
    # What the row named is still there, as long as the database is that it was in.
    with Store(tmp_path) as store:
        upkeep.collect(store)
        assert len([*store.blobs.names()]) == FINDINGS


def test_a_run_that_makes_no_sense_is_told_of(tmp_path: Path) -> None:
    place = _filled(tmp_path)
    with Store(tmp_path) as store:
        store.begin("update", "other", SETTINGS)
    with sqlite3.connect(place) as db:
        db.execute("UPDATE runs SET settings = substr(settings, 1, 9) WHERE name = 'other'")
    db.close()
    done = moire("runs", "list", "--store", tmp_path)
    assert done.returncode == 1 and "makes no sense" in done.stderr and "--repair" in done.stderr, done
    assert moire("runs", "verify", "--repair", "--store", tmp_path).returncode == 0
    assert _left(tmp_path) == (FINDINGS, PAGES)
    with Store(tmp_path) as store, pytest.raises(UsageError, match="no run 'other'"):
        store.run("other")


def test_an_empty_database_beside_content_is_damaged(tmp_path: Path) -> None:
    place = _filled(tmp_path)
    place.write_bytes(b"")
    for words in (["verify", "--repair"], ["gc"]):
        done = moire("runs", *words, "--store", tmp_path)
        assert done.returncode == 1 and "empty" in done.stderr and "Traceback" not in done.stderr, done
    assert len([*(tmp_path / "blobs").glob("*/*")]) == FINDINGS


def test_a_repair_that_was_broken_off_is_told_of(tmp_path: Path) -> None:
    place = _filled(tmp_path)
    place.rename(place.with_name("moire.sqlite.damaged-1"))
    done = moire("runs", "list", "--store", tmp_path)
    assert done.returncode == 1 and "Rename" in done.stderr and "damaged-1" in done.stderr, done


def test_nothing_is_repaired_under_a_run_that_writes(tmp_path: Path) -> None:
    _filled(tmp_path)
    with Store(tmp_path) as store, store.writing(store.run("update-1")):
        with pytest.raises(UsageError, match="is writing"):
            salvage(tmp_path)
        # Nor if it waits for room.
        with store.claim.aside(), pytest.raises(UsageError, match="is writing"):
            salvage(tmp_path)


def test_a_store_of_an_older_moire_is_repaired_as_well(tmp_path: Path) -> None:
    """What is new since then is as in a new row."""
    place = _filled(tmp_path)
    with sqlite3.connect(place) as db:
        db.execute("DROP INDEX findings_by_change")
        for column in ("brief", "changed"):
            db.execute(f"ALTER TABLE findings DROP COLUMN {column}")
        for table in ("steps", "checks", "trials", "answers", "triage", "moments"):
            db.execute(f"DROP TABLE {table}")
        db.execute("PRAGMA user_version = 1")
    db.close()
    pages, size = _pages(place, "findings", "leaf")
    _spoil(place, pages[1], size)
    salvage(tmp_path)
    assert FINDINGS - 12 < _left(tmp_path)[0] < FINDINGS


@pytest.mark.parametrize("settings", ["[]", "7", "null", '{"builds": [], "seconds": NaN}'])
def test_settings_that_are_none_cost_their_run(settings: str, tmp_path: Path) -> None:
    place = _filled(tmp_path)
    with Store(tmp_path) as store:
        store.begin("update", "other", SETTINGS)
    with sqlite3.connect(place) as db:
        db.execute("UPDATE runs SET settings = ? WHERE name = 'other'", (settings,))
    db.close()
    _, counts = salvage(tmp_path)
    assert counts["runs"] == 1 and _left(tmp_path) == (FINDINGS, PAGES)


def test_damaged_content_does_not_stand_in_the_way(tmp_path: Path) -> None:
    _filled(tmp_path)
    with Store(tmp_path) as store:
        weights = store.blobs.add(b"weights of a run")
        store.begin("update", "begun", {**SETTINGS, "weights": weights})
        place = store.blobs.folder / weights[:2] / weights[2:]
        place.write_bytes(b"something else")
    done = moire("runs", "verify", "--json", "--store", tmp_path)
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["runs_lost"] == {"begun": [weights]}, told
    assert moire("runs", "verify", "--repair", "--store", tmp_path).returncode == 0
    # What cannot be mended is told of from then on, and nothing more.
    done = moire("runs", "verify", "--store", tmp_path)
    assert done.returncode == 0 and "begun has lost what it was begun with" in done.stdout, done
    with Store(tmp_path) as store:
        assert store.blobs.add(b"weights of a run") == weights and store.blobs.sound(weights)
        assert upkeep.look_over(store).sound
