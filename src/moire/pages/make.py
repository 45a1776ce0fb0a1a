"""Pages by the web's grammar: the same seed, size and weights give the same bytes, always.

The body comes first, with an id on every element, and then the style sheet, whose selectors name what is
there. A page is one file: nothing moves in it, nothing runs, and its images are part of it.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import CodeType

from .. import home
from ..grammar import GrammarError, Source, layered
from ..grammar.compile import Generators, code
from ..grammar.derive import Generator
from ..grammar.model import Reference, bare, children
from ..nouns import Case, UsageError
from .combine import Combinations
from .spec import web

# Of a page's bytes, how many are body.
BODY_SHARE = 0.6
# A page's parts are small and many: size says how deep and how wide one of them may grow.
SIZES = (1, 2, 3, 4, 5, 6, 8)
SHEET_SIZES = (1, 2, 3)
# Elements that anything may stand in.
HOLDERS = frozenset(
    ["article", "b", "blockquote", "button", "div", "em", "fieldset", "footer", "h1", "main", "nav", "p", "pre",
     "section", "span", "sub", "u"]
)  # fmt: skip
# Rules whose alternatives can be favoured: one a property, or one an element.
FAVOURABLE = ("declaration", "flow", "phrasing")
# Parts of this size take some such room.
BYTES_A_SIZE = 200
_HEAD = "<!DOCTYPE html>\n<html><head><meta charset=utf-8><title>Moire</title>\n<style>\n"
_MIDDLE = "</style></head>\n"
_BODY, _TAIL = "<body>\n", "</body></html>\n"
# One page of so many is a set of frames, where these are among what is to be shown.
FRAMES, PAGES_A_FRAMESET = "html-frameset", 500


class Names:
    """The ids of one page."""

    def __init__(self) -> None:
        self._count = 0

    def forget(self, but: int = 0) -> None:
        self._count = but

    def functions(self) -> dict[str, Generator]:
        return {"new-id": self._new, "some-id": self._some}

    def new(self) -> str:
        self._count += 1
        return f"e{self._count}"

    def _new(self, number: Callable[[], float], size: int) -> str:
        return self.new()

    def _some(self, number: Callable[[], float], size: int) -> str:
        return f"e{1 + int(number() * max(1, self._count))}"


class Pages:
    """A source of pages. `weights` are complete, as `spec.web.weights` makes them or a layer over them. Those of
    `adjustable` pages can be changed later; the same seed gives other pages then."""

    def __init__(self, weights: Mapping[str, int], *, adjustable: bool = False) -> None:
        self._names = Names()
        self.weights = weights
        self._adjustable = adjustable
        self._favoured = False

    @cached_property
    def _generators(self) -> Generators:
        """They take a while to make: not before a page is wanted."""
        return _generators(self.weights, self._names.functions(), self._adjustable)

    @cached_property
    def _source(self) -> Source:
        return _source(self.weights, self._names.functions())

    def reweigh(self, weights: Mapping[str, int]) -> None:
        """Other weights from the next page on; none that was 0 at first is more than that."""
        assert self._adjustable
        before = self._source
        if weights != before.weights:
            self._source = before.reweighed(weights)
            owners = before.grammar.owners
            changed = {owners[edge] for edge, weight in weights.items() if weight != before.weights[edge]}
            # Where no edge was ruled out, every choice but those is as it was.
            self._generators.reweigh(self._source, changed if self._source.heights is before.heights else None)

    def page(self, seed: int, size: int) -> Case:
        """A page of about so many bytes."""
        return Case(self.text(seed, size).encode(), f"fuzz-{seed}.html", seed=seed)

    def text(self, seed: int, size: int) -> str:
        number = random.Random(seed).random
        self._names.forget()
        room = size - len(_HEAD) - len(_MIDDLE) - len(_BODY) - len(_TAIL)
        if number() * PAGES_A_FRAMESET < 1 and FRAMES in self._generators.rules:
            body = [self._generators.drawn(number, SIZES[-1], FRAMES), "</html>\n"]
        else:
            body = [_BODY, *self._parts("flow", SIZES, room * BODY_SHARE, number), _TAIL]
        sheet = self._parts("rule", SHEET_SIZES, room - sum(map(len, body[1:-1])), number)
        return "".join([_HEAD, *sheet, _MIDDLE, *body])

    @property
    def features(self) -> list[str]:
        """Properties (`color:`) and tags that these weights generate, for combinations."""
        rules = web.grammar().rules
        declared = [n for p, n in children("declaration", rules["declaration"]) if self.weights[p]]
        held = [bare(n) for p, n in children("flow", rules["flow"]) if self.weights[p]]
        tags = {node.rule.removeprefix("html-") for node in held if isinstance(node, Reference)}
        return sorted([*map(web.first_text, declared), *(tags & HOLDERS)])

    @cached_property
    def favourable(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Properties (`color:`) and elements that can be favoured, each with its places in the grammar."""
        found: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for rule in FAVOURABLE:
            for n, (path, node) in enumerate(children(rule, web.grammar().rules[rule])):
                inner = bare(node)
                element = inner.rule if isinstance(inner, Reference) and inner.rule.startswith("html-") else ""
                name = web.first_text(node) if rule == "declaration" else element.removeprefix("html-")
                if self.weights[path] and name:
                    found[name].append((rule, n))
        return dict(found)

    def favour(self, features: Mapping[str, float]) -> None:
        """Use some features so many times as often as usual, from the next page on, and all others as usual."""
        if not features and not self._favoured:
            return
        self._favoured = bool(features)
        factors: dict[str, dict[int, float]] = {rule: {} for rule in FAVOURABLE}
        for name, factor in features.items():
            for rule, n in self.favourable.get(name, ()):
                factors[rule][n] = factor
        for rule, own in factors.items():
            self._generators.favour(rule, own)

    def combined(self, seed: int, size: int, combinations: Combinations, first: int) -> tuple[Case, int]:
        """A page of combinations from a place on, each in an element of its own, and the place after them."""
        number = random.Random(seed).random
        self._names.forget()
        room = size - len(_HEAD) - len(_MIDDLE) - len(_BODY) - len(_TAIL)
        parts: list[str] = []
        place = first
        while (room > 0 or place == first) and place < len(combinations) + first:
            part = self._combination(combinations[place], number)
            parts.append(part)
            room -= len(part)
            place += 1
        text = "".join([_HEAD, _MIDDLE, _BODY, *parts, _TAIL])
        return Case(text.encode(), f"fuzz-{seed}.html", seed=seed), place

    def _combination(self, features: tuple[str, ...], number: Callable[[], float]) -> str:
        """The tags within each other, all of them with all the properties."""
        properties = [name for name in features if name.endswith(":")]
        tags = [name for name in features if not name.endswith(":")] or ["div"]
        style = ";".join(name + self._generators.drawn(number, 2, f"css-{name[:-1]}") for name in properties)
        styled = f' style="{style}"' if style else ""
        opening = "".join(f"<{tag} id={self._names.new()}{styled}>" for tag in tags)
        inner = self._generators.drawn(number, 2, "phrasing")
        return f"{opening}{inner}{''.join(f'</{tag}>' for tag in reversed(tags))}\n"

    def makes(self, rule: str) -> bool:
        return rule in self._generators.rules

    def part(self, rule: str, size: int, number: Callable[[], float], named: int) -> str:
        """What may be put into a page that has the ids up to a number already."""
        self._names.forget(but=named)
        return self._generators.drawn(number, size, rule)

    def _parts(self, rule: str, sizes: tuple[int, ...], room: float, number: Callable[[], float]) -> list[str]:
        """Parts of one kind, each on its own line, until there is no more room; one at least."""
        parts: list[str] = []
        while True:
            able = 1 + sum(1 for size in sizes[1:] if size * BYTES_A_SIZE <= room)
            parts.append(self._generators.drawn(number, sizes[int(number() * able)], rule) + "\n")
            room -= len(parts[-1])
            if room <= 0:
                return parts


def _source(weights: Mapping[str, int], functions: Mapping[str, Generator]) -> Source:
    grammar = web.grammar()
    try:
        return Source(grammar, layered(grammar, weights), dict(functions))
    except GrammarError as error:
        raise UsageError(f"These weights make no pages: {error}", "Rule out less.") from None


def _generators(weights: Mapping[str, int], functions: Mapping[str, Generator], adjustable: bool) -> Generators:
    def compiled() -> CodeType:
        return code(_source(weights, functions), (lambda path: True) if adjustable else FAVOURABLE.__contains__)

    key = json.dumps([web.origin(), adjustable, FAVOURABLE, sorted(weights.items())])
    return Generators(home.remembered("generators", key, compiled), functions)
