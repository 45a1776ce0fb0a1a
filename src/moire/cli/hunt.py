"""`moire hunt …`: look for pages that show what they should not."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from ..browsers.lab import Lab, LabOptions
from ..hunts import change as change_hunt
from ..nouns import Build, Case, Exit, MoireError
from ..pages.make import Pages
from ..pixels import Measure
from ..reports.folder import Folder
from . import options, sources
from .progress import pages as page_progress
from .root import cli, run

# A crash, hang or difference is for people to see; the rest is counted.
_FINDINGS = {"different", "crashed", "hung"}
SHOWN_REASONS = 10


@cli.group()
def hunt() -> None:
    """Hunt for rendering bugs.

    \b
    Example:
      moire hunt change --base chromium@150 --new chromium@156 --pages 500
    """


@hunt.command()
@click.option("--base", required=True, metavar="BUILD", help="The build that is taken for right.")
@click.option("--new", "new_", required=True, metavar="BUILD", help="The build under test.")
@click.option("--pages", default=500, show_default=True, type=click.IntRange(1), help="How many pages to show.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Same seed, same pages.")
@sources.size_option
@sources.page_options
@click.option("--measure", default="phash", show_default=True, help="What counts as different.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("runs/change"), show_default=True)
@click.option("--fail-on-finding", is_flag=True, help="Exit 1 when anything was found.")
@options.lab_options
def change(
    base: str, new_: str, pages: int, seed: int, size: int, measure: str, output: Path, fail_on_finding: bool,
    deadline: float, serve_host: str, **how: Any,
) -> int:  # fmt: skip
    """Fuzz two builds with the same pages and report what changed.

    Pages come from the web's grammar, as far as both builds understand it.

    \b
    Examples:
      moire hunt change --base chromium@150 --new chromium@156
      moire hunt change --base chromium@108 --new chromium@116 --pages 5000 --seed 7 -o runs/108-116
    """
    builds = options.builds((base, new_))
    difference = options.the_measure(measure)
    settings = {"base": base, "new": new_, "pages": pages, "seed": seed, "size": size, "measure": measure}
    options.folder_for(output)
    folder = Folder(output, builds[0], builds[1], settings)
    asked = [build for build in builds if build.engine != "command"]
    source = Pages(sources.weights(builds=asked, **how))
    cases = change_hunt.cases(source, seed, pages, size)
    seen, index = run(_hunt(builds, difference, cases, pages, folder, options.lab(deadline, serve_host)))
    found = sum(seen[kind] for kind in _FINDINGS)
    click.echo(f"{found} findings. Open {index}")
    if seen["untestable"] == pages:
        raise MoireError("Not one page could be tested.", "The report says why.")
    return Exit.ERROR if fail_on_finding and found else Exit.DONE


async def _hunt(
    builds: list[Build], measure: Measure, cases: Iterator[Case], pages: int, folder: Folder, lab_options: LabOptions
) -> tuple[Counter[str], Path | None]:
    base, new = builds
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    index: Path | None = None
    begun = time.monotonic()
    lab = Lab(builds, lab_options)
    try:
        async with lab, aclosing(change_hunt.hunt(lab, base, new, measure, cases)) as hunt:
            for build in builds:
                await lab.start(build)
            folder.begin()
            with page_progress() as bar:
                task = bar.add_task(f"{base.name} | {new.name}", total=pages, found="")
                async for judged in hunt:
                    verdicts[judged.verdict.kind] += 1
                    if judged.verdict.kind in _FINDINGS:
                        folder.add(judged)
                    elif judged.verdict.kind == "untestable":
                        reasons[judged.verdict.reason] += 1
                    words = ", ".join(f"{n} {kind}" for kind, n in sorted(verdicts.items()) if kind != "same")
                    bar.update(task, advance=1, found=words)
    finally:
        # Also when the hunt is broken off: what was found so far is worth a report.
        seconds = time.monotonic() - begun
        done = verdicts.total()
        if done:
            index = folder.finish({
                "pages": done, **dict(sorted(verdicts.items())),
                "seconds": round(seconds, 1), "pages a second": round(done / max(seconds, 0.1), 1),
                **{build.name: str(lab.health(build)) for build in builds},
                **{f"untestable: {reason}": n for reason, n in reasons.most_common(SHOWN_REASONS)},
            })  # fmt: skip
        if done < pages:
            click.echo(f"Ended after {done} of {pages} pages." + (f" Open {index}" if index else ""), err=True)
    return verdicts, index
