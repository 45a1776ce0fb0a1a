"""`moire recheck`: which findings are fixed in another build."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from ..browsers import shelf
from ..browsers.lab import Lab, LabOptions
from ..browsers.names import resolve as resolved
from ..hunts.recheck import STILL, beside, recheck
from ..nouns import Build, Exit, UsageError
from ..store import Finding, Run, Store
from . import options
from .progress import pages as page_progress
from .root import cli, run


@cli.command("recheck")
@click.argument("name", metavar="RUN")
@click.option(
    "-b",
    "--build",
    "builds",
    multiple=True,
    required=True,
    help="The build to look in; several are looked in one by one.",
)
@click.option("--finding", "ids", multiple=True, type=int, help="Only this one, by its number in the store.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@click.option("--fail-on-finding", is_flag=True, help="Exit 1 when any is still there.")
@options.store_option
@options.lab_options
def recheck_(
    name: str, builds: tuple[str, ...], ids: tuple[int, ...], as_json: bool, fail_on_finding: bool, store: Path,
    deadline: float, serve_host: str,
) -> int:  # fmt: skip
    """Look at the findings of a run again, in another build: which are fixed?

    A finding of an update hunt is fixed when the updated page looks like the fresh one, one between two builds when
    the new build shows what the older of them did, and one of a consensus hunt when the new build, in the place of
    the pool's build of its engine, disagrees with nobody. What an older build does not have is not there, rather than
    fixed.

    \b
    Example:
      moire recheck update-1 --build chromium@156
    """
    with Store(store, make=False) as kept, kept.claim.adding():
        chosen = kept.run(name)
        found = _chosen(kept, chosen, ids)
        told = run(_looked(kept, chosen, found, builds, options.lab(deadline, serve_host)))
    counts = Counter(one["verdict"] for one in told)
    if as_json:
        click.echo(json.dumps({"run": name, "counts": counts, "findings": told}, indent=1))
    else:
        table = Table("finding", "", "in", "in the place of", "verdict", "")
        for one in told:
            cells = (str(one["finding"]), *(one[key] for key in ("signature", "build", "old", "verdict", "reason")))
            table.add_row(*map(escape, cells))
        options.console().print(table)
        click.echo(", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()) + ".")
    return Exit.ERROR if fail_on_finding and counts[STILL] else Exit.DONE


def _chosen(store: Store, chosen: Run, ids: tuple[int, ...]) -> dict[int, Finding]:
    names = {row.id: (row.number, row.build) for row in store.rows(chosen)}
    if wrong := set(ids) - names.keys():
        raise UsageError(f"{chosen.name} has no finding {min(wrong)}.", "`moire runs show` has them all.")
    every = {(one.number, one.build): one for one in store.findings(chosen)}
    # What is one more of many is not looked at again, unless it is asked for.
    able = [id for id, key in names.items() if every[key].state != "duplicate" and "page" in every[key].details]
    wanted = ids or able
    if not wanted:
        raise UsageError(f"{chosen.name} has found nothing.", "There is nothing to look at again.")
    return {id: every[names[id]] for id in wanted}


async def _looked(
    store: Store, chosen: Run, found: dict[int, Finding], names: tuple[str, ...], lab_options: LabOptions
) -> list[dict[str, Any]]:
    installed = shelf.installed()

    @cache
    def resolve(name: str) -> Build:
        return resolved(name, installed)

    asked = options.builds(names)
    work = [(id, one, beside(chosen, one, new, resolve)) for id, one in found.items() for new in asked]
    told = []
    async with Lab([build for *_, among in work for build in among.builds], replace(lab_options, long=True)) as lab:
        with page_progress() as bar:
            task = bar.add_task(chosen.name, total=len(work), found="")
            for id, finding, among in work:
                check = await recheck(lab, chosen, finding, among, store.blobs)
                store.checked(id, check)
                told.append({
                    "finding": id, "signature": finding.signature, "build": among.new.name, "old": among.old,
                    "builds": list(check.builds), "verdict": check.verdict, "reason": check.reason,
                })  # fmt: skip
                bar.update(task, advance=1, found=f"{check.verdict}: {finding.signature}"[:60])
    return told
