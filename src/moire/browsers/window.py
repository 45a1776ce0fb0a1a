"""Builds that show their window, for people who want to use or to watch one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..nouns import Build, UsageError

SHOWN = "--no-headless"
# Programs that can draw no window, and the one beside them that can.
_WITHOUT = {"chromium-headless-shell": "chromium", "chrome-headless-shell": "chrome"}


def without(build: Build) -> UsageError:
    """What is said of a build that has no windows."""
    return UsageError(
        f"{build.name} is a Chromium without windows.",
        "Run `apt-get install chromium`, or name another by its path: -b /usr/bin/google-chrome.",
    )


def shown(build: Build) -> Build:
    """The build with a window on the screen that there is; one at an address has its window there."""
    if build.engine == "webdriver":
        return build
    if build.path is None or build.engine not in ("chromium", "firefox"):
        raise UsageError(
            f"{build.name} shows no window.", "Name a Chromium, a Firefox, or a WebDriver server's address."
        )
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UsageError("There is no screen to show a browser on.", "Set DISPLAY, or do without a window: see --help.")
    path = build.path
    if beside := _WITHOUT.get(path.name):
        path = path.with_name(beside)
        if not path.is_file():
            raise without(build)
    flags = build.flags if SHOWN in build.flags else (*build.flags, SHOWN)
    # A browser's home is a folder of its own, and the key to the screen mostly in the user's.
    key = {"XAUTHORITY": str(Path.home() / ".Xauthority")} if "XAUTHORITY" not in os.environ else {}
    return replace(build, path=path, flags=flags, environ={**key, **build.environ})
