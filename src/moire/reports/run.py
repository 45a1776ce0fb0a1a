"""A run as one folder that opens offline: the viewer, its data, pages, pictures, and how to see it again."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from ..nouns import Case, UsageError
from ..nouns.case import inside
from ..pages.normal import normalised
from ..pixels import Image, average, close_up, decode, difference, encode
from ..store import Finding, Run, Store, Trial, case_of
from ..wpt.export import reftest
from . import consensus, records

INDEX = "index.html"
# Pictures that are in no finding's own folder.
PICTURES = "pictures"
# Findings that have a page of their own: each takes some tenths of a second and of a megabyte.
MOST_SHOWN = 500
# From a disk, nobody else says what the page may do.
_HEAD = '<meta charset="utf-8">\n'
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'self' file:;"
    " style-src 'self' file:; img-src 'self' file:; base-uri 'none'; form-action 'none'\">\n"
)
# What a report has beside its findings' folders.
FOLDERS = ("data", "viewer", PICTURES)


def write(store: Store, run: Run, place: Path, most: int = MOST_SHOWN) -> Path:
    """The page to open. So many findings have a page of their own, the most visible ones; 0 is for all."""
    # Nothing that is not ours goes, or is written over.
    if not (place / "report.json").exists() and any((place / name).exists() for name in (INDEX, *FOLDERS)):
        raise UsageError(f"{place} holds something else.", "Give another folder.")
    place.mkdir(parents=True, exist_ok=True)
    for folder in (*(record.parent for record in place.glob("finding-*/finding.json")), *(place / n for n in FOLDERS)):
        # An earlier report's.
        shutil.rmtree(folder, ignore_errors=True)
    (place / "report.json").write_text("{}", "utf-8")
    # Read once: a hunt that goes on finds more meanwhile.
    found = store.findings(run)
    ids = {(row.number, row.build): row.id for row in store.rows(run)}
    ranked = [one for one in _ranked(found) if (one.number, one.build) in ids]
    shown = ranked[: most or None]
    places = _Folder(store, run, place)
    told = [_files(store, run, one, place / f"finding-{n:03d}", places) for n, one in enumerate(shown, 1)]
    whole = {
        "run": run.name, "kind": run.kind, "settings": records.settings(run), "summary": records.summary(store, run),
        "primitives": records.primitives(found), "findings": told,
        # Apart from the findings, which are the same whenever the same is hunted for.
        "ids": {record["name"]: ids[one.number, one.build] for record, one in zip(told, shown, strict=True)},
    }  # fmt: skip
    (place / "report.json").write_text(json.dumps(whole, indent=1), "utf-8")
    if run.settings.get("config"):
        (place / "config.toml").write_bytes(run.settings["config"].encode("utf-8", "replace"))
    more = consensus.write(store, run, found, place) if run.kind == "consensus" else {}
    _viewer(
        store, run, place, places, more, {ids[one.number, one.build]: one for one in shown}, len(ranked) - len(shown)
    )
    return place / INDEX


def _ranked(found: Sequence[Finding]) -> list[Finding]:
    """Those to show: each kind of finding together, the most visible first."""
    shown = [one for one in found if one.state != "duplicate"]
    worth: Counter[str] = Counter()
    for one in shown:
        worth[one.signature] = max(worth[one.signature], records.impact(one.details))
    return sorted(shown, key=lambda one: (not one.details.get("bug"), -worth[one.signature], one.signature, one.number))


def _viewer(
    store: Store, run: Run, place: Path, folder: _Folder, more: Mapping[str, Any], shown: Mapping[int, Finding],
    left_out: int,
) -> None:  # fmt: skip
    """The viewer and its data: scripts, since a page that is opened from a disk may not read anything else. What is one
    more of many has no page of its own."""
    ours = resources.files("moire.reports") / "viewer"
    (place / "viewer").mkdir(exist_ok=True)
    for file in ours.iterdir():
        target = place if file.name == INDEX else place / "viewer"
        text = file.read_text("utf-8")
        (target / file.name).write_text(text.replace(_HEAD, _HEAD + _POLICY) if file.name == INDEX else text, "utf-8")
    rows = [row for row in store.rows(run) if row.id in shown]
    whole: dict[str, Any] = {
        f"run/{run.name}": {**records.whole(store, run, store.counts()[run.id], folder), **more},
        "findings": {"rows": [json.loads(records.row(one, {run.name: run.kind})) for one in rows], "changed": 0},
        "triage": records.triage(store),
    }  # fmt: skip
    # One by one: there may be thousands.
    findings = ((f"finding/{id}", records.finding(store, run, id, one, folder)) for id, one in shown.items())
    for name, value in itertools.chain(whole.items(), findings):
        file = place / "data" / f"{name}.js"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"M.arrived({json.dumps(name)}, {json.dumps(value)});\n", "utf-8")
    blobs = {blob for row in rows for blob in (json.loads(row.brief).get("pictures") or {}).values()}
    pictures = {blob: folder.picture(blob) for blob in sorted(blobs)}
    config = {"offline": True, "run": run.name, "kind": run.kind, "builds": [], "pictures": pictures,
              "left_out": left_out}  # fmt: skip
    (place / "data" / "config.js").write_text(f"M.config = {json.dumps(config)};\n", "utf-8")


class _Folder:
    """Where things are in the report; what is not there yet is put there."""

    def __init__(self, store: Store, run: Run, place: Path) -> None:
        self._store = store
        self._place = place
        self._run = run
        # Pictures by content, and findings' folders.
        self.named: dict[str, str] = {}
        self.folders: dict[tuple[int, str], str] = {}

    def picture(self, blob: str) -> str:
        return self._made(blob, lambda: self._store.blobs.read(blob))

    def difference(self, a: str, b: str) -> str:
        return self._made(f"difference-{a[:12]}-{b[:12]}", lambda: encode(difference(self._image(a), self._image(b))))

    def close_up(self, a: str, b: str) -> str:
        return self._made(f"close-up-{a[:12]}-{b[:12]}", lambda: encode(close_up(self._image(a), self._image(b))))

    def average(self, blobs: Sequence[str]) -> str:
        name = "-".join(["average", *(blob[:12] for blob in blobs)])
        return self._made(name, lambda: encode(average([self._image(blob) for blob in blobs])))

    def pages(self, id: int, finding: Finding) -> Mapping[str, str]:
        folder = self.folders[finding.number, finding.build]
        end = records.end(finding.details)
        there = {
            "page": f"page{end}", "before reduction": f"before{end}", "operations": "update.json",
            "reftest": "reftest.html", "trace": records.TRACE,
        }  # fmt: skip
        return {words: f"{folder}/{file}" for words, file in there.items() if (self._place / folder / file).exists()}

    def trial(self, run: Run, trial: Trial, name: str) -> str:
        return self._made(f"trial-{trial.slot}-{_plain(name)}", lambda: trial.pictures[name])

    def command(self, run: Run, finding: Finding) -> str:
        return records.command(run, finding, f"{self.folders[finding.number, finding.build]}/page", bare=False)

    def _image(self, blob: str) -> Image:
        return decode(self._store.blobs.read(blob))

    def _made(self, name: str, make: Callable[[], bytes]) -> str:
        if name not in self.named:
            self.named[name] = f"{PICTURES}/{name}.png"
            (self._place / PICTURES).mkdir(exist_ok=True)
            (self._place / self.named[name]).write_bytes(make())
        return self.named[name]


def _files(store: Store, run: Run, finding: Finding, folder: Path, places: _Folder) -> dict[str, Any]:
    """A finding's own folder, for people who take it elsewhere."""
    folder.mkdir(exist_ok=True)
    # First, so that the folder is known for ours whatever happens.
    (folder / "finding.json").write_text("{}", "utf-8")
    places.folders[finding.number, finding.build] = folder.name
    details = finding.details
    end = records.end(details)
    case = replace(case_of(store.blobs, finding), name=f"page{end}") if "page" in details else None
    if case is not None:
        # As browsers got to see it; what stands above the page itself is in neither the text nor its size.
        seen = normalised if run.settings.get("normal") else lambda one: one
        (folder / f"page{end}").write_bytes(seen(case).html)
        if "before" in details:
            before = replace(case, html=store.blobs.read(details["before"]["page"]))
            (folder / f"before{end}").write_bytes(seen(before).html)
        if case.update:
            (folder / "update.json").write_text(records.lines(details["update"]), "utf-8")
            if details.get("reftest") == "fails":
                _reftest(case, finding, folder)
    if "trace" in details:
        (folder / records.TRACE).write_bytes(store.blobs.read(details["trace"]))
    pictures = {}
    for name, blob in details.get("pictures", {}).items():
        file = f"{_plain(name)}.png"
        (folder / file).write_bytes(store.blobs.read(blob))
        places.named.setdefault(blob, f"{folder.name}/{file}")
        pictures[name] = file
    if len(pictures) == 2:
        images = [decode((folder / file).read_bytes()) for file in pictures.values()]
        (folder / "difference.png").write_bytes(encode(difference(*images)))
        (folder / "close-up.png").write_bytes(encode(close_up(*images)))
    record = {
        **details, "name": folder.name, "number": finding.number, "build": finding.build, "verdict": finding.kind,
        "state": finding.state, "signature": finding.signature, "pictures": pictures,
        "command": places.command(run, finding),
        "html": case.html.decode("utf-8", "replace") if case is not None else "",
    }  # fmt: skip
    (folder / "finding.json").write_text(json.dumps(record, indent=1), "utf-8")
    if case is not None:
        _beside(case, folder)
    return record


def _beside(case: Case, folder: Path) -> None:
    """What the page takes from beside it, but for names that are taken by what is there."""
    ours = {entry.name for entry in folder.iterdir()}
    for path, data in case.resources.items():
        if inside(path) and Path(path).parts[0] not in ours:
            with contextlib.suppress(OSError):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)


def _reftest(case: Case, finding: Finding, folder: Path) -> None:
    pair = reftest(case, "reftest", finding.signature)
    for name, data in (pair.test, pair.reference):
        (folder / name).write_bytes(data)


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "-" for c in name)
