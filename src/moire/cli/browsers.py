"""`moire browsers …`: what is on this machine, what could be, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click
from rich.markup import escape
from rich.table import Table

from ..browsers import doctor as examine
from ..browsers import shelf
from ..nouns import Build, Exit
from . import options
from .progress import downloads
from .root import cli, run

_SOURCE = click.option(
    "--source", default="", help="npm, debian, chrome-for-testing, snapshots or mozilla; the first two if not given."
)
_BASE = click.option("--base-url", default="", help="Another place with the archive's layout, for the last three.")


@cli.group()
def browsers() -> None:
    """Install, list and examine browser builds.

    \b
    Examples:
      moire browsers doctor
      moire browsers install chromium@108 chromium@150
    """


def _row(build: Build) -> dict[str, str]:
    return {
        "name": build.name,
        "engine": build.engine,
        "version": build.version,
        "source": build.source,
        "path": str(build.path),
    }


def _table(rows: Iterable[dict[str, str]]) -> None:
    rows = list(rows)
    if not rows:
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*map(escape, row.values()))
    options.console().print(table)


@browsers.command("list")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def list_(as_json: bool) -> int:
    """List the builds on this machine.

    \b
    Example:
      moire browsers list --json
    """
    rows = [_row(build) for build in shelf.installed()]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    elif rows:
        _table(rows)
    else:
        click.echo("No browser is installed. Run `moire browsers doctor`.")
    return Exit.DONE


@browsers.command()
@click.argument("engine", type=click.Choice(["chromium", "firefox"]), required=False)
@click.argument("version", default="")
@_SOURCE
@_BASE
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def available(engine: str | None, version: str, source: str, base_url: str, as_json: bool) -> int:
    """List the builds that could be installed.

    \b
    Examples:
      moire browsers available
      moire browsers available chromium 120 --source chrome-for-testing
      moire browsers available chromium r --source snapshots
    """
    offers = {
        (offer.engine, shelf.position(offer.version), offer.source): offer
        for place in shelf.sources(source, base_url)
        for kind in ([engine] if engine else ["chromium", "firefox"])
        for offer in place.offers(kind, version)
    }
    rows = [
        {"name": o.name, "engine": o.engine, "version": o.version, "source": o.source, "detail": o.detail}
        for _, o in sorted(offers.items())
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    elif rows:
        _table(rows)
    else:
        click.echo("Nothing. Run `apt-get update` for Debian's packages, or name another --source.")
    return Exit.DONE


@browsers.command()
@click.argument("builds", nargs=-1, required=True, metavar="BUILD…")
@_SOURCE
@_BASE
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def install(builds: tuple[str, ...], source: str, base_url: str, as_json: bool) -> int:
    """Install builds by name; what is there already is left as it is.

    \b
    Examples:
      moire browsers install chromium@108 chromium@150
      moire browsers install chromium@r1200000 --source snapshots
      moire browsers install firefox@128 --source mozilla
    """
    done = []
    with downloads() as progress:
        for name in builds:
            done.append(shelf.install(name, source, base_url, progress))
    if as_json:
        click.echo(json.dumps([_row(item.build) for item in done], indent=1))
    else:
        for item in done:
            click.echo(f"{item.build.name} ({item.build.source}): {'installed' if item.fresh else 'there already'}")
    return Exit.DONE


@browsers.command()
@click.argument("builds", nargs=-1, required=True, metavar="BUILD…")
def remove(builds: tuple[str, ...]) -> int:
    """Remove builds that Moire installed.

    \b
    Example:
      moire browsers remove chromium@108
    """
    for build in dict.fromkeys([shelf.removable(name) for name in builds]):
        shelf.remove(build)
        click.echo(f"{build.name}: removed")
    return Exit.DONE


@browsers.command()
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def doctor(as_json: bool) -> int:
    """Start every engine once and say what works, what is missing and how to get it.

    \b
    Example:
      moire browsers doctor
    """
    findings = run(examine.examine())
    if as_json:
        click.echo(json.dumps([f.row() for f in findings], indent=1))
    else:
        console = options.console()
        well, ill = ("✓", "✗") if console.encoding.startswith("utf") else ("well:", "ill:")
        for finding in findings:
            mark = f"[green]{well}[/]" if finding.well else f"[red]{ill}[/]"
            console.print(f"{mark} {escape(f'{finding.what}: {finding.says}')}", highlight=False, soft_wrap=True)
            if finding.remedy:
                console.print(f"    {finding.remedy}", highlight=False, soft_wrap=True, markup=False)
    return Exit.DONE if all(f.well for f in findings) else Exit.ERROR
