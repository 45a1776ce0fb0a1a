"""A finding, looked at again in another build: is it fixed there?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..browsers.lab import Lab
from ..nouns import Build, Case, Outcome, Shot, UsageError, Verdict
from ..oracles import consensus, update
from ..oracles.change import screen_and_confirm
from ..oracles.consensus import Pool
from ..pixels import measure
from ..store import Check, Finding, Run, case_of
from ..store.blobs import Blobs

FIXED, STILL, NOT_THERE = "fixed", "still there", "not there"
_ENGINES = ("chromium", "firefox", "webkit")


@dataclass(frozen=True, slots=True)
class Beside:
    """The builds that a finding is looked at in; `new`, which is asked about, is in the place of `old`."""

    builds: Sequence[Build]
    new: Build
    old: str


def beside(run: Run, finding: Finding, new: Build, resolve: Callable[[str], Build]) -> Beside:
    settings = run.settings
    if run.kind == "update":
        return Beside([new], new, finding.build)
    # A name without a version may stand for another build today.
    named = zip(settings["builds"], settings["versions"], strict=False)
    pool = [f"{name}@{version}" if re.fullmatch("[a-z]+", name) else name for name, version in named]
    if run.kind != "consensus":
        base, changed = (finding.details.get("step") or pool)[:2]
        if new.same_program(resolve(base)):
            raise UsageError(f"{new.name} is what changed since is told from.", "Give a newer one.")
        return Beside([resolve(base), new], new, changed)
    old = [resolve(name) for name in pool]
    kin = [build for build in old if build.engine == new.engine]
    if not kin:
        words = f"No build of {run.name} is a {new.engine}."
        raise UsageError(words, f"It was a hunt with {', '.join(settings['builds'])}: give one of those.")
    # Of several versions, the new one is where the one at fault was, or the last.
    place = ([build for build in kin if build.name in finding.details.get("at_fault", ())] or kin)[-1]
    # With itself it would agree whatever it shows.
    others = [build for build in old if build is not place and not build.same_program(new)]
    if not others:
        own = next(build for build in old if build.same_program(new))
        return Beside(old, own, own.name)
    return Beside([new if build is place else build for build in old if build in (place, *others)], new, place.name)


async def recheck(lab: Lab, run: Run, finding: Finding, among: Beside, blobs: Blobs) -> Check:
    case = case_of(blobs, finding)
    verdict, pictures = await _judged(lab, run.settings, run.kind, case, among.builds, among.new)
    words: str = verdict.kind
    if verdict.kind == finding.kind:
        words = STILL
    elif verdict.kind == "same":
        # What an older build or another engine does not have was not mended there.
        words = FIXED if _is_later(run, among) else NOT_THERE
    names = [build.name for build in among.builds]
    return Check(names, words, verdict.reason, {name: blobs.add(png) for name, png in pictures.items()})


def _is_later(run: Run, among: Beside) -> bool:
    """Of one engine, and not older; of a program of the user's own, nobody knows better."""
    versions = dict(zip(run.settings["builds"], run.settings.get("versions", ()), strict=False))
    old = versions.get(among.old) or among.old.partition("@")[2]
    engine = among.old.partition("@")[0]
    if engine != among.new.engine:
        return engine not in _ENGINES
    return _dotted(among.new.version) >= _dotted(old)


def _dotted(version: str) -> list[int]:
    return [int(part) for part in re.findall("[0-9]+", version)]


async def _judged(
    lab: Lab, settings: Mapping[str, Any], kind: str, case: Case, builds: Sequence[Build], new: Build
) -> tuple[Verdict, dict[str, bytes]]:
    seen = measure(settings["measure"])
    if kind == "update":
        one = await update.judge(lab, builds[0], case, seen, screen=False)
        return one.verdict, _pictures(["updated", "fresh"], [one.updated, one.fresh])
    names = [build.name for build in builds]
    if kind != "consensus":
        verdict, taken = await screen_and_confirm(lab, builds[0], builds[1], case, seen)
        return verdict, _pictures(names, taken)
    pool = Pool(tuple(builds), seen, settings["rule"], settings["target"], settings["normal"])
    looked = await consensus.judge(lab, pool, case, screen=False)
    verdict = looked.verdict
    place = builds.index(new)
    if looked.consensus is not None and not any(place in pair for pair in looked.consensus.apart):
        # Others may disagree; the one that is asked about does not.
        verdict = Verdict("same", verdict.reason)
    return verdict, _pictures(names, looked.taken)


def _pictures(names: Sequence[str], taken: Sequence[Sequence[Outcome]]) -> dict[str, bytes]:
    first = ((name, own[0]) for name, own in zip(names, taken, strict=False) if own)
    return {name: shot.png for name, shot in first if isinstance(shot, Shot)}
