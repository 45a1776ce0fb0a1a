"""Change detection over two builds against the published R2Z2 method, on the same pages in one run.

The method: WebDriver, one thread a worker, for each page and build one load and three screenshots
that must hash equal, `imagehash.phash` with 64×64 bits, a change above 140. Its best number of
workers is searched for.
"""

from __future__ import annotations

import asyncio
import io
import queue
import tempfile
import threading
import time
from pathlib import Path

from moire.browsers.lab import Lab
from moire.nouns import Build, Case
from moire.pixels import measure

from . import bare
from .common import Row, build, changes, pages, row

WORKERS = (1, 2, 3, 4)
TABS = 4


def r2z2_rate(builds: list[Build], files: list[Path], workers: int) -> float:
    import imagehash
    from PIL import Image
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    def driver(target: Build) -> webdriver.Chrome:
        options = webdriver.ChromeOptions()
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=800,600"):
            options.add_argument(flag)
        options.binary_location = str(target.path)
        # One driver serves both builds, as the driver of R2Z2's day served its two.
        service = Service("/usr/bin/chromedriver", service_args=["--disable-build-check"])
        return webdriver.Chrome(options, service)

    todo: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for file in files:
        todo.put(file)
    drivers = [[driver(target) for target in builds] for _ in range(workers)]

    def work(mine: list[webdriver.Chrome]) -> None:
        while True:
            try:
                file = todo.get_nowait()
            except queue.Empty:
                return
            hashes = []
            for one in mine:
                one.get(file.as_uri())
                taken = [
                    imagehash.phash(Image.open(io.BytesIO(one.get_screenshot_as_png())), hash_size=64) for _ in range(3)
                ]
                hashes.append(taken[0] if len({str(h) for h in taken}) == 1 else None)
            _changed = None not in hashes and hashes[0] - hashes[1] > 140

    begun = time.perf_counter()
    threads = [threading.Thread(target=work, args=(mine,)) for mine in drivers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    for mine in drivers:
        for one in mine:
            one.quit()
    return len(files) / seconds


async def our_rate(builds: list[Build], htmls: list[str]) -> tuple[float, int]:
    cases = [Case(html.encode(), f"{n}.html") for n, html in enumerate(htmls)]
    found = 0
    async with Lab(builds) as lab:
        async for _ in changes(lab, builds[0], builds[1], measure("phash"), cases[:16]):
            pass
        begun = time.perf_counter()
        async for verdict in changes(lab, builds[0], builds[1], measure("phash"), cases):
            found += verdict.kind == "different"
        seconds = time.perf_counter() - begun
    return len(cases) / seconds, found


async def bare_rate(builds: list[Build], htmls: list[str]) -> float:
    """What the machine has to give: each page once in both builds, nothing compared, nothing watched."""
    programs = [target.path for target in builds if target.path is not None]
    return min(await asyncio.gather(*(bare.rate([program], list(htmls), TABS) for program in programs)))


def run() -> list[Row]:
    builds = [build("chromium@150"), build("chromium@156")]
    rows = []
    for size, count, least in ((2000, 400, "10"), (10_000, 200, "8")):
        htmls = pages(count, size)
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, f"{n}.html") for n in range(len(htmls))]
            for file, html in zip(files, htmls, strict=True):
                file.write_text(html)
            theirs = {workers: r2z2_rate(builds, files[:40], workers) for workers in WORKERS}
        best = max(theirs, key=lambda workers: theirs[workers])
        ours, found = asyncio.run(our_rate(builds, htmls))
        ceiling = asyncio.run(bare_rate(builds, htmls))
        rows.append(
            row(f"change detection ÷ R2Z2's method, {size} B pages", ours / theirs[best], least,
                ours=ours, theirs=theirs[best], bare_loop=ceiling, workers=best, different=found)
        )  # fmt: skip
    return rows
