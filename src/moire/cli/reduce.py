"""`moire reduce`: from a page that fails to the smallest page that fails in the same way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..browsers.lab import Lab, LabOptions
from ..nouns import Build, Case, Exit, Failure, MoireError, Outcome, Shot, UsageError
from ..oracles import update
from ..oracles.consensus import Pool, Rule
from ..pages import read
from ..pages.beside import needed
from ..pages.make import Pages
from ..pages.normal import normalised
from ..pages.source import elements, parse
from ..pages.spec import web
from ..pixels import decode, difference, encode, side_by_side, stacked
from ..triage.reduce import Command, Differs, Disagrees, Judge, Never, Reduced, Settings, Stale, Step, reduce
from ..triage.reduce.log import Log, put, replayed
from ..triage.reduce.operations import whole
from ..triage.reduce.reduce import AHEAD
from . import options
from .progress import reducing
from .root import cli, run

# Pages tried by the weights of a case before its own is taken.
TRIALS = 200


@cli.command("reduce")
@click.argument("page", type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--build", "-b", "names", multiple=True, metavar="BUILD", help="The builds that disagree, two or more.")
@click.option(
    "--oracle",
    type=click.Choice(["change", "consensus", "update", "command"]),
    help="What fails; `command` where one is given, `update` with operations, `consensus` with more than two builds, "
    "else `change`.",
)
@click.option("--target", metavar="BUILD", help="Of a consensus: the build that disagrees with all others, who agree.")
@options.normal_option
@click.option("--update", "operations", metavar="OPS", help="Operations on the page: a JSON list, or a file with one.")
@click.option("--measure", default="exact", show_default=True, help="What counts as different.")
@click.option("--any-difference", is_flag=True, help="Keep any difference, not only the one the page has.")
@click.option("--existing-weights", is_flag=True, help="First try to make the failure anew by the page's own weights.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds that the command may take.")
@click.option("--ahead", default=AHEAD, show_default=True, type=click.IntRange(1, 64), help="Candidates tried at once.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The reduced page; PAGE.reduced.html by default.")
@click.option("--replay", type=click.Path(path_type=Path), metavar="LOG", help="Only take the steps of an earlier log.")
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@options.environment_options
@options.lab_options
def reduce_(
    page: Path, command: tuple[str, ...], names: tuple[str, ...], oracle: str | None, target: str | None,
    normal: bool, operations: str | None, measure: str, any_difference: bool, existing_weights: bool, timeout: float,
    ahead: int, output: Path | None, replay: Path | None, as_json: bool, deadline: float, serve_host: str, **env: Any,
) -> int:  # fmt: skip
    """Reduce PAGE while two builds still disagree about it, or while one shows it stale after an update, or while
    COMMAND ends with 0.

    The smallest page so far is on disk at any time, and the same call goes on where another was broken off.

    \b
    Examples:
      moire reduce page.html -b chromium@150 -b chromium@156
      moire reduce page.html -b chromium@156 -b firefox@153 --measure phash -o small.html --json
      moire reduce page.html -b chromium -b firefox -b webkit --target webkit --normal --measure sqdiff
      moire reduce page.html --update update.json -b chromium@156
      moire reduce page.html -- sh -c 'grep -q display:grid {page}'
    """
    case = Case.from_file(page, options.environment(**env))
    if operations is not None:
        case = replace(case, update=options.operations(operations))
    file = output or page.with_name(f"{page.stem}.reduced.html")
    options.file_for(file)
    if file.exists() and file.samefile(page):
        raise UsageError(f"-o {file} is the page itself.", "Give another file, so that the page stays.")
    if replay is not None:
        return _replay(case, replay, file, as_json)
    shaped = normal or target is not None
    pool = len(names) > 2 or shaped
    oracle = oracle or ("command" if command else "update" if case.update else "consensus" if pool else "change")
    _check_call(oracle, command, names, case)
    if shaped and oracle != "consensus":
        raise UsageError(f"--normal and --target are not for the oracle `{oracle}`.", "Leave them out.")
    aimed = options.target(target, names)
    builds = options.builds(names) if oracle != "command" else []
    the_measure = options.the_measure(measure)
    told = [
        oracle, measure, repr((any_difference, existing_weights, timeout, case.environment, builds, normal, aimed)),
        *(hashlib.sha256(_bytes(word)).hexdigest() for word in command),
    ]  # fmt: skip

    def judge(lab: Lab | None) -> Judge:
        if lab is None:
            return Command(command, timeout)
        if oracle == "consensus":
            rule: Rule = "any" if aimed is None else "target"
            return Disagrees(lab, Pool(tuple(builds), the_measure, rule, aimed, normal), any_difference)
        if oracle == "change":
            return Differs(lab, builds[0], builds[1], the_measure, any_difference)
        # Whoever asks for this very page knows what it remembers.
        return Stale(lab, builds[0], the_measure, any_difference, remembering=True)

    shown = normalised if normal else lambda one: one
    result, pictures = run(
        _reduce(case, builds, judge, shown, existing_weights, ahead, file, told, options.lab(deadline, serve_host))
    )
    if isinstance(result, Never):
        raise NotReproduced(
            f"{page.name} cannot be reduced: {result.reason}.",
            "Check the command." if command and result.verdict == "same" else _REMEDIES[result.verdict],
        )
    _bring_along(case, result.case, file)
    # A page that is told was confirmed at the end; one that lost its failure has ended above.
    row = {
        "bytes_before": len(case.html), "bytes_after": len(result.case.html), "renders": result.renders,
        "seconds": round(result.seconds, 2), "signature_kept": True, "output": str(file), "signature": result.words,
        "flake_rate": result.flake_rate, "pictures": pictures and str(pictures),
    }  # fmt: skip
    if as_json:
        click.echo(json.dumps(row, indent=1))
    else:
        click.echo(
            f"{row['bytes_before']} → {row['bytes_after']} bytes in {result.renders} renders and "
            f"{result.seconds:.1f} s: {result.words}. Open {file}" + (f" and {pictures}" if pictures else "")
        )
    return Exit.DONE


def _check_call(oracle: str, command: Sequence[str], names: Sequence[str], case: Case) -> None:
    if oracle == "command" and not command:
        raise UsageError("There is no command.", "Give it after the page: moire reduce page.html -- ./test {page}")
    if oracle != "command" and command:
        raise UsageError(f"A command is given, and the oracle is `{oracle}`.", "Leave out one of them.")
    if oracle == "change" and len(names) != 2:
        raise UsageError(f"{len(names)} builds are given.", "Give two that disagree: -b chromium@150 -b chromium@156.")
    if oracle == "consensus" and len(names) < 2:
        raise UsageError(f"{len(names)} builds are given.", "A consensus takes two at least.")
    if oracle == "update" and (len(names) != 1 or not case.update):
        raise UsageError("An update needs operations and one build.", "Give --update OPS and -b chromium@156.")
    if oracle != "update" and case.update:
        raise UsageError(f"Operations are given, and the oracle is `{oracle}`.", "Leave out one of them.")


def _bytes(word: str) -> bytes:
    """A word of a command, or what is in the file that it names: another file asks another question."""
    try:
        return Path(word).read_bytes()
    except (OSError, ValueError):
        return word.encode()


class NotReproduced(MoireError):
    exit_code = Exit.NOT_REPRODUCED


_REMEDIES = {
    "same": "Check the builds and the measure.",
    "flaky": "A failure that comes and goes has no smallest page.",
    "untestable": "Mend the page first.",
}


async def _reduce(
    case: Case, builds: Sequence[Build], make: Callable[[Lab | None], Judge], shown: Callable[[Case], Case],
    existing_weights: bool, ahead: int, file: Path, told: list[str], lab_options: LabOptions,
) -> tuple[Reduced | Never, Path | None]:  # fmt: skip
    async with AsyncExitStack() as stack:
        lab = await stack.enter_async_context(Lab(builds, lab_options)) if builds else None
        for build in builds:
            assert lab is not None
            await lab.start(build)
        judge = make(lab)
        start, learned = await _by_weights(case, judge) if existing_weights else (case, "")
        with Log(file, case, told) as log, reducing(len(start.html)) as bar:

            def asked(name: str, size: int) -> None:
                bar(name, size, judge.renders)

            def kept(step: Step) -> None:
                log.kept(step)
                bar(step.name, len(step.text), judge.renders, elements=sum(1 for _ in elements(parse(step.text))))

            if start is not case:
                kept(Step("by its weights", whole(start)))
            result = await reduce(start, judge, Settings(ahead, False, log.known, log.told, kept, asked), learned)
            if isinstance(result, Never):
                return result, None
            cases = (shown(case), shown(result.case))
            pictures = await _pictures(lab, builds, cases, file) if lab is not None else None
            # Not before all is there: a call that is broken off until then goes on where it was.
            log.done(result.case)
            return result, pictures


async def _by_weights(case: Case, judge: Judge) -> tuple[Case, str]:
    """A page made by the weights of the case that fails as well, the smallest first, and what the judge said of the
    case; else the case itself."""
    learned = await judge.learn(case)
    if isinstance(learned, Never):
        return case, ""
    found = read.weights([case.html])
    source = Pages(web.pinched(web.grammar(), {**web.weights(web.ALL), **found}))
    for seed in range(TRIALS):
        made = source.page(seed, 300 + (len(case.html) - 300) * seed // TRIALS)
        again = replace(case, html=made.html)
        if len(made.html) < len(case.html) and await judge.fails(again) and await judge.fails(again, careful=True):
            return again, learned
    return case, learned


async def _pictures(lab: Lab, builds: Sequence[Build], cases: Sequence[Case], file: Path) -> Path | None:
    """Before above after, each in both builds with the difference."""
    rows = []
    for case in cases:
        if case.update:
            seen = await update.updated(lab, builds[0], case), await update.fresh(lab, builds[0], case)
            shots: list[Outcome] = [one if isinstance(one, Failure) else one.shot for one in seen]
        else:
            shots = [await lab.shoot(build, case) for build in builds]
        if not all(isinstance(shot, Shot) for shot in shots):
            return None
        images = [decode(shot.png) for shot in shots if isinstance(shot, Shot)]
        rows.append(side_by_side([*images, *([difference(*images)] if len(images) == 2 else [])]))
    place = file.with_suffix(".png")
    options.write(place, encode(stacked(rows)))
    return place


def _replay(case: Case, log: Path, file: Path, as_json: bool) -> int:
    after = replayed(case, log)
    file.parent.mkdir(parents=True, exist_ok=True)
    put(file, after)
    row = {"bytes_before": len(case.html), "bytes_after": len(after.html), "output": str(file)}
    click.echo(json.dumps(row, indent=1) if as_json else f"{len(case.html)} → {len(after.html)} bytes. Open {file}")
    return Exit.DONE


def _bring_along(before: Case, after: Case, file: Path) -> None:
    """What the reduced page still refers to, when it goes to another folder."""
    if before.root is None or file.resolve().parent == before.root:
        return
    for name, data in needed(after).items():
        place = file.parent / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.write_bytes(data)
