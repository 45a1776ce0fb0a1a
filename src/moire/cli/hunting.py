"""What all hunts have in common on the command line: their options, how they begin, go on and end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from ..browsers import fonts
from ..browsers.lab import Lab, LabOptions
from ..browsers.supervise import Health
from ..hunts import begin
from ..hunts.consensus import ConsensusHunt
from ..hunts.finding import Judged
from ..hunts.here import Here
from ..hunts.run import GO_ON, PAUSE, Hunt, Switch, Told, Workers, follow
from ..nouns import Build, Exit, MoireError, UsageError
from ..reports.run import write
from ..store import BISECT, BLOBS, SEEN_TO, Finding, Run, Store, earlier
from ..triage.bisect import Visits
from . import config, options, sources
from .progress import pages as page_progress
from .progress import waiting
from .root import run

F = TypeVar("F", bound=Callable[..., Any])
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)?")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_NAME = re.compile(r"[A-Za-z0-9][\w-]*")
# Bytes that one browser holds for itself before it shows anything, and some for what it shows.
LEAST_MEMORY = 300_000_000


def seconds(_context: click.Context, _option: click.Parameter, text: str | None) -> float:
    """`90`, `90s`, `30m`, `8h`, `2d`."""
    if text is None:
        return 0.0
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None or not float(found[1]):
        raise UsageError(f"--time {text} is no time.", "Write for example 90s, 30m or 8h.")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def run_options(function: F) -> F:
    """What every hunt takes."""
    for option in reversed(
        [
            click.option("--pages", type=click.IntRange(1), help="How many pages to show; 500 if no --time is given."),
            click.option("--time", "seconds", callback=seconds, metavar="TIME", help="How long: 90s, 30m, 8h."),
            click.option("--findings", type=click.IntRange(1), help="End after so many kinds of findings."),
            click.option(
                "--disk",
                callback=options.size,
                metavar="SIZE",
                help="How large the store may get: 500M, 20G. What nobody will miss goes first, findings never.",
            ),
            click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Same seed, same pages."),
            click.option(
                "--from", "folder", type=click.Path(path_type=Path), help="Your own pages, a folder, not made ones."
            ),
            sources.page_options,
            click.option("--name", default="", help="What to call the run; by default its kind and a number."),
            options.store_option,
            click.option("-o", "--output", type=click.Path(path_type=Path), help="The report; STORE/NAME by default."),
            click.option("--afresh", is_flag=True, help="Take nothing for known that earlier runs have found."),
            click.option("--fail-on-finding", is_flag=True, help="Exit 1 when anything was found."),
            means_options,
        ]
    ):
        function = option(function)
    return function


def means_options(function: F) -> F:
    """How a hunt is done, which makes no difference to what it finds."""
    for option in reversed(
        [
            click.option(
                "--memory", callback=options.size, metavar="SIZE", help="What all browsers together may hold: 4G."
            ),
            click.option(
                "--cluster",
                default="",
                metavar="ADDRESS",
                help="Have the workers of a Dask cluster do it: its scheduler's address, or local:N.",
            ),
            options.lab_options,
        ]
    ):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class Means:
    lab: LabOptions
    cluster: str = ""

    @classmethod
    def of(cls, deadline: float, serve_host: str, memory: int, cluster: str) -> Means:
        if memory and memory < LEAST_MEMORY:
            raise UsageError(f"{memory} bytes are too little for a browser.", "Give --memory 1G or more.")
        if cluster and find_spec("distributed") is None:
            raise UsageError("Dask is not installed.", "Run `pip install 'moire[cluster]'`.")
        if cluster and serve_host:
            raise UsageError("--serve-host is for browsers of this machine.", "Leave out --cluster.")
        return cls(replace(options.lab(deadline, serve_host), memory=memory), cluster)


# What there is to show, and what can be changed by script while it is shown.
_SHOWN = (".html", ".htm", ".xht", ".xhtml", ".svg", ".pdf")
_CHANGED = (".html", ".htm")


def _own_pages(folder: Path, suffixes: Sequence[str]) -> list[list[str]]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder.", "Give --from the folder that your pages are in.")
    found = sorted(p.resolve() for p in folder.rglob("*") if p.suffix.lower() in suffixes and p.is_file())
    if not found:
        raise UsageError(f"There are no pages in {folder}.", f"Pages end in {', '.join(suffixes)}.")
    return [[str(path), begin.digest(path)] for path in found]


def begin_run(
    kind: str, tested: Sequence[str], references: Sequence[str], settings: dict[str, Any],
    shaped: Callable[[dict[str, int]], dict[str, int]], *, pages: int | None, seconds: float, seed: int, size: int,
    measure: str, folder: Path | None, name: str, store: Path, output: Path | None, fail_on_finding: bool,
    findings: int | None, disk: int, afresh: bool, deadline: float, serve_host: str, memory: int, cluster: str,
    **how: Any,
) -> int:  # fmt: skip
    own = _own_pages(folder, _CHANGED if kind == "update" else _SHOWN) if folder is not None else []
    builds = options.builds((*tested, *references))
    options.the_measure(measure)
    means = Means.of(deadline, serve_host, memory, cluster)
    if name and not _NAME.fullmatch(name):
        raise UsageError(f"--name {name} cannot be a folder's name.", "Use letters, digits and dashes.")
    if name in (BLOBS, BISECT):
        raise UsageError(f"--name {name} is taken.", "Give another.")
    for n, build in enumerate(builds):
        # A build may well be compared with itself.
        if (kind == "update" or n >= len(tested)) and any(map(build.same_program, builds[:n])):
            raise UsageError(f"{build.name} is named twice.", "Name each build once.")
    options.folder_for(output)
    # Nobody need be asked what pages may hold if there are pages; operations are made all the same.
    makes = kind == "update" or not own
    asked = [build for build in builds[: len(tested)] if build.engine != "command" and makes]
    if own and kind != "update":
        # Once each: the same page again would look the same.
        pages = min(pages or len(own), len(own))
    with Store(store) as kept, kept.claim.adding():
        kept.free(name)
        weights = shaped(sources.weights(builds=asked, **how))
        whole = {
            "builds": list(tested), "references": list(references), "versions": [build.version for build in builds],
            "names": [build.name for build in builds],
            "programs": [begin.program(build) for build in builds], "fonts": fonts.digest(),
            "pages": pages if pages is not None else (0 if seconds else 500), "seconds": seconds, "seed": seed,
            "size": size, "measure": measure, "weights": kept.blobs.add(json.dumps(weights).encode()), "own": own,
            "findings": findings or 0, "disk": disk, "earlier": "" if afresh else earlier.note(kept, kind),
            "config": config.written(), **settings,
        }  # fmt: skip
        # What cannot be hunted for leaves no run behind.
        hunt = begin.hunt(kind, whole, builds, kept)
        with waiting("getting pages ready"):
            whole["made"] = begin.made(hunt)
        return go(kept, kept.begin(kind, name, whole), builds, output, fail_on_finding, means)


def go(
    store: Store, known: Run, builds: Sequence[Build], output: Path | None, fail_on_finding: bool, means: Means
) -> int:
    index: Path | None = None
    with store.writing(known):
        try:
            place = place_for(store, known, output)
            hunt = begin.hunt(known.kind, known.settings, builds, store, means.lab, known.name)
            if known.state != "done":
                with waiting("getting pages ready"):
                    begin.check_pages(known.settings, hunt)
            store.going(known, "running")
            done = run(_hunt(store, known, hunt, builds, means))
        finally:
            if not store.next_page(known) and not store.findings(known):
                store.forget(known)
        # Also when the hunt is broken off in order: what was found so far is worth a report.
        if store.next_page(known) or store.findings(known):
            with waiting("writing the report"):
                index = write(store, store.run(known.name), place)
    if index is None:
        with suppress(OSError):
            place.rmdir()
        if done:
            raise MoireError("The time was over before the first page.", "Give --time more.")
        raise KeyboardInterrupt
    found = store.findings(known)
    kinds = len({one.signature for one in found})
    words = f"{_many(len(found), 'finding')} of {_many(kinds, 'kind')} in {_many(store.next_page(known), 'page')}"
    old = len({one.signature for one in found if "known_from" in one.details})
    click.echo(f"{words}{f', {old} of them known from earlier runs' if old else ''}. Open {index}")
    click.echo(f"All runs, live: `{shlex.join([program(), 'serve', '--store', str(store.folder)])}`.")
    if store.run(known.name).state == "stopped":
        again = [program(), "hunt", "--resume", known.name, "--store", str(store.folder)]
        click.echo(f"Go on with `{shlex.join(again)}`.", err=True)
        return Exit.INTERRUPTED
    verdicts = store.verdicts(known)
    if verdicts and all(verdict == "untestable" for _, verdict in verdicts):
        raise MoireError("Not one page could be tested.", "The report says why.")
    return Exit.ERROR if fail_on_finding and bad(store, known) else Exit.DONE


def resume(name: str, store: Path, output: Path | None, fail_on_finding: bool, means: Means) -> int:
    with Store(store, make=False) as kept:
        known = kept.run(name)
        if known.state == "done" and not still_open(kept.findings(known)):
            place = write(kept, known, place_for(kept, known, output))
            click.echo(f"{known.name} is done. Open {place}")
            return Exit.ERROR if fail_on_finding and bad(kept, known) else Exit.DONE
        builds = options.builds(tuple(begin.names(known.settings)))
        begin.check(known.settings, builds)
        return go(kept, known, builds, output, fail_on_finding, means)


def program() -> str:
    """What to type for `moire`: without the virtual environment's folder in PATH, where it is."""
    own = Path(sys.argv[0])
    if shutil.which("moire") or own.name != "moire":
        return "moire"
    return os.path.relpath(own) if own.is_relative_to(Path.cwd()) else str(own)


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def place_for(store: Store, known: Run, output: Path | None) -> Path:
    place = output or store.folder / known.name
    options.folder_for(place)
    return place


