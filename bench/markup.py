"""The thesis's experiments on its markup grammars MG4 and MG8, and their figures 3.6 to 3.13 as plots.

A *TAPV* is a tag, an attribute, a property and a value that come together, each by its index; a text fails
when three or four of the indexes of one of its TAPVs are equal.
"""

from __future__ import annotations

import itertools
import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np

from moire.grammar import Grammar, NothingLeft, Source, Tree, check, counts, default, generators, merged, parse, read
from moire.grammar.reduce import Pick, Propagation, divide, ladder, reduce, zero

from .common import Row, row

PICTURES = Path(__file__).with_name("figures")
Tapv = tuple[int, int, int, int]
PICKS: tuple[Pick, ...] = ("weight", "dist", "weight-dist")
PROPAGATIONS: tuple[Propagation, ...] = ("zero", "max-child", "reducer")
# How many steps a weight of 100 takes to 0.
REDUCERS: dict[int, Callable[[int], int]] = {
    1: zero, 2: lambda w: ladder((10,), w), 3: lambda w: ladder((30, 10), w), 4: lambda w: divide(4, w),
    5: lambda w: divide(3, w), 7: lambda w: w // 2,
}  # fmt: skip
# Of MG4's 256 TAPVs.
FAILING = 52
RUNS = 5
MOST_RUNS = 300
# Runs in a row without a failure, after which none is expected any more.
PASSES = 10
NOISE = (256, 128, 64, 32, 16, 8, 4, 2, 1)
REPEATS = 1000


def markup(degree: int) -> Grammar:
    def words(name: str, text: str) -> str:
        return f"{name} = {' | '.join(repr(f'{text}{n}') for n in range(degree))} ;\n"

    elements = " | ".join(f"""'<tag{n}' (' ' attr)+ '>' elem* '</tag{n}>'""" for n in range(degree))
    return read(
        f"test = elem+ ;\nelem = {elements} ;\nattr = aname '=\"' prop (' ' prop)* '\"' ;\n"
        "prop = pname ':' (' ' pval)+ ';' ;\n"
        + words("aname", "attr")
        + words("pname", "pname")
        + words("pval", "pval")
    )


def tapvs(text: str) -> list[Tapv]:
    found = []
    for tag, attributes in re.findall(r"<tag(\d)((?: attr\d=\"[^\"]*\")+)>", text):
        for attribute, properties in re.findall(r"attr(\d)=\"([^\"]*)\"", attributes):
            for name, values in re.findall(r"pname(\d):((?: pval\d)+);", properties):
                found += [(int(tag), int(attribute), int(name), int(v)) for v in re.findall(r"pval(\d)", values)]
    return found


def fails(tapv: Tapv) -> bool:
    return max(Counter(tapv).values()) >= 3


def holds(texts: Sequence[str]) -> list[bool]:
    return [not any(map(fails, tapvs(text))) for text in texts]


