"""Hunts from settings: what a run was begun with is what it goes on with."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..browsers import fonts, history
from ..browsers.lab import LabOptions
from ..grammar import reducer
from ..nouns import Build, Environment, UsageError
from ..nouns.update import written
from ..oracles.consensus import Pool
from ..pages.make import Pages
from ..pixels import Measure, measure
from ..store import BISECT, Store
from ..store.blobs import Blobs
from ..wpt.near import Checkout
from .change import ChangeHunt
from .consensus import ConsensusHunt, Steering, Trials
from .regression import RegressionHunt
from .run import Budget, Hunt
from .source import Source
from .update import UpdateHunt


def hunt(
    kind: str, settings: Mapping[str, Any], builds: Sequence[Build], store: Store, options: LabOptions | None = None,
    name: str = "",
) -> Hunt:  # fmt: skip
    """`builds` are those that the settings name, in that order: first those under test. `name` is the run's."""
    own = [Path(name) for name, _ in settings["own"]]
    pages = Pages(json.loads(store.blobs.read(settings["weights"])), adjustable=kind == "consensus")
    source = Source(pages, settings["seed"], settings["size"], own)
    if kind != "regression":
        return _hunt(kind, settings, builds, source, store.blobs)
    tested, others = _parted(settings, builds)
    if settings["listed"]:
        stops = history.named(settings["history"])
    else:
        # What came since the run was begun is left out.
        stops = history.between(tested[0], tested[1], offered=settings["offered"])
        stops = [stop for stop in stops if stop.name in settings["history"]]
    checkout = Checkout(Path(settings["wpt"])) if settings["wpt"] else None
    place = store.folder / BISECT / name
    return RegressionHunt(
        tested, source, measure(settings["measure"]), store.blobs, settings.get("guided", False), stops, others,
        checkout, place, options or LabOptions(),
    )  # fmt: skip


def judging(kind: str, settings: Mapping[str, Any], builds: Sequence[Build]) -> Hunt:
    """For those who are given pages to judge and to look into, and no more."""
    source = Source(Pages({}), settings["seed"], settings["size"])
    return _hunt("change" if kind == "regression" else kind, settings, builds, source, Blobs(Path("nowhere")))


def _hunt(kind: str, settings: Mapping[str, Any], builds: Sequence[Build], source: Source, blobs: Blobs) -> Hunt:
    seen = measure(settings["measure"])
    tested, others = _parted(settings, builds)
    if kind == "change":
        return ChangeHunt(tested, source, seen, blobs, settings.get("guided", False))
    if kind == "update":
        return UpdateHunt(tested, source, settings["operations"], seen, blobs, settings["guided"], others)
    return _consensus(settings, tested, source, seen, blobs)


def _parted(settings: Mapping[str, Any], builds: Sequence[Build]) -> tuple[Sequence[Build], Sequence[Build]]:
    """Those under test, and the others."""
    return builds[: len(settings["builds"])], builds[len(settings["builds"]) :]


def _consensus(
    settings: Mapping[str, Any], tested: Sequence[Build], source: Source, seen: Measure, blobs: Blobs
) -> ConsensusHunt:
    pool = Pool(tuple(tested), seen, settings["rule"], settings["target"], settings["normal"])
    by = reducer(settings["reducer"])
    steering = Steering(settings["edges"], settings["pick"], settings["propagation"], by, settings["never"])
    trials = Trials(settings["runs"], settings["iterations"], settings["max_size"], settings.get("grow", 1))
    environment = Environment(**settings["environment"])
    return ConsensusHunt(pool, source, blobs, trials, steering, environment, settings["benign"])


def independent(tested: Sequence[Build], references: Sequence[Build]) -> None:
    """References of a regression are of another make."""
    for reference in references:
        if reference.engine == tested[0].engine != "command" or any(map(reference.same_program, tested)):
            raise UsageError(f"{reference.name} is no independent reference.", "Name another engine.")


def budget(settings: Mapping[str, Any]) -> Budget:
    return Budget(settings["pages"], settings["seconds"], settings.get("findings", 0), settings.get("disk", 0))


def names(settings: Mapping[str, Any]) -> list[str]:
    """Every build that the run needs."""
    return [*settings["builds"], *settings.get("references", ())]


def check(settings: Mapping[str, Any], builds: Sequence[Build]) -> None:
    """A run goes on with the very builds and pages it was begun with."""
    for build, version, before in zip(builds, settings["versions"], settings["programs"], strict=True):
        if build.version != version:
            raise UsageError(
                f"{build.name} is {build.version} now; the run was begun with {version}.",
                f"Install {version} again, or begin another run.",
            )
        if program(build) != before:
            raise UsageError(f"{build.name} is not what it was when the run was begun.", "Begin another run.")
    if settings.get("fonts", "") not in ("", fonts.digest()):
        raise UsageError(
            "Other fonts are installed than when the run was begun.", "Put them back, or begin another run."
        )
    for name, before in settings.get("own", ()):
        if digest(Path(name)) != before:
            raise UsageError(f"{name} is not what it was when the run was begun.", "Put it back, or begin another run.")


def made(hunt: Hunt) -> str:
    """What tells the pages of a run from those that another Moire would make."""
    case = hunt.case(0)
    return hashlib.sha256(case.html + written(case.update).encode()).hexdigest()[:16]


def check_pages(settings: Mapping[str, Any], hunt: Hunt) -> None:
    """A run goes on with the pages that it would have had."""
    if settings.get("made") != made(hunt):
        raise UsageError(
            "The run was begun by another Moire, which makes other pages of the same seed.",
            "Go on with that one, or begin another run.",
        )


def exact(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The builds of a run by their full versions, and what it calls them."""
    asked = names(settings)
    found = []
    for name, version, called in zip(asked, settings["versions"], settings.get("names", asked), strict=True):
        known = re.fullmatch(r"(chromium|firefox|webkit)(?:@[^?]*)?(\?.*)?", name)
        found.append((f"{known[1]}@{version}{known[2] or ''}" if known else name, called))
    return found


def program(build: Build) -> list[list[object]]:
    """What tells a program of the user's own from another of the same name; a release is told by its version."""
    words = build.command if build.engine == "command" else [str(build.path or "")] if build.source == "path" else []
    return [list(stamp) for stamp in history.stamps(words)]


def digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
