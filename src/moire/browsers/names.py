"""How a build is written: `chromium@108`, a path, `http://…`, `cmd:…`, each with arguments.

chromium@156?flags=--disable-features=LayoutNG&flags=--force-dark-mode
firefox@153?prefs=layout.css.grid.enabled=false
/opt/chrome/chrome?env=LANG=C
http://grid:4444?capabilities={"browserName":"firefox"}
cmd:wkhtmltoimage {page} {png}
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..nouns import Build, UnknownBuild, UsageError
from . import shelf

_ARGUMENTS = ("flags", "env", "prefs", "capabilities")
# What a command renderer is told about a page.
_FILLED = ("{page}", "{png}", "{width}", "{height}")
# The arguments begin at the last `?` that is followed by one of their names.
_QUERY = re.compile(rf"\?(?=(?:{'|'.join(_ARGUMENTS)})=)")


def resolve(name: str, installed: Sequence[Build] | None = None) -> Build:
    """The build of that name, or UnknownBuild with the remedy."""
    head, *rest = _QUERY.split(name, maxsplit=1)
    engine, asked, argument = head.partition("?")
    if asked and engine.partition("@")[0] in ("chromium", "firefox", "webkit"):
        raise UsageError(
            f"?{argument} is no argument of a build.",
            f"Write {', '.join(f'?{a}=…' for a in _ARGUMENTS)}, with & between.",
        )
    build = _base(head, installed)
    return _with_arguments(build, rest[0]).named(name) if rest else build


def _base(head: str, installed: Sequence[Build] | None) -> Build:
    if head.startswith("cmd:"):
        return _command(head)
    if head.startswith(("http://", "https://")):
        return _remote(head)
    if "/" in head or head.startswith((".", "~")):
        return shelf.identify(Path(os.path.expanduser(head)))
    engine, at, version = head.partition("@")
    if engine not in ("chromium", "firefox", "webkit") or (at and not version):
        raise UnknownBuild(
            f"{head!r} names no build.",
            "Write chromium@156, firefox@153, webkit@2.50, a path with a slash in it, http://host:port or cmd:PROGRAM.",
        )
    known = [
        b
        for b in (shelf.installed() if installed is None else installed)
        if b.engine == engine and (not version or b.version == version or b.version.startswith(version + "."))
    ]
    if not known:
        raise UnknownBuild(f"{head} is not installed.", _remedy(engine, head))
    return known[-1].named(head) if version else short(known[-1], known)


def short(build: Build, installed: Sequence[Build]) -> Build:
    """The build under the shortest name that is no other's: what people write, and so what findings are known by."""
    others = [one.version for one in installed if one.engine == build.engine and one.version != build.version]
    parts = build.version.split(".")
    # 2.50 of WebKitGTK is what 156 of Chromium is.
    least = 2 if build.engine == "webkit" else 1
    for count in range(least, len(parts)):
        name = ".".join(parts[:count])
        if not any(other == name or other.startswith(name + ".") for other in others):
            return build.named(f"{build.engine}@{name}")
    return build.named(f"{build.engine}@{build.version}")


def _remedy(engine: str, head: str) -> str:
    if engine == "webkit":
        return "Run `apt-get install webkit2gtk-driver xvfb`."
    return f"Run `moire browsers install {head}`; `moire browsers available {engine}` lists what there is."


def _remote(head: str) -> Build:
    try:
        parts = urlsplit(head)
        well = bool(parts.hostname) and parts.port != 0
    except ValueError:
        well = False
    if not well:
        raise UsageError(f"{head!r} is no address.", "Write for example http://127.0.0.1:4444.")
    return Build(head, "webdriver", "", "remote", address=head)


def _command(head: str) -> Build:
    words = _words(head.removeprefix("cmd:"))
    if not words:
        raise UsageError("cmd: names no program.", "Write for example 'cmd:wkhtmltoimage {page} {png}'.")
    if shutil.which(words[0]) is None:
        raise UnknownBuild(f"{words[0]} is not a program on this machine.", "Install it, or give its path.")
    unknown = [found for word in words for found in re.findall(r"\{\w+\}", word) if found not in _FILLED]
    if unknown:
        raise UsageError(f"{unknown[0]} in {head!r} is nothing to fill in.", f"There are {', '.join(_FILLED)}.")
    return Build(head, "command", "", "command", command=tuple(words))


def _with_arguments(build: Build, query: str) -> Build:
    flags: list[str] = []
    environ: dict[str, str] = {}
    prefs: dict[str, str] = {}
    capabilities: dict[str, Any] = {}
    for part in re.split(rf"&(?=(?:{'|'.join(_ARGUMENTS)})=)", query):
        key, _, value = part.partition("=")
        value = unquote(value)
        if key == "flags":
            flags += _words(value)
        elif key == "env":
            environ.update([_pair(value, "env=NAME=VALUE")])
        elif key == "prefs":
            prefs.update([_pair(value, "prefs=NAME=VALUE")])
        else:
            capabilities.update(_json(value))
    if flags and build.engine in ("webdriver", "command"):
        raise UsageError("Only local browsers take flags.", "Use capabilities= for WebDriver, words for cmd:.")
    if prefs and build.engine != "firefox":
        raise UsageError("Only Firefox takes prefs.", "Use flags= for other engines.")
    if capabilities and build.engine != "webdriver":
        raise UsageError("Only WebDriver addresses take capabilities.", "Use flags= for local builds.")
    return replace(build, flags=tuple(flags), environ=environ, prefs=prefs, capabilities=capabilities)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no command line: {error}.", "Check its quotes.") from None


def _pair(text: str, form: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"{text!r} is not of the form {form}.", "Write name and value with = between.")
    return key, os.path.expandvars(value)


def _json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"The capabilities are no JSON: {error}.", 'Write for example {"browserName":"firefox"}.'
        ) from None
    if not isinstance(value, dict):
        raise UsageError("The capabilities are no JSON object.", 'Write for example {"browserName":"firefox"}.')
    return value
