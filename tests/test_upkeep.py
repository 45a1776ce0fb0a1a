"""Stores over weeks: looked over, mended, rid of what nobody needs, put together with others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from moire.hunts.finding import Judged, facts
from moire.nouns import Case, UsageError, Verdict
from moire.pixels import encode
from moire.reports.run import write
from moire.store import Check, Cut, Finding, PageRow, Run, Store, Triage, case_of, upkeep
from moire.store.database import Damaged, StoreError

SETTINGS = {"builds": ["b"], "measure": "exact", "pages": 1, "seconds": 0}


def moire(*words: object) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "moire.cli", *map(str, words)]
    return subprocess.run(whole, capture_output=True, text=True, timeout=240, env=os.environ)


def _png(shade: int) -> bytes:
    return encode(np.full((4, 4, 3), shade, np.uint8))


def _filled(store: Store, name: str = "", findings: int = 2) -> Run:
    """A run that is done, with findings, steps of their reductions, and what people and builds say of them."""
    run = store.begin("update", name, {**SETTINGS, "for": name})
    store.done(run, [PageRow(n, "b", "same") for n in range(3)], 1.0, {"pages": 3})
    for n in range(findings):
        page = Case(f"<p>{name} {n}, at length".encode())
        judged = Judged(
            Case(f"<p>{name} {n}".encode()),
            "b",
            Verdict("different", "why"),
            [("updated", _png(n)), ("fresh", _png(n + 100))],
        )
        details = facts(store.blobs, judged, page)
        store.keep(run, Finding(n, "b", "example", "different", f"words {n}", details))
        for step in range(2):
            blob = store.blobs.add(f"<p>{name} {n} {step} {'x' * 1000}".encode())
            store.cut(run, n, "b", step, Cut("step", 9, blob, {"updated": store.blobs.add(_png(50 + 2 * n + step))}))
    store.end(run, "done", {})
    return store.run(run.name)


def _ids(store: Store, run: Run) -> list[int]:
    return [row.id for row in store.rows(run)]


def test_a_sound_store_is_called_sound(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        _filled(store)
        heard: list[tuple[int, int]] = []
        looked = upkeep.look_over(store, lambda done, of: heard.append((done, of)))
    assert looked == upkeep.Looked([], {}, (0, 0), []) and looked.sound
    assert heard[-1][0] == heard[-1][1] == len(heard) == 16
    done = moire("runs", "verify", "--store", tmp_path)
    assert done.returncode == 0 and "is sound" in done.stdout, done.stderr
    assert json.loads(moire("runs", "verify", "--json", "--store", tmp_path).stdout)["sound"] is True


def test_what_is_lost_is_told_and_mended(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = _filled(store, "update-1", 4)
        reduced, first, picture, none = (one.details for one in store.findings(run))
        one, other, third, _ = _ids(store, run)
        # One reduced page is gone, of the next both pages are damaged, of the third a picture.
        store.blobs.remove(reduced["page"])
        for blob in (first["page"], first["before"]["page"], picture["pictures"]["fresh"]):
            (store.blobs.folder / blob[:2] / blob[2:]).write_bytes(b"something else")
        unnamed = store.blobs.add(b"of nobody")
        looked = upkeep.look_over(store)
        assert {id: len(names) for id, names in looked.lost.items()} == {one: 1, other: 2, third: 1}
        assert looked.unnamed == (1, len(b"of nobody")) and not looked.sound
    done = moire("runs", "verify", "--store", tmp_path)
    assert done.returncode == 1 and "not sound" in done.stdout and "--repair" in done.stderr
    done = moire("runs", "verify", "--repair", "--store", tmp_path)
    assert done.returncode == 0 and f"Finding {one} has lost 1 of its files." in done.stdout, done.stderr
    assert "1 files" in done.stdout and "gc" in done.stdout
    with Store(tmp_path) as store:
        run = store.run("update-1")
        assert upkeep.look_over(store).sound and store.blobs.has(unnamed)
        reduced, first, picture, whole = (one.details for one in store.findings(run))
        # The page as it was found stands in for what it was reduced to.
        assert store.blobs.read(reduced["page"]) == b"<p>update-1 0, at length" and "lost" in reduced["unreduced"]
        assert "page" not in first and first["lost"] == 2 and picture["pictures"].keys() == {"updated"}
        assert whole == none
        with pytest.raises(StoreError, match="is lost"):
            case_of(store.blobs, store.findings(run)[1])
        write(store, run, tmp_path / "report")
        told = json.loads((tmp_path / "report" / "report.json").read_text())["findings"]
        assert sorted(one["html"] for one in told)[0] == "" and len(told) == 4
    exported = moire("export", "update-1", "--format", "wpt", "--store", tmp_path, "-o", tmp_path / "wpt")
    assert "lost" in exported.stderr + exported.stdout


def test_a_damaged_database_is_made_anew_from_what_can_be_read(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = _filled(store)
        store.done(run, [PageRow(n, "b", "untestable", f"{n} {'long ' * 20}") for n in range(3, 4000)], 1.0)
        store.say(Triage("update", "words 0", "benign", "a note", ""))
        store.shrink()
        pages = store.query("SELECT pageno FROM dbstat WHERE name = 'pages' AND pagetype = 'leaf' ORDER BY pageno")
        ((size,),) = store.query("PRAGMA page_size")
    place = tmp_path / "moire.sqlite"
    data = bytearray(place.read_bytes())
    middle = pages[len(pages) // 2][0]
    data[(middle - 1) * size : middle * size] = b"\x99" * size
    place.write_bytes(data)
    done = moire("runs", "verify", "--store", tmp_path)
    assert done.returncode == 1 and "damaged" in done.stdout + done.stderr and "--repair" in done.stderr, done
    assert "Traceback" not in done.stderr
    done = moire("runs", "verify", "--repair", "--store", tmp_path)
    assert done.returncode == 0 and "moire.sqlite.damaged-1" in done.stdout, done
    assert (tmp_path / "moire.sqlite.damaged-1").read_bytes() == data
    with Store(tmp_path) as store:
        run = store.run("update-1")
        ((left,),) = store.query("SELECT count(*) FROM pages")
        assert 3000 < left < 4000 and store.next_page(run) == 4000
        assert [one.signature for one in store.findings(run)] == ["words 0", "words 1"]
        assert [one.note for one in store.triage()] == ["a note"] and len(store.cuts(run, 1, "b")) == 2
        assert upkeep.look_over(store).sound


def test_what_is_no_database_at_all_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "moire.sqlite"
    place.write_bytes(b"no database at all, but long enough to be read" * 100)
    with pytest.raises(Damaged):
        Store(tmp_path)
    done = moire("runs", "verify", "--repair", "--store", tmp_path)
    assert done.returncode == 1 and "Nothing of" in done.stderr and "Traceback" not in done.stderr
    assert [one.name for one in tmp_path.glob("moire*")] == ["moire.sqlite"]
    assert place.read_bytes().startswith(b"no database at all")


def test_only_what_nobody_names_is_taken_away(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = _filled(store, "kept")
        _filled(store, "old")
        unnamed = store.blobs.add(b"of nobody")
        (store.blobs.folder / "00").mkdir(exist_ok=True)
        half = store.blobs.folder / "00" / "11.99.part"
        half.write_bytes(b"half")
        before = dict(store.blobs.names())
        would = json.loads(moire("runs", "gc", "--dry-run", "--json", "--store", tmp_path).stdout)
        assert (would["files"], would["bytes"], would["steps"]) == (1, 9, 0) and store.blobs.has(unnamed)
        done = moire("runs", "gc", "--store", tmp_path)
        assert done.returncode == 0 and "1 files (9 bytes) are gone" in done.stdout, done.stderr
        assert before.keys() - dict(store.blobs.names()).keys() == {unnamed} and not half.exists()
        # Pictures that both runs have stay.
        moire("runs", "gc", "--forget", "old", "--store", tmp_path)
        assert [one.name for one in store.runs()] == ["kept"] and upkeep.look_over(store).sound
        pages = {store.blobs.read(name)[:9] for name, _ in store.blobs.names()}
        assert b"<p>kept 0" in pages and b"<p>old 0," not in pages
        assert len(store.cuts(run, 0, "b")) == 2


def test_steps_go_first_and_the_oldest_of_them(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = _filled(store)
        room = upkeep.size(store) - 1500
    done = moire("runs", "gc", "--disk", room, "--store", tmp_path)
    assert done.returncode == 0 and "and 2 steps of reductions" in done.stdout, done
    with Store(tmp_path) as store:
        assert [len(store.cuts(run, n, "b")) for n in range(2)] == [0, 2] and upkeep.look_over(store).sound
    done = moire("runs", "gc", "--disk", "1k", "--store", tmp_path)
    assert done.returncode == 0 and "--forget" in done.stderr
    with Store(tmp_path) as store:
        assert not store.cuts(run, 1, "b") and len(store.findings(run)) == 2 and upkeep.look_over(store).sound
    done = moire("runs", "gc", "--disk", "much", "--store", tmp_path)
    assert done.returncode == 2 and "no size" in done.stderr


def test_nothing_is_taken_away_while_a_run_adds(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = _filled(store)
        blob = store.blobs.add(b"named in a moment")
        with store.writing(run):
            done = moire("runs", "gc", "--store", tmp_path)
            assert done.returncode == 2 and "is writing" in done.stderr and store.blobs.has(blob)
            # One's own run may, if there is no other.
            assert upkeep.collect(store).files == 1
            with Store(tmp_path) as other, pytest.raises(UsageError, match="is writing"):
                upkeep.collect(other)
            # One that waits for room lets others make it.
            with store.claim.aside(), Store(tmp_path) as other:
                upkeep.collect(other)
            with Store(tmp_path) as other, pytest.raises(UsageError, match="is writing"):
                upkeep.collect(other)
        with Store(tmp_path) as other:
            assert upkeep.collect(other).files == 0


def test_stores_are_put_together(tmp_path: Path) -> None:
    with Store(tmp_path / "mine") as mine, Store(tmp_path / "theirs") as theirs:
        _filled(mine, "same-name", 1)
        mine.say(Triage("update", "words 0", "confirmed", "mine", ""))
        run = _filled(theirs, "same-name", 2)
        theirs.query("UPDATE runs SET begun = '2020-01-01T00:00:00+00:00'")
        _filled(theirs, "other", 1)
        theirs.checked(_ids(theirs, run)[0], Check(["b"], "fixed", "gone", {"new": theirs.blobs.add(_png(77))}))
        theirs.query("UPDATE triage SET changed = '2020'")
        theirs.say(Triage("update", "words 1", "benign", "theirs", ""))
        (theirs.folder / "bisect" / "same-name").mkdir(parents=True)
        (theirs.folder / "bisect" / "same-name" / "seen").write_text("x")
    done = moire("runs", "merge", tmp_path / "theirs", "--store", tmp_path / "mine")
    assert done.stdout == "same-name is here as same-name-2.\nother is here as other.\n", done.stderr
    with Store(tmp_path / "theirs") as theirs:
        theirs.done(theirs.run("other"), [PageRow(7, "b", "same")], 1.0)
    again = moire("runs", "merge", tmp_path / "theirs", "--store", tmp_path / "mine", "--json")
    assert [(one["name"], one["behind"]) for one in json.loads(again.stdout)] == [("", ""), ("", "other")]
    with Store(tmp_path / "mine") as mine, Store(tmp_path / "theirs") as theirs:
        assert [one.name for one in mine.runs()] == ["same-name", "same-name-2", "other"]
        run = mine.run("same-name-2")
        assert mine.findings(run) == theirs.findings(theirs.run("same-name"))
        assert mine.cuts(run, 1, "b") == theirs.cuts(theirs.run("same-name"), 1, "b")
        assert mine.verdicts(run) == theirs.verdicts(theirs.run("same-name")) and mine.moments(run, 9)
        assert [one.verdict for one in mine.checks(_ids(mine, run)[0])] == ["fixed"]
        assert {(one.signature, one.note) for one in mine.triage()} == {("words 0", "mine"), ("words 1", "theirs")}
        assert (mine.folder / "bisect" / "same-name-2" / "seen").read_text() == "x"
        assert upkeep.look_over(mine).sound and upkeep.look_over(mine).unnamed == (0, 0)
        # Whoever looks at findings sees the new ones as new.
        changed = [row.changed for row in mine.rows(run)]
        assert min(changed) > max(row.changed for row in mine.rows(mine.run("same-name")))
    for words, said in (
        (("merge", tmp_path / "mine"), "very same store"),
        (("merge", tmp_path / "none"), "no runs"),
        (("merge", tmp_path / "theirs", "--run", "none"), "none"),
    ):
        done = moire("runs", *words, "--store", tmp_path / "mine")
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done
