"""`moire wpt run`: web-platform-tests in any build."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from ..browsers.lab import Lab, LabOptions
from ..nouns import Build, Case, Exit, UsageError
from ..wpt.run import Result, open_test
from ..wpt.run import run as run_test
from . import options
from .progress import pages
from .root import cli, run


@cli.group("wpt")
def wpt() -> None:
    """Web-platform-tests.

    \b
    Example:
      moire wpt run css/CSS2/floats/float-root.html --root wpt -b chromium@108
    """


@wpt.command("run")
@click.argument("tests", nargs=-1, required=True, metavar="TEST...")
@click.option("--build", "-b", "names", multiple=True, required=True, metavar="BUILD", help="Where to run them.")
@click.option("--root", type=click.Path(path_type=Path), help="The checkout; found above the first test by default.")
@click.option("--fail-on-failure", is_flag=True, help="Exit 1 unless all pass.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@options.lab_options
def run_(
    tests: tuple[str, ...], names: tuple[str, ...], root: Path | None, fail_on_failure: bool, as_json: bool,
    deadline: float, serve_host: str,
) -> int:  # fmt: skip
    """Run reftests and testharness tests, named by path in the checkout or on disk.

    \b
    Examples:
      moire wpt run css/CSS2/floats/float-root.html --root wpt -b chromium@108 -b firefox@153
      moire wpt run wpt/css/css-grid/grid-model/*.html -b webkit@2.50 --json
    """
    builds = options.builds(names)
    place, paths = _places(tests, root)
    cases = [open_test(place, path) for path in paths]
    results = run(_run(builds, cases, options.lab(deadline, serve_host)))
    if as_json:
        rows = [
            {"test": one.test, "build": one.build, "status": one.status, "fuzzy": one.fuzzy or None,
             "reason": one.reason, "max_difference": one.difference, "pixels": one.pixels}
            for one in results
        ]  # fmt: skip
        click.echo(json.dumps(rows, indent=1))
    else:
        for one in results:
            click.echo(f"{one.status:7} {one.build} {one.test}{f': {one.reason}' if one.reason else ''}")
        counts = Counter(one.status for one in results)
        click.echo(", ".join(f"{count} {status}" for status, count in counts.most_common()))
    bad = any(one.status != "pass" for one in results)
    return Exit.ERROR if fail_on_failure and bad else Exit.DONE


def _places(tests: Sequence[str], root: Path | None) -> tuple[Path, list[str]]:
    """The checkout, and paths in it."""
    if root is not None:
        if not root.is_dir():
            raise UsageError(f"There is no folder {root}.", "Give --root the checkout of web-platform-tests.")
        inside = [Path(test).resolve() for test in tests]
        whole = root.resolve()
        return root, [
            str(file.relative_to(whole)) if file.is_relative_to(whole) and file.exists() else test
            for file, test in zip(inside, tests, strict=True)
        ]
    file = Path(tests[0]).resolve()
    # Every checkout has these two.
    above = next((up for up in file.parents if (up / "resources").is_dir() and (up / "css").is_dir()), None)
    if above is None:
        raise UsageError(f"{tests[0]} is in no checkout of web-platform-tests.", "Give --root the checkout.")
    files = [Path(test).resolve() for test in tests]
    foreign = next((file for file in files if not file.is_relative_to(above)), None)
    if foreign is not None:
        raise UsageError(f"{foreign} is not in {above}.", "Give tests of one checkout.")
    return above, [str(file.relative_to(above)) for file in files]


async def _run(builds: Sequence[Build], cases: Sequence[Case], lab_options: LabOptions) -> list[Result]:
    results: list[Result] = []
    with pages() as bar:
        task = bar.add_task("tests", total=len(builds) * len(cases), found="")
        for build in builds:
            async with Lab([build], lab_options) as lab:
                await lab.start(build)
                for case in cases:
                    results.append(await run_test(lab, build, case))
                    bar.update(task, advance=1, description=build.name)
    return results
