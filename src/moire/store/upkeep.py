"""What keeps a store sound over weeks: looked over, mended, rid of what nobody needs, and put together with others."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..nouns import UsageError
from .database import damaged
from .records import Run
from .runs import BISECT, Store
from .salvage import kept_aside, misread

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


@dataclass(frozen=True, slots=True)
class Looked:
    """`damage` is the database's, a sentence each. `lost` is what findings name and is not there as it was, by
    finding, and `runs_lost` what runs were begun with, by run; `wrong` is all content that is not what its name says;
    `unnamed` is what nobody names, in files and bytes."""

    damage: Sequence[str]
    lost: Mapping[int, Sequence[str]]
    unnamed: tuple[int, int]
    broken_off: Sequence[str]
    runs_lost: Mapping[str, Sequence[str]] = field(default_factory=dict)
    wrong: Sequence[str] = ()

    @property
    def sound(self) -> bool:
        # What a run was begun with comes again with the next one that is begun so; until then, it cannot go on.
        return not (self.damage or self.lost or self.wrong)


def look_over(store: Store, told: Progress = lambda done, of: None) -> Looked:
    """Read all of a store, and compare all content with its name."""
    damage = [str(row[0]) for row in store.query("PRAGMA integrity_check") if row[0] != "ok"]
    damage += [f"{table} has a row of no run" for table, *_ in store.query("PRAGMA foreign_key_check")]
    damage += misread(store.query)
    if damage:
        # Nothing that is said by it can be relied on.
        return Looked(damage, {}, (0, 0), [])
    there = dict(store.blobs.names())
    wrong = set()
    for n, name in enumerate(there):
        if not store.blobs.sound(name):
            wrong.add(name)
        told(n + 1, len(there))

    def gone(names: Iterable[str]) -> list[str]:
        return sorted({name for name in names if name not in there or name in wrong})

    findings = store.query("SELECT id, details FROM findings")
    lost = {id: gone(named(store.parsed(details))) for id, details in findings}
    begun = store.query("SELECT name, settings FROM runs")
    runs_lost = {name: gone(_NAME.findall(settings)) for name, settings in begun}
    unnamed = there.keys() - mentioned(store)
    broken = [run.name for run in store.runs() if store.state(run) == "broken off"]
    return Looked(
        damage, {id: names for id, names in lost.items() if names},
        (len(unnamed), sum(there[name] for name in unnamed)), broken,
        {name: names for name, names in runs_lost.items() if names}, tuple(sorted(wrong)),
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
        for name in looked.wrong:
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


@dataclass(frozen=True, slots=True)
class Freed:
    files: int
    bytes: int
    steps: int


def collect(store: Store, most: int = 0, forget: Sequence[Run] = (), *, dry: bool = False) -> Freed:
    """Take away what nobody names; if the store is still larger than `most` bytes (0: however large), the steps of
    reductions go too, the oldest first. Findings never go, but for those of runs that are to be forgotten."""
    with store.claim.alone():
        if found := misread(store.query):
            # What a row named that makes no sense is not known.
            raise damaged(store.place, "; ".join(found))
        there = dict(store.blobs.names())
        steps = 0
        kept = [run for run in store.runs() if run.id not in {one.id for one in forget}]
        # What a database named that was made anew may still be wanted: all that is no newer.
        aside = max((file.stat().st_mtime for file in kept_aside(store.folder)), default=0.0)
        unnamed = there.keys() - {name for run in kept for name in mentioned(store, run)}
        gone = {name for name in unnamed if not aside or store.blobs.made(name) > aside}
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
    own = [[page, *store.parsed(pictures).values()] for page, pictures in rows]
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
    """`name` is the run's in the store that it came to; empty, if it is there already: then `behind` is what it is
    called there, if it is no longer all of it. `lost` is what it names and its store does not have."""

    run: str
    name: str
    lost: int = 0
    behind: str = ""


def merge(store: Store, other: Store, only: Sequence[str] = ()) -> Iterator[Merged]:
    """Take over another store's runs, with all that they found, and what people say of it."""
    if store.place.samefile(other.place):
        raise UsageError(f"{other.folder} is the very same store.", "Name another.")
    if wrong := [row[0] for row in other.query("PRAGMA quick_check(1)") if row[0] != "ok"]:
        raise damaged(other.place, wrong[0])
    chosen = [other.run(name) for name in only] or other.runs()
    for run in chosen:
        if other.state(run) in ("running", "paused"):
            raise UsageError(f"{run.name} is running.", "Wait for it to end.")
    with store.claim.adding():
        for run in chosen:
            alike = (run.kind, run.begun, run.settings)
            mine = next((one for one in store.runs() if (one.kind, one.begun, one.settings) == alike), None)
            if mine is not None:
                more = other.next_page(run) > store.next_page(mine)
                yield Merged(run.name, "", behind=mine.name if more else "")
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
            before = known.get((said.kind, said.signature))
            if before is None or before.changed < said.changed:
                store.say(said)
