"""Regression hunt: what changed between two builds, at which step, and whether that step broke it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from ..browsers import history
from ..browsers.download import silent
from ..browsers.history import Stop
from ..browsers.lab import Lab, LabOptions
from ..inspect.stage import Staged
from ..nouns import Build, Case, Failure, MoireError
from ..oracles import feature, regression
from ..pixels import decode, figures
from ..store import Finding, case_of
from ..store.earlier import EXAMPLES
from ..triage.bisect import Bisected, Memory, Pictures, Unsettled, Visits, bisect
from ..triage.stage import stage
from ..wpt.near import Checkout
from .change import ChangeHunt
from .finding import MOST_DIFFERENCES, at_stage, visibility


@dataclass
class RegressionHunt(ChangeHunt):
    # From the one build to the other.
    stops: Sequence[Stop]
    references: Sequence[Build]
    checkout: Checkout | None
    # Where bisection keeps what it saw.
    folder: Path
    options: LabOptions = field(default_factory=LabOptions)

    async def settle(self, known: Sequence[Finding], told: Visits) -> AsyncIterator[Finding]:
        """Each finding with its step, and what the oracles say of that; all of them bisected together."""
        different = [one for one in known if one.kind == "different" and "page" in one.details]
        open_ones = [one for one in different if "step" not in one.details]
        if not open_ones:
            return
        cases = [case_of(self.blobs, one) for one in open_ones]
        view = Pictures(self.measure, self.options)
        versions = " ".join(build.version for build in self.builds)
        memory = Memory(self.folder, f"{view.way} {versions}")
        results = await bisect(self.stops, cases, view, memory, told)
        # Of each step, reduced pages first: they are the better examples.
        found = sorted(
            zip(open_ones, cases, results, strict=True),
            key=lambda one: (_step(one[2]), "unreduced" in one[0].details, one[0].number),
        )
        settled = [one for one in known if "step" in one.details]
        for step, own in groupby(found, key=lambda one: _step(one[2])):
            waiting = list(own)
            try:
                async for finding in self._judged(step, tuple(waiting), memory):
                    waiting.pop(0)
                    settled.append(_placed(finding, settled))
                    yield settled[-1]
            except MoireError as error:
                # A build that cannot be had now: its findings stay open, the others need not wait for it.
                for finding, _, _ in waiting:
                    yield replace(finding, details={**finding.details, "unsettled": error.sentence})

    async def _judged(
        self, step: tuple[str, str], own: Sequence[tuple[Finding, Case, Bisected | Unsettled]], memory: Memory
    ) -> AsyncIterator[Finding]:
        """Findings of one step, in their order; they share the browsers that it takes to judge them."""
        if step == ("", ""):
            for finding, _, result in own:
                reason = result.reason if isinstance(result, Unsettled) else ""
                told: dict[str, Any] = {"step": [], "bug": False, "why": f"no step was found: {reason}"}
                if isinstance(result, Unsettled) and result.passing:
                    # Another time it may be found.
                    told = {"unsettled": reason}
                yield replace(finding, details={**finding.details, **told, "skipped": dict(result.skipped)})
            return
        wanted = [next(stop for stop in self.stops if stop.name == name) for name in step]
        before, after = [await asyncio.to_thread(stop.ready, silent) for stop in wanted]
        async with Lab(list(dict.fromkeys([before, after, *self.references])), self.options) as lab:
            for finding, case, result in own:
                assert isinstance(result, Bisected)
                found = self.blobs.read(finding.details.get("before", finding.details)["page"])
                verdict = await regression.judge(
                    lab, before, after, self.references, case, self.measure, self.checkout, found
                )
                part = await stage(lab, before, after, case)
                seen = {name: memory.known(case, name) for name in step}
                shown = {name: png for name, png in seen.items() if isinstance(png, bytes)}
                told_of = _told(finding, result, verdict, part, history.link(before, after))
                step_only = {
                    "pictures": {name: self.blobs.add(png) for name, png in shown.items()},
                    "figures": dict(figures(*map(decode, shown.values()))),
                    **visibility(shown.values()),
                }
                yield replace(told_of, details={**told_of.details, **step_only})


def _step(result: Bisected | Unsettled) -> tuple[str, str]:
    return result.changes[0] if isinstance(result, Bisected) else ("", "")


def _told(
    finding: Finding, result: Bisected, verdict: regression.Judgement, part: Staged | Failure, link: str
) -> Finding:
    """The finding with all that is known of it now, under the name of its culprit."""
    stage_name = "undecided" if isinstance(part, Failure) else part.stage
    differences = () if isinstance(part, Failure) else part.differences[:MOST_DIFFERENCES]
    properties = sorted({one.property for one in differences})
    tests = verdict.feature.tried if verdict.feature is not None else ()
    details: dict[str, Any] = {
        "step": list(result.changes[0]), "changes": [list(change) for change in result.changes], "link": link,
        "visited": list(result.visited), "skipped": dict(result.skipped), "bug": verdict.bug, "why": verdict.reason,
        "interop": {name: asdict(opinion) for name, opinion in verdict.interop.opinions.items()},
        "tests": [{**asdict(one), "case": one.case} for one in tests if one.case in feature.TELLING],
        "tests_run": len(tests),
        "stage": stage_name, "evidence": "" if isinstance(part, Failure) else part.evidence,
        **at_stage(part, "before", "after"),
        "properties": properties if stage_name == "style" else [],
    }  # fmt: skip
    where = finding.details.get("element", "")
    words = [result.changes[0][1], stage_name, ",".join(details["properties"][:3]), where]
    details["found_as"] = finding.found_as
    return replace(finding, signature=" ".join(filter(None, words)), details={**finding.details, **details})


def _placed(finding: Finding, settled: Sequence[Finding]) -> Finding:
    """By culprit, stage, element and property, so many examples."""
    if not finding.details.get("step"):
        return finding
    alike = [one for one in settled if one.signature == finding.signature]
    enough = sum(one.state == "example" for one in alike) >= EXAMPLES
    first = {**finding.details, "first": not alike}
    return replace(finding, state="duplicate" if enough else "example", details=first)
