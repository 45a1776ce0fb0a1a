"""`moire hunt …`: look for pages that show what they should not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from ..browsers import dates, history, shelf
from ..grammar import GrammarError
from ..grammar import reducer as reducer_of
from ..grammar.reduce import Pick, Propagation
from ..hunts import begin
from ..nouns import Environment, Exit, UsageError
from ..oracles.consensus import Pool
from ..pages.profile import profile, profiles, shaped
from ..pages.spec import web
from ..pages.update import still
from ..wpt.near import Checkout
from . import hunting, options, sources
from .root import cli

guidance_option = click.option("--no-guidance", is_flag=True, help="Draw by fixed weights, whatever was found.")


@cli.group(invoke_without_command=True)
@click.option("--resume", metavar="RUN", help="Go on with a run that was broken off.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The resumed run's report.")
@click.option("--fail-on-finding", is_flag=True, help="Exit 1 when the resumed run has found anything.")
@options.store_option
@hunting.means_options
@click.pass_context
def hunt(
    context: click.Context, /, resume: str | None, output: Path | None, fail_on_finding: bool, store: Path, **means: Any
) -> int:
    """Hunt for rendering bugs.

    The first Ctrl-C ends a hunt in order, with its report; a second one at once. Either way, and after a kill,
    `--resume` goes on where it was.

    \b
    Examples:
      moire hunt update chromium@156 --time 30m
      moire hunt change --base chromium@150 --new chromium@156 --pages 500
      moire hunt regression --base chromium@108 --new chromium@116 --reference firefox@153
      moire hunt consensus chromium firefox webkit --runs 20
      moire hunt --resume update-1
    """
    if context.invoked_subcommand is not None:
        if resume is not None:
            raise UsageError("--resume takes no other hunt.", f"Run `moire hunt --resume {resume}`.")
        for given in context.params:
            if context.get_parameter_source(given) in (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP):
                words = f"--{given.replace('_', '-')} stands before {context.invoked_subcommand}."
                raise UsageError(words, f"Put it behind; in a file, into [hunt.{context.invoked_subcommand}].")
        return Exit.DONE
    if resume is None:
        raise UsageError("There is nothing to hunt for.", "Run `moire hunt --help`.")
    return hunting.resume(resume, store, output, fail_on_finding, hunting.Means.of(**means))


@hunt.command()
@click.option("--base", required=True, metavar="BUILD", help="The build that is taken for right.")
@click.option("--new", "new_", required=True, metavar="BUILD", help="The build under test.")
@guidance_option
@click.option("--measure", default="phash", show_default=True, help="What counts as different.")
@sources.size_option
@hunting.run_options
def change(base: str, new_: str, no_guidance: bool, **how: Any) -> int:
    """Fuzz two builds with the same pages and report what changed.

    Pages come from the web's grammar, as far as both builds understand it.

    \b
    Examples:
      moire hunt change --base chromium@150 --new chromium@156
      moire hunt change --base chromium@108 --new chromium@116 --pages 5000 --seed 7 -o reports/108-116
    """
    settings = {"guided": not no_guidance}
    return hunting.begin_run("change", (base, new_), (), settings, lambda weights: weights, **how)


@hunt.command()
@click.option("--base", metavar="BUILD", help="The older build.")
@click.option("--new", "new_", metavar="BUILD", help="The newer build, of the same engine.")
@options.history_option
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="BUILD",
    help="An engine of another make that says which is right; several vote. By default the Firefox nearest in date.",
)
@click.option("--wpt", type=click.Path(path_type=Path), metavar="DIR", help="A checkout of web-platform-tests.")
@click.option("--installed", is_flag=True, help="Bisect over installed builds only; nothing is fetched.")
@guidance_option
@click.option("--measure", default="phash", show_default=True, help="What counts as different.")
@sources.size_option
@hunting.run_options
def regression(
    base: str | None, new_: str | None, listed: Path | None, references: tuple[str, ...], wpt: Path | None,
    installed: bool, no_guidance: bool, **how: Any,
) -> int:  # fmt: skip
    """Look for what a newer build shows otherwise than an older one, and say which step broke it, in which stage.

    What changed is reduced and bisected. It is a bug if the reference agrees with the build before the step and not
    with the one after it, and no test of the platform that the step made pass fails in the reference.

    \b
    Examples:
      moire hunt regression --base chromium@108 --new chromium@116 --reference firefox@153
      moire hunt regression --base chromium@150 --new chromium@156 --wpt ~/wpt --time 1h
      moire hunt regression --base chromium@156 --new 'chromium@156?flags=--enable-features=X'
      moire hunt regression --history releases.txt --from my-pages --reference firefox@153
    """
    if listed is not None:
        stops = history.listed(listed, base, new_)
        base, new_ = stops[0].name, stops[-1].name
    elif base is None or new_ is None:
        raise UsageError("Two builds are needed.", "Give --base BUILD and --new BUILD, or --history FILE.")
    else:
        older, newer = options.builds((base, new_))
        stops = history.between(older, newer, offered=not installed)
    if not references:
        (newer,) = options.builds((new_,))
        known = dates.nearest(newer, [build for build in shelf.installed() if build.engine == "firefox"])
        if known is None:
            raise UsageError("There is no reference.", "Install Firefox, or name one: --reference webkit@2.50.")
        references = (f"firefox@{known.version}",)
    if wpt is not None:
        Checkout(wpt)
    begin.independent(options.builds((base, new_)), options.builds(references))
    settings = {
        "wpt": str(wpt.resolve()) if wpt is not None else "", "offered": not installed,
        "history": [stop.name for stop in stops], "listed": listed is not None, "guided": not no_guidance,
    }  # fmt: skip
    return hunting.begin_run("regression", (base, new_), references, settings, lambda weights: weights, **how)


@hunt.command()
@click.argument("builds", nargs=-1, required=True, metavar="BUILD...")
@click.option(
    "--operations", default=4, show_default=True, type=click.IntRange(1, 50), help="Updates a page, at the most."
)
@click.option(
    "--reference", "references", multiple=True, metavar="BUILD", help="Try findings in this build, too; again for more."
)
@guidance_option
@click.option("--measure", default="exact", show_default=True, help="What counts as different.")
@sources.size_option
@hunting.run_options
def update(builds: tuple[str, ...], operations: int, references: tuple[str, ...], no_guidance: bool, **how: Any) -> int:
    """Look for pages that a script changes and that then look otherwise than the same page loaded fresh.

    Needs no other browser to compare with: every difference is a bug of the build itself.

    \b
    Examples:
      moire hunt update chromium@156 --pages 2000
      moire hunt update chromium@156 firefox@153 --time 30m --reference webkit@2.50
      moire hunt update firefox@153 --from my-pages --operations 8
    """
    settings = {"operations": operations, "guided": not no_guidance}
    return hunting.begin_run("update", builds, references, settings, still.weights, **how)


@hunt.command()
@click.argument("builds", nargs=-1, required=True, metavar="BUILD...")
@click.option(
    "--target", metavar="BUILD", help="Only what this build alone shows otherwise than all others, who agree."
)
@click.option(
    "--rule", type=click.Choice(["any", "every"]), default="any", show_default=True,
    help="What fails: any two that disagree, or one that disagrees with every other.",
)  # fmt: skip
@click.option("--runs", type=click.IntRange(1), help="How many runs; 10 if neither --time nor --pages is given.")
@click.option("--iterations", default=25, show_default=True, type=click.IntRange(1, 10_000), help="Pages a run.")
@click.option("--max-size", default=50, show_default=True, type=click.IntRange(1, 1000), help="Of a run's last page.")
@click.option(
    "--grow",
    default=4,
    show_default=True,
    type=click.IntRange(1, 20),
    help="How many times as large pages may become while runs find nothing.",
)
@click.option(
    "--profile", "profile_", default="specified", show_default=True, metavar="NAME",
    help=f"What pages are made of: {', '.join(profiles())}.",
)  # fmt: skip
@click.option("--as-is", is_flag=True, help="Show pages as they are: no reset of default styles, no Ahem.")
@click.option("--viewport", default="500x400", show_default=True, metavar="WIDTHxHEIGHT")
@click.option(
    "--pick", type=click.Choice(get_args(Pick)), default="weight", show_default=True, help="Weights to lower."
)
@click.option(
    "--propagation", type=click.Choice(get_args(Propagation)), default="zero", show_default=True,
    help="What lower weights do to those above them.",
)  # fmt: skip
@click.option(
    "--reducer", default="zero", show_default=True, help="By how much: zero, half, divide:N, ladder:30,10,3,1."
)
@click.option(
    "--edges", default=3, show_default=True, type=click.IntRange(0, 100), help="Weights a finding; 0 for none."
)
@click.option("--never", multiple=True, metavar="PATH", help="A weight that is never lowered; again for more.")
@click.option(
    "--benign", type=click.Path(path_type=Path), metavar="FILE",
    help="Signatures that are no bugs, one a line, * for anything: counted, not shown.",
)  # fmt: skip
@click.option("--measure", default="sqdiff", show_default=True, help="What counts as disagreement.")
@hunting.run_options
def consensus(
    builds: tuple[str, ...], target: str | None, rule: str, runs: int | None, iterations: int, max_size: int, grow: int,
    profile_: str, as_is: bool, viewport: str, pick: str, propagation: str, reducer: str, edges: int,
    never: tuple[str, ...], benign: Path | None, pages: int | None, seconds: float, **how: Any,
) -> int:  # fmt: skip
    """Look for pages that the builds of a pool do not show alike.

    A run shows pages that grow, until one fails; that one is reduced, and the weights of what is left of it are
    lowered, so that the next run looks elsewhere. Pages are shown over a reset of what engines do each in their own
    way, with letters in Ahem. A build may be named twice: what it shows otherwise than itself is set aside.

    \b
    Examples:
      moire hunt consensus chromium firefox webkit --runs 100
      moire hunt consensus chromium firefox webkit --target webkit --time 1h
      moire hunt consensus chromium@108 chromium@116 chromium@156 firefox --profile plain --rule every
      moire hunt consensus chromium firefox --like mine.html --profile all --edges 0
    """
    # What cannot be is said before anything is worked out.
    profile(profile_)
    rule = rule if target is None else "target"
    aimed = options.target(target, builds)
    Pool(tuple(options.builds(builds)), options.the_measure(how["measure"]), rule, aimed)  # type: ignore[arg-type]
    try:
        reducer_of(reducer)
    except GrammarError as error:
        raise UsageError(str(error)) from None
    environment = Environment(*options.viewport(viewport, "--viewport"))
    settings = {
        "rule": rule, "target": aimed, "normal": not as_is,
        "runs": runs or (0 if seconds or pages or how["folder"] else 10), "iterations": iterations,
        "max_size": max_size, "grow": grow, "profile": profile_, "environment": asdict(environment),
        "pick": pick, "propagation": propagation, "reducer": reducer, "edges": edges, "never": _edges(never),
        "benign": _lines(benign),
    }  # fmt: skip
    # By runs, if nothing else is said: a run has no set number of pages.
    pages = pages or (0 if seconds or settings["runs"] else None)
    return hunting.begin_run(
        "consensus", builds, (), settings, lambda weights: shaped(weights, profile_), size=0, pages=pages,
        seconds=seconds, **how,
    )  # fmt: skip


def _edges(paths: Sequence[str]) -> list[str]:
    if paths:
        owners = web.grammar().owners
        for path in paths:
            if path not in owners:
                raise UsageError(f"--never {path} is no weight of the web's grammar.", "See `moire pages grammar`.")
    return list(paths)


def _lines(file: Path | None) -> list[str]:
    """Lines of a file that say something."""
    text = sources.read_bytes(file).decode("utf-8", "replace") if file is not None else ""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
