"""What a consensus hunt says as a whole: which features fail, how runs went, where weights have come to."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..store import Finding, Run, Store
from . import charts

# Runs are drawn in so many bins at the most.
MOST_BINS = 25
# In every page, or nobody's doing.
_ALWAYS = frozenset(["html", "head", "body", "style", "id", "class"])


def facts(one: Mapping[str, Any]) -> dict[str, Any]:
    """Lines for a finding's table."""
    if "category" not in one:
        return {}
    begins = [f"{engine}: {older} to {newer}" for engine, (older, newer) in one.get("begins", {}).items()]
    return {
        "consensus": one["category"], "at fault": ", ".join(one["at_fault"]), "begins between": ", ".join(begins),
        "run": f"{one['run'] + 1}, iteration {one['iteration'] + 1}",
        "less of this from here on": ", ".join(one.get("away", ())),
    }  # fmt: skip


def summary(found: Sequence[Finding]) -> dict[str, int]:
    """Findings by what the pool says of them."""
    told = Counter(str(one.details["category"]) for one in found if "category" in one.details)
    benign = sum("benign" in one.details for one in found)
    return {**dict(sorted(told.items())), **({"benign": benign} if benign else {})}


def share(store: Store, run: Run, pages: int) -> float | None:
    """How much of a hunt by runs is done; a run that finds something is done with all its pages."""
    if run.kind != "consensus" or not run.settings.get("runs"):
        return None
    each, every = int(run.settings["iterations"]), int(run.settings["runs"])
    number, last = store.last_ended(run) or (-1, -1)
    return min(1.0, (last + 1 + (pages - number - 1) / each) / every)


def write(store: Store, run: Run, found: Sequence[Finding], place: Path) -> dict[str, Any]:
    """Tables, charts and weights as files; for the viewer, where they are."""
    # What was not reduced says nothing of what it is about.
    cases = [one.details["features"] for one in found if "category" in one.details]
    files = {"weights, for --weights": "weights.json"}
    for name in ("tags", "attributes", "properties"):
        counts = Counter(feature for one in cases for feature in {pair[-1] for pair in one[name]} - _ALWAYS)
        files[f"findings by {name}"] = _csv(place / f"{name}.csv", [name, "cases"], list(map(list, _most(counts))))
    for name, file in (("attributes", "tag-attribute"), ("styled", "tag-property")):
        files[file.replace("-", " × ")] = _csv(place / f"{file}.csv", *_matrix(cases, name))
    drawn = drawings(store, run, found)
    for file, chart in drawn.items():
        (place / f"{file}.svg").write_text(chart, "utf-8")
    (place / "weights.json").write_text(json.dumps(weights(store, run, found), indent=1), "utf-8")
    return {"charts": [f"{file}.svg" for file in drawn], "files": [list(pair) for pair in files.items()]}


def weights(store: Store, run: Run, found: Sequence[Finding]) -> dict[str, int]:
    """Those of the run's begin, and all that was lowered since."""
    made: dict[str, int] = json.loads(store.blobs.read(run.settings["weights"]))
    for one in sorted(found, key=lambda one: one.number):
        made |= {edge: after for edge, (_, after) in one.details.get("lowered", {}).items()}
    return made


def _runs(store: Store, run: Run, found: Sequence[Finding]) -> int:
    """How many runs there were, the last of them perhaps not to its end: a finding ends one, and so do enough pages."""
    ended = max((one for one in found if "run" in one.details), key=lambda one: one.number, default=None)
    before, first = (0, 0) if ended is None else (ended.details["run"] + 1, ended.number + 1)
    return int(before + -(-(store.next_page(run) - first) // run.settings["iterations"]))


# What is drawn, by file, and the details that it takes.
DRAWN = ("run", "bytes", "category")
DRAWINGS = ("runs-failing", "runs-reduced", "sizes", "shares")


def drawings(store: Store, run: Run, found: Sequence[Finding]) -> dict[str, str]:
    """The thesis's figures: what share of runs fail, how large failing pages are before and after."""
    runs = _runs(store, run, found)
    ended = [one for one in found if "run" in one.details]
    if not ended:
        return {}
    wide = -(-runs // MOST_BINS)
    bins = [[one for one in ended if one.details["run"] // wide == n] for n in range(-(-runs // wide))]
    names = [str(n * wide + 1) for n in range(len(bins))]
    reduced = [[one for one in own if "category" in one.details] for own in bins]

    def each(groups: Sequence[Sequence[Finding]], value: Callable[[Sequence[Finding]], float]) -> list[float | None]:
        return [value(own) if own else None for own in groups]

    def mean(which: int) -> Callable[[Sequence[Finding]], float]:
        return lambda own: statistics.fmean(one.details["bytes"][which] for one in own)

    every = [one for own in reduced for one in own]
    failed = [100 * len(own) / min(wide, runs - n * wide) for n, own in enumerate(bins)]
    middle = each(bins, lambda own: statistics.median(one.details["bytes"][0] for one in own))
    gone = each(reduced, lambda own: 100 - 100 * mean(1)(own) / mean(0)(own))
    return {
        "runs-failing": charts.lines(
            "Runs that fail, and how large their pages are", {"median bytes": middle}, {"% of runs": failed}, names
        ),
        "runs-reduced": charts.lines(
            "Bytes before and after reduction",
            {"mean before": each(reduced, mean(0)), "mean after": each(reduced, mean(1))},
            {"% removed": gone},
            names,
        ),
        "sizes": charts.boxes(
            "Bytes of failing pages",
            {"before": [one.details["bytes"][0] for one in every], "after": [one.details["bytes"][1] for one in every]},
        ),
        "shares": charts.boxes(
            "% of each page that is left",
            {"left": [100 * one.details["bytes"][1] / one.details["bytes"][0] for one in every]},
        ),
    }


def _matrix(cases: Sequence[Mapping[str, Any]], name: str) -> tuple[list[str], list[list[object]]]:
    """In how many cases a tag (across) and something else (down) come together: a head, and rows."""
    counts = Counter((tag, other) for one in cases for tag, other in {tuple(pair) for pair in one[name]})
    by_tag: Counter[str] = Counter()
    for (tag, _), count in counts.items():
        by_tag[tag] += count
    tags = [tag for tag, _ in _most(by_tag)]
    others = sorted({other for _, other in counts})
    return ["", *tags], [[other, *(counts[tag, other] or "" for tag in tags)] for other in others]


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most first; of as many, by name."""
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _csv(file: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    file.write_text(out.getvalue(), "utf-8")
    return file.name