def still_open(found: Sequence[Finding]) -> bool:
    """Whether something is still to be told of some of them."""
    return any(one.state == "confirmed" or "unsettled" in one.details for one in found)


def bad(store: Store, known: Run) -> bool:
    """What the oracles of a regression hunt call no bug is none, nor is what is known for benign; what people know or
    have reported need not be told again."""
    seen = {one.signature for one in store.triage() if one.kind == known.kind and one.state in SEEN_TO}
    return any(
        one.details.get("bug", True) and "benign" not in one.details and one.signature not in seen
        for one in store.findings(known, ["bug", "benign"])
    )


async def _hunt(store: Store, known: Run, hunt: Hunt, builds: Sequence[Build], means: Means) -> bool:
    """Whether it came to its end."""
    begun = time.monotonic()
    done = False
    budget = begin.budget(known.settings)
    seen: Counter[str] = Counter()
    for (_, verdict), count in store.verdicts(known).items():
        seen[verdict] += count
    health: dict[str, dict[str, int]] = {}
    try:
        async with _workers(known, hunt, builds, means) as workers:
            with waiting("getting pages ready"):
                # It takes a while to make what makes them.
                hunt.case(store.next_page(known))
            with page_progress() as bar, _switch() as switch, store.listening(known):
                task = bar.add_task(known.name, total=budget.pages or None, found="", completed=store.next_page(known))

                def words(more: str = "") -> str:
                    counts = [f"{n} {kind}" for kind, n in sorted(seen.items()) if kind != "same"]
                    return ", ".join([*counts, *([more] if more else [])])

                def page(number: int, judged: Sequence[Judged]) -> None:
                    seen.update(one.verdict.kind for one in judged)
                    spent = known.seconds + time.monotonic() - begun
                    left = f"{max(0, budget.seconds - spent):.0f} s left" if budget.seconds else ""
                    if isinstance(hunt, ConsensusHunt) and hunt.trials.runs:
                        # A run that ends early is done with all its pages.
                        (run, iteration), each = hunt.at(number + 1), hunt.trials.iterations
                        of = f"run {min(run + 1, hunt.trials.runs)} of {hunt.trials.runs}"
                        bar.update(
                            task, completed=run * each + iteration, total=hunt.trials.runs * each, found=words(of)
                        )
                    else:
                        bar.update(task, completed=number + 1, found=words(left))

                def looking(judged: Judged) -> None:
                    bar.update(task, found=words(f"looking into one that {judged.build} shows {judged.verdict.kind}"))

                def finding(one: Finding) -> None:
                    words = f"{one.signature}{' (known)' if one.state == 'duplicate' else ''}"
                    bar.console.print(words, markup=False, highlight=False)

                def visit(build: str, pages: int, settled: int, every: int) -> None:
                    bar.update(task, found=f"bisecting: {build} for {pages} pages, {settled} of {every} settled")

                def fetch(what: str, done: int, total: int | None) -> None:
                    bar.update(task, found=f"fetching {what}")

                def room(words: str) -> None:
                    bar.console.print(words, markup=False, highlight=False)

                told = Told(page, looking, finding, room, Visits(visit, fetch))
                try:
                    done = await follow(store, known, hunt, workers, budget, switch, told)
                finally:
                    health = workers.health()
    finally:
        notes = {name: str(Health(**counts)) for name, counts in health.items()}
        store.end(known, "done" if done else "stopped", notes)
    return done


