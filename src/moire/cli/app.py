"""`moire app …`: web applications in every browser."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from yarl import URL

from ..apps import page, scripted, trace
from ..apps.check import Compared, compared
from ..apps.compare import compared as pages_compared
from ..apps.crawl import Crawled, Limits, crawl
from ..apps.keep import KIND, keep, rows
from ..apps.record import PATIENCE, recording
from ..apps.replay import Step, replay
from ..apps.trace import Trace, printable
from ..browsers import window
from ..nouns import Build, Environment, Exit, UsageError
from ..reports.run import write
from ..store import Run, Store, Triage
from . import config, hunting, options
from .progress import pages as progress
from .root import cli, run

_BUILDS = click.option(
    "--build", "-b", "names", multiple=True, metavar="BUILD",
    help="A browser; the first is the reference. Chromium, Firefox and WebKit by default.",
)  # fmt: skip
_ORIGIN = click.option(
    "--origin", "more", multiple=True, metavar="ORIGIN", help="Another origin that may be reached: http://host:port."
)
_SIZE = click.option("--size", default="1024x768", show_default=True, help="Viewport, WIDTHxHEIGHT.")
_PATIENCE = click.option(
    "--patience", default=PATIENCE, show_default=True, type=click.FloatRange(0.1, 60),
    help="Seconds that the application may take to come to rest after each thing a user does.",
)  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
# Where browsers go by themselves.
_OWN_ERRANDS = (".mozilla.com:443", ".mozilla.net:443", ".mozilla.org:443")
# Addresses that were asked for in vain and are named.
MOST_REFUSED = 5
_DEFAULT = ("chromium", "firefox", "webkit")
_LIMITS = Limits()


@cli.group()
def app() -> None:
    """Check that a web application does and looks the same in every browser.

    \b
    Examples:
      moire app check http://localhost:3000/
      moire app record http://localhost:3000/ -o trace.json
      moire app record http://localhost:3000/ --script session.json -o trace.json
      moire app replay trace.json --build firefox --step
      moire app diff chromium.json firefox.json --json
    """


def origins(url: str, more: Sequence[str]) -> tuple[str, ...]:
    found = []
    for one in (url, *more):
        try:
            parts = urlsplit(one)
            known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
            # Which has no room for every name.
            (parts.hostname or "").encode("idna")
            origin = str(URL(one).origin())
        except ValueError:
            known = origin = ""
        if not known:
            raise UsageError(f"{printable(one)} is no address of a web application.", "Write it as https://host/.")
        if parts.username or parts.password:
            raise UsageError(
                "The address has a name or a password in it, which would be written down everywhere.",
                "Leave them out, and log in as a user does.",
            )
        found.append(origin)
    return tuple(dict.fromkeys(found))


@app.command()
@click.argument("url", required=False)
@_BUILDS
@_ORIGIN
@click.option("--trace", "files", multiple=True, type=click.Path(path_type=Path), help="Sessions to replay; no crawl.")
@click.option("--depth", default=_LIMITS.depth, show_default=True, type=click.IntRange(0), help="Moves in a session.")
@click.option("--states", default=_LIMITS.states, show_default=True, type=click.IntRange(1), help="At the most.")
@click.option("--sessions", default=_LIMITS.sessions, show_default=True, type=click.IntRange(1), help="At the most.")
@click.option("--time", "seconds", callback=hunting.seconds, metavar="TIME", help="For the crawl: 90s, 30m.")
@click.option("--read-only", is_flag=True, help="Never send a form, nor click what says that it changes something.")
@_PATIENCE
@_SIZE
@click.option("--name", default="", help="What to call the run; by default app and a number.")
@options.store_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The report; STORE/NAME by default.")
@_JSON
@click.option("--fail-on-finding", is_flag=True, help="Exit 1 when anything is different that was not accepted.")
def check(
    url: str | None, names: tuple[str, ...], more: tuple[str, ...], files: tuple[Path, ...], depth: int, states: int,
    sessions: int, seconds: float, read_only: bool, patience: float, size: str, name: str, store: Path,
    output: Path | None, as_json: bool, fail_on_finding: bool,
) -> int:  # fmt: skip
    """Explore the application at URL in one browser, replay all of that in others, and say what is different there.

    Only the address's own origin is reached, and those of --origin.

    \b
    Examples:
      moire app check http://localhost:3000/
      moire app check http://localhost:3000/ -b chromium -b firefox --read-only --fail-on-finding
      moire app check --trace trace.json -b chromium@156 -b webkit
    """
    if (url is None) == (not files):
        raise click.UsageError("Give the application's address, or --trace.")
    traces = [trace.read(file) for file in files]
    builds = options.builds(names or _DEFAULT)
    if len(builds) < 2:
        raise UsageError("One browser is given.", "Name a reference and another: -b chromium -b firefox.")
    environment = Environment(*options.viewport(size, "--size"))
    own = origins(url, more) if url is not None else ()
    options.folder_for(output)
    limits = Limits(depth, states, sessions, seconds or _LIMITS.seconds)
    settings = {
        "builds": [build.name for build in builds], "versions": [build.version for build in builds], "url": url or "",
        "traces": [str(file) for file in files], "origins": list(own), "read_only": read_only, "measure": "chi2",
        "depth": depth, "states": states, "sessions": sessions, "config": config.written(),
    }  # fmt: skip

    async def sources(told: Callable[[Crawled], None]) -> AsyncIterator[Trace]:
        for one in traces:
            yield one
        if url is not None:
            async for one in crawl(
                builds[0], url, own, environment, limits, read_only=read_only, patience=patience, told=told
            ):
                yield one

    with Store(store) as kept, kept.claim.adding():
        known = kept.begin(KIND, name, settings)
        with kept.writing(known):
            try:
                place = hunting.place_for(kept, known, output)
                all_of_it, stuck = run(_check(kept, known, builds, sources))
            except BaseException:
                if not kept.next_page(known) and not kept.findings(known):
                    kept.forget(known)
                else:
                    kept.end(known, "stopped", {})
                raise
            index = write(kept, kept.run(known.name), place)
        _tell(kept, known, all_of_it, stuck, index, as_json)
        if fail_on_finding and hunting.bad(kept, known):
            return Exit.ERROR
        return Exit.BROWSER if any(one.trouble for one in all_of_it) else Exit.DONE


async def _check(
    store: Store, known: Run, builds: Sequence[Build],
    sources: Callable[[Callable[[Crawled], None]], AsyncIterator[Trace]],
) -> tuple[list[Compared], list[str]]:  # fmt: skip
    """What was compared, and after what the exploration could not go on."""
    begun, step = time.monotonic(), 0
    found: list[Compared] = []
    stuck: list[str] = []
    with progress() as bar:
        task = bar.add_task(known.name, total=None, found="exploring")

        def crawled(so_far: Crawled) -> None:
            stuck[:] = so_far.stuck
            bar.update(task, found=f"{so_far.states} states, session {so_far.sessions}")

        async for one in sources(crawled):
            bar.update(task, found=f"replaying {len(one.events)} events in {len(builds)} browsers")
            first = step
            for each in await compared(one, builds[0], builds[1:]):
                for issue in keep(store, known, each):
                    if issue.state != "duplicate":
                        bar.console.print(printable(f"{issue.build}: {issue.signature}"), markup=False, highlight=False)
                spent, begun = time.monotonic() - begun, time.monotonic()
                told = rows(first, each)
                store.done(known, told, spent)
                found.append(each)
                step = max(step, first + len(told))
            bar.update(task, completed=step)
    store.end(known, "done", {f"a session that could not go on, {n}": one for n, one in enumerate(stuck, 1)})
    return found, stuck


def _tell(
    store: Store, known: Run, found: Sequence[Compared], stuck: Sequence[str], index: Path, as_json: bool
) -> None:
    every = store.findings(known)
    refused = sorted({
        what for one in found for what in one.reference.refused or () if not what.endswith(_OWN_ERRANDS)
    })  # fmt: skip
    if as_json:
        told: list[dict[str, Any]] = [
            {
                "build": one.build, "kind": one.details["issue"], "event": one.details["event"],
                "after": one.details["step_words"], "words": one.details["reason"], "signature": one.signature,
                "a": one.details["paths"][0], "b": one.details["paths"][1], "first": one.state != "duplicate",
            }
            for one in every
        ]  # fmt: skip
        sessions = len({id(one.trace) for one in found})
        passing = sum(len(one.passing) for one in found)
        trouble = [one.trouble for one in found if one.trouble]
        click.echo(json.dumps({"run": known.name, "sessions": sessions, "differences": told, "passing": passing,
                               "not compared to the end": trouble, "could not go on": list(stuck),
                               "refused": refused, "report": str(index)}, indent=1))  # fmt: skip
        return
    for one in filter(None, dict.fromkeys(one.trouble for one in found)):
        click.echo(f"A session was not compared to its end. {one}.", err=True)
    for one in stuck:
        click.echo(f"A session could not go on after {printable(one)}.", err=True)
    if refused:
        more = f" and {len(refused) - MOST_REFUSED} more" if len(refused) > MOST_REFUSED else ""
        words = ", ".join(printable(one) for one in refused[:MOST_REFUSED])
        click.echo(f"Asked for in vain: {words}{more}.", err=True)
    kinds = {(one.build, one.signature) for one in every}
    click.echo(f"{len(kinds)} differences in {store.next_page(known)} steps. Open {index}")


@app.command()
@click.argument("url")
@click.option("--build", "-b", "name", default="chromium", show_default=True, metavar="BUILD", help="Where.")
@_ORIGIN
@click.option("--script", type=click.Path(path_type=Path), help="What to do, in JSON; a recording of DevTools will do.")
@click.option("--secret", "secrets", multiple=True, metavar="WORD", help="Never written down, wherever it is said.")
@_PATIENCE
@_SIZE
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The trace to write.")
def record(
    url: str, name: str, more: tuple[str, ...], script: Path | None, secrets: tuple[str, ...], patience: float,
    size: str, output: Path,
) -> int:  # fmt: skip
    """Write a session of the application at URL down.

    Without --script, the browser's window is yours until Ctrl-C, or until you close it; of a WebDriver server on this
    machine, it is where that runs. A script is a list of things to do, each with an action (click, type, select, key,
    hover, submit, scroll, drag), a target (a CSS selector or a path) and, for some, a value. What a person types into
    fields for passwords is not kept; what a script says, and what the application sends, is: --secret takes it out.

    \b
    Examples:
      moire app record http://localhost:3000/ -o trace.json
      moire app record http://localhost:3000/ --script session.json -o trace.json
    """
    (build,) = options.builds((name,))
    own = origins(url, more)
    actions = scripted.read(script) if script is not None else None
    if actions is None:
        build = window.shown(build)
    options.file_for(output)
    environment = Environment(*options.viewport(size, "--size"))
    found, stuck = run(_record(build, url, own, environment, patience, actions))
    output.write_text(trace.written(trace.masked(found, secrets)), "utf-8")
    click.echo(f"{len(found.events)} events on {found.pages} pages in {output}")
    return Exit.BROWSER if stuck else Exit.DONE


async def _record(
    build: Build, url: str, own: tuple[str, ...], environment: Environment, patience: float,
    actions: Sequence[scripted.Action] | None,
) -> tuple[Trace, str]:  # fmt: skip
    """The session, and why it could not go on, if so."""
    async with recording(build, url, own, environment, patience, person=actions is None) as session:
        if actions is None:
            click.echo(
                f"{build.name} is yours: what you do is written down until Ctrl-C or its window's end.", err=True
            )
            await session.until_stopped()
        for n, action in enumerate(actions or (), 1):
            done = await session.act(action)
            if session.stuck:
                click.echo(f"Action {n} is not in the trace, nor what would follow: {session.stuck}.", err=True)
            elif session.over and n < len(actions or ()):
                click.echo(f"The session ends with action {n}, which leads beyond the application's origins.", err=True)
            if session.over:
                break
            if not done:
                raise UsageError(f"Action {n} has no target: {action.get('target')}.", "Mend the script.")
        return session.trace, session.stuck


@app.command("replay")
@click.argument("file", metavar="TRACE", type=click.Path(path_type=Path))
@click.option("--build", "-b", "name", default="chromium", show_default=True, metavar="BUILD", help="Where.")
@click.option("--step", is_flag=True, help="Wait for Enter after each step.")
@click.option("--window", "visible", is_flag=True, help="Show the browser's window.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A folder for pictures and data of every step.")
@_JSON
def replay_(file: Path, name: str, step: bool, visible: bool, output: Path | None, as_json: bool) -> int:
    """Replay a trace in one browser, and say where it does not do what it did.

    \b
    Examples:
      moire app replay trace.json --build firefox
      moire app replay trace.json --build chromium --window --step
    """
    known = trace.read(file)
    (build,) = options.builds((name,))
    build = window.shown(build) if visible else build
    options.folder_for(output)
    count = 0

    def told(one: Step) -> None:
        nonlocal count
        count += 1
        if output is not None:
            options.write(output / f"{count:04d}.png", one.views[0].png)
            options.write(output / f"{count:04d}.json", json.dumps(page.plain(one.data), indent=1).encode())
        if not as_json:
            click.echo(f"{count}: {one.words}")
            for wrong in one.behaviour:
                click.echo(f"   {wrong.kind}: {wrong.words}")
        if step:
            click.prompt("Enter goes on", default="", show_default=False, prompt_suffix="", err=True)

    found = run(replay(known, build, told))
    wrong = [*(one for each in found.steps for one in each.behaviour), *found.behaviour]
    if as_json:
        told_of = [{"event": one.event, "kind": one.kind, "words": one.words} for one in wrong]
        click.echo(json.dumps({"steps": len(found.steps), "ended": found.ended, "behaviour": told_of}, indent=1))
    else:
        for one in found.behaviour:
            click.echo(f"{one.event}: {one.kind}: {one.words}")
        click.echo(f"{len(found.steps)} steps, {len(wrong)} differences of behaviour. {found.ended}".rstrip())
    return Exit.NOT_REPRODUCED if wrong or found.ended else Exit.DONE


@app.command()
@click.argument("name", metavar="RUN")
@click.argument("id", type=int)
@click.option("--note", default="", help="Why.")
@options.store_option
def accept(name: str, id: int, note: str, store: Path) -> int:
    """Take a difference for benign, in this run and in all that come; ID is its number in the store.

    \b
    Example:
      moire app accept app-1 12 --note "the engine's own look"
    """
    with Store(store, make=False) as kept:
        known = kept.run(name)
        where, found = kept.finding(id)
        if where != known.name:
            raise UsageError(f"{name} has no finding {id}.", "`moire runs show` has them all.")
        kept.say(Triage(known.kind, found.signature, "benign", note))
    click.echo(f"Accepted: {found.signature}")
    return Exit.DONE


@app.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@_JSON
def diff(a: Path, b: Path, as_json: bool) -> int:
    """Compare the data of one page in two browsers: what is laid out, or reads, otherwise.

    Files are as Moire writes them, or in the shape of X-PERT's. Boxes and edges that are off by five pixels at the most
    count as the same.

    \b
    Example:
      moire app diff chromium.json firefox.json --json
    """
    found = [one.plain for one in pages_compared(page.read(a), page.read(b))]
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        for one in found:
            options.console().print(
                printable(f"{one['kind']}: {one['a']} and {one['b']}"), markup=False, highlight=False
            )
        click.echo(f"{len(found)} differences.")
    return Exit.DONE