def coverage(grammar: Grammar, weights: Mapping[str, int]) -> Counter[Tapv]:
    """Of 100 texts up to size 6."""
    make = generators(Source(grammar, weights))
    return Counter(t for n in range(100) for t in tapvs(make.generate(n, 1 + 5 * n // 99)))


def heat(found: Counter[Tapv], degree: int) -> np.ndarray:
    """Tags and attributes from left to right, properties and values from top to bottom; failing ones dotted."""
    cell = 640 // degree**2
    picture = np.full((cell * degree**2, cell * degree**2, 3), 255, np.uint8)
    most = max(found.values())
    for t in range(degree):
        for a in range(degree):
            for p in range(degree):
                for v in range(degree):
                    x, y = (t * degree + a) * cell, (p * degree + v) * cell
                    shade = found[t, a, p, v] / most
                    picture[y : y + cell, x : x + cell] = (
                        255 - int(100 * shade),
                        255 - int(200 * shade),
                        255 - int(230 * shade),
                    )
                    if fails((t, a, p, v)):
                        cv2.circle(picture, (x + cell // 2, y + cell // 2), max(1, cell // 8), (40, 40, 40), -1)
    for line in range(0, degree**2 + 1, degree):
        cv2.line(picture, (line * cell, 0), (line * cell, picture.shape[0]), (90, 90, 90), 1)
        cv2.line(picture, (0, line * cell), (picture.shape[1], line * cell), (90, 90, 90), 1)
    return picture


def plot(lines: Mapping[str, Sequence[float]], ticks: Sequence[object], title: str) -> np.ndarray:
    """Lines over evenly spaced ticks."""
    width, height, left, bottom = 900, 480, 70, 60
    picture = np.full((height, width, 3), 255, np.uint8)
    most = max(max(values) for values in lines.values()) or 1
    font = cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(picture, title, (left, 24), font, 0.55, (0, 0, 0), 1, cv2.LINE_AA)
    step = (width - left - 160) / max(1, len(ticks) - 1)
    for n, tick in enumerate(ticks):
        x = int(left + n * step)
        cv2.putText(picture, str(tick), (x - 12, height - bottom + 22), font, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = int(height - bottom - share * (height - bottom - 50))
        cv2.line(picture, (left, y), (width - 160, y), (225, 225, 225), 1)
        cv2.putText(picture, f"{most * share:.4g}", (6, y + 4), font, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
    for n, (name, values) in enumerate(lines.items()):
        color = _hue(n, len(lines))
        points = [
            (int(left + i * step), int(height - bottom - v / most * (height - bottom - 50)))
            for i, v in enumerate(values)
        ]
        for a, b in itertools.pairwise(points):
            cv2.line(picture, a, b, color, 2, cv2.LINE_AA)
        for point in points:
            cv2.circle(picture, point, 3, color, -1)
        cv2.putText(picture, name, (width - 150, 60 + 18 * n), font, 0.4, color, 1, cv2.LINE_AA)
    return picture


def bars(
    groups: Mapping[str, Sequence[tuple[float, float]]], ticks: Sequence[object], title: str, line: float = 0
) -> np.ndarray:
    """For every tick one bar of each group, with a darker one in front of it for what was to be expected."""
    width, height, left, bottom = 1200, 480, 70, 40
    picture = np.full((height, width, 3), 255, np.uint8)
    most = max(line, max(max(pair) for values in groups.values() for pair in values))
    font = cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(picture, title, (left, 24), font, 0.55, (0, 0, 0), 1, cv2.LINE_AA)
    room = (width - left - 220) / len(ticks)
    wide = int(room * 0.9 / len(groups))

    def y(value: float) -> int:
        return int(height - bottom - value / most * (height - bottom - 50))

    for share in (0, 0.25, 0.5, 0.75, 1):
        cv2.line(picture, (left, y(most * share)), (width - 220, y(most * share)), (225, 225, 225), 1)
        cv2.putText(picture, f"{most * share:.3g}", (6, y(most * share) + 4), font, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
    for n, (name, values) in enumerate(groups.items()):
        color = _hue(n, len(groups))
        for at, (value, expected_value) in enumerate(values):
            x = int(left + at * room + n * wide)
            cv2.rectangle(picture, (x, y(value)), (x + wide - 3, y(0)), color, -1)
            cv2.rectangle(picture, (x + wide // 4, y(expected_value)), (x + 3 * wide // 4 - 2, y(0)), (70, 70, 70), -1)
        cv2.putText(picture, name, (width - 210, 60 + 18 * n), font, 0.45, color, 1, cv2.LINE_AA)
    for at, tick in enumerate(ticks):
        x = int(left + (at + 0.4) * room)
        cv2.putText(picture, str(tick), (x, height - bottom + 22), font, 0.45, (0, 0, 0), 1, cv2.LINE_AA)
    if line:
        cv2.line(picture, (left, y(line)), (width - 220, y(line)), (40, 40, 200), 1)
    return picture


def _hue(n: int, of: int) -> tuple[int, ...]:
    hue = np.uint8([[[int(180 * n / of), 150, 210]]])
    return tuple(int(c) for c in cv2.cvtColor(hue, cv2.COLOR_HSV2BGR)[0, 0])


def keep(name: str, picture: np.ndarray) -> None:
    PICTURES.mkdir(exist_ok=True)
    cv2.imwrite(str(PICTURES / f"{name}.png"), picture)


def expected(failing: int, runs: float) -> float:
    """What as many runs without reduction would find."""
    return failing * (1 - ((failing - 1) / failing) ** runs)


def one_run(source: Source, seed: int) -> tuple[set[Tapv], Tree | None]:
    """The failing TAPVs of all texts that failed on the way, and the smallest failing derivation."""
    failed: list[str] = []
    result = check(
        source, holds, max_size=6, seed=seed, heard=lambda step: failed.append(step.text) if step.failed else None
    )
    return {t for text in failed for t in tapvs(text) if fails(t)}, result.tree


def reduced_runs(
    grammar: Grammar, pick: Pick, propagation: Propagation, by: Callable[[int], int], seed: int
) -> tuple[int, int]:
    """Runs until nothing is left to reduce, or to find: failing TAPVs found, and runs taken."""
    weights = default(grammar)
    found: set[Tapv] = set()
    taken = 0
    for runs in range(1, MOST_RUNS):
        new, smallest = one_run(Source(grammar, weights), seed * 10_007 + runs)
        if smallest is None:
            if runs - taken >= PASSES:
                break
            continue
        found |= new
        taken = runs
        try:
            weights = reduce(
                grammar, weights, counts(grammar, [smallest]),
                seed=seed * 31 + runs, pick=pick, propagation=propagation, by=by,
            )  # fmt: skip
        except NothingLeft:
            break
    return len(found), taken


def unreduced_runs(grammar: Grammar, seed: int) -> list[int]:
    """How many failing TAPVs are found after 1, 2, … runs that learn nothing from each other."""
    found: set[Tapv] = set()
    source = Source(grammar, default(grammar))
    return [len(found := found | one_run(source, seed * 10_007 + runs)[0]) for runs in range(1, MOST_RUNS)]


def reductions() -> list[Row]:
    """Figures 3.9 and 3.10."""
    grammar = markup(4)
    plain = [statistics.mean(n) for n in zip(*(unreduced_runs(grammar, s) for s in range(1, RUNS + 1)), strict=True)]
    found: dict[str, list[tuple[float, float]]] = {}
    cost: dict[str, list[tuple[float, float]]] = {}
    by_formula, by_run = [], []
    for propagation in PROPAGATIONS:
        for pick in PICKS:
            name = f"{propagation} / {pick}"
            for steps, by in REDUCERS.items():
                runs = [reduced_runs(grammar, pick, propagation, by, seed) for seed in range(1, RUNS + 1)]
                got, took = statistics.mean(f for f, _ in runs), statistics.mean(n for _, n in runs)
                without = expected(FAILING, took)
                found.setdefault(name, []).append((got, without))
                cost.setdefault(name, []).append((took / got, took / without))
                by_formula.append((got / without, f"{name}, {steps} steps"))
                by_run.append((got / plain[round(took) - 1], f"{name}, {steps} steps"))
    steps_taken = list(REDUCERS)
    keep("3.9-failing-found", bars(found, steps_taken, "MG4: failing TAPVs found, by reducer steps", FAILING))
    keep("3.10-runs-per-failing", bars(cost, steps_taken, "MG4: runs for each failing TAPV, by reducer steps"))
    return [
        row("least found / expected without reduction, MG4", min(by_formula)[0], "> 1", worst=min(by_formula)[1]),
        row(
            "least found / really found without reduction, MG4", min(by_run)[0], "", worst=min(by_run)[1],
            median=sorted(by_run)[len(by_run) // 2][0], best=max(by_run),
        ),
    ]  # fmt: skip


def shrinking() -> list[Row]:
    """Figure 3.11: ten runs of MG8 up to size 6."""
    source = Source(markup(8), default(markup(8)))
    before, after, steps = [], [], []
    for seed in range(1, 11):
        result = check(source, holds, iterations=10, max_size=6, seed=seed)
        if not result.passed:
            before.append(len(result.first_failure or ""))
            after.append(len(result.smallest or ""))
            steps.append(result.shrinks)
    keep(
        "3.11-shrinking",
        plot({"first failure": before, "smallest": after}, range(1, len(before) + 1), "MG8: bytes, by run"),
    )
    share = 1 - statistics.mean(after) / statistics.mean(before)
    return [
        row("mean shrink of MG8 failures", share, "0.91", before=statistics.mean(before), after=statistics.mean(after))
    ]


def random_case(degree: int, wanted: Iterable[Tapv]) -> str:
    return "".join(f'<tag{t} attr{a}="pname{p}: pval{v};"></tag{t}>' for t, a, p, v in wanted)


def reproducing(degree: int, figure: str) -> list[Row]:
    """How many TAPVs are tried until the failing one comes up again, by how many others were parsed with it."""
    grammar = markup(degree)
    every = [(t, a, p, v) for t in range(degree) for a in range(degree) for p in range(degree) for v in range(degree)]
    one: dict[Tapv, dict[str, int]] = {}
    quartiles = []
    for noise in NOISE:
        efforts = []
        for repeat in range(REPEATS):
            dice = random.Random(noise * 1000 + repeat)
            chosen = dice.sample(every, noise)
            for tapv in chosen:
                if tapv not in one:
                    one[tapv] = counts(grammar, [parse(grammar, random_case(degree, [tapv]))])
            used = merged(one[tapv] for tapv in chosen)
            make = generators(Source(grammar, used))
            effort = 0
            for n in range(100_000):
                seen = tapvs(make.generate(repeat * 100_003 + n, 1 + n % 25))
                if chosen[0] in seen:
                    effort += seen.index(chosen[0]) + 1
                    break
                effort += len(seen)
            efforts.append(effort)
        quartiles.append(statistics.quantiles(efforts, n=4))
    medians = [middle for _, middle, _ in quartiles]
    keep(
        f"{figure}-reproducing",
        plot(
            {name: [three[n] for three in quartiles] for n, name in enumerate(("quarter", "half", "three quarters"))},
            NOISE,
            f"MG{degree}: TAPVs tried until it fails again in a quarter, half and three quarters of cases, "
            "by TAPVs parsed",
        ),
    )
    falls = all(a >= b for a, b in itertools.pairwise(medians))
    return [
        row(
            f"MG{degree}: median TAPVs until a failure comes again falls with noise", float(falls), "1", medians=medians
        )
    ]


def run() -> list[Row]:
    grammar = markup(4)
    usual = default(grammar)
    keep("3.6-coverage", heat(coverage(grammar, usual), 4))
    more, none = {**usual, "elem/alt/1": 1000}, {**usual, "elem/alt/1": 0}
    keep("3.7-tag1", np.hstack([heat(coverage(grammar, more), 4), heat(coverage(grammar, none), 4)]))
    both = {"elem/alt/2": 1000, "pval/alt/2": 1000}
    keep("3.8-tag2-pval2", np.hstack([
        heat(coverage(grammar, {**usual, **both}), 4), heat(coverage(grammar, {**usual, **dict.fromkeys(both, 0)}), 4),
    ]))  # fmt: skip
    rose = sum(n for t, n in coverage(grammar, more).items() if t[0] == 1) / sum(coverage(grammar, more).values())
    rows = [row("share of tag1 with ten times its weight, MG4", rose, "0.25 without")]
    return [*rows, *reductions(), *shrinking(), *reproducing(4, "3.12"), *reproducing(8, "3.13")]
