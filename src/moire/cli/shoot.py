"""`moire shot`, `moire compare` and `moire check`."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from .. import inspect
from ..browsers.lab import Lab, Visit
from ..nouns import Build, Case, CheckExit, Dump, Exit, Failure, Outcome, Shot, UsageError
from ..oracles import change
from ..oracles.consensus import Consensus
from ..pages.normal import normalised
from ..pixels import Fuzzy, decode, difference, encode, side_by_side
from . import options
from .root import cli, run

# What people name pictures that cannot be had here.
OTHER_PICTURES = {".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"}
# Characters of a build's name in a table.
SHOWN_NAME = 24

_BUILDS = click.option(
    "--build", "-b", "names", multiple=True, required=True, metavar="BUILD", help="A build; give it again for more."
)
_MEASURE = click.option("--measure", default="exact", show_default=True, help="exact, phash, sqdiff, fuzzy:N;M, …")
_REPEATS = click.option(
    "--repeats", default=change.CONFIRMATIONS, show_default=True, type=click.IntRange(1, 100), help="Pictures a build."
)


def _file_name(build: Build) -> str:
    """Short, and no two builds' the same."""
    plain = re.sub(r"[^\w.@-]+", "_", build.name).strip("_")[:60]
    return plain if plain == build.name else f"{plain}-{hashlib.sha256(build.name.encode()).hexdigest()[:8]}"


def _short(name: str) -> str:
    """A name that leaves room for the rest of a table."""
    return name if len(name) <= SHOWN_NAME else f"{name[: SHOWN_NAME // 2]}…{name[-SHOWN_NAME // 2 + 1 :]}"


