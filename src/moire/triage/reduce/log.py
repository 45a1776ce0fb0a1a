"""A reduction on disk: the best page so far, the steps that led there, and every answer, so that it can go on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ...home import keep
from ...nouns import Case, UsageError
from ...nouns.update import written
from .operations import parted, whole
from .reduce import BACK, Step


class Log:
    """`PAGE.reduced.html`, beside it its `.steps.jsonl` and, if there are any, its operations in `.update.json`; and
    while it is under way `.answers.jsonl`."""

    def __init__(self, file: Path, case: Case, told: list[str]) -> None:
        self._file = file
        self._text = whole(case, "latin-1")
        self._updates = bool(case.update)
        self._steps = file.with_suffix(".steps.jsonl")
        self._answers = file.with_suffix(".answers.jsonl")
        self._key = hashlib.sha256(json.dumps([case.digest, told]).encode()).hexdigest()
        self.known = self._answered()
        # While a resumed run goes the way that it went before, the smaller page on disk stays.
        self._best = _size(file) if self.known else None
        self._files: dict[Path, IO[str]] = {}

    def _answered(self) -> dict[str, bool]:
        """What an earlier run of the same call was told."""
        try:
            key, *lines = self._answers.read_text("utf-8", "replace").splitlines() or [""]
        except OSError:
            return {}
        if key != self._key:
            return {}
        # The last line of a run that was killed may be cut off.
        words = (line.partition(" ") for line in lines)
        return {digest: word == "1" for digest, _, word in words if word in ("0", "1")}

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    def _write(self, place: Path, line: str) -> None:
        """Files come into being with their first line."""
        if place not in self._files:
            more = place == self._answers and bool(self.known)
            self._files[place] = place.open("a" if more else "w", encoding="utf-8")
            if place == self._answers:
                # The line before may be cut off.
                self._files[place].write("\n" if more else f"{self._key}\n")
        self._files[place].write(line + "\n")
        self._files[place].flush()

    def told(self, digest: str, answer: bool) -> None:
        if digest not in self.known:
            self._write(self._answers, f"{digest} {int(answer)}")

    def kept(self, step: Step) -> None:
        new = step.text.encode(step.coding).decode("latin-1")
        start, end, put = _change(self._text, new)
        line = {"pass": step.name, "start": start, "end": end, "new": put}
        # The first step says of what.
        whose = {} if self._steps in self._files else {"of": _digest(self._text)}
        self._write(self._steps, json.dumps({**line, **whose}))
        self._text = new
        update, html = parted(new) if self._updates else ((), new)
        if step.name == BACK or self._best is None or len(html) <= self._best:
            self._best = None
            keep(self._file, html.encode("latin-1"))
            if self._updates:
                keep(update_file(self._file), written(update).encode())

    def done(self, case: Case) -> None:
        put(self._file, case)
        if self._steps not in self._files:
            self._steps.write_text("")
        self._answers.unlink(missing_ok=True)


def update_file(file: Path) -> Path:
    """Where the operations of a reduced page are."""
    return file.with_suffix(".update.json")


def put(file: Path, case: Case) -> None:
    """A page, and its operations beside it."""
    if not file.exists() or file.read_bytes() != case.html:
        file.write_bytes(case.html)
    if case.update:
        update_file(file).write_text(written(case.update) + "\n", "utf-8")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _size(file: Path) -> int | None:
    try:
        return file.stat().st_size
    except OSError:
        return None


def _change(old: str, new: str) -> tuple[int, int, str]:
    """The span of bytes that changed, and what is there now."""
    start = _alike(old, new)
    behind = _alike(old[start:][::-1], new[start:][::-1])
    return start, len(old) - behind, new[start : len(new) - behind]


def _alike(a: str, b: str) -> int:
    """How many characters two texts begin with in common."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def replayed(case: Case, log: Path) -> Case:
    text = whole(case, "latin-1")
    try:
        for line in log.read_text("utf-8").splitlines():
            step: dict[str, Any] = json.loads(line)
            if step.get("of", _digest(text)) != _digest(text):
                raise UsageError(f"{log} is of another page.", "Give the page, and --update as it was.")
            text = text[: step["start"]] + step["new"] + text[step["end"] :]
    except OSError as error:
        raise UsageError(f"{log} cannot be read: {error.strerror}.", "Give a file that ends in .steps.jsonl.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{log} is no log of a reduction.", "It is the file that ends in .steps.jsonl.") from None
    update, html = parted(text) if case.update else ((), text)
    return replace(case, html=html.encode("latin-1"), update=update)