@asynccontextmanager
async def _workers(known: Run, hunt: Hunt, builds: Sequence[Build], means: Means) -> AsyncIterator[Workers]:
    """The browsers of this machine, or of a cluster."""
    if means.cluster:
        # It takes a while to load, and is an extra.
        from ..hunts import cluster

        errand = cluster.Errand(known.name, known.kind, known.settings, replace(means.lab, long=True))

        def told(words: str) -> None:
            click.echo(words, err=True)

        with waiting("starting the cluster"):
            opening = AsyncExitStack()
            workers = await opening.enter_async_context(cluster.opened(means.cluster, errand, told))
        async with opening:
            yield workers
        return
    # Those that findings are only tried in wait; the others share the machine.
    share = max(1, (os.cpu_count() or 1) // len(hunt.builds))
    async with Lab(builds, replace(means.lab, processes=means.lab.processes or share, long=True)) as lab:
        for build in builds:
            await lab.start(build)
        yield Here(lab, hunt)


@contextmanager
def _switch() -> Iterator[Switch]:
    """The first Ctrl-C ends the run in order, the next at once; two other signals let it wait and go on."""
    switch = Switch()
    stop = switch.stop
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(PAUSE, switch.going.clear)
    loop.add_signal_handler(GO_ON, switch.going.set)

    def first() -> None:
        click.echo("Ending in order; once more to end at once.", err=True)
        stop.set()
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(which)
            signal.signal(which, signal.default_int_handler)

    for which in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(which, first)
    try:
        yield switch
    finally:
        for which in (PAUSE, GO_ON):
            loop.remove_signal_handler(which)
            # One that comes late says nothing any more, and must not end what is left to do.
            signal.signal(which, signal.SIG_IGN)
        if not stop.is_set():
            for which in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(which)
                signal.signal(which, signal.default_int_handler)
