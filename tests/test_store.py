"""The store, and runs that survive whatever happens to them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moire.browsers.lab import Lab
from moire.hunts import run as run_module
from moire.hunts.finding import Judged, Prospect, confirmed, facts
from moire.hunts.here import Here
from moire.hunts.run import Budget, Switch, Told, follow, nothing_more
from moire.nouns import Build, Case, UsageError, Verdict, operation
from moire.pixels import encode
from moire.reports.run import write
from moire.store import Finding, PageRow, Run, Store, case_of
from moire.store.database import APPLICATION, MIGRATIONS, StoreError
from moire.triage.reduce import Witness
from viewing import viewing

PNG = encode(np.zeros((4, 4, 3), np.uint8))
MOIRE = [sys.executable, "-m", "moire.cli"]
PAGES = 8
HUNT = ["hunt", "update", "chromium@156", "--pages", PAGES, "--operations", 1]


def moire(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MOIRE, *map(str, words)], capture_output=True, text=True, timeout=240, env=os.environ)


def test_a_run_is_kept_as_it_was(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = store.begin("update", "", {"builds": ["a"], "pages": 3})
        assert (run.name, run.kind, run.state, store.next_page(run)) == ("update-1", "update", "running", 0)
        assert store.begin("update", "", {}).name == "update-2"
        with pytest.raises(UsageError, match="already"):
            store.begin("update", "update-1", {})
        store.done(run, [PageRow(0, "a", "same"), PageRow(1, "a", "untestable", "why")], 2.5)
        store.done(run, [], 1.5)
        picture = store.blobs.add(b"png")
        store.keep(run, Finding(2, "a", "confirmed", "different", details={"page": picture}))
        store.keep(run, Finding(2, "a", "example", "different", "words", {"page": picture}))
        store.end(run, "done", {"a": "well"})
    with Store(tmp_path, make=False) as store:
        run = store.run("update-1")
        assert (run.state, run.seconds, run.settings["pages"], run.notes) == ("done", 4.0, 3, {"a": "well"})
        assert store.next_page(run) == 2 and store.verdicts(run) == {("a", "same"): 1, ("a", "untestable"): 1}
        assert store.reasons(run, "untestable") == {"why": 1}
        (found,) = store.findings(run)
        assert (found.state, found.signature, store.blobs.read(found.details["page"])) == ("example", "words", b"png")
        store.forget(run)
        assert [one.name for one in store.runs()] == ["update-2"]


def test_only_one_goes_on_with_a_run(tmp_path: Path) -> None:
    with Store(tmp_path) as one, Store(tmp_path) as other:
        run = one.begin("update", "", {})
        with one.writing(run), pytest.raises(UsageError, match="is running"), other.writing(run):
            pass
        with other.writing(run):
            pass


def test_many_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    def runs(number: int) -> list[Run]:
        with Store(tmp_path / str(number // 8)) as store:
            return store.runs()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(runs, range(320))) == [[]] * 320


def test_stores_that_are_none_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no runs"):
        Store(tmp_path / "nowhere", make=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        Store(tmp_path / "file")
    for name, words in (("foreign", "something else"), ("newer", "newer Moire"), ("damaged", "damaged")):
        folder = tmp_path / name
        if name == "damaged":
            folder.mkdir()
            (folder / "moire.sqlite").write_bytes(b"no database at all, but long enough to be read" * 100)
        else:
            with Store(folder):
                pass
            db = sqlite3.connect(folder / "moire.sqlite")
            foreign = name == "foreign"
            db.execute("PRAGMA application_id = 7" if foreign else f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
            db.close()
        before = (folder / "moire.sqlite").read_bytes()
        with pytest.raises(StoreError, match=words):
            Store(folder)
        done = moire("runs", "list", "--store", folder)
        assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr
        assert (folder / "moire.sqlite").read_bytes() == before


def test_verbs_say_what_is_missing(tmp_path: Path, store: Path) -> None:
    for words, code, said in [
        (("runs", "list", "--store", tmp_path / "none"), 2, "Hunt first"),
        (("hunt", "--resume", "none", "--store", tmp_path / "none"), 2, "no runs"),
        (("hunt",), 2, "nothing to hunt for"),
        (("hunt", "update", "chromium@156", "--time", "soon"), 2, "no time"),
        (("hunt", "update", "chromium@156", "--name", "a/b"), 2, "folder's name"),
        (("hunt", "update", "chromium@156", "--name", ".."), 2, "folder's name"),
        (("hunt", "update", "chromium@156", "--name", "blobs"), 2, "is taken"),
        (("hunt", "update", "chromium@156", "chromium@156"), 2, "named twice"),
        (("hunt", "--store", tmp_path, "update", "chromium@156"), 2, "stands before update"),
        (("hunt", "update", "chromium@156", "--from", tmp_path), 2, "no pages"),
        (("hunt", "update", "chromium@156", "--from", tmp_path / "none"), 2, "no folder"),
        (("hunt", "update", "chromium@999"), 2, "chromium@999"),
        (("hunt", "--resume", "x", "change", "--base", "chromium@108", "--new", "chromium@156"), 2, "takes no other"),
        (("report", "none", "-o", tmp_path / "r", "--store", tmp_path / "none"), 2, "no runs"),
    ]:  # fmt: skip
        done = moire(*words)
        assert done.returncode == code and said in done.stderr and "Traceback" not in done.stderr, (words, done.stderr)
    with Store(store) as kept:
        assert kept.runs() == []


def test_what_pages_say_is_kept_and_shown_whatever_it_is(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = store.begin("update", "", {"builds": ["b"], "measure": "exact"})
        verdict = Verdict("untestable", "half a character \ud800, [/x] and [object Object]")
        store.done(run, [PageRow(0, "b", verdict.kind, verdict.reason)], 1.0)
        case = Case(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "own/drawing.SVG")
        judged = Judged(case, "b", Verdict("different"), [("one", PNG), ("other", PNG)])
        store.keep(run, Finding(1, "b", "example", "different", "words", facts(store.blobs, judged, case)))
        write(store, run, tmp_path / "report")
    done = moire("runs", "show", "update-1", "--store", tmp_path)
    assert done.returncode == 0 and "[/x] and [object Object]" in done.stdout, done.stderr
    # A page stays what it is by its name.
    assert (tmp_path / "report" / "finding-001" / "page.svg").read_bytes() == case.html
    (told,) = (tmp_path / "report" / "data" / "finding").iterdir()
    assert "finding-001/page.svg" in told.read_text() and "page.html" not in told.read_text()


def test_a_store_without_room_says_so(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = store.begin("update", "", {})
        ((pages,),) = store.query("PRAGMA page_count")
        store.query(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="no room"):
            store.keep(run, Finding(0, "b", "confirmed", "different", "s", {"long": "x" * 100_000}))
        assert store.findings(run) == []
        store.done(run, [PageRow(0, "b", "same")], 0.0)


class _Once:
    """A hunt that finds nothing, any more."""

    builds = ()

    renews = False

    def __init__(self) -> None:
        self.looked: list[Judged] = []

    def more(self, number: int) -> bool:
        return True

    def case(self, number: int) -> Case:
        return Case(b"<p>", seed=number)

    async def judge(self, lab: object, case: Case) -> list[Judged]:
        return [Judged(case, "b", Verdict("same"))]

    async def look_into(self, lab: object, judged: Judged, enough: object, witness: Witness) -> Prospect:
        self.looked.append(judged)
        return Prospect(judged, judged, "words")

    def place(self, prospect: Prospect, number: int, known: object) -> Finding:
        return Finding(number, prospect.found.build, "example", "different", prospect.signature, {})

    def learn(self, known: object, number: int) -> None:
        return None

    def settle(self, known: object, told: object) -> Any:
        return nothing_more()


_RENDERER = """
import os, signal, sys
page, png = sys.argv[1:]
if "zoom" in open(page).read():
    os.kill(os.getpid(), signal.SIGSEGV)