@cli.command()
@click.argument("page", type=click.Path(path_type=Path))
@_BUILDS
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A PNG for one build, a folder for several.")
@click.option("--dump", "dumped", is_flag=True, help="Also write the tree, styles, boxes and text, as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@options.environment_options
@options.lab_options
def shot(
    page: Path, names: tuple[str, ...], output: Path | None, dumped: bool, as_json: bool, deadline: float,
    serve_host: str, **env: Any,
) -> int:  # fmt: skip
    """Take a picture of PAGE in each build.

    \b
    Examples:
      moire shot page.html --build chromium@156 -o page.png
      moire shot page.html -b chromium@108 -b firefox@153 -b webkit -o shots/ --dump
    """
    builds = options.builds(names)
    case = Case.from_file(page, options.environment(**env))
    if output is not None and output.suffix.lower() in OTHER_PICTURES and not output.is_dir():
        raise UsageError(f"-o {output}: pictures are PNG.", "Name a file that ends in .png, or a folder.")
    if output is not None and output.suffix == ".png" and len(builds) > 1 and not output.is_dir():
        raise UsageError(f"-o {output} is one picture, and there are {len(builds)} builds.", "Give a folder.")
    for build in builds:
        options.file_for(_place(output, page, build, len(builds)))
    outcomes, dumps = run(_shots(builds, case, options.lab(deadline, serve_host), dumped))
    rows = []
    for build, outcome in zip(builds, outcomes, strict=True):
        row: dict[str, Any] = {"build": build.name}
        if isinstance(outcome, Shot):
            file = _place(output, page, build, len(builds))
            options.write(file, outcome.png)
            row |= {"outcome": "shot", "path": str(file), "blocked": list(outcome.blocked), "trouble": outcome.trouble}
            seen = dumps.get(build)
            if isinstance(seen, Failure):
                row |= {"outcome": seen.kind, "reason": f"no dump: {seen.reason}", "attempts": seen.attempts}
            elif seen is not None:
                options.write(file.with_suffix(".json"), json.dumps(asdict(seen.value), indent=1).encode())
                row |= {"dump": str(file.with_suffix(".json"))}
        else:
            row |= {"outcome": outcome.kind, "reason": outcome.reason, "attempts": outcome.attempts}
        rows.append(row)
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    else:
        for row in rows:
            failure = f"{row['outcome']}: {row['reason']}" if "reason" in row else ""
            click.echo(f"{row['build']}: {', '.join(filter(None, (row.get('path'), row.get('dump'), failure)))}")
            for address in row.get("blocked", []):
                click.echo(f"  blocked {address}")
    return Exit.DONE if all(row["outcome"] == "shot" for row in rows) else Exit.ERROR


def _place(output: Path | None, page: Path, build: Build, count: int) -> Path:
    if output is None:
        return Path(f"{page.stem}.{_file_name(build)}.png")
    return (
        output
        if count == 1 and output.suffix == ".png" and not output.is_dir()
        else output / f"{_file_name(build)}.png"
    )


async def _shots(
    builds: list[Build], case: Case, lab_options: Any, dumped: bool
) -> tuple[list[Outcome], dict[Build, Visit[Dump] | Failure]]:
    async with Lab(builds, lab_options) as lab:
        outcomes = [await lab.shoot(build, case) for build in builds]
        return outcomes, {build: await lab.visit(build, case, inspect.take) for build in builds if dumped}


@cli.command()
@click.argument("page", type=click.Path(path_type=Path))
@_BUILDS
@_MEASURE
@_REPEATS
@options.normal_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A folder for the pictures.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@options.environment_options
@options.lab_options
def compare(
    page: Path, names: tuple[str, ...], measure: str, repeats: int, normal: bool, output: Path | None, as_json: bool,
    deadline: float, serve_host: str, **env: Any,
) -> int:  # fmt: skip
    """Compare PAGE between builds: figures for every pair, who is at fault, and pictures.

    \b
    Examples:
      moire compare page.html --build chromium@150 --build chromium@156
      moire compare page.html -b chromium -b firefox -b webkit --measure phash -o out/ --json
      moire compare page.html -b chromium -b firefox -b webkit --normal --measure sqdiff
    """
    options.folder_for(output)
    outcomes, pairs, case = _compare(page, names, measure, repeats, deadline, serve_host, env, normal=normal)
    agreed = _consensus(len(names), pairs)
    pictures: dict[str, str] = {}
    trouble: OSError | None = None
    try:
        if output is not None:
            _pictures(outcomes, output, pictures)
    except OSError as error:
        # The verdict is known, whatever became of the pictures.
        trouble = error
    if as_json:
        rows = [{"a": p.a.name, "b": p.b.name, **verdict_row(p)} for p in pairs]
        told = agreed and {"category": agreed.category, "at_fault": [names[n] for n in agreed.at_fault]}
        whole = {"page": str(page), "digest": case.digest, "pairs": rows, "consensus": told, "pictures": pictures}
        click.echo(json.dumps(whole, indent=1))
    else:
        _show(pairs, pictures)
        if agreed is not None and len(names) > 2:
            click.echo(agreed.words(names))
    if trouble is not None:
        raise trouble
    return Exit.DONE


def _consensus(size: int, pairs: list[change.Pair]) -> Consensus | None:
    """What the pairs come to; None where one of them says neither same nor different."""
    if any(pair.verdict.kind not in ("same", "different") for pair in pairs):
        return None
    placed = zip(combinations(range(size), 2), pairs, strict=True)
    return Consensus(size, frozenset(places for places, pair in placed if pair.verdict.kind == "different"))


def verdict_row(pair: change.Pair) -> dict[str, Any]:
    verdict = pair.verdict
    numbers = {"phash": None, "pixels": None, "max_difference": None, "sqdiff": None, **verdict.figures}
    return {"verdict": verdict.kind, "reason": verdict.reason, **numbers, "flake_rate": verdict.flake_rate}


@cli.command()
@click.argument("page", type=click.Path(path_type=Path))
@_BUILDS
@_MEASURE
@_REPEATS
@click.option("--interesting", is_flag=True, help="Exit 0 when different and 1 when not, as Lithium wants it.")
@options.environment_options
@options.lab_options
def check(
    page: Path, names: tuple[str, ...], measure: str, repeats: int, interesting: bool, deadline: float,
    serve_host: str, **env: Any,
) -> int:  # fmt: skip
    """Say by exit code whether PAGE differs between builds, for `git bisect run` and reducers.

    \b
    Exit codes: 0 same, 1 different, 125 cannot be tested, 129 anything else.
    Examples:
      git bisect run moire check page.html --build ./out/chrome --build chromium@150
      moire check page.html -b chromium@150 -b chromium@156 --interesting
    """
    if len(names) < 2:
        raise click.UsageError("check compares builds: give --build at least twice.")
    _, pairs, _ = _compare(page, names, measure, repeats, deadline, serve_host, env)
    kinds = {pair.verdict.kind for pair in pairs}
    for pair in pairs:
        click.echo(f"{pair.a.name} {pair.b.name}: {pair.verdict.kind} {pair.verdict.reason}".rstrip())
    if "different" in kinds:
        return CheckExit.SAME if interesting else CheckExit.DIFFERENT
    if kinds - {"same"}:
        return CheckExit.DIFFERENT if interesting else CheckExit.CANNOT_TEST
    return CheckExit.DIFFERENT if interesting else CheckExit.SAME


def _compare(
    page: Path,
    names: tuple[str, ...],
    measure: str,
    repeats: int,
    deadline: float,
    serve_host: str,
    env: Any,
    *,
    normal: bool = False,
) -> tuple[dict[Build, list[Outcome]], list[change.Pair], Case]:
    how = options.the_measure(measure)
    builds = options.builds(names)
    if len(builds) < 2:
        raise click.UsageError("Give --build at least twice: there is nothing to compare one with.")
    case = Case.from_file(page, options.environment(**env))
    case = normalised(case) if normal else case

    async def work() -> tuple[dict[Build, list[Outcome]], list[change.Pair]]:
        async with Lab(builds, options.lab(deadline, serve_host)) as lab:
            return await change.compare(lab, builds, case, how, repeats)

    return (*run(work()), case)


def _pictures(outcomes: dict[Build, list[Outcome]], folder: Path, made: dict[str, str]) -> None:
    """Each build's picture, and a difference and a side-by-side of every pair that has both."""
    shots = {build: taken[0] for build, taken in outcomes.items() if isinstance(taken[0], Shot)}

    def keep(name: str, png: bytes) -> None:
        options.write(folder / f"{name}.png", png)
        made[name] = str(folder / f"{name}.png")

    for build, taken in shots.items():
        keep(_file_name(build), taken.png)
    for a, b in combinations(shots, 2):
        images = decode(shots[a].png), decode(shots[b].png)
        name = f"{_file_name(a)}--{_file_name(b)}"
        keep(f"{name}.difference", encode(difference(*images)))
        keep(f"{name}.side-by-side", encode(side_by_side([*images, difference(*images)])))


def _show(pairs: list[change.Pair], pictures: dict[str, str]) -> None:
    table = Table(padding=(0, 0, 0, 1))
    for title in ("a", "b", "verdict", "pHash", "pixels", "max", "sqdiff", "flaky"):
        # Names may take two lines; a verdict or a number is never cut.
        table.add_column(title, no_wrap=title not in ("a", "b"), overflow="fold")
    for pair in pairs:
        row = verdict_row(pair)
        style = {"same": "green", "different": "red"}.get(pair.verdict.kind, "yellow")
        numbers = [row["phash"], row["pixels"], row["max_difference"], row["sqdiff"]]
        shown = ["–" if n is None else f"{n:.6f}" if isinstance(n, float) else str(n) for n in numbers]
        pair_names = escape(_short(pair.a.name)), escape(_short(pair.b.name))
        table.add_row(*pair_names, f"[{style}]{row['verdict']}[/]", *shown, f"{row['flake_rate']:.2f}")
    console = options.console()
    console.print(table)
    for pair in pairs:
        if pair.verdict.kind not in ("same", "different"):
            console.print(f"{pair.a.name} and {pair.b.name}: {pair.verdict.reason}", highlight=False, markup=False)
        elif pair.verdict.kind == "different":
            seen = Fuzzy(pair.verdict.figures["max_difference"], pair.verdict.figures["pixels"])
            words = f"{pair.a.name} and {pair.b.name}, to allow it: {seen.meta}"
            console.print(words, highlight=False, soft_wrap=True, markup=False)
    for path in pictures.values():
        console.print(path, highlight=False, soft_wrap=True, markup=False)


__all__ = ["check", "compare", "shot", "verdict_row"]
