"""`moire check-update`: does one page, changed by script, look like the same page loaded fresh?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..browsers.lab import Lab, LabOptions
from ..nouns import Build, Case, CheckExit, Shot, UsageError
from ..oracles import update
from ..oracles.change import CONFIRMATIONS
from ..pages.update.convert import converted
from ..pixels import Measure, decode, difference, encode, side_by_side
from ..triage.reduce import Stale
from . import options
from .root import cli, run


@cli.command("check-update")
@click.argument("page", type=click.Path(path_type=Path))
@click.argument("operations", required=False, metavar="[OPS]")
@click.option("--build", "-b", "name", required=True, metavar="BUILD", help="The build to show it in.")
@click.option("--own-script", is_flag=True, help="The page's own scripts are the operations, as in dynamic reftests.")
@click.option("--remembering", is_flag=True, help="Also judge pages that may remember how they were.")
@click.option("--measure", default="exact", show_default=True, help="What counts as different.")
@click.option("--repeats", default=CONFIRMATIONS, show_default=True, type=click.IntRange(1, 100))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A folder for the pictures.")
@click.option("--interesting", is_flag=True, help="Exit 0 when different and 1 when not, as Lithium wants it.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@options.environment_options
@options.lab_options
def check_update(
    page: Path, operations: str | None, name: str, own_script: bool, remembering: bool, measure: str, repeats: int,
    output: Path | None, interesting: bool, as_json: bool, deadline: float, serve_host: str, **env: Any,
) -> int:  # fmt: skip
    """Say whether PAGE, changed by OPS once it is drawn, looks like PAGE changed before.

    OPS is a JSON list of operations, or a file with one.

    \b
    Exit codes: 0 same, 1 different, 125 cannot be tested, 129 anything else.
    Examples:
      moire check-update page.html '[{"op": "delete-rule", "index": 0}]' -b chromium@156
      moire check-update page.html update.json -b firefox@153 -o pictures --json
      moire check-update dynamic-test.html --own-script -b chromium@108
    """
    case = Case.from_file(page, options.environment(**env))
    if own_script == (operations is not None):
        raise UsageError("Give either OPS or --own-script.", "Run `moire check-update --help`.")
    case = converted(case) if operations is None else replace(case, update=options.operations(operations))
    if not case.update:
        raise UsageError("There is nothing to do to the page.", "Give operations, or a page with scripts.")
    (build,) = options.builds((name,))
    options.folder_for(output)
    judged, stage = run(
        _check(build, case, options.the_measure(measure), repeats, remembering, options.lab(deadline, serve_host))
    )
    if output is not None:
        _pictures(judged, output)
    verdict = judged.verdict
    numbers = {
        name: verdict.figures.get(name, 0 if verdict.kind == "same" else None) for name in ("pixels", "max_difference")
    }
    if as_json:
        row = {
            "verdict": verdict.kind, "same_page": judged.same_page, "stage": stage, **numbers,
            "flake_rate": verdict.flake_rate, "reason": verdict.reason,
        }  # fmt: skip
        click.echo(json.dumps(row, indent=1))
    else:
        words = [
            verdict.kind,
            verdict.reason,
            stage and f"stale: {stage}",
            *(f"{n} {k}" for k, n in numbers.items() if n),
        ]
        click.echo(f"{build.name}: {', '.join(filter(None, words))}")
    if verdict.kind == "different":
        return CheckExit.SAME if interesting else CheckExit.DIFFERENT
    if verdict.kind != "same" and not interesting:
        return CheckExit.CANNOT_TEST
    return CheckExit.DIFFERENT if interesting else CheckExit.SAME


async def _check(
    build: Build, case: Case, measure: Measure, repeats: int, remembering: bool, lab_options: LabOptions
) -> tuple[update.Judged, str]:
    """The verdict, and the stage that went stale."""
    async with Lab([build], lab_options) as lab:
        # One page is worth the sure way.
        judged = await update.judge(lab, build, case, measure, repeats, remembering=remembering, screen=False)
        if judged.verdict.kind != "different":
            return judged, ""
        stale = Stale(lab, build, measure, remembering=remembering)
        await stale.learn(case, confirmed=True)
        return judged, stale.signature.stage


def _pictures(judged: update.Judged, folder: Path) -> None:
    images = []
    for name, seen in (("updated", judged.updated), ("fresh", judged.fresh)):
        if seen and isinstance(seen[0], Shot):
            options.write(folder / f"{name}.png", seen[0].png)
            images.append(decode(seen[0].png))
    if len(images) == 2:
        options.write(folder / "difference.png", encode(difference(*images)))
        options.write(folder / "side-by-side.png", encode(side_by_side([*images, difference(*images)])))
