"""`moire app …`: web applications in every browser."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..apps import page
from ..apps.compare import compared
from ..nouns import Exit
from . import options
from .root import cli


@cli.group()
def app() -> None:
    """Look at web applications.

    \b
    Example:
      moire app diff chromium.json firefox.json --json
    """


@app.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def diff(a: Path, b: Path, as_json: bool) -> int:
    """Compare the data of one page in two browsers: what is laid out, or reads, otherwise.

    Files are as Moire writes them, or in the shape of X-PERT's. Boxes and edges that are off by five pixels at the most
    count as the same.

    \b
    Example:
      moire app diff chromium.json firefox.json --json
    """
    found = [one.plain for one in compared(page.read(a), page.read(b))]
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        for one in found:
            options.console().print(f"{one['kind']}: {one['a']} and {one['b']}", markup=False, highlight=False)
        click.echo(f"{len(found)} differences.")
    return Exit.DONE
