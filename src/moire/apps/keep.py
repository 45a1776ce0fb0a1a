"""What differs between browsers, as findings of a run."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from ..pixels import decode, figures, visible
from ..store import Finding, PageRow, Run, Store
from .check import Compared
from .detect import Issue, view
from .page import Edges
from .trace import written

KIND = "app"


def keep(store: Store, run: Run, one: Compared) -> list[Finding]:
    """Findings of one session in one browser, those that other sessions have had too as duplicates."""
    known = {(found.build, found.signature) for found in store.findings(run)}
    number = max((found.number for found in store.findings(run)), default=-1) + 1
    trace = store.blobs.add(written(one.trace).encode())
    made: list[Finding] = []
    for issue in one.issues:
        name = _name(one, issue)
        details = {**_details(store, one, issue), "trace": trace}
        state: Any = "duplicate" if (one.other.build, name) in known else "example"
        made.append(Finding(number, one.other.build, state, "different", name, details))
        store.keep(run, made[-1])
        known.add((one.other.build, name))
        number += 1
    return made


def _name(one: Compared, issue: Issue) -> str:
    """What is accepted in one application and browser is accepted there, in all versions, and nowhere else."""
    return f"{issue.signature} in {one.other.build.partition('@')[0]} at {urlsplit(one.trace.url).netloc}"


def rows(first: int, one: Compared) -> list[PageRow]:
    """A row a step: `first` is the number of the first."""
    wrong = {issue.step for issue in one.issues}
    loose = {issue.step for issue in one.passing}
    found = [
        PageRow(first + n, one.other.build, "different" if n in wrong else "flaky" if n in loose else "same")
        for n in range(min(len(one.reference.steps), len(one.other.steps)))
    ]
    return [*found, PageRow(first + len(found), one.other.build, "untestable", one.trouble)] if one.trouble else found


# One page after the other, and mostly many findings of each.
_decoded = lru_cache(maxsize=4)(decode)


def _details(store: Store, one: Compared, issue: Issue) -> dict[str, Any]:
    n = max(0, issue.step)
    steps = [side.steps[min(n, len(side.steps) - 1)] for side in (one.reference, one.other) if side.steps]
    sides = [(side.build, step) for side, step in zip((one.reference, one.other), steps, strict=False)]
    names = _told_apart([name for name, _ in sides])
    places = [(issue.box_a, issue.box_b)[k] for k in range(len(steps))]
    views = [view(step, edges) for step, edges in zip(steps, places, strict=True)]
    pictures = {name: store.blobs.add(one.png) for name, one in zip(names, views, strict=True)}
    images = [_decoded(one.png) for one in views]
    boxes = [_box(edges, one.scroll) for edges, one in zip(places, views, strict=True) if edges]
    event = one.reference.steps[min(n, len(one.reference.steps) - 1)]
    after = one.trace.told(event.events[-1]) if event.events else event.words
    return {
        "issue": issue.kind, "reason": issue.words, "event": issue.event, "step_words": after,
        "element": (issue.a or issue.b or ("",))[0], "stage": issue.kind, "pictures": pictures, "boxes": boxes,
        "environment": asdict(one.trace.environment), "url": one.trace.url,
        "figures": dict(figures(*images)) if len(images) == 2 and images[0].shape == images[1].shape else {},
        "impact": _impact(issue, images), "paths": [list(issue.a), list(issue.b)],
    }  # fmt: skip


def _told_apart(names: list[str]) -> list[str]:
    """One build may be on both sides."""
    return [names[0], f"{names[1]}#2"] if len(names) == 2 and names[0] == names[1] else names


def _impact(issue: Issue, images: list[Any]) -> int:
    """What does otherwise goes before what only looks so."""
    seen = visible(*images) if len(images) == 2 else 0
    return seen + (1_000_000 if issue.kind == "behaviour" else 0)


def _box(edges: Edges, scroll: tuple[float, float]) -> list[float]:
    left, top, right, bottom = edges
    return [left - scroll[0], top - scroll[1], right - left, bottom - top]
