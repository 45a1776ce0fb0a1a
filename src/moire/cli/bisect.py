"""`moire bisect`: at which step of a history a page began to look different."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from .. import home
from ..browsers import history
from ..browsers.history import Stop
from ..browsers.lab import LabOptions
from ..nouns import Case, Exit, MoireError, UsageError
from ..pages.beside import needed
from ..pixels import Measure, decode, difference, encode, side_by_side
from ..triage.bisect import Bisected, Memory, Pictures, Said, Unsettled, Updates, View, Visits, bisect
from . import options
from .progress import bisecting
from .reduce import NotReproduced
from .root import cli, run


@cli.command("bisect")
@click.argument("page", type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--good", metavar="BUILD", help="A build, or commit, that shows it right.")
@click.option("--bad", metavar="BUILD", help="A newer one that shows it wrong.")
@click.option("--find-fix", is_flag=True, help="The good one is the newer: find what mended the page.")
@click.option("--source", default="", help="Only builds of this source: npm, debian, snapshots, …")
@click.option("--base-url", default="", help="A mirror of the archive that --source names.")
@click.option("--installed", is_flag=True, help="Only builds that are installed; nothing is fetched.")
@options.history_option
@click.option("--git", "repository", type=click.Path(path_type=Path), metavar="DIR", help="A history of commits.")
@click.option("--build-command", default="", metavar="CMD", help="With --git: builds {commit} into the folder {out}.")
@click.option("--runs", default="{out}/chrome", show_default=True, metavar="BUILD", help="What CMD has built.")
@click.option("--update", "operations", metavar="OPS", help="Whether these operations leave something stale.")
@click.option("--measure", default="exact", show_default=True, help="What counts as different.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds that the command may take.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A folder for pictures of before and after.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@options.environment_options
@options.lab_options
def bisect_(
    page: Path, command: tuple[str, ...], good: str | None, bad: str | None, find_fix: bool, source: str, base_url: str,
    installed: bool, listed: Path | None, repository: Path | None, build_command: str, runs: str,
    operations: str | None, measure: str, timeout: float, output: Path | None, as_json: bool, deadline: float,
    serve_host: str, **env: Any,
) -> int:  # fmt: skip
    """Find the step between two builds at which PAGE began to look different, or at which COMMAND began to fail.

    COMMAND ends with 0 for good, 125 where it cannot tell and 1 to 127 for bad; {page}, {build} and {program} are
    filled in. The same call goes on where another was broken off.

    \b
    Examples:
      moire bisect page.html --good chromium@108 --bad chromium@156
      moire bisect page.html --good chromium@108 --bad chromium@116 --installed --measure phash --json
      moire bisect page.html --bad chromium@103 --good chromium@108 --find-fix
      moire bisect page.html --good chromium@108 --bad chromium@156 -- ./looks-right {page} {build}
      moire bisect page.svg --history releases.txt
      moire bisect page.html --git src --good v1 --bad v2 --build-command './build.sh {commit} {out}'
    """
    case = Case.from_file(page, options.environment(**env))
    if operations is not None:
        case = replace(case, update=options.operations(operations))
    if command and case.update:
        raise UsageError("Operations and a command are given.", "Leave out one of them.")
    if not 0 < timeout < math.inf:
        raise UsageError(f"--timeout {timeout:g} leaves no time.", "Give seconds above 0.")
    options.folder_for(output)
    ends = (bad, good) if find_fix else (good, bad)
    stops = _history(ends, source, base_url, installed, listed, repository, build_command, runs)
    view = _view(case, command, options.the_measure(measure), timeout, options.lab(deadline, serve_host))
    asked = (case.digest, needed(case), view.way, [stop.name for stop in stops], build_command, runs, deadline, timeout)
    # Another program under the same name is another build.
    programs = history.stamps(word for stop in stops for word in (stop.name, *stop.name.partition(":")[2].split()))
    told = hashlib.sha256(repr((asked, programs, history.stamps(command), Path.cwd())).encode()).hexdigest()[:16]
    memory = Memory(home.folder("bisections") / told, view.way)
    with bisecting(len(stops)) as bar:
        (result,) = run(bisect(stops, [case], view, memory, Visits(bar.visit, bar.fetch)))
    try:
        _check_ends(result, case, stops, memory, find_fix)
        assert isinstance(result, Bisected)
        before, culprit = result.changes[0]
        if output is not None and isinstance(view, Pictures):
            _pictures(case, memory, (before, culprit), output)
    finally:
        # It was for one that is broken off: the next call looks anew.
        memory.forget()
    link = _link(stops, before, culprit) if listed is None and repository is None else ""
    row = {
        "before": before, "culprit": culprit,
        "changes": [{"before": one, "culprit": other} for one, other in result.changes],
        "visited": len(result.visited), "renders": view.renders, "skipped": dict(result.skipped), "link": link,
        "builds": len(stops),
    }  # fmt: skip
    if as_json:
        click.echo(json.dumps(row, indent=1))
        return Exit.DONE
    for number, (one, other) in enumerate(result.changes):
        click.echo(f"{'It changed' if not number else 'and before that'} between {one} and {other}.")
    click.echo(f"{len(result.visited)} of {len(stops)} builds visited, {view.renders} renders.")
    for name, reason in result.skipped.items():
        click.echo(f"Skipped {name}: {reason}")
    if link:
        click.echo(link)
    return Exit.DONE


def _history(
    ends: tuple[str | None, str | None], source: str, base_url: str, installed: bool, listed: Path | None,
    repository: Path | None, build_command: str, runs: str,
) -> Sequence[Stop]:  # fmt: skip
    if listed is not None:
        return history.listed(listed, *ends)
    if ends[0] is None or ends[1] is None:
        raise UsageError("Two ends are needed.", "Give --good BUILD and --bad BUILD.")
    if repository is not None:
        return history.commits(repository, ends[0], ends[1], build_command, runs)
    older, newer = options.builds((ends[0], ends[1]))
    return history.between(older, newer, source, base_url, offered=not installed)


def _view(case: Case, command: Sequence[str], measure: Measure, timeout: float, lab: LabOptions) -> View:
    if command:
        return Said(command, timeout)
    return Updates(measure, lab) if case.update else Pictures(measure, lab)


# What the older and the newer end are called, where they are called something.
_EXPECTED = {b"good": (b"good", b"bad"), b"bad": (b"good", b"bad"), b"same": (b"same", b"different"),
             b"different": (b"same", b"different")}  # fmt: skip


def _check_ends(
    result: Bisected | Unsettled, case: Case, stops: Sequence[Stop], memory: Memory, find_fix: bool
) -> None:
    if isinstance(result, Unsettled):
        raise NotReproduced(f"There is nothing to find: {result.reason}.", "Check the builds and the measure.")
    seen = [memory.known(case, stop.name) for stop in (stops[0], stops[-1])]
    expected = _EXPECTED.get(seen[0]) if isinstance(seen[0], bytes) else None
    if expected is not None and seen != list(reversed(expected) if find_fix else expected):
        raise NotReproduced(
            f"{stops[0].name} is the one that fails.", "Leave out --find-fix." if find_fix else "Give --find-fix."
        )


def _link(stops: Sequence[Stop], before: str, culprit: str) -> str:
    try:
        builds = [stop.ready(lambda *_: None) for stop in stops if stop.name in (before, culprit)]
    except MoireError:
        return ""
    return history.link(builds[0], builds[1])


def _pictures(case: Case, memory: Memory, names: tuple[str, str], folder: Path) -> None:
    seen = [memory.known(case, name) for name in names]
    images = [decode(png) for png in seen if isinstance(png, bytes)]
    for name, image in zip(("before", "culprit"), images, strict=True):
        options.write(folder / f"{name}.png", encode(image))
    options.write(folder / "side-by-side.png", encode(side_by_side([*images, difference(*images)])))