open(png, "wb").write({png})
"""


def test_what_crashes_is_reduced_and_told_from_what_is_known(tmp_path: Path) -> None:
    program = tmp_path / "renderer.py"
    program.write_text(_RENDERER.format(png=PNG))
    own = tmp_path / "pages"
    own.mkdir()
    for name, more in (("a", "<p>one</p>"), ("b", "<ul><li>two</li></ul>"), ("c", "")):
        crash = "zoom: 3; " if more else ""
        page = f"<!DOCTYPE html><style>b {{ color: red }}</style><div style='{crash}width: 9px'><b>x</b>{more}</div>"
        (own / f"{name}.html").write_text(page)
    builds = [f"cmd:{sys.executable} {program} {{page}} {{png}}", f"cmd:{sys.executable} -u {program} {{page}} {{png}}"]
    words = ["hunt", "change", "--base", builds[0], "--new", builds[1], "--from", own, "--store", tmp_path / "runs"]
    done = moire(*words, "--name", "crash")
    assert done.returncode == 0, done.stderr
    with Store(tmp_path / "runs", make=False) as store:
        first, second = store.findings(store.run("crash"))
        assert store.blobs.read(first.details["page"]) == b"<!DOCTYPE html><div style='zoom: 1; '></div>"
        assert (first.kind, first.state, second.state) == ("crashed", "example", "duplicate")
        assert first.signature.endswith(" crashed zoom:") and second.signature == first.signature


async def test_a_run_that_is_stopped_while_it_waits_is_not_done(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = store.begin("update", "", {})
        switch = Switch()
        switch.going.clear()
        following = asyncio.create_task(follow(store, run, _Once(), Here(Lab([]), _Once()), Budget(), switch, Told()))
        await asyncio.sleep(0)
        assert store.run("update-1").state == "paused"
        switch.stop.set()
        assert not await following and store.run("update-1").state == "running"
        assert await follow(store, run, _Once(), Here(Lab([]), _Once()), Budget(pages=4), Switch(), Told())


def test_a_store_of_an_earlier_moire_is_brought_up_to_date(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "moire.sqlite") as db:
        db.executescript(MIGRATIONS[0])
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("PRAGMA user_version = 1")
        db.execute(
            "INSERT INTO runs VALUES (1, 'update-1', 'update', '{}', '2026-01-01T00:00:00+00:00', 9.5, 'done', '{}')"
        )
        told = {"figures": {"pixels": 7}, "pictures": {"updated": "a"}, "stage": "paint", "properties": ["color"]}
        for number, details in enumerate((told, {})):
            row = (1, number, "b", "example", "different", "words", json.dumps(details))
            db.execute("INSERT INTO findings VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row)
    with Store(tmp_path, make=False) as store:
        run = store.run("update-1")
        first, second = [json.loads(row.brief) for row in store.rows(run)]
        assert (first["impact"], first["stage"], first["pictures"]) == (7, "paint", {"updated": "a"})
        assert first["properties"] == ["color"] and (second["impact"], second["pictures"]) == (0, None)
        assert [one.details for one in store.findings(run)] == [told, {}]
        # What comes now is newer than all of that.
        store.keep(run, Finding(5, "b", "example", "different", "words", {}))
        assert [row.number for row in store.rows_after(2, 2**62, 10)] == [5]
        assert store.counts() == {1: (0, 3, 1)} and store.triage() == [] and store.looking(run) is None


async def test_what_was_confirmed_is_looked_into_after_a_break_whatever_is_seen_then(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = store.begin("update", "", {})
        store.done(run, [PageRow(0, "b", "same")], 1.0)
        judged = Judged(Case(b"<p>", seed=1), "b", Verdict("different", "why"), [("updated", PNG)])
        store.keep(run, confirmed(store.blobs, 1, judged))
        hunt = _Once()
        assert await follow(store, run, hunt, Here(Lab([]), hunt), Budget(pages=4), Switch(), Told())
        assert [(one.verdict.reason, one.pictures) for one in hunt.looked] == [("why", [("updated", PNG)])]
        assert [(one.number, one.state) for one in store.findings(run)] == [(1, "example")]
        assert store.next_page(run) == 4


class _Long(_Once):
    """A hunt whose one finding takes long to reduce: somebody says stop meanwhile, the first time."""

    def __init__(self, switch: Switch) -> None:
        super().__init__()
        self.switch = switch
        self.known: list[dict[str, bool]] = []

    async def judge(self, lab: object, case: Case) -> list[Judged]:
        return [Judged(case, "b", Verdict("different"))]

    async def look_into(self, lab: object, judged: Judged, enough: object, witness: Witness) -> Prospect:
        self.known.append(dict(witness.known))
        for question in ("a", "b"):
            witness.told(question, question == "a")
        if not witness.known:
            self.switch.stop.set()
            await asyncio.get_running_loop().create_future()
        return Prospect(judged, judged, "words")


async def test_a_reduction_goes_on_from_what_it_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is broken off: a long one would never end if it were begun anew each time."""
    monkeypatch.setattr(run_module, "SECONDS", 0.0)
    with Store(tmp_path) as store:
        run = store.begin("update", "", {})
        for _ in range(2):
            switch = Switch()
            hunt = _Long(switch)
            done = await follow(store, run, hunt, Here(Lab([]), hunt), Budget(pages=1), switch, Told())
            answers = {"a": True, "b": False}
            first = switch.stop.is_set()
            assert (done, hunt.known) == (not first, [{} if first else answers])
            assert store.answers(run, 0, "b") == (answers if first else {})
        assert done and [one.state for one in store.findings(run)] == ["example"]


