"""`moire stage`: the first stage of the pipeline at which two builds part over a page."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..browsers.lab import Lab, LabOptions
from ..inspect.stage import Staged
from ..nouns import Build, Case, Exit, Failure, UsageError
from ..triage.stage import stage
from . import options
from .reduce import NotReproduced
from .root import cli, run

_SHOWN = 20


@cli.command("stage")
@click.argument("page", type=click.Path(path_type=Path))
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@options.environment_options
@options.lab_options
def stage_(page: Path, a: str, b: str, as_json: bool, deadline: float, serve_host: str, **env: Any) -> int:
    """Say at which stage builds A and B part over PAGE: dom, style, layout or paint; undecided if they do not.

    \b
    Examples:
      moire stage page.html chromium@150 chromium@156
      moire stage page.html chromium@108 chromium@116 --json
    """
    case = Case.from_file(page, options.environment(**env))
    builds = options.builds((a, b))
    for build in builds:
        if build.engine == "command":
            raise UsageError(f"{build.name} only makes pictures.", "Name browsers: they can be asked.")
    found = run(_stage(builds[0], builds[1], case, options.lab(deadline, serve_host)))
    if isinstance(found, Failure):
        raise NotReproduced(f"{page.name} cannot be shown: {found.kind}, {found.reason}.", "Mend the page first.")
    if as_json:
        click.echo(json.dumps({**asdict(found), "differences": list(map(asdict, found.differences))}, indent=1))
        return Exit.DONE
    click.echo(found.stage + (" (nothing else differs)" if found.evidence == "exclusion" else ""))
    for one in found.differences[:_SHOWN]:
        click.echo(f"  {one.node or 'the page'} {one.property}: {one.a or 'nothing'} → {one.b or 'nothing'}")
    if len(found.differences) > _SHOWN:
        click.echo(f"  and {len(found.differences) - _SHOWN} more; --json tells all")
    return Exit.DONE


async def _stage(a: Build, b: Build, case: Case, lab_options: LabOptions) -> Staged | Failure:
    async with Lab([a, b], lab_options) as lab:
        return await stage(lab, a, b, case)
