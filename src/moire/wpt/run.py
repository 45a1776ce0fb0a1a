"""Web-platform-tests in any build: reftests by pixels, and what testharness.js says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..browsers.drivers.base import Tab
from ..browsers.lab import Lab
from ..nouns import Build, Case, Environment, Failure, Shot, UsageError
from ..pixels import decode, fuzzy
from .test import Reference, Test, read

Status = Literal["pass", "fail", "error", "timeout"]
# References of references, and so on: tests have one or two.
MOST_DEEP = 8
# Of the time that a page has, what is left for a test to say that it is done.
PATIENCE = 0.7
# Put in the place of the checkout's own: it keeps the results where they are asked for.
_REPORT = b"""
setup({output: false});
add_completion_callback((tests, status) => {
  window[Symbol.for('moire')] = {
    status: status.status, message: status.message || '',
    tests: tests.map(test => ({name: test.name, status: test.status, message: test.message || ''})),
  };
});
"""
_REPORT_PATH = "resources/testharnessreport.js"
# testharness.js waits as long as its page says, and then says that it has.
_DONE = """(async () => {
  const kept = Symbol.for('moire');
  while (!window[kept]) await new Promise(done => requestAnimationFrame(done));
  return window[kept];
})()"""


@dataclass(frozen=True, slots=True)
class Result:
    """`difference` and `pixels` are of the reference that came nearest."""

    test: str
    build: str
    status: Status
    reason: str = ""
    fuzzy: str = ""
    difference: int = 0
    pixels: int = 0


def open_test(root: Path, path: str, environment: Environment | None = None) -> Case:
    """A test by its path in a checkout."""
    name = path.lstrip("/")
    try:
        inside = (root / name).resolve().is_relative_to(root.resolve())
        html = (root / name).read_bytes() if inside else None
    except OSError:
        html = None
    if html is None:
        raise UsageError(f"There is no test {path} in {root}.", "Give its path from the root of the checkout.")
    return Case(html, name, root=root, environment=environment or Environment())


async def run(lab: Lab, build: Build, case: Case) -> Result:
    test = read(case)
    if test.kind == "testharness":
        return await _harness(lab, build, case)
    if test.kind == "none":
        return Result(case.name, build.name, "error", "it is neither a reftest nor a testharness test")
    return await _Reftest(lab, build, case).run(test)


class _Reftest:
    def __init__(self, lab: Lab, build: Build, case: Case) -> None:
        self._lab = lab
        self._build = build
        self._case = case
        self._shots: dict[str, Shot | Failure] = {}

    async def run(self, test: Test) -> Result:
        result = await self._holds(self._case, test, 0)
        words = test.tolerance(test.references[0].path).words
        return replace(result, fuzzy="" if words == "0-0;0-0" else words)

    async def _holds(self, page: Case, test: Test, depth: int) -> Result:
        """One of the references that must match does, and none that must not."""
        results = [await self._compared(page, test, reference, depth) for reference in test.references]
        both = list(zip(test.references, results, strict=True))
        wrong = [one for reference, one in both if reference.relation == "mismatch" and one.status != "pass"]
        right = [one for reference, one in both if reference.relation == "match"]
        if wrong or not right:
            return wrong[0] if wrong else results[0]
        return min(right, key=lambda one: (_ORDER[one.status], one.pixels))

    async def _compared(self, page: Case, test: Test, reference: Reference, depth: int) -> Result:
        name = self._case.name
        data = page.beside(reference.path)
        if data is None or depth > MOST_DEEP:
            return Result(name, self._build.name, "error", f"there is no reference {reference.path}")
        other = replace(page, html=data, name=reference.path)
        shots = [await self._shot(one) for one in (page, other)]
        for shot in shots:
            if isinstance(shot, Failure):
                status: Status = "timeout" if shot.kind == "hung" else "error"
                return Result(name, self._build.name, status, shot.reason)
        a, b = (decode(shot.png) for shot in shots if isinstance(shot, Shot))
        found = fuzzy(a, b)
        same = test.tolerance(reference.path).allows(found.max_difference, found.pixels)
        passed = same == (reference.relation == "match")
        reason = "" if passed else f"{reference.relation} {reference.path}: {found.pixels} pixels differ"
        result = Result(
            name, self._build.name, "pass" if passed else "fail", reason, "", found.max_difference, found.pixels
        )
        inner = read(other)
        if passed and inner.kind == "reftest":
            deeper = await self._holds(other, inner, depth + 1)
            return result if deeper.status == "pass" else deeper
        return result

    async def _shot(self, page: Case) -> Shot | Failure:
        if page.name not in self._shots:
            self._shots[page.name] = await self._lab.shoot(self._build, page)
        return self._shots[page.name]


_ORDER: Mapping[Status, int] = {"pass": 0, "fail": 1, "timeout": 2, "error": 3}


async def _harness(lab: Lab, build: Build, case: Case) -> Result:
    async def job(tab: Tab) -> Any:
        try:
            async with asyncio.timeout(PATIENCE * lab.options.deadline):
                return await tab.evaluate(_DONE)
        except TimeoutError:
            return None

    served = replace(case, resources={**case.resources, _REPORT_PATH: _REPORT})
    seen = await lab.visit(build, served, job, sure=False, afresh=False)
    if isinstance(seen, Failure):
        return Result(case.name, build.name, "error", seen.reason)
    if seen.value is None:
        return Result(case.name, build.name, "timeout", "it did not say in time that it was done")
    try:
        status, wrong = int(seen.value["status"]), [one for one in seen.value["tests"] if one["status"] != 0]
        words = f"{wrong[0]['name']}: {wrong[0]['message']}" if wrong else str(seen.value["message"])
    except (TypeError, KeyError, ValueError):
        return Result(case.name, build.name, "error", "the page meddles with the answers of scripts")
    # As testharness.js counts them: 0 is well, 1 an error, 2 a time-out, 3 a precondition that did not hold. An error
    # is the test's own: most often, what it is about is not there.
    if status == 2:
        return Result(case.name, build.name, "timeout", words)
    return Result(case.name, build.name, "fail" if wrong or status else "pass", words)
