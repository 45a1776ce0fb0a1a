"""`moire grammar …`: texts out of a grammar, and any program tested with them."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from ..grammar import (
    Grammar,
    GrammarError,
    Source,
    Tree,
    counts,
    flat,
    generators,
    layered,
    parse,
    propagate,
    read,
    reducer,
    write,
)
from ..grammar import weights as weights_of
from ..grammar.check import Result, drawn
from ..grammar.check import check as check_property
from ..grammar.compile import module
from ..grammar.prune import prune
from ..grammar.reduce import without_endless
from ..grammar.shrink import Step, shrink
from ..grammar.tree import merged
from ..nouns import Exit, HarnessError, UsageError
from . import options
from .progress import pages as progress_bar
from .root import cli

_GRAMMAR = click.argument("grammar", type=click.Path(path_type=Path))
_WEIGHTS = click.option(
    "--weights", "weight_files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Weights, JSON; give it again to lay others over them.",
)  # fmt: skip
_RULE = click.option("--rule", default="", help="The rule to start from; the first if not given.")
_SEED = click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Same seed, same texts.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")


@cli.group()
def grammar() -> None:
    """Generate, read and check texts by a weighted grammar.

    \b
    Examples:
      moire grammar sample math.ebnf
      moire grammar check math.ebnf -- ./harness.sh {case}
    """


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except GrammarError as error:
        raise UsageError(str(error)) from None


def _read(path: Path, rule: str) -> Grammar:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"The grammar {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"The grammar {path} is not UTF-8.", "Save it as UTF-8.") from None
    try:
        return read(text, rule)
    except GrammarError as error:
        raise UsageError(f"{path}: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8.", "Only texts in UTF-8 can be read.") from None


def _weights(grammar: Grammar, files: Sequence[Path]) -> dict[str, int]:
    return layered(grammar, *(weights_of.load(file) for file in files))


@grammar.command()
@_GRAMMAR
@_WEIGHTS
@_RULE
@_SEED
@click.option("--count", default=10, show_default=True, type=click.IntRange(1, 1_000_000), help="How many texts.")
@click.option("--max-size", default=20, show_default=True, type=click.IntRange(1, 1000), help="The size to grow to.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A folder for the texts, one a file.")
@click.option("--weights-output", type=click.Path(path_type=Path), help="Where to write the weights that were used.")
@_JSON
def sample(
    grammar: Path, weight_files: tuple[Path, ...], rule: str, seed: int, count: int, max_size: int,
    output: Path | None, weights_output: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Generate texts, tiny ones first.

    \b
    Examples:
      moire grammar sample math.ebnf --count 100 -o samples/
      moire grammar sample math.ebnf --weights mine.json --weights-output used.json
    """
    options.folder_for(output)
    options.file_for(weights_output)
    with _sentences():
        rules = _read(grammar, rule)
        weights = _weights(rules, weight_files)
        make = generators(Source(rules, weights))
    with progress_bar() as bar:
        task = bar.add_task(grammar.name, total=count, found="")
        texts = []
        for n in range(count):
            texts.append(make.generate(*drawn(n, count, max_size, seed)))
            bar.update(task, advance=1)
    if weights_output is not None:
        options.write(weights_output, weights_of.text(weights).encode())
    if output is not None:
        for n, text in enumerate(texts, start=1):
            options.write(output / f"sample-{n:04d}", text.encode())
    if as_json:
        click.echo(json.dumps(texts, indent=1, ensure_ascii=False))
    elif output is None:
        for text in texts:
            click.echo(text)
    return Exit.DONE


