"""`moire export`: findings for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from ..nouns import Exit, UsageError
from ..nouns.case import inside
from ..reports.export import FORMS, exported
from ..store import Store
from . import options
from .root import cli


@cli.command()
@click.argument("name", metavar="RUN")
@click.option(
    "--format", "form", type=click.Choice(list(FORMS)), required=True, help="The shape; a tracker for bug text."
)
@click.option("--finding", "ids", multiple=True, type=int, help="Only this one, by its number in the store.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The folder to write to.")
@options.store_option
def export(name: str, form: str, ids: tuple[int, ...], output: Path, store: Path) -> int:
    """Write findings as other tools read them.

    \b
    junit       for CI servers            wptreport   as wpt.fyi reads it
    csv, json   for scripts               wpt         reftests, of findings of update hunts
    chromium, mozilla, webkit             Markdown for a bug tracker, a file a finding

    \b
    Examples:
      moire export update-1 --format junit -o results
      moire export consensus-1 --format webkit --finding 12 -o bugs
    """
    with Store(store, make=False) as kept:
        run = kept.run(name)
        every = {(one.number, one.build): one for one in kept.findings(run)}
        found = [(row.id, every[row.number, row.build]) for row in kept.rows(run)]
        if wrong := set(ids) - {id for id, _ in found}:
            raise UsageError(f"{name} has no finding {min(wrong)}.", "`moire runs show` has them all.")
        options.folder_for(output)
        # One more of many says nothing new.
        chosen = [(id, one) for id, one in found if (id in ids if ids else one.state != "duplicate")]
        made = exported(kept, run, form, chosen)
    for file, data in made.files.items():
        if inside(file):
            options.write(output / file, data)
    for what, why in made.left_out.items():
        click.echo(f"{what} is left out: {why}", err=True)
    for note in made.notes:
        click.echo(note, err=True)
    click.echo(f"{len(made.files)} files in {output}")
    return Exit.DONE
