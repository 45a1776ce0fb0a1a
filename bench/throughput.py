"""The lab against a bare loop and against Selenium, on the same pages in one run."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from moire.browsers.lab import Lab, LabOptions
from moire.nouns import Build, Case, Shot

from . import bare
from .common import Row, build, pages, row

TABS, PROCESSES, ROUNDS = 4, 2, 3


async def lab_rate(target: Build, htmls: list[str]) -> float:
    cases = [Case(html.encode(), f"{n}.html") for n, html in enumerate(htmls)]
    async with Lab([target], LabOptions(processes=PROCESSES, tabs=TABS)) as lab:
        await asyncio.gather(*(lab.shoot(target, case, "fast") for case in cases[: PROCESSES * TABS]))
        begun = time.perf_counter()
        outcomes = await asyncio.gather(*(lab.shoot(target, case, "fast") for case in cases))
        seconds = time.perf_counter() - begun
    assert all(isinstance(outcome, Shot) for outcome in outcomes)
    return len(cases) / seconds


def selenium_rate(htmls: list[str]) -> float:
    """One session of chromedriver, the way most people drive Chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=800,600"):
        options.add_argument(flag)
    options.binary_location = "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for n, html in enumerate(htmls):
            files.append(Path(folder, f"{n}.html"))
            files[-1].write_text(html)
        driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
        try:
            driver.get(files[0].as_uri())
            begun = time.perf_counter()
            for file in files:
                driver.get(file.as_uri())
                driver.get_screenshot_as_png()
            return len(files) / (time.perf_counter() - begun)
        finally:
            driver.quit()


def run() -> list[Row]:
    target = build("chromium@156")
    assert target.path is not None
    rows = []
    for size, count, selenium_least in ((300, 600, "7"), (10_000, 300, "4")):
        htmls = pages(count, size)
        # Alternating rounds, so that whatever else the machine does falls on both.
        bares, labs = [], []
        for _ in range(ROUNDS):
            bares.append(asyncio.run(bare.rate([target.path] * PROCESSES, htmls, TABS)))
            labs.append(asyncio.run(lab_rate(target, htmls)))
        selenium = selenium_rate(htmls[: count // 3])
        lab, loop = statistics.median(labs), statistics.median(bares)
        rows.append(row(f"lab ÷ bare CDP, {size} B pages", lab / loop, "0.90", lab=lab, bare=loop))
        rows.append(row(f"lab ÷ Selenium, {size} B pages", lab / selenium, selenium_least, lab=lab, selenium=selenium))
    return rows
