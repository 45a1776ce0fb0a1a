"""Generation: a grammar, weights, a size and a seed give one derivation, always the same one.

Size starts small and grows, as in QuickCheck: it bounds repetitions, and halves each time a rule leads
back to itself. Once it is used up, or the derivation has taken enough steps (a repetition is one, and so is
a rule that may lead back to itself), only the shortest way to an end is taken, so that every derivation
ends, through self- and mutual recursion alike.
"""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from .ebnf import read
from .model import (
    NIL,
    Alt,
    Cat,
    Grammar,
    GrammarError,
    Hidden,
    Literal,
    Node,
    Not,
    Opt,
    Pattern,
    Plus,
    Reference,
    Star,
    children,
    deep,
)
from .patterns import Chars, OneOf, Part, Repeat, Sequence, parts
from .tree import Tree, flat
from .weights import Heights, Weights, check, default, height

# Steps a derivation may take before it hurries to an end, for each unit of size.
STEPS_A_SIZE = 100
# Trials of one seed and the next share no derivation.
SEEDS_A_RUN = 1_000_003

# A Python function that stands in for a rule: from a source of numbers in [0, 1) and a size to a text.
Generator = Callable[[Callable[[], float], int], str]


@dataclass(frozen=True)
class Source:
    """A grammar made ready to generate from. `overrides` gives some rules to other rules or to functions."""

    grammar: Grammar
    weights: Weights
    overrides: Mapping[str, str | Generator] = field(default_factory=dict)
    heights: Heights = field(default_factory=dict, repr=False, compare=False)
    _options: dict[tuple[str, bool], list[tuple[int, int]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not self.heights:
            object.__setattr__(self, "heights", check(self.grammar, self.weights))
        for name, other in self.overrides.items():
            if name not in self.grammar.rules or (isinstance(other, str) and other not in self.grammar.rules):
                raise GrammarError(f"The override of {name!r} names a rule that the grammar does not have.")

    def reweighed(self, weights: Weights) -> Source:
        """The same by other weights. Where those rule out the same edges, nothing need be worked out again."""
        same = all(bool(weight) == bool(self.weights[edge]) for edge, weight in weights.items())
        return replace(self, weights=weights, heights=self.heights if same else {})

    @cached_property
    def loops(self) -> dict[str, set[str]]:
        return _loops(self.grammar)

    def derive(self, seed: int, size: int, rule: str = "") -> Tree:
        name = rule or self.grammar.start
        if name not in self.grammar.rules:
            raise GrammarError(f"There is no rule {name!r}.")
        # Of all that `random` has, only `random()` is promised to give the same numbers for ever.
        with deep():
            return _Derivation(self, random.Random(seed).random, STEPS_A_SIZE * (size + 1)).rule(name, size)

    def options(self, path: str, node: Alt, *, hurry: bool) -> list[tuple[int, int]]:
        """Edges that may be taken, with their weights; in a hurry, only those nearest to an end."""
        if (path, hurry) not in self._options:
            able = [(edge, p, n) for edge, (p, n) in enumerate(children(path, node)) if self.weights[p]]
            if hurry and len(able) > 1:
                by_height = [height(p, n, self.weights, self.heights) for _, p, n in able]
                least = min(by_height)
                able = [one for one, h in zip(able, by_height, strict=True) if h == least]
            self._options[path, hurry] = [(edge, self.weights[p]) for edge, p, _ in able]
        return self._options[path, hurry]

    def smallest(self, rule: str) -> Tree:
        """The shortest way to an end, with the first character of every set."""
        with deep():
            return self._shortest().rule(rule, 0)

    def smallest_node(self, path: str, node: Node) -> Tree:
        with deep():
            return self._shortest().node(path, node, path.split("/")[0], 0)

    def derive_node(self, path: str, node: Node, seed: int, size: int) -> Tree:
        """A derivation of one node, wherever it is."""
        with deep():
            derivation = _Derivation(self, random.Random(seed).random, STEPS_A_SIZE * (size + 1))
            return derivation.node(path, node, path.split("/")[0], size)

    def smallest_part(self, part: Part) -> Tree:
        return self._shortest().part(part, 0)

    def _shortest(self) -> _Derivation:
        return _Derivation(self, lambda: 0.0, 1)


def source(grammar: Grammar, weights: Weights | None = None) -> Source:
    return Source(grammar, default(grammar) if weights is None else weights)


def _loops(grammar: Grammar) -> dict[str, set[str]]:
    """For each rule, those before it (or itself) that it leads back to: every way round a recursion goes
    through such a step, and size halves there."""
    order = {name: n for n, name in enumerate(grammar.rules)}
    uses: dict[str, set[str]] = {}
    for path, node in grammar.nodes():
        if isinstance(node, Reference):
            uses.setdefault(path.split("/")[0], set()).add(node.rule)
    component = _components(list(grammar.rules), uses)
    return {
        name: {used for used in uses.get(name, ()) if component[used] == component[name] and order[used] <= order[name]}
        for name in grammar.rules
    }


def _components(names: list[str], uses: Mapping[str, set[str]]) -> dict[str, int]:
    """Strongly connected components, by Tarjan's algorithm without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    component: dict[str, int] = {}
    stack: list[str] = []
    for root in names:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        work = [(root, iter(sorted(uses.get(root, ()))))]
        while work:
            name, rest = work[-1]
            for used in rest:
                if used not in index:
                    index[used] = low[used] = len(index)
                    stack.append(used)
                    work.append((used, iter(sorted(uses.get(used, ())))))
                    break
                if used not in component:
                    low[name] = min(low[name], index[used])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    while True:
                        member = stack.pop()
                        component[member] = index[name]
                        if member == name:
                            break
    return component


class _Derivation:
    """What is chosen here, and in which order numbers are drawn, `compile.py` writes as code: the two are
    to give the same text for the same seed."""

    def __init__(self, source: Source, number: Callable[[], float], steps: int) -> None:
        self._source = source
        self._number = number
        self._steps = steps

    def rule(self, name: str, size: int) -> Tree:
        other = self._source.overrides.get(name, name)
        if not isinstance(other, str):
            return Tree(name, self._source.grammar.rules[name], text=other(self._number, size))
        if self._source.loops[other] and not self._step():
            size = 0
        return self.node(other, self._source.grammar.rules[other], other, size)

    def _step(self) -> bool:
        """Whether there is still room to grow."""
        self._steps -= 1
        return self._steps > 0

    def node(self, path: str, node: Node, rule: str, size: int) -> Tree:
        match node:
            case Literal(text):
                return Tree(path, node, text=text)
            case Pattern(pattern):
                return Tree(path, node, (self.part(parts(pattern), size),))
            case Reference(name):
                again = name in self._source.loops[rule]
                return Tree(path, node, (self.rule(name, size // 2 if again else size),))
            case Hidden(body):
                return self.node(path, body, rule, size)
            case Not():
                return Tree(path, node)
            case Cat():
                return Tree(path, node, tuple([self.node(p, n, rule, size) for p, n in children(path, node)]))
            case Alt():
                return self._alternative(path, node, rule, size)
            case Opt():
                ((p, n),) = children(path, node)
                return Tree(path, node, (self.node(p, n, rule, size),) if self._taken(p, size) else ())
            case Star():
                ((p, n),) = children(path, node)
                times = self._times(size) if self._taken(p, size) else 0
                return Tree(path, node, tuple([self.node(p, n, rule, size) for _ in range(times)]))
            case Plus():
                ((p, n),) = children(path, node)
                return Tree(path, node, tuple([self.node(p, n, rule, size) for _ in range(self._times(size))]))

    def _alternative(self, path: str, node: Alt, rule: str, size: int) -> Tree:
        options = self._source.options(path, node, hurry=size <= 0)
        edge = options[self._pick([weight for _, weight in options])][0]
        below = f"{path}/{'ord' if node.ordered else 'alt'}/{edge}"
        return Tree(path, node, (self.node(below, node.options[edge], rule, size),), edge=edge)

    def _taken(self, path: str, size: int) -> bool:
        """Whether an option or repetition is taken at all."""
        weights = self._source.weights
        body, nil = weights[path], weights[path.removesuffix("0") + NIL]
        if not nil:
            return True
        return bool(body and size > 0 and self._number() * (body + nil) < body)

    def _times(self, size: int) -> int:
        return 1 + int(self._number() * size) if size > 0 and self._step() else 1

    def _pick(self, weights: list[int]) -> int:
        if len(weights) == 1:
            return 0
        sums = list(accumulate(weights))
        return bisect_right(sums, self._number() * sums[-1])

    def part(self, part: Part, size: int) -> Tree:
        match part:
            case Chars(allowed):
                at = int(self._number() * len(allowed)) if len(allowed) > 1 else 0
                return Tree("", part, text=allowed[at])
            case Sequence(inner):
                return Tree("", part, tuple([self.part(one, size) for one in inner]))
            case OneOf(options):
                edge = int(self._number() * len(options))
                return Tree("", part, (self.part(options[edge], size),), edge=edge)
            case Repeat(body, least, most):
                times = least
                if least < most and size > 0:
                    times = min(least + int(self._number() * (size + 1)), most)
                return Tree("", part, tuple([self.part(body, size) for _ in range(times)]))


def samples(ebnf: str, *, seed: int = 0, max_size: int = 50) -> Iterator[str]:
    """Texts by an EBNF without end, tiny ones first; sizes grow and begin anew."""
    made = source(read(ebnf))
    for n in itertools.count():
        yield flat(made.derive(seed * SEEDS_A_RUN + n, 1 + n % max_size))
