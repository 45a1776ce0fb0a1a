"""The regression chain: known flips detected, bisected and judged; what bisection costs; a hunt from end to end."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from moire.browsers import history
from moire.browsers.lab import Lab
from moire.nouns import Build, Case, Shot
from moire.oracles import regression
from moire.oracles.change import differ
from moire.pages.simple import page
from moire.pixels import measure
from moire.triage.bisect import Bisected, Memory, Pictures, Visits, bisect
from moire.wpt.near import Checkout

from .common import Row, build, row

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
EXACT, PHASH = measure("exact"), measure("phash")
KINDS = {"regression_windows": "regression", "fix_windows": "fix", "new_feature_windows": "feature"}
# Between these two, text is drawn in another way: every page with text changes.
LEFT_OUT = ["133", "143"]
Known = tuple[str, str, Case]


def windows() -> dict[tuple[str, str], list[Known]]:
    """By the two builds round each flip: what kind of flip, its test and the page."""
    found: defaultdict[tuple[str, str], list[Known]] = defaultdict(list)
    for one in json.loads((CORPUS / "cases.json").read_text()):
        for name, kind in KINDS.items():
            for window in one[name]:
                if window != LEFT_OUT:
                    case = Case((CORPUS / "wpt" / one["test"]).read_bytes(), one["test"], root=CORPUS / "wpt")
                    feature = any(word.startswith("feature-change") for word in one["kinds"])
                    found[window[0], window[1]].append(("feature" if feature else kind, one["test"], case))
    return found


async def known() -> list[Row]:
    """Pages that others wrote, at the two builds round each flip."""
    seen: Counter[str] = Counter()
    oracle: Counter[str] = Counter()
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    checkout = Checkout(CORPUS / "wpt")
    references = {"firefox": [build("firefox@153")], "both": [build("firefox@153"), build("webkit@2.50")]}
    for (first, last), cases in sorted(windows().items()):
        builds = build(f"chromium@{first}"), build(f"chromium@{last}")
        detected = [one async for one in changed(builds, cases, seen)]
        stops = history.between(*builds, offered=False)
        view = Pictures(EXACT)
        results = await bisect(stops, [case for _, _, case in detected], view, Memory(None, view.way), Visits())
        steps: defaultdict[tuple[str, str], list[Known]] = defaultdict(list)
        for one, result in zip(detected, results, strict=True):
            seen["bisected"] += isinstance(result, Bisected)
            if isinstance(result, Bisected):
                steps[result.changes[0]].append(one)
            else:
                print("not bisected", one[1], result.reason, flush=True)
        for step, own in steps.items():
            before, after = (next(s for s in stops if s.name == name).ready(lambda *_: None) for name in step)
            async with Lab([before, after, *references["both"]]) as lab:
                for kind, test, case in own:
                    for name, others in references.items():
                        judged = await regression.judge(lab, before, after, others, case, PHASH, checkout)
                        told = "bug" if judged.bug else "no bug"
                        case_7a = "".join(o.case for o in judged.interop.opinions.values())
                        oracle[f"{name} {kind} {told}"] += 1
                        oracle[f"{name} {kind} survives"] += judged.interop.bug
                        if kind == "regression" and not judged.bug:
                            reasons[name][judged.reason] += 1
                        if (kind == "regression") != judged.bug:
                            print(name, kind, told, case_7a, test, judged.reason[:150], flush=True)
    rows = [
        row("flips detected by exact pixels", seen["exact"] / seen["all"], "0.95", **seen),
        row("flips detected by perceptual hash > 140", seen["phash"] / seen["all"], "reported"),
        row("detected flips with a culprit inside the window", seen["bisected"] / seen["exact"], "1"),
    ]
    for name in references:
        total = {kind: oracle[f"{name} {kind} bug"] + oracle[f"{name} {kind} no bug"] for kind in KINDS.values()}
        survive = oracle[f"{name} regression survives"]
        benign = total["fix"] + total["feature"]
        wrong = oracle[f"{name} fix bug"] + oracle[f"{name} feature bug"]
        counts = {key: n for key, n in sorted(oracle.items()) if key.startswith(name)}
        rows += [
            row(f"{name}: surviving regressions called bugs", oracle[f"{name} regression bug"] / max(1, survive), "1",
                survive=survive, of=total["regression"], the_rest=dict(reasons[name]), **counts),
            row(f"{name}: fixes and features called bugs", wrong / max(1, benign), "0.05 at most", of=benign),
        ]  # fmt: skip
    return rows


async def changed(builds: tuple[Build, Build], cases: list[Known], seen: Counter[str]) -> AsyncIterator[Known]:
    async with Lab(list(builds)) as lab:
        for one in cases:
            shots = [await lab.shoot(which, one[2]) for which in builds]
            first, second = shots
            seen["all"] += 1
            if not isinstance(first, Shot) or not isinstance(second, Shot):
                print("not shown", one[1], shots, flush=True)
                continue
            seen["phash"] += differ(first, second, PHASH)
            if differ(first, second, EXACT):
                seen["exact"] += 1
                yield one
            else:
                print("not detected", builds[0].name, builds[1].name, one[1], flush=True)


# What bisection costs

MANY = 50
HISTORY = (88, 89, 91, 92, 103, 106, 107, 108, 109, 111, 112, 114, 116, 119, 123, 127, 133, 143, 153, 156)


async def cost() -> list[Row]:
    """Over a history of builds: one page, and many at once."""
    builds = [build(f"chromium@{major}") for major in HISTORY]
    first, last = builds[0], builds[-1]
    stops = history.named([one.name for one in builds])
    colours = [Case(b"<!DOCTYPE html><style>div { & p { height: 9px; background: green } }</style><div><p></div>")]
    async with Lab([first, last]) as lab:
        number = 0
        while len(colours) < MANY:
            number += 1
            case = page(number, 600)
            one, other = [await lab.shoot(which, case) for which in (first, last)]
            if isinstance(one, Shot) and isinstance(other, Shot) and differ(one, other, EXACT):
                colours.append(case)
    begun = time.monotonic()
    view = Pictures(EXACT)
    together = await bisect(stops, colours, view, Memory(None, view.way))
    batch = time.monotonic() - begun
    sample = colours[:5]
    begun = time.monotonic()
    for case in sample:
        alone = Pictures(EXACT)
        await bisect(stops, [case], alone, Memory(None, alone.way))
    single = (time.monotonic() - begun) / len(sample)
    clean = together[0]
    assert isinstance(clean, Bisected)
    most = math.ceil(math.log2(len(stops))) + 2
    return [
        row("builds visited for a clean page", len(clean.visited), f"{most} at most", builds=len(stops)),
        row(f"{MANY} pages at once ÷ {MANY} single bisections", batch / (single * MANY), "0.25 at most",
            builds=len(stops), batch=batch, single=single),
    ]  # fmt: skip


# From end to end

PAGES = 2000


def whole() -> list[Row]:
    """As the paper's Figure 11: 108 → 116 with Firefox as the reference."""
    words = ["hunt", "regression", "--base", "chromium@108", "--new", "chromium@116", "--reference", "firefox@153",
             "--pages", str(PAGES), "--wpt", str(CORPUS / "wpt")]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        subprocess.run([sys.executable, "-m", "moire.cli", *words, "--store", folder], check=True)
        seconds = time.monotonic() - begun
        told = json.loads(Path(folder, "regression-1", "report.json").read_text())["summary"]
    counts = {key: told.get(key, 0) for key in ("candidates", "bisected", "bugs", "culprits")}
    return [row("108 → 116, pages that are candidates", counts["candidates"] / PAGES, "reported (paper: 0.03–0.08)",
                seconds=seconds, hunting=told["seconds"], **counts)]  # fmt: skip


PARTS: dict[str, Callable[[], list[Row]]] = {
    "known": lambda: asyncio.run(known()) if CORPUS.exists() else [],
    "cost": lambda: asyncio.run(cost()),
    "whole": whole,
}


def run() -> Iterator[Row]:
    for part in PARTS.values():
        yield from part()
