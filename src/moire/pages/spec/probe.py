"""What a build takes, found out by asking it: the data says what there is, only the build says what it knows.

Every alternative of every value is tried in a few declarations that go through it. What the build refuses in
all of them is left out of what is generated for it. A value may be refused for something inside it, so the
innermost alternatives are settled first.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...grammar import Source, flat
from ...grammar.compile import generators
from ...grammar.model import Alt, Cat, Grammar, Literal, Node, Opt, Pattern, Reference, Star, bare, children
from ...grammar.tree import Tree
from . import markup, web
from .snapshot import load

# Asked of a build: which of these declarations, as (property, value), does it take; which selectors; which elements?
Declarations = Callable[[Sequence[tuple[str, str]]], Awaitable[Sequence[bool]]]
Selectors = Callable[[Sequence[str]], Awaitable[Sequence[bool]]]
Elements = Callable[[Sequence[tuple[str, str]]], Awaitable[Sequence[bool]]]


@dataclass(frozen=True, slots=True)
class Ask:
    declarations: Declarations
    selectors: Selectors
    elements: Elements


@dataclass(frozen=True, slots=True)
class Support:
    """`refused` are the edges that a build takes nothing through; `rates` say, for the edge of each property,
    how much of what is generated there it takes."""

    refused: tuple[str, ...]
    rates: Mapping[str, float]

    @property
    def properties(self) -> list[str]:
        """Those that the build knows."""
        refused = set(self.refused)
        declared = children("declaration", web.grammar().rules["declaration"])
        return [web.first_text(node).rstrip(":") for edge, node in declared if edge not in refused]

    def over(self, weights: Mapping[str, int]) -> dict[str, int]:
        """Weights for pages that this build should understand."""
        told = self.refused, sorted(self.rates.items())
        return web.remembered("support", weights, told, lambda: self._over(weights))

    def _over(self, weights: Mapping[str, int]) -> dict[str, int]:
        found = dict(weights)
        for edge in self.refused:
            found[edge] = 0
        for edge, rate in self.rates.items():
            # Little is lost with what is seldom taken, and much gained: a refused declaration tests nothing.
            found[edge] = max(min(found[edge], 1), round(found[edge] * rate**4))
        return web.pinched(web.grammar(), found)


# Declarations of each property to tell its rate by.
RATED = 30
ROUNDS = 4
# Declarations for one alternative, in one round: as small as can be, and some that are not.
SAMPLES = 4
CONTEXTS = 3
# Rules that only put parts in order: what is refused in them is refused in the parts.
_ORDER = re.compile(r"\.any\d+\.[0-9a-f]+$")


async def support(ask: Ask) -> Support:
    grammar = web.grammar()
    everything = web.weights(web.ALL)
    weights = dict(everything)
    await _features(grammar, weights, ask)
    taken: set[str] = set()
    failing: dict[str, bool] = {}
    for _ in range(ROUNDS):
        weights = web.pinched(grammar, weights)
        failing = await _round(grammar, weights, ask, taken)
        gone = [edge for edge, ends in failing.items() if ends]
        weights.update(dict.fromkeys(gone, 0))
        if not gone:
            break
    weights.update(dict.fromkeys(failing, 0))
    weights = web.pinched(grammar, weights)
    rates = await _rates(grammar, weights, ask)
    return Support(tuple(sorted(e for e, weight in weights.items() if not weight and everything[e])), rates)


async def _rates(grammar: Grammar, weights: dict[str, int], ask: Ask) -> dict[str, float]:
    """How much of what is generated for each property is taken after all: a value that one property takes
    may be refused by another that names the same type."""
    make = generators(Source(grammar, weights))
    declared = children("declaration", grammar.rules["declaration"])
    named = ((edge, web.first_text(node).rstrip(":")) for edge, node in declared if weights[edge])
    # A property without a value of its own left still has those that every property takes.
    edges = [(edge, name) for edge, name in named if f"css-{name}" in make.rules]
    asked: list[tuple[str, str]] = []
    for _, name in edges:
        asked += [(name, make.generate(seed, 1 + seed % 6, f"css-{name}")) for seed in range(RATED)]
    answers = await ask.declarations(asked)
    return {edge: sum(answers[n * RATED : (n + 1) * RATED]) / RATED for n, (edge, _) in enumerate(edges)}


async def _features(grammar: Grammar, weights: dict[str, int], ask: Ask) -> None:
    """Properties, selectors and elements as a whole."""
    declared = list(children("declaration", grammar.rules["declaration"]))
    properties = [web.first_text(node).rstrip(":") for _, node in declared]
    for (edge, _), known in zip(declared, await ask.declarations([(p, "inherit") for p in properties]), strict=True):
        weights[edge] *= known
    for rule in ("pseudo-class", "pseudo-element"):
        options = list(children(rule, grammar.rules[rule]))
        source = Source(grammar, weights)
        texts = ["a" + flat(source.smallest_node(path, node)) for path, node in options]
        for (edge, _), known in zip(options, await ask.selectors(texts), strict=True):
            weights[edge] *= known
    elements = [e for space in load().elements.values() for e in space.values() if e.name]
    answers = await ask.elements([(e.space, e.name) for e in elements])
    blocked = {markup.rule(e) for e, known in zip(elements, answers, strict=True) if not known}
    web.pinched(grammar, weights, blocked)


async def _round(grammar: Grammar, weights: dict[str, int], ask: Ask, taken: set[str]) -> dict[str, bool]:
    """Edges that were refused in every declaration tried, and whether there is nothing more inside them."""
    source = Source(grammar, weights)
    samples = _Samples(source)
    asked: list[tuple[str, tuple[str, str]]] = []
    ends: dict[str, bool] = {}
    for path, choice in samples.choices():
        for edge, child in children(path, choice):
            if weights[edge] and edge not in taken:
                ends[edge] = isinstance(bare(child), Literal | Pattern)
                asked += [(edge, one) for one in samples.through(edge, child)]
    answers = await ask.declarations([one for _, one in asked])
    taken.update(edge for (edge, _), well in zip(asked, answers, strict=True) if well)
    tried = {edge for edge, _ in asked}
    return {edge: end for edge, end in ends.items() if edge in tried and edge not in taken}


class _Samples:
    """Declarations that go through a given alternative."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._grammar = source.grammar
        self._small: dict[str, str] = {}
        # For each rule, references to it that lie on a shortest way from a declaration.
        self._above: dict[str, list[str]] = {"declaration": []}
        waiting = deque(["declaration"])
        while waiting:
            rule = waiting.popleft()
            for path, node in self._live(rule):
                if not isinstance(node, Reference) or node.rule == "wide":
                    continue
                name = node.rule
                new = name not in self._above
                known = self._above.setdefault(name, [])
                if new:
                    waiting.append(name)
                if len(known) < CONTEXTS and not any(k.split("/")[0] == rule and rule != "declaration" for k in known):
                    known.append(path)

    def _live(self, rule: str) -> Iterator[tuple[str, Node]]:
        """A rule's nodes that can be generated, from the top down."""
        waiting = deque([(rule, self._grammar.rules[rule])])
        while waiting:
            path, node = waiting.popleft()
            yield path, bare(node)
            waiting += [(p, n) for p, n in children(path, node) if self._source.weights.get(p, 1)]

    def choices(self) -> Iterator[tuple[str, Alt | Opt | Star]]:
        for rule in self._above:
            if rule != "declaration" and not _ORDER.search(rule):
                yield from ((path, node) for path, node in self._live(rule) if isinstance(node, Alt | Opt | Star))

    def through(self, edge: str, child: Node) -> list[tuple[str, str]]:
        inner = [flat(self._source.smallest_node(edge, child))]
        if not isinstance(bare(child), Literal):
            inner += [flat(self._made(edge, child, seed)) for seed in range(1, SAMPLES)]
        found = []
        for n, text in enumerate(dict.fromkeys(inner)):
            rule = edge.split("/")[0]
            for context in range(CONTEXTS if n == 0 else 1):
                whole = self._outward(self._spliced(edge, text), rule, context, set())
                if whole is not None:
                    name, _, value = whole.partition(":")
                    found.append((name, value))
        return list(dict.fromkeys(found))

    def _made(self, path: str, node: Node, seed: int) -> Tree:
        return self._source.derive_node(path, node, seed, 1 + seed % 2)

    def _outward(self, text: str, rule: str, context: int, passed: set[str]) -> str | None:
        """The text of a rule, within a declaration."""
        while rule != "declaration":
            ways = [path for path in self._above[rule] if path.split("/")[0] not in passed]
            if not ways:
                return None
            path = ways[min(context, len(ways) - 1)]
            passed.add(rule)
            text = self._spliced(path, text)
            rule = path.split("/")[0]
        return text

    def _spliced(self, path: str, inner: str) -> str:
        """The smallest text of a path's rule that goes through it, with `inner` in its place."""
        rule, *steps = path.split("/")
        here, node = rule, bare(self._grammar.rules[rule])
        before, after = "", ""
        for kind, index in zip(steps[::2], steps[1::2], strict=True):
            at = int(index)
            if isinstance(node, Alt):
                here, node = f"{here}/{kind}/{index}", bare(node.options[at])
                continue
            below = list(children(here, node))
            if isinstance(node, Cat):
                before += "".join(self._smallest(p, n) for p, n in below[:at])
                after = "".join(self._smallest(p, n) for p, n in below[at + 1 :]) + after
            here, node = f"{here}/{kind}/{index}", bare(below[at][1])
        return before + inner + after

    def _smallest(self, path: str, node: Node) -> str:
        if path not in self._small:
            self._small[path] = flat(self._source.smallest_node(path, bare(node)))
        return self._small[path]