@grammar.command("parse")
@_GRAMMAR
@click.argument("texts", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TEXT…")
@_RULE
@_JSON
def parse_(grammar: Path, texts: tuple[Path, ...], rule: str, as_json: bool) -> int:
    """Read texts and count which edges of the grammar they took: weights for texts like them.

    \b
    Examples:
      moire grammar parse math.ebnf case1 case2 --json > like-these.json
    """
    with _sentences():
        rules = _read(grammar, rule)
        found = merged(_counted(rules, path) for path in texts)
    if as_json:
        click.echo(weights_of.text(found), nl=False)
    else:
        for path, count in sorted(found.items()):
            click.echo(f"{count:8d}  {path}")
    return Exit.DONE


def _counted(rules: Grammar, path: Path) -> dict[str, int]:
    return counts(rules, [_parsed(rules, path)])


def _parsed(rules: Grammar, path: Path) -> Tree:
    try:
        return parse(rules, _text(path))
    except GrammarError as error:
        raise GrammarError(f"{path}: {error}") from None


@grammar.command("reduce")
@_GRAMMAR
@_WEIGHTS
@_RULE
@click.option("--set", "changes", multiple=True, metavar="PATH=N", help="A weight to set first; again for more.")
@click.option(
    "--propagate", "mode", default="zero", show_default=True, help="zero, max-child or reducer:half|zero|divide:N|…"
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write the weights.")
def reduce_(
    grammar: Path, weight_files: tuple[Path, ...], rule: str, changes: tuple[str, ...], mode: str, output: Path | None
) -> int:
    """Change weights, and propagate what that leaves without a choice.

    \b
    Example:
      moire grammar reduce g.ebnf --weights w.json --set foo/alt/0=0 --propagate max-child -o out.json
    """
    options.file_for(output)
    with _sentences():
        rules = _read(grammar, rule)
        weights = weights_of.default(rules)
        for layer in (*(weights_of.load(file) for file in weight_files), dict(map(_change, changes))):
            unknown = sorted(set(layer) - set(weights))
            if unknown:
                raise GrammarError(f"The grammar has no choice with the edge {unknown[0]}.")
            weights |= layer
        kind, _, by = mode.partition(":")
        if by and kind != "reducer":
            raise UsageError(f"--propagate {mode}: only reducer takes more.", "Write zero, max-child or reducer:half.")
        # The propagation itself refuses a mode it does not know.
        new = without_endless(rules, propagate(rules, weights, None, kind, reducer(by or "zero")))  # type: ignore[arg-type]
    if output is None:
        click.echo(weights_of.text(new), nl=False)
    else:
        options.write(output, weights_of.text(new).encode())
    return Exit.DONE


@grammar.command("prune")
@_GRAMMAR
@_WEIGHTS
@_RULE
@click.option(
    "--like", "texts", multiple=True, type=click.Path(path_type=Path), metavar="TEXT", help="Keep what it uses."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write the EBNF.")
@click.option("--weights-output", type=click.Path(path_type=Path), help="Where to write the weights that are left.")
def prune_(
    grammar: Path, weight_files: tuple[Path, ...], rule: str, texts: tuple[Path, ...], output: Path | None,
    weights_output: Path | None,
) -> int:  # fmt: skip
    """Cut a grammar down to what its weights, or some texts, can reach.

    \b
    Examples:
      moire grammar prune math.ebnf --weights w.json -o small.ebnf
      moire grammar prune math.ebnf --like case1 --like case2
    """
    options.file_for(output)
    options.file_for(weights_output)
    with _sentences():
        rules = _read(grammar, rule)
        weights = _weights(rules, weight_files)
        if texts:
            weights = layered(rules, weights, merged(_counted(rules, path) for path in texts))
        small = prune(rules, weights)
    if weights_output is not None:
        options.write(weights_output, weights_of.text(weights_of.default(small)).encode())
    if output is None:
        click.echo(write(small), nl=False)
    else:
        options.write(output, write(small).encode())
    return Exit.DONE


@grammar.command("compile")
@_GRAMMAR
@_WEIGHTS
@_RULE
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The Python module to write.")
def compile_(grammar: Path, weight_files: tuple[Path, ...], rule: str, output: Path) -> int:
    """Write a grammar's generators as a Python module that needs nothing but Python.

    It gives the same texts as `sample` for the same seed and sizes.

    \b
    Examples:
      moire grammar compile math.ebnf -o gen.py
      python gen.py --count 100 --seed 7
    """
    options.file_for(output)
    with _sentences():
        rules = _read(grammar, rule)
        text = module(Source(rules, _weights(rules, weight_files)))
    options.write(output, text.encode())
    return Exit.DONE


def _change(text: str) -> tuple[str, int]:
    path, equals, number = text.rpartition("=")
    if not equals or not re.fullmatch(r"[0-9]{1,9}", number):
        raise UsageError(f"--set {text} is not PATH=N.", "Write for example start/alt/0=10.")
    return path, int(number)


@grammar.command()
@_GRAMMAR
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
@_WEIGHTS
@_RULE
@_SEED
@click.option("--iterations", default=10, show_default=True, type=click.IntRange(1), help="How many texts to try.")
@click.option("--max-size", default=50, show_default=True, type=click.IntRange(1, 1000), help="The size to grow to.")
@click.option("--like", type=click.Path(path_type=Path), metavar="FILE", help="Shrink this text, or find one like it.")
@click.option("--timeout", default=30.0, show_default=True, help="Seconds the command may take.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Commands at once.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A folder for the failing texts.")
@click.option("--weights-output", type=click.Path(path_type=Path), help="Where to write the weights that were used.")
@_JSON
def check(
    grammar: Path, command: tuple[str, ...], weight_files: tuple[Path, ...], rule: str, seed: int, iterations: int,
    max_size: int, like: Path | None, timeout: float, jobs: int, output: Path | None, weights_output: Path | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Run a command on generated texts until one fails, and shrink that one.

    The command gets the text as a file in place of {case}, or at its end. Exit 0 is a pass and any other
    code up to 125 a failure; a signal or a time-out is trouble, and ends the run with exit code 4.

    \b
    Examples:
      moire grammar check math.ebnf --iterations 50 -- ./harness.sh {case}
      moire grammar check math.ebnf --like old-failure.txt --json -- ./harness.sh {case}
    """
    if not 0 < timeout < math.inf:
        raise UsageError(f"--timeout {timeout:g} leaves no time.", "Give seconds above 0.")
    with _sentences():
        rules = _read(grammar, rule)
        weights = _weights(rules, weight_files)
        tree = _parsed(rules, like) if like is not None else None
        if tree is not None:
            weights = layered(rules, weights, counts(rules, [tree]))
        source = Source(rules, weights)
    options.folder_for(output)
    options.file_for(weights_output)
    if weights_output is not None:
        options.write(weights_output, weights_of.text(weights).encode())
    with tempfile.TemporaryDirectory(prefix="moire-") as folder, progress_bar() as bar:
        harness = _Harness(command, Path(folder), timeout, jobs, output)
        task = bar.add_task(grammar.name, total=None, found="")

        tried = 0

        def heard(step: Step) -> None:
            nonlocal tried
            tried += 1
            bar.update(task, advance=1)
            if step.failed:
                bar.update(task, found=f"{len(step.text)} characters fail")

        if tree is not None and not harness.holds([flat(tree)])[0]:
            # The text itself fails: its own derivation is the best to shrink.
            smallest = shrink(source, tree, harness.fails, batch=jobs, heard=heard)
            result = Result(False, 1, seed, flat(tree), flat(smallest), smallest, tried)
        else:
            result = check_property(
                source, harness.holds, iterations=iterations, max_size=max_size, seed=seed, batch=jobs, heard=heard
            )
        reason = "" if result.passed else harness.said.get(result.smallest or "", "")
    _tell(result, reason, as_json)
    if output is not None and not result.passed:
        try:
            options.write(output / "first-failure", (result.first_failure or "").encode())
            options.write(output / "smallest", (result.smallest or "").encode())
        except OSError as error:
            # Not the code of a text that fails: that one is told above, and not kept.
            raise HarnessError(f"Nothing can be written to {output}: {error.strerror}.", "Make room there.") from None
    return Exit.DONE if result.passed else Exit.ERROR


def _tell(result: Result, reason: str, as_json: bool) -> None:
    if as_json:
        row = {
            name: getattr(result, name) for name in ("passed", "trials", "first_failure", "smallest", "seed", "shrinks")
        }
        click.echo(json.dumps(row | {"reason": reason}, indent=1, ensure_ascii=False))
    elif result.passed:
        click.echo(f"{result.trials} texts passed.")
    else:
        click.echo(f"Text {result.trials} failed, and the smallest that fails after {result.shrinks} more is:")
        click.echo(result.smallest)
        click.echo(f"The command {reason}.", err=True)


def _last_line(errors: IO[bytes]) -> str:
    """Of what a command said, the end."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2000))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""


class _Harness:
    """A command that says by its exit code whether a property holds."""

    def __init__(
        self, command: Sequence[str], folder: Path, timeout: float, jobs: int, output: Path | None = None
    ) -> None:
        self._output = output
        self._command = list(command) if any("{case}" in word for word in command) else [*command, "{case}"]
        self._folder = folder
        self._timeout = timeout
        self._jobs = jobs
        # How the command ended on texts that failed.
        self.said: dict[str, str] = {}

    def fails(self, texts: Sequence[str]) -> list[bool]:
        return [not well for well in self.holds(texts)]

    def holds(self, texts: Sequence[str]) -> list[bool]:
        if len(texts) == 1 or self._jobs == 1:
            return [self._run(0, text) for text in texts]
        with ThreadPoolExecutor(self._jobs) as pool:
            runs = [pool.submit(self._run, slot, text) for slot, text in enumerate(texts)]
        answers: list[bool] = []
        for run in runs:
            # What comes behind a failure would not have been tried one by one: its trouble is none.
            if answers and not answers[-1] and run.exception() is not None:
                break
            answers.append(run.result())
        return answers

    def _run(self, slot: int, text: str) -> bool:
        case = self._folder / f"case-{slot}"
        case.write_text(text, "utf-8")
        words = [word.replace("{case}", str(case)) for word in self._command]
        with tempfile.TemporaryFile(dir=self._folder) as errors:
            code = self._ended(words, text, errors)
            if 0 < code <= 125:
                self.said[text] = f"ended with {code}{_last_line(errors)}"
        if code < 0:
            raise self._trouble(f"died of signal {-code}", text, "Mend the command first.")
        if code > 125:
            raise self._trouble(f"ended with {code}", text, "A failure is 1 to 125.")
        return code == 0

    def _ended(self, words: list[str], text: str, errors: IO[bytes]) -> int:
        nowhere = subprocess.DEVNULL
        try:
            # A group of its own: what the command starts ends with it.
            process = subprocess.Popen(words, stdin=nowhere, stdout=nowhere, stderr=errors, start_new_session=True)
        except OSError as error:
            raise UsageError(f"{words[0]} cannot be run: {error.strerror}.", "Check the command.") from None
        try:
            return process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            raise self._trouble(
                f"did not end within {self._timeout:g} seconds", text, "Give it more --timeout."
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _trouble(self, what: str, text: str, remedy: str) -> HarnessError:
        """The text goes where it can be looked at: it may be what is wrong."""
        if self._output is None:
            return HarnessError(f"{self._command[0]} {what} on {text[:60]!r}.", f"{remedy} -o keeps the whole text.")
        options.write(self._output / "trouble", text.encode())
        return HarnessError(f"{self._command[0]} {what} on {self._output / 'trouble'}.", remedy)
