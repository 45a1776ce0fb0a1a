"""Where pages come from: what verbs that make pages have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ..browsers.lab import Lab, LabOptions
from ..grammar import GrammarError, layered
from ..grammar import weights as weights_of
from ..grammar.model import choices, edges
from ..inspect.support import support
from ..nouns import Build, UsageError
from ..pages import read
from ..pages.spec import web
from ..pages.spec.probe import Support
from .progress import waiting
from .root import run

F = TypeVar("F", bound=Callable[..., Any])

# A page the size of those that people write by hand.
USUAL_BYTES = 3000
# What a build is asked takes some time, once.
ASKING_SECONDS = 300.0

LIKE = click.option(
    "--like", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="A page to follow; again for more."
)
KINDS = click.option(
    "--kinds", default="standard,legacy", show_default=True, help="What to use: standard, experimental, legacy."
)
size_option = click.option(
    "--size", default=USUAL_BYTES, show_default=True, type=click.IntRange(300, 10_000_000), help="Bytes a page."
)


def page_options(function: F) -> F:
    unlike = click.option(
        "--unlike", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="A page to keep away from."
    )
    weights = click.option(
        "--weights", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
        help="Weights, JSON; give it again to lay others over them.",
    )  # fmt: skip
    for option in (KINDS, weights, unlike, LIKE):
        function = option(function)
    return function


def weights(
    *, kinds: str, like: Sequence[Path] = (), unlike: Sequence[Path] = (), files: Sequence[Path] = (),
    builds: Sequence[Build] = (),
) -> dict[str, int]:  # fmt: skip
    """Weights of the web's grammar for what was asked for; builds are asked what they understand."""
    wanted = [kind.strip() for kind in kinds.split(",")]
    unknown = [kind for kind in wanted if kind not in web.ALL]
    if unknown:
        raise UsageError(f"There is no kind {unknown[0]!r}.", f"The kinds are {', '.join(web.ALL)}.")
    made = web.weights(wanted, _markup_of(builds))  # type: ignore[arg-type]
    try:
        if like:
            made = _over(made, read.weights(read_bytes(path) for path in like))
        if unlike:
            made = _over(made, read.inverted(read.weights(read_bytes(path) for path in unlike)))
        for file in files:
            made = layered(web.grammar(), made, weights_of.load(file))
    except GrammarError as error:
        raise UsageError(str(error)) from None
    if builds:
        for known in run(supports(builds)):
            made = known.over(made)
    return made


def _markup_of(builds: Sequence[Build]) -> dict[str, float]:
    """The oldest version of each engine among the builds: what they do not answer for, the data tells."""
    found: dict[str, float] = {}
    for build in builds:
        version = web.SAFARI.get(build.version[:4]) if build.engine == "webkit" else build.position[:1]
        if version and build.engine in ("chromium", "firefox", "webkit"):
            known = version if isinstance(version, float) else float(version[0])
            found[build.engine] = min(found.get(build.engine, math.inf), known)
    return found


def _over(weights: dict[str, int], found: dict[str, int]) -> dict[str, int]:
    """Weights read off pages, but nothing that is not wanted at all: where a page has only such things, the
    weights stay as they are."""
    grammar = web.grammar()
    made = dict(weights)
    for path, choice in choices(grammar):
        own = edges(path, choice)
        if any(weights[edge] and found.get(edge) for edge in own):
            made |= {edge: found.get(edge, 0) for edge in own if weights[edge]}
    while True:
        able = web.pinched(grammar, dict(made))
        emptied = [
            edges(path, choice) for path, choice in choices(grammar) if not any(able[e] for e in edges(path, choice))
        ]
        empty = [edge for own in emptied for edge in own if made[edge] != weights[edge]]
        if not empty:
            return able
        made |= {edge: weights[edge] for edge in empty}


async def supports(builds: Sequence[Build]) -> list[Support]:
    async with Lab(builds, LabOptions(deadline=ASKING_SECONDS)) as lab:
        found = []
        for build in builds:
            with waiting(f"asking {build.name} what it understands"):
                found.append(await support(lab, build))
        return found


def read_bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no ordinary file.", "Give pages.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
