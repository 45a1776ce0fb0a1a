"""`moire runs resume | verify | gc | merge`: what keeps a store sound over weeks, and puts several together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..nouns import Exit
from ..store import Store, upkeep
from ..store.database import Damaged
from ..store.salvage import salvage
from . import hunting, options
from .progress import counting, waiting
from .runs import runs


def words(count: int) -> str:
    """Bytes, for people."""
    for unit, each in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= each:
            return f"{count / each:.1f} {unit}"
    return f"{count} bytes"


@runs.command()
@click.argument("name", metavar="RUN")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The report; STORE/NAME by default.")
@click.option("--fail-on-finding", is_flag=True, help="Exit 1 when the run has found anything.")
@options.store_option
@hunting.means_options
def resume(name: str, output: Path | None, fail_on_finding: bool, store: Path, **means: Any) -> int:
    """Go on with a run that was broken off, as `moire hunt --resume` does.

    \b
    Example:
      moire runs resume update-1
    """
    return hunting.resume(name, store, output, fail_on_finding, hunting.Means.of(**means))


@runs.command()
@options.store_option
@click.option("--repair", is_flag=True, help="Mend what can be mended; a damaged database is kept beside the new one.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def verify(store: Path, repair: bool, as_json: bool) -> int:
    """Read all of a store, and say whether it is sound; exit 1 if it is not.

    With --repair, a damaged database is made anew from what can be read of it, and findings whose pictures or pages
    are lost say so, instead of failing when they are shown.

    \b
    Examples:
      moire runs verify
      moire runs verify --repair --store runs
    """
    said = []
    looked: upkeep.Looked | None
    try:
        looked = _looked(store)
    except Damaged:
        if not repair:
            raise
        looked = None
    if looked is None or (repair and looked.damage):
        with waiting("reading what can be read"):
            old, counts = salvage(store)
        rows = ", ".join(f"{n} {table}" for table, n in counts.items() if n)
        said.append(f"The database was damaged; {rows} could be read. What it was is {old}.")
        said.append("`moire runs gc` spares what it may name, until that is taken away.")
        looked = _looked(store)
    said += [f"The database is damaged: {one}." for one in looked.damage]
    said += [f"Finding {id} has lost {len(names)} of its files." for id, names in looked.lost.items()]
    if looked.wrong:
        said.append(f"{len(looked.wrong)} files are not what they were.")
    if repair and not (looked.damage or looked.sound):
        with Store(store, make=False) as kept:
            upkeep.mend(kept, looked)
        said.append("Damaged files are gone, so that the same can be kept again, and findings say what they have lost.")
    notes = [f"{name} has lost what it was begun with, and cannot go on." for name in looked.runs_lost]
    notes += [f"{name} was broken off: `moire runs resume {name} --store {store}`." for name in looked.broken_off]
    files, count = looked.unnamed
    if files:
        notes.append(f"{files} files ({words(count)}) are of no run: `moire runs gc --store {store}`.")
    sound = not looked.damage and (repair or looked.sound)
    if as_json:
        facts = {
            "sound": sound,
            "said": said,
            "damage": looked.damage,
            "lost": looked.lost,
            "runs_lost": looked.runs_lost,
        }
        facts |= {"unnamed": {"files": files, "bytes": count}, "broken_off": looked.broken_off}
        click.echo(json.dumps(facts, indent=1))
    else:
        for line in [*said, *notes, f"{store} is sound." if sound else f"{store} is not sound."]:
            click.echo(line)
        if not sound:
            click.echo("`moire runs verify --repair` mends what can be.", err=True)
    return Exit.DONE if sound else Exit.ERROR


def _looked(store: Path) -> upkeep.Looked:
    with Store(store, make=False) as kept, counting("comparing content with its name") as told:
        return upkeep.look_over(kept, told)


@runs.command()
@options.store_option
@click.option(
    "--disk", callback=options.size, metavar="SIZE", help="No more than this: steps of reductions go, oldest first."
)
@click.option("--forget", "names", multiple=True, metavar="RUN", help="Also this run, with all that it found.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def gc(store: Path, disk: int, names: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Free the disk of what no run needs. Findings stay, unless their run is to be forgotten.

    \b
    Examples:
      moire runs gc --dry-run
      moire runs gc --disk 2G
      moire runs gc --forget update-3
    """
    with Store(store, make=False) as kept:
        chosen = [kept.run(name) for name in names]
        freed = upkeep.collect(kept, disk, chosen, dry=dry_run)
        left = upkeep.size(kept)
    if as_json:
        facts = {"files": freed.files, "bytes": freed.bytes, "steps": freed.steps, "left": left, "dry_run": dry_run}
        click.echo(json.dumps(facts))
        return Exit.DONE
    would = "would go" if dry_run else "are gone"
    steps = f", and {freed.steps} steps of reductions" if freed.steps else ""
    click.echo(f"{freed.files} files ({words(freed.bytes)}){steps} {would}; {words(left)} are in {store}.")
    if disk and left - (freed.bytes if dry_run else 0) > disk:
        click.echo("The rest are runs and their findings: `--forget RUN` is for you to say.", err=True)
    return Exit.DONE


@runs.command()
@click.argument("other", metavar="STORE", type=click.Path(path_type=Path))
@click.option("--run", "names", multiple=True, metavar="RUN", help="Only this run; again for more.")
@options.store_option
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
def merge(other: Path, names: tuple[str, ...], store: Path, as_json: bool) -> int:
    """Take over the runs of another store, which keeps them.

    A run that is there already is left alone; one whose name is taken gets another.

    \b
    Example:
      moire runs merge /mnt/other/runs --store runs
    """
    told = []
    with Store(other, make=False) as theirs, Store(store) as kept:
        with waiting(f"taking over the runs of {other}"):
            found = [*upkeep.merge(kept, theirs, names)]
        for one in found:
            told.append({"run": one.run, "name": one.name, "lost": one.lost, "behind": one.behind})
            if as_json:
                continue
            lost = f", without {one.lost} files that {other} has lost" if one.lost else ""
            click.echo(f"{one.run} is here as {one.name}{lost}." if one.name else f"{one.run} is here already.")
            if one.behind:
                again = f"moire runs gc --forget {one.behind} --store {store}"
                click.echo(f"It has gone on there since. To have that here: `{again}`, and once more.")
    if as_json:
        click.echo(json.dumps(told, indent=1))
    return Exit.DONE
