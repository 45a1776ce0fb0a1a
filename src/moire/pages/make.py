"""Pages by the web's grammar: the same seed, size and weights give the same bytes, always.

The body comes first, with an id on every element, and then the style sheet, whose selectors name what is
there. A page is one file: nothing moves in it, nothing runs, and its images are part of it.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from .. import home
from ..grammar import Source, layered
from ..grammar.compile import Generators, code
from ..grammar.derive import Generator
from ..nouns import Case
from .spec import web

# Of a page's bytes, how many are body.
BODY_SHARE = 0.6
# A page's parts are small and many: size says how deep and how wide one of them may grow.
SIZES = (1, 2, 3, 4, 5, 6, 8)
SHEET_SIZES = (1, 2, 3)
# Parts of this size take some such room.
BYTES_A_SIZE = 200
_HEAD = "<!DOCTYPE html>\n<html><head><meta charset=utf-8><title>Moire</title>\n<style>\n"
_MIDDLE = "</style></head>\n<body>\n"
_TAIL = "</body></html>\n"


class Names:
    """The ids of one page."""

    def __init__(self) -> None:
        self._count = 0

    def forget(self) -> None:
        self._count = 0

    def functions(self) -> dict[str, Generator]:
        return {"new-id": self._new, "some-id": self._some}

    def _new(self, number: Callable[[], float], size: int) -> str:
        self._count += 1
        return f"e{self._count}"

    def _some(self, number: Callable[[], float], size: int) -> str:
        return f"e{1 + int(number() * max(1, self._count))}"


class Pages:
    """A source of pages. `weights` are complete, as `spec.web.weights` makes them or a layer over them."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._names = Names()
        self._generators = _generators(weights, self._names.functions())

    def page(self, seed: int, size: int) -> Case:
        """A page of about so many bytes."""
        return Case(self.text(seed, size).encode(), f"fuzz-{seed}.html", seed=seed)

    def text(self, seed: int, size: int) -> str:
        number = random.Random(seed).random
        self._names.forget()
        room = size - len(_HEAD) - len(_MIDDLE) - len(_TAIL)
        body = self._parts("flow", SIZES, room * BODY_SHARE, number)
        sheet = self._parts("rule", SHEET_SIZES, room - sum(map(len, body)), number)
        return "".join([_HEAD, *sheet, _MIDDLE, *body, _TAIL])

    def _parts(self, rule: str, sizes: tuple[int, ...], room: float, number: Callable[[], float]) -> list[str]:
        """Parts of one kind, each on its own line, until there is no more room; one at least."""
        parts: list[str] = []
        while True:
            able = 1 + sum(1 for size in sizes[1:] if size * BYTES_A_SIZE <= room)
            pieces = self._generators.pieces(number, sizes[int(number() * able)], rule)
            parts += pieces
            parts.append("\n")
            room -= sum(map(len, pieces)) + 1
            if room <= 0:
                return parts


def _generators(weights: Mapping[str, int], functions: Mapping[str, Generator]) -> Generators:
    """Compiled once, and kept for the next time."""
    key = json.dumps([sys.version, _origin(), sorted(weights.items())])
    kept = home.folder("generators") / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.code"
    try:
        return Generators(marshal.loads(kept.read_bytes()), functions)
    except (OSError, ValueError, EOFError, TypeError):
        pass
    grammar = web.grammar()
    made = code(Source(grammar, layered(grammar, weights), dict(functions)))
    home.keep(kept, marshal.dumps(made))
    return Generators(made, functions)


def _origin() -> str:
    """What the code is made by: it is stale as soon as any of that changes."""
    package = Path(__file__).parents[1]
    files = sorted([*(package / "grammar").glob("*.py"), *(package / "pages").rglob("*.*")])
    h = hashlib.sha256()
    for file in files:
        if file.suffix in (".py", ".json", ".ebnf", ".toml"):
            h.update(file.read_bytes())
    return h.hexdigest()
