"""The render-update oracle: its speed against the published method, what it calls different where nothing is, the
corpus of known bugs, and how it compares with reloading."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from moire.browsers.lab import Lab
from moire.inspect.support import support
from moire.nouns import Build, Case, Shot, operation
from moire.nouns.update import POSITIONS
from moire.oracles import update
from moire.oracles.change import differ
from moire.oracles.reload import reloaded
from moire.pages.make import Pages
from moire.pages.spec import web
from moire.pages.update import script, still
from moire.pages.update.convert import converted
from moire.pages.update.draw import USUAL, Updates
from moire.pixels import measure
from moire.store import Store

from .common import Row, build, in_order, row

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
EXACT = measure("exact")
SIZE = 3000


async def source(target: Build) -> Pages:
    async with Lab([target]) as lab:
        return Pages(still.weights((await support(lab, target)).over(web.weights())))


# Speed


def metamong_rate(target: Build, cases: list[Case]) -> float:
    """WebDriver; load, update, half a second, picture; load the page with the update in a script at its end, picture;
    24×24 bits of pHash. One pair at a time."""
    import imagehash
    from PIL import Image
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=800,600"):
        options.add_argument(flag)
    options.binary_location = str(target.path)
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver", service_args=["--disable-build-check"]))

    def hashed() -> imagehash.ImageHash:
        return imagehash.phash(Image.open(io.BytesIO(driver.get_screenshot_as_png())), hash_size=24)

    with tempfile.TemporaryDirectory() as folder:
        pairs = []
        for n, case in enumerate(cases):
            files = Path(folder, f"{n}.html"), Path(folder, f"{n}-ref.html")
            code = ";".join(script.statement(one) for one in case.update)
            files[0].write_bytes(case.html)
            files[1].write_bytes(case.html + f"<script>{code}</script>".encode())
            pairs.append((files, code))
        begun = time.perf_counter()
        for (test, reference), code in pairs:
            driver.get(test.as_uri())
            driver.execute_script(f"try {{ {code} }} catch (e) {{}}")
            time.sleep(0.5)
            first = hashed()
            driver.get(reference.as_uri())
            _different = first - hashed() > 0
        seconds = time.perf_counter() - begun
    driver.quit()
    return len(cases) / seconds


async def our_rate(target: Build, cases: list[Case]) -> tuple[float, Counter[str]]:
    kinds: Counter[str] = Counter()
    async with Lab([target]) as lab:

        async def judge(case: Case) -> str:
            return (await update.judge(lab, target, case, EXACT)).verdict.kind

        async for _ in in_order(cases[:16], judge):
            pass
        begun = time.perf_counter()
        async for kind in in_order(cases, judge):
            kinds[kind] += 1
        return len(cases) / (time.perf_counter() - begun), kinds


def speed() -> Row:
    target = build("chromium@156")
    made = asyncio.run(source(target))
    without = {kind: weight for kind, weight in USUAL.items() if kind != "resize"}
    cases = [Updates(made, without).updated(made.page(n, SIZE), n, 1) for n in range(400)]
    theirs = metamong_rate(target, cases[:60])
    ours, kinds = asyncio.run(our_rate(target, cases))
    return row("pairs a second ÷ Metamong's method", ours / theirs, "20", ours=ours, theirs=theirs, **kinds)


# Kills

KILLS, KILLED_PAGES = 10, 1200


def hunted(folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    whole = [sys.executable, "-m", "moire.cli", "hunt", *words, "--store", str(folder)]
    return subprocess.Popen(whole, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def found(folder: Path) -> Counter[str]:
    with Store(folder, make=False) as store:
        (run,) = store.runs()
        return Counter(f"{one.number} {one.state} {one.signature} {one.details['page']}" for one in store.findings(run))


def killed() -> list[Row]:
    """One seeded hunt undisturbed, and one that is killed ten times at random moments and resumed each time."""
    words = ["update", "chromium@108", "--pages", str(KILLED_PAGES), "--operations", "6"]
    number = random.Random(1)
    with tempfile.TemporaryDirectory() as place:
        whole, broken = Path(place, "whole"), Path(place, "broken")
        begun = time.monotonic()
        hunted(whole, words).wait()
        seconds = time.monotonic() - begun
        for kill in range(KILLS):
            process = hunted(broken, words if kill == 0 else ["--resume", "update-1"])
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds / KILLS * (0.7 + 0.6 * number.random()))
            process.kill()
            process.wait()
        hunted(broken, ["--resume", "update-1"]).wait()
        wanted, kept = found(whole), found(broken)
    lost, more = wanted - kept, kept - wanted
    return [
        row("ten kills: findings lost", sum(lost.values()), "0", findings=sum(wanted.values()), pages=KILLED_PAGES),
        row("ten kills: findings doubled or new", sum(more.values()), "0"),
    ]


# Nothing to see


def unseen(case: Case, seed: int) -> Case:
    """With operations that leave a page as it was: an attribute set to what it is, a node or a rule put in and taken
    out again, a class switched twice."""
    number = random.Random(seed)
    ids = [word.split(b">")[0].split()[0].decode() for word in case.html.split(b" id=")[1:]]
    target = f"#{number.choice(ids)}" if ids else "body"
    place = {"target": target, "position": number.choice(POSITIONS)}
    pairs = [
        [operation("set-attribute", target=target, name="id", value=target.lstrip("#"))],
        [operation("insert-node", html="<b id=unseen>unseen</b>", **place), operation("delete-node", target="#unseen")],
        [operation("insert-rule", rule="* { --unseen: 1 }", index=0), operation("delete-rule", index=0)],
        [operation("toggle-class", target=target, name="unseen")] * 2,
    ]
    return replace(case, update=tuple(number.choice(pairs)))


async def nothing_visible(name: str, count: int) -> Row:
    target = build(name)
    made = await source(target)
    kinds: Counter[str] = Counter()
    async with Lab([target]) as lab:

        async def judge(case: Case) -> tuple[Case, str]:
            return case, (await update.judge(lab, target, case, EXACT)).verdict.kind

        async for case, kind in in_order((unseen(made.page(n, SIZE), n) for n in range(count)), judge):
            kinds[kind] += 1
            if kind == "different":
                print("different", case.seed, [one.plain for one in case.update], flush=True)
    return row(f"{name}, {count} updates without effect: different", kinds["different"], "0", **kinds)


# The corpus


async def corpus(majors: list[str]) -> list[Row]:
    cases = [
        one for one in json.loads((CORPUS / "cases.json").read_text())
        if one["mutates"] and not any(kind.startswith("feature-change") for kind in one["kinds"])
    ]  # fmt: skip
    seen: Counter[str] = Counter()
    converts = 0
    for major in majors:
        # Some of the tests are about scrollbars.
        target = build(f"chromium@{major}?flags=--no-hide-scrollbars")
        async with Lab([target]) as lab:
            for one in cases:
                expected = one["builds"].get(major, ".")
                if expected not in "PF":
                    continue
                test, reference = (
                    Case((CORPUS / "wpt" / one[which]).read_bytes(), one[which], root=CORPUS / "wpt")
                    for which in ("test", "ref")
                )
                case = converted(test)
                if not case.update:
                    continue
                converts += 1
                judged = await update.judge(lab, target, case, EXACT, remembering=True)
                shown = await lab.shoot(target, reference)
                fresh = judged.fresh[0] if judged.fresh else None
                right = isinstance(fresh, Shot) and isinstance(shown, Shot) and not differ(fresh, shown, EXACT)
                right = right == (one["rel"] == "match")
                kind = judged.verdict.kind
                seen[f"{expected} {kind} {'right' if right else 'wrong'}"] += 1
                if (expected == "F" and right and kind != "different") or (expected == "P" and kind == "different"):
                    print(major, one["test"], expected, kind, judged.verdict.reason[:200], flush=True)
    failing = [n for key, n in seen.items() if key.startswith("F") and key.endswith("right")]
    found = seen["F different right"]
    wrongly = sum(n for key, n in seen.items() if key.startswith("P different"))
    return [
        row("corpus: failing pairs called different", found / max(1, sum(failing)), "0.95", pairs=sum(failing),
            converted=converts, cases=len(cases), **seen),
        row("corpus: passing pairs called different", wrongly, "0"),
    ]  # fmt: skip


# Against reloading


async def against_reload(count: int) -> list[Row]:
    """The same updates by both oracles, for each operation: what both, one or the other call different."""
    target = build("chromium@156")
    made = await source(target)
    table: dict[str, Counter[str]] = {}
    async with Lab([target]) as lab:

        async def judge(case: Case) -> tuple[str, str]:
            ours = (await update.judge(lab, target, case, EXACT)).verdict.kind
            shown, again = await reloaded(lab, target, case)
            if not isinstance(shown, update.Rendering) or not isinstance(again, Shot):
                theirs = "untestable"
            else:
                theirs = "different" if differ(shown.shot, again, EXACT) else "same"
            return case.update[0].op if case.update else "none", f"update {ours}, reload {theirs}"

        kinds = list(USUAL)
        cases = (Updates(made, {kinds[n % len(kinds)]: 1}).updated(made.page(n, SIZE), n, 1) for n in range(count))
        async for op, words in in_order(cases, judge):
            table.setdefault(op, Counter())[words] += 1
    whole = sum(table.values(), Counter())
    false = whole["update same, reload different"]
    return [
        row("reload oracle: different where the update oracle sees none", false / count, "reported", **whole),
        *(row(f"both oracles, {op}", sum(found.values()), "reported", **found) for op, found in sorted(table.items())),
    ]


MAJORS = ["83", "88", "89", "92", "103", "106", "107", "108", "112", "116", "123", "133", "143", "153", "156"]


PARTS: dict[str, Callable[[], list[Row]]] = {
    "speed": lambda: [speed()],
    "kills": killed,
    "unseen": lambda: [asyncio.run(nothing_visible("chromium@156", 5000))],
    "corpus": lambda: asyncio.run(corpus(MAJORS)) if CORPUS.exists() else [],
    "reload": lambda: asyncio.run(against_reload(1000)),
}


def run() -> Iterator[Row]:
    for part in PARTS.values():
        yield from part()