def _findings(folder: Path) -> list[dict[str, Any]]:
    with Store(folder, make=False) as kept:
        (run,) = kept.runs()
        assert run.state == "done" and kept.next_page(run) == PAGES
        return [
            {"number": one.number, "state": one.state, "signature": one.signature, "page": one.details.get("page"),
             "update": one.details.get("update")}
            for one in kept.findings(run)
        ]  # fmt: skip


def test_a_run_that_is_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    """The page that fails is put among the user's own, so that there is something to find."""
    own = tmp_path / "pages"
    own.mkdir()
    stale = '<!DOCTYPE html><div id=a><span>u</span></div><div style="offset-path:view-box ray(0deg)">a</div>'
    (own / "stale.html").write_text(stale)
    (own / "plain.html").write_text("<!DOCTYPE html><div id=a>plain</div><div id=b>page</div>")
    words = [*HUNT, "--from", own]
    assert moire(*words, "--fail-on-finding", "--store", tmp_path / "whole").returncode == 1
    wanted = _findings(tmp_path / "whole")
    assert any(one["state"] == "example" for one in wanted)
    _opens_offline(tmp_path / "whole", tmp_path / "report")
    broken = tmp_path / "broken"
    first = [*words, "--store", broken]
    again: list[object] = ["hunt", "--resume", "update-1", "--store", broken]
    kills = 0
    for kill in range(2):
        process = subprocess.Popen(
            [*MOIRE, *map(str, first if kill == 0 else again)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        # The first at a finding that is not looked into yet.
        _wait_for_more(broken, process, least=(0, 1))
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[1].decode()
        assert process.returncode in (0, -signal.SIGKILL), said
        kills += process.returncode == -signal.SIGKILL
        if kill == 0:
            with Store(broken) as kept:
                assert kept.state(kept.run("update-1")) == "broken off"
            plain = (own / "plain.html").read_text()
            (own / "plain.html").write_text("changed")
            changed = moire(*again)
            assert changed.returncode == 2 and "is not what it was" in changed.stderr
            (own / "plain.html").write_text(plain)
    assert kills >= 1
    done = moire(*again)
    assert done.returncode == 0, done.stderr
    assert _findings(broken) == wanted
    finished = moire(*again)
    assert finished.returncode == 0 and "is done" in finished.stdout and _findings(broken) == wanted


def _opens_offline(store: Path, report: Path) -> None:
    """The report of a run, and the command that it names."""
    assert moire("report", "update-1", "-o", report, "--store", store).returncode == 0
    whole = json.loads((report / "report.json").read_text())
    assert whole["findings"] and whole["primitives"]["chromium@156"]
    ours = [report / "index.html", *(report / "viewer").iterdir()]
    # But for the name of a namespace, which nobody fetches.
    texts = [file.read_text().replace("http://www.w3.org/2000/svg", "") for file in ours]
    assert len(ours) > 3 and not any(re.search("https?://", text) for text in texts)
    one = whole["findings"][0]
    files = {"page.html", "before.html", "update.json", "updated.png", "fresh.png", "difference.png", "close-up.png",
             "finding.json"}  # fmt: skip
    assert files <= {file.name for file in (report / one["name"]).iterdir()}
    words = [*MOIRE, *one["command"].split()[1:], "--json"]
    again = subprocess.run(words, capture_output=True, text=True, cwd=report, timeout=120)
    row = json.loads(again.stdout)
    assert again.returncode == 1 and row["verdict"] == "different" and row["same_page"] and row["stage"] == one["stage"]
    assert {"pixels", "max_difference", "flake_rate"} <= row.keys()


def _wait_for_more(folder: Path, process: subprocess.Popen[Any], least: tuple[int, int] = (0, 0)) -> None:
    """Until something new is on disk, or nothing more is to come."""

    def state() -> tuple[int, int]:
        if not (folder / "moire.sqlite").exists():
            return -1, -1
        with Store(folder) as kept:
            return max([(kept.next_page(run), len(kept.findings(run))) for run in kept.runs()], default=(-1, -1))

    before = state()
    while process.poll() is None and (state() <= before or state() < least):
        # Another process writes: SQLite has no event for that.
        time.sleep(0.05)


def test_ctrl_c_ends_in_order_and_twice_at_once(tmp_path: Path) -> None:
    words = [*MOIRE, "hunt", "update", "chromium@156", "--time", "2h", "--store", str(tmp_path)]
    for times in (1, 2):
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _wait_for_more(tmp_path, process, least=(1, 0))
        for _ in range(times):
            process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=30)
        assert process.returncode == 130 and "Traceback" not in said, said
        if times == 1:
            assert "index.html" in out and "--resume update-1" in said
    shown = json.loads(moire("runs", "show", "update-1", "--store", tmp_path, "--json").stdout)
    assert shown["summary"]["state"] == "stopped" and shown["summary"]["pages"] > 0
    listed = json.loads(moire("runs", "list", "--store", tmp_path, "--json").stdout)
    assert [one["name"] for one in listed][:1] == ["update-1"]


async def test_a_report_shows_what_is_not_looked_into_and_nothing_acts_in_it(tmp_path: Path, chromium: Build) -> None:
    hostile = "</pre><script>evil = 1</script>'\"><img src=x onerror='evil = 1'>"
    settings = {"builds": [f"b{hostile}"], "measure": "exact", "pages": 1, "seconds": 0}
    with Store(tmp_path) as store:
        run = store.begin("update", "", settings)
        case = Case(hostile.encode(), update=(operation("set-text", target=hostile, value=hostile),))
        judged = Judged(case, f"b{hostile}", Verdict("different", hostile), [("updated", PNG), ("fresh", PNG)])
        store.keep(run, confirmed(store.blobs, 0, judged))
        details = facts(store.blobs, judged, case)
        store.keep(run, Finding(1, f"b{hostile}", "example", "different", f"words {hostile}", details))
        index = write(store, run, tmp_path / "report")
    async with viewing(chromium) as view:
        await view.open(index.as_uri())
        await view.until("document.querySelectorAll('.card').length === 2")
        assert "not looked into yet" in await view.text() and hostile in await view.text()
        assert await view.js("typeof evil") == "undefined"
    found = json.loads((tmp_path / "report" / "report.json").read_text())["findings"]
    for one in found:
        assert (tmp_path / "report" / one["name"] / "update.json").exists()


def test_a_report_has_what_the_users_own_page_takes_from_beside_it(tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "css").mkdir(parents=True)
    (own / "css" / "a.css").write_text("@import 'b.css'; p { background: url(../dot.png?1) }")
    (own / "css" / "b.css").write_text("p { color: red }")
    (own / "dot.png").write_bytes(PNG)
    (tmp_path / "secret.css").write_text("p {}")
    (own / "my pic.png").write_bytes(PNG)
    (own / "elsewhere.html").write_text("<p>another page")
    (own / "finding.json").mkdir()
    (own / "finding.json" / "x.css").write_text("p {}")
    page = """<link rel=stylesheet href=/css/a.css><link href=../secret.css><img src=none.png srcset="my%20pic.png 2x">
        <a href=elsewhere.html>a</a><link rel=stylesheet href=finding.json/x.css><iframe src=http://a/b.html></iframe>"""
    (own / "own.html").write_text(page)
    case = Case.from_file(own / "own.html")
    judged = Judged(case, "b", Verdict("different", "why"), [("updated", PNG), ("fresh", PNG)])
    with Store(tmp_path / "store") as store:
        run = store.begin("update", "", {"builds": ["b"], "measure": "exact", "pages": 1, "seconds": 0})
        store.keep(run, Finding(1, "b", "example", "different", "words", facts(store.blobs, judged, case)))
        write(store, run, tmp_path / "report")
        assert case_of(store.blobs, store.findings(run)[0]).resources.keys() == {
            "css/a.css", "css/b.css", "dot.png", "my pic.png", "finding.json/x.css",
        }  # fmt: skip
    folder = tmp_path / "report" / "finding-001"
    assert (folder / "css" / "b.css").read_text() == "p { color: red }" and (folder / "dot.png").read_bytes() == PNG
    assert json.loads((folder / "finding.json").read_text())["signature"] == "words"
    assert not list(tmp_path.glob("report/**/secret.css"))
