"""The reducer on pages of 5 to 20 KB that two builds show differently.

What it leaves is judged in another process, by fresh browsers and with a comparison of its own: the pages must
differ there as well, as strongly as the original and from the same stage on. Single elements, attributes and
declarations are then taken out one at a time, to see whether any could still go.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from moire import inspect
from moire.browsers.drivers.base import Tab
from moire.browsers.lab import Lab, LabOptions
from moire.inspect.compare import bulk, parting, within
from moire.inspect.support import support
from moire.nouns import Build, Case, Dump, Failure
from moire.oracles.change import screen_and_confirm
from moire.pages.make import Pages
from moire.pages.source import Edit, applied, declarations, elements, parse, rules
from moire.pages.spec import web
from moire.pixels import measure
from moire.triage.reduce import Differs, Reduced, Settings, reduce

from .common import Row, build, row

BUILDS = ("chromium@150", "chromium@156")
CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
CASES = int(os.environ.get("MOIRE_BENCH_CASES", "102"))
# Every so many cases are reduced once more, one render at a time.
SERIAL_EVERY = 5
SIZES = (5000, 8000, 12_000, 20_000)
# What every page has and no reduction takes out.
BOILERPLATE = len("<!DOCTYPE html>")


async def failing(lab: Lab, builds: list[Build]) -> AsyncIterator[Case]:
    weights = web.weights()
    for one in builds:
        weights = (await support(lab, one)).over(weights)
    source = Pages(weights)
    found = seed = 0
    while found < CASES:
        case = source.page(seed, SIZES[seed % len(SIZES)])
        seed += 1
        verdict, _ = await screen_and_confirm(lab, builds[0], builds[1], case, measure("phash"))
        if verdict.kind == "different" and len(case.html) >= SIZES[0]:
            found += 1
            yield case


async def reductions(folder: Path) -> list[dict[str, float]]:
    builds = [build(name) for name in BUILDS]
    seen = []
    async with Lab(builds, LabOptions(deadline=60)) as lab:
        cases = [case async for case in failing(lab, builds)]
    async with Lab(builds) as lab:
        for n, case in enumerate(cases):
            result = await reduce(case, Differs(lab, builds[0], builds[1], measure("exact")))
            if not isinstance(result, Reduced):
                print("not reduced", case.seed, result, flush=True)
                continue
            (folder / f"{n}.before.html").write_bytes(case.html)
            (folder / f"{n}.after.html").write_bytes(result.case.html)
            one = {
                "before": len(case.html) - BOILERPLATE, "after": len(result.case.html) - BOILERPLATE,
                "renders": result.renders, "questions": result.questions, "seconds": result.seconds,
            }  # fmt: skip
            if n % SERIAL_EVERY == 0:
                judge = Differs(lab, builds[0], builds[1], measure("exact"), serial=True)
                begun, worked = time.monotonic(), busy()
                slow = await reduce(case, judge, Settings(ahead=1))
                assert isinstance(slow, Reduced) and slow.case.html == result.case.html, "two results"
                one["ratio"] = result.seconds / slow.seconds
                # One render at a time is no idle machine: a browser is several processes and threads.
                one["cores"] = (busy() - worked) / (time.monotonic() - begun)
            seen.append(one)
    return seen


def busy() -> float:
    """Seconds that the machine's cores have worked."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields[:8]) - idle) / os.sysconf("SC_CLK_TCK")


async def corpus() -> Row:
    """Pages that others wrote, about bugs that came or went between these builds."""
    builds = {major: build(f"chromium@{major}") for major in ("108", "116", "156")}
    done, sizes = 0, []
    async with Lab(list(builds.values())) as lab:
        for one in json.loads((CORPUS / "cases.json").read_text()):
            told = {major: one["builds"].get(major) for major in builds}
            steps = (("108", "116"), ("116", "156"))
            pair = next(((a, b) for a, b in steps if {told[a], told[b]} == {"P", "F"}), None)
            if pair is None or one["mutates"]:
                continue
            case = Case((CORPUS / "wpt" / one["test"]).read_bytes(), one["test"], root=CORPUS / "wpt")
            result = await reduce(case, Differs(lab, builds[pair[0]], builds[pair[1]], measure("exact")))
            done += isinstance(result, Reduced)
            sizes.append((len(case.html), len(result.case.html) if isinstance(result, Reduced) else len(case.html)))
    removed = 1 - sum(after for _, after in sizes) / sum(before for before, _ in sizes)
    return row("reducer: corpus pages reduced", done / len(sizes), "reported", cases=len(sizes), removed=removed)


