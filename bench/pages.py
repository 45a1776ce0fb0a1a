"""Pages by the web's grammar: how fast, how much of a hunt, how much of it a build takes, and what they reach."""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import os
import random
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from moire.browsers.drivers.base import Tab
from moire.browsers.lab import Lab, LabOptions
from moire.grammar import Source, flat
from moire.grammar.derive import STEPS_A_SIZE, _Derivation
from moire.grammar.model import Alt, children, deep
from moire.grammar.tree import walk
from moire.grammar.weights import reachable
from moire.hunts import change
from moire.inspect.support import support
from moire.nouns import Case, Failure
from moire.pages import read
from moire.pages.make import Names, Pages
from moire.pages.spec import web
from moire.pages.spec.snapshot import load
from moire.pixels import measure

from .common import Row, build, row

BYTES = 3000
REACHED_PAGES = 20_000
REAL_PAGES = 100
UNREACHED = Path(__file__).with_name("unreached.txt")
# Documentation that Debian and npm bring along; a tenth of it is broken on purpose.
PLACES = (Path("/usr/share"), Path("/usr/lib/node_modules"), Path("/usr/local/lib/node_modules"))


def speed() -> Row:
    source = Pages(web.weights())
    begun, total = time.process_time(), 0
    for seed in range(3000):
        total += len(source.text(seed, BYTES))
    rate = total / (time.process_time() - begun) / 1e6
    return row("page text generated on one core, MB/s", rate, "4", bytes_a_page=total / 3000)


async def share(source: Pages) -> Row:
    """CPU of generating ÷ CPU of a hunt over the same pages, browsers included."""
    base, new = build("chromium@150"), build("chromium@156")
    count = 150
    begun = time.process_time()
    cases = [source.page(seed, BYTES) for seed in range(count)]
    making = time.process_time() - begun
    before = _cpu()
    async with Lab([base, new]) as lab:
        async for _ in change.hunt(lab, base, new, measure("phash"), iter(cases)):
            pass
    hunting = _cpu() - before + making
    return row("share of generating in a hunt's CPU", making / hunting, "0.05 at most", seconds_a_page=hunting / count)


def _cpu() -> float:
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


async def accepted(source: Pages) -> Row:
    pages = [source.text(seed, BYTES).encode() for seed in range(300)]
    asked = [pair for page in pages for pair in read.features(page).values]

    async def ask(tab: Tab) -> Any:
        return await tab.inspect(f"{json.dumps(asked)}.filter(q => CSS.supports(q[0], q[1])).length")

    chromium = build("chromium@156")
    async with Lab([chromium], LabOptions(deadline=60)) as lab:
        seen = await lab.visit(chromium, Case(b"<!DOCTYPE html>"), ask)
    assert not isinstance(seen, Failure)
    return row("declarations that Chromium 156 takes", seen.value / len(asked), "0.97", declarations=len(asked))


class Counting:
    """Generators that take note of every alternative on their way; slower, and with the same texts."""

    def __init__(self, weights: Mapping[str, int], names: Names) -> None:
        self._source = Source(web.grammar(), weights, dict(names.functions()))
        self.rules = {name for name, height in self._source.heights.items() if height < math.inf}
        self.taken: set[str] = set()

    def drawn(self, number: Callable[[], float], size: int, rule: str = "") -> str:
        with deep():
            tree = _Derivation(self._source, number, STEPS_A_SIZE * (size + 1)).rule(rule, size)
        for one in walk(tree):
            if isinstance(one.node, Alt):
                self.taken.add(f"{one.path}/{'ord' if one.node.ordered else 'alt'}/{one.edge}")
        return flat(tree)


def _reached(seeds: range) -> tuple[set[str], set[str], set[str]]:
    """Properties, elements and alternatives that pages of everything the data has come to."""
    source = Pages(web.weights(web.ALL))
    first = source.text(seeds[0], BYTES)
    counting = Counting(web.weights(web.ALL), source._names)
    source._generators = counting  # type: ignore[assignment]
    assert source.text(seeds[0], BYTES) == first
    properties: set[str] = set()
    tags: set[str] = set()
    for seed in seeds:
        text = source.text(seed, BYTES)
        properties.update(part.rpartition(";")[2].rpartition("{")[2].rpartition('"')[2] for part in text.split(":"))
        tags.update(part.split(">", 1)[0].split(" ", 1)[0] for part in text.split("<")[1:])
    return properties, tags, counting.taken


def reached() -> list[Row]:
    jobs = os.cpu_count() or 1
    with multiprocessing.Pool(jobs) as pool:
        parts = pool.map(_reached, [range(n, REACHED_PAGES, jobs) for n in range(jobs)])
    properties, tags, taken = (set().union(*(part[n] for part in parts)) for n in range(3))
    snapshot, grammar, weights = load(), web.grammar(), web.weights(web.ALL)
    never = sorted(set(snapshot.properties) - properties)
    elements = {name for known in snapshot.elements.values() for name in known if name}
    unseen = sorted(elements - tags)
    alternatives = {
        edge
        for path, node in reachable(grammar, weights)
        if isinstance(node, Alt) and path.startswith(("css-", "t-", "f-"))
        for edge, _ in children(path, node)
        if weights[edge]
    }
    missed = sorted(alternatives - taken)
    UNREACHED.write_text("\n".join([*never, *unseen, *missed]) + "\n")
    return [
        row("share of properties reached", 1 - len(never) / len(snapshot.properties), "0.99", never=never),
        row("share of elements reached", 1 - len(unseen) / len(elements), "1", never=unseen),
        row("share of value alternatives reached", 1 - len(missed) / len(alternatives), "listed in unreached.txt",
            alternatives=len(alternatives)),
    ]  # fmt: skip


def real_pages() -> Iterator[tuple[Path, bytes]]:
    dice = random.Random(1)
    files = sorted(p for place in PLACES if place.is_dir() for p in place.rglob("*.html") if p.is_file())
    for n, file in enumerate(dice.sample(files, min(REAL_PAGES, len(files)))):
        data = file.read_bytes()
        if n % 10 == 0:
            # Half a page, with some of its bytes wrong.
            data = bytearray(data[: len(data) // 2])
            for _ in range(len(data) // 100):
                data[dice.randrange(len(data))] = dice.randrange(256)
        yield file, bytes(data)


def parsed() -> Row:
    read.weights([b"<p>"])
    worst, count = 0.0, 0
    for _, data in real_pages():
        begun = time.perf_counter()
        read.weights([data])
        worst = max(worst, time.perf_counter() - begun)
        count += 1
    return row("real pages parsed to weights, the slowest in seconds", worst, "1 at most", pages=count)


def run() -> list[Row]:
    async def with_browsers() -> list[Row]:
        chromium = build("chromium@156")
        async with Lab([chromium], LabOptions(deadline=300)) as lab:
            known = await support(lab, chromium)
        source = Pages(known.over(web.weights()))
        return [await share(source), await accepted(source)]

    return [speed(), *asyncio.run(with_browsers()), *reached(), parsed()]
