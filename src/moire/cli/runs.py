"""`moire runs` and `moire report`: what was hunted, and what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from ..nouns import Exit
from ..reports.records import settings, summary
from ..reports.run import MOST_SHOWN, write
from ..store import Store
from . import options
from .progress import waiting
from .root import cli


@cli.group()
def runs() -> None:
    """Look at runs.

    \b
    Examples:
      moire runs list
      moire runs show update-1 --json
    """


@runs.command("list")
@options.store_option
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def list_(store: Path, as_json: bool) -> int:
    """All runs, the oldest first.

    \b
    Example:
      moire runs list --json
    """
    with Store(store, make=False) as kept:
        rows: list[dict[str, Any]] = [
            {
                "name": run.name, "kind": run.kind, "builds": run.settings["builds"], "state": kept.state(run),
                "begun": run.begun, "seconds": round(run.seconds, 1), "pages": kept.next_page(run),
                "findings": len(kept.findings(run)),
            }
            for run in kept.runs()
        ]  # fmt: skip
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return Exit.DONE
    table = Table(*(rows[0] if rows else ["name"]))
    for row in rows:
        # Nobody reads parts of a second.
        told = {**row, "begun": row["begun"][:19]}
        table.add_row(*(escape(", ".join(v) if isinstance(v, list) else str(v)) for v in told.values()))
    options.console().print(table)
    return Exit.DONE


@runs.command()
@click.argument("name", metavar="RUN")
@options.store_option
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def show(name: str, store: Path, as_json: bool) -> int:
    """One run: its settings, its figures and its findings.

    \b
    Example:
      moire runs show update-1
    """
    with Store(store, make=False) as kept:
        run = kept.run(name)
        figures = summary(kept, run)
        ids = {(row.number, row.build): row.id for row in kept.rows(run)}
        found = [
            {"id": ids[one.number, one.build], "number": one.number, "build": one.build, "state": one.state,
             "kind": one.kind,
             "signature": one.signature, "page": one.details.get("page", ""), "reduced": "unreduced" not in one.details}
            for one in kept.findings(run)
        ]  # fmt: skip
    chosen = settings(run)
    if as_json:
        click.echo(json.dumps({"name": name, "settings": chosen, "summary": figures, "findings": found}, indent=1))
        return Exit.DONE
    table = Table("", "", title=name)
    for key, value in {**chosen, **figures}.items():
        table.add_row(escape(key.replace("_", " ")), escape(_plainly(value)))
    options.console().print(table)
    for one in found:
        click.echo(f"finding {one['id']}, page {one['number']}: {one['signature']} ({one['state']})")
    return Exit.DONE


def _plainly(value: object) -> str:
    """Without what only those who write programs read."""
    match value:
        case None | "" | [] | {}:
            return "–"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key} {_plainly(one)}" for key, one in value.items())
        case list():
            return ", ".join(map(_plainly, value))
    return str(value)


@cli.command()
@click.argument("name", metavar="RUN")
@options.store_option
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The folder to write.")
@click.option("--most", default=MOST_SHOWN, show_default=True, type=click.IntRange(0),
              help="Findings that have a page of their own, the most visible ones; 0 for all.")  # fmt: skip
def report(name: str, store: Path, output: Path, most: int) -> int:
    """Write a run as one folder that opens offline.

    \b
    Example:
      moire report update-1 -o report
    """
    with Store(store, make=False) as kept:
        run = kept.run(name)
        options.folder_for(output)
        with waiting("writing the report"):
            index = write(kept, run, output, most)
        click.echo(f"Open {index}")
    return Exit.DONE
