"""Options that several verbs share."""

from __future__ import annotations

import math
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from ..browsers import names, shelf
from ..browsers.lab import LabOptions
from ..nouns import Build, Environment, UsageError
from ..nouns.update import Update, read
from ..pixels import Measure, measure

F = TypeVar("F", bound=Callable[..., Any])


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", re.IGNORECASE)
_MOST = 1e12
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def size(_context: click.Context, option: click.Parameter, text: str | None) -> int:
    """`500M`, `2G`; 0 is without end."""
    if text is None:
        return 0
    found = _SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]) or float(found[1]) > _MOST:
        raise UsageError(f"--{option.name} {text} is no size.", "Write for example 500M or 2G.")
    return int(float(found[1]) * _BYTES[found[2].lower()])


def environment_options(function: F) -> F:
    for option in reversed(
        [
            click.option("--size", default="800x600", show_default=True, help="Viewport, WIDTHxHEIGHT."),
            click.option("--scale", default=1.0, show_default=True, help="Device pixels a CSS pixel."),
            click.option("--color-scheme", type=click.Choice(["light", "dark"]), default="light", show_default=True),
            click.option("--direction", type=click.Choice(["ltr", "rtl"]), default="ltr", show_default=True),
            click.option("--medium", type=click.Choice(["screen", "print"]), default="screen", show_default=True),
        ]
    ):
        function = option(function)
    return function


def environment(size: str, scale: float, color_scheme: Any, direction: Any, medium: Any) -> Environment:
    return Environment(*viewport(size, "--size"), scale, color_scheme, direction, medium)


def viewport(text: str, option: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and text.isascii()):
        raise UsageError(f"{option} {text} is not WIDTHxHEIGHT.", "Write for example 800x600.")
    return int(width), int(height)


def lab_options(function: F) -> F:
    for option in reversed(
        [
            click.option("--deadline", default=15.0, show_default=True, help="Seconds a page may take."),
            click.option(
                "--serve-host", default="", help="Also serve pages on this address, for remote WebDriver ends."
            ),
        ]
    ):
        function = option(function)
    return function


def normal_option(function: F) -> F:
    return click.option(
        "--normal", is_flag=True, help="Show the page over a reset of default styles, every letter in Ahem."
    )(function)


def store_option(function: F) -> F:
    return click.option(
        "--store", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, envvar="MOIRE_STORE",
        help="The folder that keeps runs.",
    )(function)  # fmt: skip


def history_option(function: F) -> F:
    return click.option(
        "--history", "listed", type=click.Path(path_type=Path), metavar="FILE",
        help="Builds in order, one a line; the first and the last are the ends, unless others are named.",
    )(function)  # fmt: skip


def lab(deadline: float, serve_host: str) -> LabOptions:
    if not 0 < deadline < math.inf:
        raise UsageError(f"--deadline {deadline:g} leaves no time.", "Give seconds above 0.")
    return LabOptions(deadline=deadline, serve_host=serve_host)


def builds(names_: tuple[str, ...]) -> list[Build]:
    known = shelf.installed()
    return [names.resolve(name, known) for name in names_]


def target(name: str | None, pool: Sequence[str]) -> int | None:
    """The place in a pool of one that is named as there, or by its engine."""
    if name is None:
        return None
    found = [n for n, one in enumerate(pool) if name in (one, one.split("@")[0])]
    if len(found) != 1:
        words = f"--target {name} is {'in the pool more than once' if found else 'not one of the pool'}."
        raise UsageError(words, f"Name one of {', '.join(dict.fromkeys(pool))}.")
    return found[0]


def the_measure(text: str) -> Measure:
    try:
        return measure(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def operations(text: str) -> Update:
    """A JSON list of operations, or a file with one."""
    if text.lstrip().startswith("["):
        return read(text)
    try:
        return read(Path(text).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{text} cannot be read: {error.strerror}.", "Give a file, or the JSON itself.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{text} is no text.", "Give a file with a JSON list of operations.") from None


def folder_for(path: Path | None, option: str = "-o") -> None:
    """Make the folder that results will go to, before the work: a place that takes none is known now."""
    if path is None:
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except FileExistsError:
        raise UsageError(f"{option} {path} is a file.", "Give a folder.") from None
    except OSError as error:
        raise UsageError(f"Nothing can be written to {path}: {error.strerror}.", "Give another folder.") from None


def file_for(path: Path | None) -> None:
    """The same for one file."""
    if path is not None:
        if path.is_dir():
            raise UsageError(f"{path} is a folder.", "Give a file's name.")
        folder_for(path.parent)


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def console() -> Console:
    """Standard output. What is not a terminal has no width to fit into."""
    return Console() if sys.stdout.isatty() else Console(width=1000)
