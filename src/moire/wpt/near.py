"""The web-platform-tests that are about what a page has in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from .. import home
from ..nouns import Case, UsageError
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
        known = home.remembered("wpt", repr((str(root.resolve()), state)), lambda: _index(root, files))
        self._words: Mapping[str, tuple[str, ...]] = known
        self._often = Counter(word for own in known.values() for word in own)

    def __len__(self) -> int:
        return len(self._words)

    def near(self, case: Case, most: int) -> list[str]:
        """The paths of tests that have most in common with a page, rare things first; never the page itself."""
        own = words(case)
        scores: dict[str, float] = {}
        for path, others in self._words.items():
            shared = own.intersection(others)
            score = sum(math.log(len(self._words) / self._often[word]) for word in shared)
            # Of two that share as much, the one that is about nothing else is nearer.
            if score >= LEAST:
                scores[path] = score / math.sqrt(len(others))
        best = sorted(scores, key=lambda path: (-scores[path], path))
        return [path for path in best[: most + 1] if (self.root / path).read_bytes() != case.html][:most]


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