def singles(text: str) -> Iterator[str]:
    """The page without one element, attribute or declaration, for each of them."""
    for node in elements(parse(text)):
        # Without its charset, a page of other letters than plain ones is another page.
        needed = node.name == "meta" and node.attribute("charset") is not None and not text.isascii()
        if needed:
            continue
        if node.name not in ("html", "head", "body"):
            yield applied(text, [Edit(node.start, node.end)])
        for attribute in node.attributes:
            yield applied(text, [Edit(attribute.start, attribute.end)])
            if attribute.name == "style" and attribute.value:
                for one in declarations(text, *attribute.value):
                    yield applied(text, [Edit(one.start, one.end)])
        if node.name == "style":
            waiting = list(rules(text, node.head, node.tail))
            while waiting:
                rule = waiting.pop()
                waiting += rule.rules
                for one in rule.declarations:
                    yield applied(text, [Edit(one.start, one.end)])


Way = tuple[str, str, frozenset[str], str]


async def taken(lab: Lab, builds: list[Build], html: bytes) -> tuple[list[np.ndarray], list[Dump]] | None:
    """Pictures and dumps of a page; None if it cannot be shown."""

    async def job(tab: Tab) -> tuple[bytes, Dump]:
        return await tab.screenshot(), await inspect.take(tab)

    pictures, dumps = [], []
    for one in builds:
        visit = await lab.visit(one, Case(html), job)
        if isinstance(visit, Failure):
            return None
        pictures.append(np.asarray(Image.open(io.BytesIO(visit.value[0])).convert("RGB")).astype(int))
        dumps.append(visit.value[1])
    return pictures, dumps


async def way(lab: Lab, builds: list[Build], html: bytes, noise: frozenset[str]) -> Way | None:
    """How two builds differ about a page; None if they do not."""
    found = await taken(lab, builds, html)
    if found is None:
        return None
    pictures, dumps = found
    off = np.abs(pictures[0] - pictures[1]).max(axis=2)
    if not off.any():
        return None
    mask = off > (64 if off.max() > 64 else 0)
    chief = bulk(dumps[1], mask)
    node = None if chief is None else dumps[1].nodes[chief]
    where = parting(dumps[0], dumps[1], mask if node is None else within(mask, node), noise)
    return "clear" if off.max() > 64 else "faint", where.stage, where.properties, node.name if node else ""


def same(a: Way | None, b: Way | None) -> bool:
    """As strong, from the same stage and in the same element, or in one that was given a plain name."""
    if a is None or b is None or a[:2] != b[:2] or (a[2] and not a[2] & b[2]):
        return False
    return a[3] in ("", b[3]) or b[3] in ("div", "span")


async def judged(files: list[Path]) -> dict[str, list[bool]]:
    builds = [build(name) for name in BUILDS]
    kept, minimal = [], []
    async with Lab(builds) as lab:
        plain = await taken(lab, builds, b"<!DOCTYPE html><div><p>plain <a href=#>text</a></p></div>")
        # What the two compute differently on any page says nothing about this one.
        noise = parting(plain[1][0], plain[1][1]).properties if plain else frozenset()
        for file in files:
            before = await way(lab, builds, file.with_name(file.name.replace("after", "before")).read_bytes(), noise)
            text = file.read_text("utf-8", "replace")
            kept.append(all([same(before, await way(lab, builds, text.encode(), noise)) for _ in range(2)]))
            left = [s for s in singles(text) if s != text and same(before, await way(lab, builds, s.encode(), noise))]
            minimal.append(not left)
            if left or not kept[-1]:
                print(file.name, kept[-1], text, "|", left[:1], flush=True)
    return {"kept": kept, "minimal": minimal}


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(os.environ.get("MOIRE_BENCH_KEEP", place))
        folder.mkdir(exist_ok=True)
        begun = time.monotonic()
        seen = asyncio.run(reductions(folder))
        spent = time.monotonic() - begun
        words = [sys.executable, "-m", "bench.reduce", str(folder)]
        out = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
        print("\n".join(out[:-1]))
        found = json.loads(out[-1])
    removed = 1 - sum(s["after"] for s in seen) / sum(s["before"] for s in seen)
    middle = {key: statistics.median(s[key] for s in seen) for key in ("renders", "questions", "seconds", "after")}
    return [
        row("reducer: size removed", removed, "0.98", cases=len(seen), bytes_after=middle["after"], seconds=spent),
        row("reducer: differ in the original's way", statistics.mean(found["kept"]), "1"),
        row("reducer: wall time ÷ one render at a time", statistics.median(s["ratio"] for s in seen if "ratio" in s),
            "0.6 at most", seconds=middle["seconds"],
            cores_busy_one_at_a_time=statistics.median(s["cores"] for s in seen if "cores" in s)),
        row("reducer: renders a case, median", middle["renders"], "150 at most", questions=middle["questions"]),
        row("reducer: 1-minimal", statistics.mean(found["minimal"]), "0.95"),
        *([asyncio.run(corpus())] if CORPUS.exists() else []),
    ]  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(asyncio.run(judged(sorted(Path(sys.argv[1]).glob("*.after.html"))))))
