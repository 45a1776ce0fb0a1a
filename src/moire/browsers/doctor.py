"""What works on this machine, what is missing, and the command that fixes it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import asdict, dataclass
from typing import Any

from .. import home
from ..nouns import Build, Case, Engine, MoireError, Shot
from . import shelf
from .drivers.chromium import sandboxed
from .lab import Lab

_PAGE = Case(b"<!DOCTYPE html><title>doctor</title><p style='background: lime'>Moire</p>")
_REMEDY: dict[Engine, str] = {
    "chromium": "apt-get install chromium-headless-shell",
    "firefox": "apt-get install firefox-esr",
    "webkit": "apt-get install webkit2gtk-driver xvfb",
}
# Families that pages ask for by their generic names; without one, text has no look of its own.
_FONT_REMEDY = "apt-get install fonts-liberation"


@dataclass(frozen=True, slots=True)
class Report:
    what: str
    well: bool
    says: str
    remedy: str = ""

    def row(self) -> dict[str, Any]:
        return asdict(self)


async def examine() -> list[Report]:
    known = shelf.installed()
    reports = []
    for engine in _REMEDY:
        builds = [b for b in known if b.engine == engine]
        if builds:
            reports += [await _try(builds[-1], len(builds))]
        else:
            reports += [Report(engine, False, "not found", f"Run `{_REMEDY[engine]}` as root.")]
    return [*reports, *_damaged(), _sandbox(), _fonts(), _npm(), _room()]


async def _try(build: Build, count: int) -> Report:
    """Seen to work, not just seen."""
    what = build.engine
    says = f"{build.name} at {build.path} ({build.source}; {count} installed)"
    try:
        async with Lab([build]) as lab:
            outcome = await lab.shoot(build, _PAGE)
    except MoireError as error:
        missing = _missing(build)
        if missing:
            return Report(
                what, False, f"{says}: {', '.join(missing)} missing", f"Run `{_REMEDY[build.engine]}` as root."
            )
        return Report(what, False, f"{says}: {error.sentence}", f"Run `{_REMEDY[build.engine]}` as root.")
    if isinstance(outcome, Shot):
        return Report(what, True, f"{says} shows a page")
    return Report(what, False, f"{says}: {outcome.kind}, {outcome.reason}", f"Run `{_REMEDY[build.engine]}` as root.")


def _missing(build: Build) -> list[str]:
    """Shared libraries that the program wants and the system lacks."""
    said = subprocess.run(["ldd", str(build.path)], capture_output=True, text=True, timeout=60).stdout
    return [line.split()[0] for line in said.splitlines() if "not found" in line]


def _damaged() -> list[Report]:
    return [
        Report(
            "builds", False, f"{place.name} is damaged", f"Install it again, or run `rm -r {shlex.quote(str(place))}`."
        )
        for place in shelf.damaged()
    ]


def _sandbox() -> Report:
    if not sandboxed():
        return Report(
            "sandbox", True, "off: Chromium's does not run as root", "Run Moire as another user to have it on."
        )
    try:
        with open("/proc/sys/kernel/unprivileged_userns_clone") as file:
            allowed = file.read().strip() == "1"
    except OSError:
        allowed = True
    remedy = "" if allowed else "Run `sysctl kernel.unprivileged_userns_clone=1` as root."
    return Report("sandbox", allowed, "on" if allowed else "Chromium's cannot start: user namespaces are off", remedy)


def _fonts() -> Report:
    if shutil.which("fc-list") is None:
        return Report(
            "fonts", False, "fontconfig is not installed", "Run `apt-get install fontconfig fonts-liberation` as root."
        )
    said = subprocess.run(["fc-list", ":", "family"], capture_output=True, text=True, timeout=60).stdout
    families = {line.split(",")[0] for line in said.splitlines() if line}
    if not families:
        return Report("fonts", False, "none: pages would have no text", f"Run `{_FONT_REMEDY}` as root.")
    return Report("fonts", True, f"{len(families)} families, {', '.join(sorted(families)[:3])} …")


def _npm() -> Report:
    there = shutil.which("npm")
    if there:
        return Report("npm", True, f"{there}: older Chromium builds can be installed")
    return Report(
        "npm", False, "not found: older Chromium builds cannot be installed", "Run `apt-get install npm` as root."
    )


def _room() -> Report:
    place = home.folder("builds")
    status = os.statvfs(place)
    free = status.f_bavail * status.f_frsize / 2**30
    return Report(
        "disk",
        free > 2,
        f"{free:.0f} GiB free for builds in {place}",
        "" if free > 2 else "Free some space, or set MOIRE_HOME.",
    )
