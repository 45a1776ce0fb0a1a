"""What a hunt may take: findings, disk, memory; and what it knows from earlier runs."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from moire.browsers.lab import Lab, LabOptions
from moire.hunts import room
from moire.hunts.finding import Enough, Judged, Prospect, placed
from moire.hunts.guide import Guide
from moire.hunts.here import Here
from moire.hunts.run import Budget, Switch, Told, follow, nothing_more
from moire.nouns import Build, Case, Failure, Shot, UsageError, Verdict
from moire.pages.make import Pages
from moire.pages.spec import web
from moire.store import Finding, Run, Store, earlier, upkeep
from moire.store.blobs import Blobs
from moire.store.database import NoRoom
from moire.triage.reduce import Step, View, Witness


@dataclass
class Fails:
    """A hunt in which every page fails, in one of some ways."""

    blobs: Blobs
    kinds: int = 2
    weight: int = 100
    builds: Sequence[Build] = ()
    renews: bool = False
    looked: list[int] = field(default_factory=list)

    def more(self, number: int) -> bool:
        return True

    def case(self, number: int) -> Case:
        return Case(b"<p>%d" % number, seed=number)

    async def judge(self, lab: object, case: Case) -> list[Judged]:
        return [Judged(case, "b", Verdict("different"))]

    async def look_into(self, lab: object, judged: Judged, enough: Enough, witness: Witness) -> Prospect:
        assert judged.case.seed is not None
        name = f"kind {judged.case.seed % self.kinds}"
        if enough.signature(name, b""):
            return Prospect(judged, judged, "", name)
        self.looked.append(judged.case.seed)
        witness.shown(Step("cut", f"{judged.case.seed} " * self.weight), View())
        return Prospect(judged, judged, name, name, {"rough": name})

    def place(self, prospect: Prospect, number: int, known: Sequence[Finding]) -> Finding:
        return placed(self.blobs, prospect, number, known)

    def learn(self, known: object, number: int) -> None:
        return None

    def settle(self, known: object, told: object) -> Any:
        return nothing_more()


async def hunted(store: Store, run: Run, hunt: Fails, budget: Budget, told: Told | None = None) -> list[Finding]:
    switch = Switch()
    async with asyncio.timeout(30):
        assert await follow(store, run, hunt, Here(Lab([]), hunt), budget, switch, told or Told())
    return store.findings(run)


async def test_a_hunt_ends_after_so_many_kinds(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = store.begin("update", "", {"builds": []})
        found = await hunted(store, run, Fails(store.blobs, kinds=3), Budget(findings=2))
        assert [one.signature for one in found] == ["kind 0", "kind 1"] and store.next_page(run) == 2


async def test_what_earlier_runs_found_is_known(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        first = store.begin("update", "", {"builds": [], "earlier": earlier.note(store, "update")})
        await hunted(store, first, Fails(store.blobs), Budget(pages=7))
        assert [one.state for one in store.findings(first)] == ["example"] * 6 + ["duplicate"]
        assert not any("known_from" in one.details for one in store.findings(first))
        second = store.begin("update", "", {"builds": [], "earlier": earlier.note(store, "update")})
        hunt = Fails(store.blobs, kinds=3)
        found = await hunted(store, second, hunt, Budget(pages=6))
        # Only what is new is looked into.
        assert hunt.looked == [2, 5]
        assert [(one.signature, one.state, one.details.get("known_from")) for one in found[:3]] == [
            ("kind 0", "duplicate", "update-1"), ("kind 1", "duplicate", "update-1"), ("kind 2", "example", None),
        ]  # fmt: skip
        # What a run knows it knows from its beginning; other kinds of hunts find other things.
        assert earlier.note(store, "update") != second.settings["earlier"] and not earlier.note(store, "change")


async def test_a_store_stays_within_its_share_and_keeps_every_finding(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = store.begin("update", "", {"builds": []})
        hunt = Fails(store.blobs, kinds=500, weight=40_000)
        with store.writing(run):
            # What pages and findings take, and some of the steps of reductions.
            found = await hunted(store, run, hunt, Budget(pages=100, disk=5_000_000))
        assert len(found) == 100 and all(store.blobs.has(one.details["page"]) for one in found)
        assert upkeep.size(store) < 6_000_000 < sum(40_000 * len(f"{n} ") for n in range(100))
        left = [n for n in range(100) if store.cuts(run, n, "b")]
        assert left and left == [*range(100)][-len(left) :], "the oldest go first"
        said: list[str] = []
        again = store.begin("update", "", {"builds": []})
        with store.writing(again):
            await hunted(store, again, hunt, Budget(pages=100, disk=1000), Told(room=said.append))
        assert 0 < store.next_page(again) < 100 and said == ["The store is as large as it may be."]


async def test_a_full_disk_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SECONDS", 0.05)
    with Store(tmp_path) as store:
        run = store.begin("update", "", {"builds": []})
        hunt = Fails(store.blobs)
        said: list[str] = []
        states: list[str] = []
        full = deque([False, False, True, True, True, False, False, True, False])

        def check(folder: Path) -> None:
            states.append(store.run(run.name).state)
            if full and full.popleft():
                raise NoRoom("It is full.")

        monkeypatch.setattr(room, "check", check)
        add, tries = store.blobs.add, iter(range(1000))

        def no_room_once(data: bytes) -> str:
            if next(tries) == 9:
                raise NoRoom("There is no room for this.")
            return add(data)

        monkeypatch.setattr(store.blobs, "add", no_room_once)
        found = await hunted(store, run, hunt, Budget(pages=8), Told(room=said.append))
        assert [one.number for one in found] == [*range(8)] and store.next_page(run) == 8
        assert said.count("There is room: going on.") == 2 and "paused" in states
        assert "There is no room for this. Waiting for room." in said


async def test_a_hunt_that_waits_for_room_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LEAST", 2**80)
    with Store(tmp_path) as store:
        run = store.begin("update", "", {"builds": []})
        hunt = Fails(store.blobs)
        switch = Switch()
        told = Told(room=lambda words: switch.stop.set())
        assert not await follow(store, run, hunt, Here(Lab([]), hunt), Budget(pages=8), switch, told)
        assert store.findings(run) == []


async def test_a_page_that_takes_too_much_memory_costs_no_other(chromium: Build) -> None:
    greedy = Case(b"<!DOCTYPE html><p>x<script>let all = []; for (;;) all.push(new Uint8Array(2e7).fill(1))</script>")
    plain = [Case(b"<!DOCTYPE html><p>%d" % n) for n in range(6)]
    async with Lab([chromium], LabOptions(processes=1, memory=900_000_000, deadline=30)) as lab:
        seen = await asyncio.gather(*(lab.shoot(chromium, case) for case in (greedy, *plain)))
    assert isinstance(seen[0], Failure) and seen[0].kind == "untestable" and "900 MB of memory" in seen[0].reason
    assert all(isinstance(one, Shot) for one in seen[1:])


def test_too_little_memory_gets_a_sentence() -> None:
    from moire.cli.hunting import Means

    with pytest.raises(UsageError, match="too little"):
        Means.of(15.0, "", 1000, "")


def _crash(needs: str, state: str = "example") -> Finding:
    details = {"needs": [needs]} if state == "example" else {"rough": "b crashed", "unreduced": "one more of many"}
    return Finding(0, "b", state, "crashed", f"b crashed {needs}", details)  # type: ignore[arg-type]


def test_many_of_one_crash_are_no_other_crash() -> None:
    enough = Enough.of([_crash("zoom:"), *(_crash("zoom:", "duplicate") for _ in range(5))])
    assert enough.signature("b crashed", b"<p style='zoom: 2'>") == "b crashed zoom:"
    assert enough.signature("b crashed", b"<p style='columns: 2'>") == ""


def test_a_run_that_goes_on_before_a_lesson_has_not_learnt_it_yet() -> None:
    pages = Pages(web.weights())
    guide = Guide(pages, lambda number, times: pages.page(number, 600 * times))
    known = [
        Finding(n, "b", "example", "different", "s", {"about": ["color:"], "first": not n, "questions": 50})
        for n in range(30)
    ]
    first = [pages.page(n, 600).html for n in range(190, 200)]
    guide.learn(known, 200)
    later = [pages.page(n, 600).html for n in range(200, 210)]
    guide.learn(known, 0)
    assert [pages.page(n, 600).html for n in range(190, 200)] == first
    guide.learn(known, 200)
    assert [pages.page(n, 600).html for n in range(200, 210)] == later


async def test_what_a_run_knows_of_others_outlives_them(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        first = store.begin("update", "", {"builds": []})
        (found, *_) = await hunted(store, first, Fails(store.blobs), Budget(pages=3))
        second = store.begin("update", "", {"builds": [], "earlier": earlier.note(store, "update")})
        upkeep.collect(store, forget=[first])
        assert store.blobs.has(found.details["page"]) and len(earlier.noted(store, second)) == 3
        upkeep.collect(store, forget=[second])
        assert not store.blobs.has(found.details["page"])


@pytest.mark.parametrize(("setting", "sentence"), [("made", "another Moire"), ("fonts", "Other fonts")])
def test_a_run_that_would_go_on_otherwise_is_not_gone_on_with(tmp_path: Path, setting: str, sentence: str) -> None:
    words = [sys.executable, "-m", "moire.cli", "hunt"]
    begun = [*words, "update", "chromium@156", "--pages", "1", "--store", str(tmp_path)]
    assert subprocess.run(begun, capture_output=True).returncode == 0
    with sqlite3.connect(tmp_path / "moire.sqlite") as db:
        change = f"settings = json_set(settings, '$.{setting}', 'other', '$.pages', 2)"
        db.execute(f"UPDATE runs SET state = 'stopped', {change}")
    again = [*words, "--resume", "update-1", "--store", str(tmp_path)]
    done = subprocess.run(again, capture_output=True, text=True)
    assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr
