"""Progress bars, on standard error and only for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from ..browsers.download import Progress as Listener


@contextmanager
def downloads() -> Iterator[Listener]:
    """A listener that draws a bar for every file."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    tasks: dict[str, TaskID] = {}

    def heard(what: str, done: int, total: int | None) -> None:
        # Nothing is drawn before there is something to draw.
        bar.start()
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)

    try:
        yield heard
    finally:
        if tasks:
            bar.stop()


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "–/s", style="cyan")


def pages() -> Progress:
    """Pages done, rate, time gone and time left, and what was found."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeElapsedColumn(),
        TimeRemainingColumn(), TextColumn("{task.fields[found]}"),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip


class Reducing(Protocol):
    def __call__(self, name: str, size: int, renders: int, elements: int = -1) -> None: ...


@contextmanager
def reducing(before: int) -> Iterator[Reducing]:
    """How small a page has become. Nobody knows how small it will be: time left is that to nothing, at this pace."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[found]}"), TimeElapsedColumn(),
        TimeRemainingColumn(), console=console, disable=not console.is_terminal,
    )  # fmt: skip
    best = {"size": before, "elements": 0}
    with bar:
        task = bar.add_task("looking at the page", total=before, found="")

        def heard(name: str, size: int, renders: int, elements: int = -1) -> None:
            if elements >= 0:
                best.update(size=size, elements=elements)
            words = f"{best['size']:,} bytes, {best['elements']} elements, {renders} renders"
            bar.update(task, description=name, completed=before - best["size"], found=words)

        yield heard


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """While something takes a while, and nobody knows how long."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(words):
        yield


@contextmanager
def counting(words: str) -> Iterator[Callable[[int, int], None]]:
    """A listener that is told how much is done, of how much."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(words, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


@dataclass(frozen=True)
class Bisecting:
    visit: Callable[[str, int, int, int], None]
    fetch: Listener


@contextmanager
def bisecting(builds: int) -> Iterator[Bisecting]:
    """Builds visited of those that halving takes, and what is fetched for them."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    visits = 0
    most = 2 + max(0, builds - 2).bit_length()
    with bar:
        task = bar.add_task("builds", total=most)

        def visit(name: str, pages: int, settled: int, every: int) -> None:
            nonlocal visits
            bar.update(task, description=name, completed=visits, total=max(most, visits + 1))
            visits += 1

        def fetch(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=f"fetching {what}")

        yield Bisecting(visit, fetch)
