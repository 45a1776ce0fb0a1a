"""The builds of one history in their order: those on the shelf and those that a source offers, a list of any builds, or
the commits of a git repository with a command that builds them."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .. import home
from ..nouns import Build, MoireError, UsageError
from . import names, shelf
from .download import Progress
from .git import git
from .sources.base import Offer

Ready = Callable[[Progress], Build]


@dataclass(frozen=True)
class Stop:
    """One build of a history. `ready` fetches or builds it, if that is still to be done."""

    name: str
    ready: Ready


def between(first: Build, last: Build, source: str = "", base_url: str = "", *, offered: bool = True) -> list[Stop]:
    """From one build to another of the same engine, both included; those on the shelf only, unless what is `offered`
    counts, too."""
    if first.engine != last.engine or not first.position or not last.position:
        raise UsageError(
            f"{first.name} and {last.name} have no history in common.", "Name two builds of one engine, or a --history."
        )
    if first.same_program(replace(last, flags=first.flags, environ=first.environ, prefs=first.prefs)):
        # One program with and without a flag.
        return [_known(first), _known(last)]
    if (first.flags, first.environ, first.prefs) != (last.flags, last.environ, last.prefs):
        raise UsageError("The two builds have other arguments.", "Give both the same ones.")
    if first.position >= last.position:
        raise UsageError(
            f"{last.name} is not newer than {first.name}.",
            "Name the older one first; with --find-fix, the good one is the newer.",
        )
    found: dict[tuple[int, ...], Stop] = {}
    if source:
        # One that there is not is told, whatever else is asked for.
        shelf.sources(source, base_url)
    if offered:
        for offer in _offers(first, last, source, base_url):
            ready = partial(_installed, offer, base_url, first)
            found[shelf.position(offer.version)] = Stop(_with_arguments(offer.name, first), ready)
    for build in shelf.installed():
        if build.engine == first.engine and (not source or build.source == source):
            name = _with_arguments(f"{build.engine}@{build.version}", first)
            same = replace(build, name=name, flags=first.flags, environ=first.environ, prefs=first.prefs)
            found[build.position] = _known(same)
    inner = [found[place] for place in sorted(found) if first.position < place < last.position]
    return [_known(first), *inner, _known(last)]


def _known(build: Build) -> Stop:
    return Stop(build.name, lambda progress: build)


def _with_arguments(name: str, like: Build) -> str:
    _, asked, arguments = like.name.partition("?")
    return f"{name}{asked}{arguments}"


def _offers(first: Build, last: Build, source: str, base_url: str) -> Iterable[Offer]:
    version = "r" if first.version.startswith("r") else ""
    for place in shelf.sources(source or ("snapshots" if version else ""), base_url):
        for offer in place.offers(first.engine, version):
            if first.position < shelf.position(offer.version) < last.position:
                yield offer


def _installed(offer: Offer, base_url: str, like: Build, progress: Progress) -> Build:
    build = shelf.install(offer.name, offer.source, base_url, progress).build
    name = _with_arguments(offer.name, like)
    return replace(build, name=name, flags=like.flags, environ=like.environ, prefs=like.prefs)


def listed(file: Path, first: str | None = None, last: str | None = None) -> list[Stop]:
    """Builds by name, one a line, the oldest first; from one of them to another, where they are given."""
    try:
        lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{file} cannot be read.", "Give a text file with one build a line.") from None
    wanted = [line for line in lines if line and not line.startswith("#")]
    if len(wanted) < 2:
        raise UsageError(f"{file} names no history.", "Write two builds at least, one a line, the oldest first.")
    twice = next((name for name in wanted if wanted.count(name) > 1), "")
    if twice:
        raise UsageError(f"{file} names {twice} twice.", "Name each build once.")
    unknown = next((name for name in (first, last) if name is not None and name not in wanted), None)
    if unknown is not None:
        raise UsageError(f"{file} does not name {unknown}.", "Name it there, or leave it out here.")
    begin = wanted.index(first) if first else 0
    end = wanted.index(last) if last else len(wanted) - 1
    if begin >= end:
        raise UsageError(f"{wanted[end]} does not come after {wanted[begin]}.", "The oldest comes first.")
    # What both ends are is known now; those between may still turn out to be nothing.
    for name in (wanted[begin], wanted[end]):
        names.resolve(name)
    return named(wanted[begin : end + 1])


def named(names_: Iterable[str]) -> list[Stop]:
    return [Stop(name, partial(_named, name)) for name in names_]


def _named(name: str, progress: Progress) -> Build:
    return names.resolve(name)


def stamps(words: Iterable[str]) -> list[tuple[str, int, int]]:
    """Of words that name files, how the files are told from others of the same name."""
    files = sorted({word for word in words if os.path.isfile(word)})
    return [(file, (told := os.stat(file)).st_mtime_ns, told.st_size) for file in files]


def commits(folder: Path, first: str, last: str, command: str, runs: str) -> list[Stop]:
    """First parents from one commit to another. `command` builds `{commit}` into `{out}`; `runs` is the build that it
    makes, as builds are written."""
    if "{commit}" not in command or "{out}" not in command:
        raise UsageError("The build command must say where {commit} and {out} go.", "Write './build {commit} {out}'.")
    try:
        shlex.split(command)
    except ValueError as error:
        raise UsageError(f"The build command is no command line: {error}.", "Check its quotes.") from None
    known = [git(folder, "rev-parse", "--verify", f"{name}^{{commit}}") for name in (first, last)]
    every = git(folder, "rev-list", "--first-parent", "--reverse", f"{known[0]}..{known[1]}").split()
    if not every or known[1] not in every:
        raise UsageError(f"{first} does not come before {last} in {folder}.", "Name the older commit first.")
    parents = git(folder, "rev-list", "--first-parent", known[1]).split()
    if known[0] not in parents:
        raise UsageError(f"{first} is no first parent of {last}.", "Name commits of one branch.")
    place = home.folder("commits") / hashlib.sha256(f"{folder.resolve()}\0{command}".encode()).hexdigest()[:16]
    return [
        Stop(commit, partial(_built, folder, commit, command, runs, place / commit)) for commit in [known[0], *every]
    ]


def _built(folder: Path, commit: str, command: str, runs: str, out: Path, progress: Progress) -> Build:
    """Once, however many ask for it: what is not built whole is not there."""
    # One at a time: commands may well check the commit out.
    with home.lock(f"commits-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"):
        # Built where it stays, since builds may hold their own place; the mark says that it is whole.
        mark = out.with_name(f"{commit}.built")
        if not mark.exists():
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            filled = [word.replace("{commit}", commit).replace("{out}", str(out)) for word in shlex.split(command)]
            progress(commit, 0, 0)
            try:
                done = subprocess.run(filled, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
                said = (done.stderr or done.stdout).strip().splitlines()
                if done.returncode:
                    words = said[-1] if said else f"exit {done.returncode}"
                    raise MoireError(f"{commit} cannot be built: {words}.")
                mark.touch()
            except OSError as error:
                raise MoireError(f"{commit} cannot be built: {error.strerror}.") from None
            finally:
                if not mark.exists():
                    shutil.rmtree(out, ignore_errors=True)
    return names.resolve(runs.replace("{out}", str(out)).replace("{commit}", commit)).named(commit)


def link(first: Build, last: Build) -> str:
    """Where the commits between two builds can be read; empty where that is not known."""
    if first.engine == "chromium" and not first.version.startswith("r") and re.fullmatch(r"[\d.]+", last.version):
        return (
            f"https://chromium.googlesource.com/chromium/src/+log/{first.version}..{last.version}?pretty=fuller&n=10000"
        )
    if first.engine == "chromium" and first.version.startswith("r") and last.version.startswith("r"):
        # Positions are numbers of main's commits.
        return f"https://crrev.com/{first.version[1:]} to https://crrev.com/{last.version[1:]}"
    if first.engine == "firefox":
        tags = [f"FIREFOX_{build.version.replace('.', '_')}_RELEASE" for build in (first, last)]
        return f"https://hg.mozilla.org/mozilla-unified/pushloghtml?fromchange={tags[0]}&tochange={tags[1]}"
    return ""
