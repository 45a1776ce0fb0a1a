"""The web-platform-tests that are about what a page has in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path

from .. import __version__, home
from ..browsers.git import git
from ..nouns import Build, Case, MoireError, UsageError
from ..pages.read import declared, features
from .test import read

# Tests that share fewer rare features than this with a page are not about it.
LEAST = 1.0
_SUFFIXES = (".html", ".htm", ".xht", ".xhtml", ".svg")
# Folders of a checkout that hold no tests of rendering.
_ASIDE = frozenset([".git", "tools", "resources", "common", "support", "docs", "fonts", "images", "infrastructure"])


def words(case: Case) -> frozenset[str]:
    """A page's tags, and the properties that it and its operations set."""
    found = features(case.html)
    return frozenset([*(f"<{tag}>" for tag in found.tags), *declared(case)])


class Checkout:
    """The tests of a checkout by what is in them. Reading them takes a while: it is done once for each state of it."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"There is no folder {root}.", "Give --wpt a checkout of web-platform-tests.")
        self.root = root
        files = sorted(_files(root))
        state = [(str(file.relative_to(root)), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
        key = repr((__version__, str(root.resolve()), state))
        known = home.remembered("wpt", key, lambda: _index(root, files))
        if not known:
            raise UsageError(f"There are no tests in {root}.", "Give --wpt a checkout of web-platform-tests.")
        self._words: Mapping[str, tuple[str, ...]] = known
        self._touched: dict[tuple[Build, Build], frozenset[str] | None] = {}
        self._often = Counter(word for own in known.values() for word in own)

    def __len__(self) -> int:
        return len(self._words)

    def near(
        self, case: Case, most: int, among: Collection[str] | None = None, besides: Collection[bytes] = ()
    ) -> list[str]:
        """The paths of tests that have most in common with a page, rare things first; `besides` are texts of those that
        do not count. Those `among` others are about the page for another reason, whatever they share."""
        own = words(case)
        scores: dict[str, float] = {}
        for path, others in self._words.items():
            shared = own.intersection(others)
            score = sum(math.log(len(self._words) / self._often[word]) for word in shared)
            # Of two that share as much, the one that is about nothing else is nearer.
            if score >= LEAST if among is None else path in among:
                scores[path] = score / math.sqrt(max(1, len(others)))
        best = sorted(scores, key=lambda path: (-scores[path], path))
        return list(islice((path for path in best if (self.root / path).read_bytes() not in besides), most))

    def touched(self, before: Build, after: Build) -> frozenset[str] | None:
        """Tests that were changed between two builds, where the checkout is a part of the repository that they were
        built from: a commit each, or a tag of their version, as Chromium's are. None if it is not."""
        if (before, after) not in self._touched:
            try:
                first, last = (_revision(self.root, build) for build in (before, after))
                changed = git(self.root, "diff", "--name-only", "--relative", "-z", first, last).split("\0")
                self._touched[before, after] = frozenset(path for path in changed if path in self._words)
            except MoireError:
                self._touched[before, after] = None
        return self._touched[before, after]


def _revision(root: Path, build: Build) -> str:
    if build.version.startswith("r"):
        # A position on Chromium's main line.
        mark = f"^Cr-Commit-Position: refs/heads/[a-z]*@{{#{build.version[1:]}}}"
        found = git(root, "log", "--all", "-1", "--format=%H", f"--grep={mark}")
        if not found:
            raise UsageError(f"No commit is {build.version}.")
        return found
    for name in (build.name, build.version):
        try:
            return git(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
        except UsageError:
            continue
    raise UsageError(f"No commit is {build.name}.")


def _files(root: Path) -> Iterable[Path]:
    for entry in root.iterdir():
        if entry.is_dir() and not entry.is_symlink() and entry.name not in _ASIDE:
            yield from _files(entry)
        elif entry.is_file() and entry.suffix in _SUFFIXES:
            yield entry


def _index(root: Path, files: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for file in files:
        path = str(file.relative_to(root))
        case = Case(file.read_bytes(), path)
        if read(case).kind != "none":
            found[path] = tuple(sorted(words(case)))
    return found
