"""Generation: a grammar, weights, a size and a seed give one derivation, always the same one.

Size starts small and grows, as in QuickCheck: it bounds repetitions, and halves each time a rule leads
back to itself. Once it is used up, or the derivation has grown long enough, only the shortest way to an
end is taken, so that every derivation ends, through self- and mutual recursion alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

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
)
from .patterns import Chars, OneOf, Part, Repeat, Sequence, parts
from .tree import AnyNode, Tree
from .weights import Heights, Weights, check, default, height, heights

# Leaves a derivation may have before it hurries to an end, for each step of size.
LEAVES_A_SIZE = 200

# A Python function that stands in for a rule: from a source of numbers in [0, 1) and a size to a text.
Generator = Callable[[Callable[[], float], int], str]


@dataclass(frozen=True)
class Source:
    """A grammar made ready to generate from. `overrides` gives some rules to other rules or to functions."""

    grammar: Grammar
    weights: Weights
    overrides: Mapping[str, str | Generator] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self.grammar, self.weights)
        for name, other in self.overrides.items():
            if name not in self.grammar.rules or (isinstance(other, str) and other not in self.grammar.rules):
                raise GrammarError(f"The override of {name!r} names a rule that the grammar does not have.")

    @cached_property
    def heights(self) -> Heights:
        return heights(self.grammar, self.weights)

    @cached_property
    def loops(self) -> dict[str, set[str]]:
        return _loops(self.grammar)

    def derive(self, seed: int, size: int, rule: str = "") -> Tree:
        name = rule or self.grammar.start
        if name not in self.grammar.rules:
            raise GrammarError(f"There is no rule {name!r}.")
        # Of all that `random` has, only `random()` is promised to give the same numbers for ever.
        return _Derivation(self, random.Random(seed).random, LEAVES_A_SIZE * (size + 1)).rule(name, size)

    def smallest(self, rule: str) -> Tree:
        """The shortest way to an end, with the first character of every set."""
        return self._shortest().rule(rule, 0)

    def smallest_node(self, path: str, node: Node) -> Tree:
        return self._shortest().node(path, node, path.split("/")[0], 0)

    def smallest_part(self, part: Part) -> Tree:
        return self._shortest().part(part, 0)

    def _shortest(self) -> _Derivation:
        return _Derivation(self, lambda: 0.0, 1)


def source(grammar: Grammar, weights: Weights | None = None) -> Source:
    return Source(grammar, default(grammar) if weights is None else weights)


def _loops(grammar: Grammar) -> dict[str, set[str]]:
    """For each rule, those it leads to that lead back to it."""
    uses: dict[str, set[str]] = {}
    for path, node in grammar.nodes():
        if isinstance(node, Reference):
            uses.setdefault(path.split("/")[0], set()).add(node.rule)
    component = _components(list(grammar.rules), uses)
    return {name: {used for used in uses.get(name, ()) if component[used] == component[name]} for name in grammar.rules}


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
    def __init__(self, source: Source, number: Callable[[], float], leaves: int) -> None:
        self._source = source
        self._number = number
        self._leaves = leaves

    def rule(self, name: str, size: int) -> Tree:
        other = self._source.overrides.get(name, name)
        if not isinstance(other, str):
            self._leaves -= 1
            return Tree(name, self._source.grammar.rules[name], text=other(self._number, size))
        return self.node(other, self._source.grammar.rules[other], other, size)

    def node(self, path: str, node: Node, rule: str, size: int) -> Tree:
        if self._leaves <= 0:
            size = 0
        match node:
            case Literal(text):
                self._leaves -= 1
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
                return Tree(path, node, tuple(self.node(p, n, rule, size) for p, n in children(path, node)))
            case Alt():
                return self._alternative(path, node, rule, size)
            case Opt():
                ((p, n),) = children(path, node)
                taken = self._taken(p, n, size)
                return Tree(path, node, (self.node(p, n, rule, size),) if taken else ())
            case Star():
                ((p, n),) = children(path, node)
                times = self._times(1, size) if self._taken(p, n, size) else 0
                return Tree(path, node, tuple(self.node(p, n, rule, size) for _ in range(times)))
            case Plus():
                ((p, n),) = children(path, node)
                return Tree(path, node, tuple(self.node(p, n, rule, size) for _ in range(self._times(1, size))))

    def _alternative(self, path: str, node: Alt, rule: str, size: int) -> Tree:
        weights = self._source.weights
        options = [(p, n, edge) for edge, (p, n) in enumerate(children(path, node)) if weights[p]]
        if size <= 0 and len(options) > 1:
            by_height = [height(p, n, weights, self._source.heights) for p, n, _ in options]
            options = [option for option, h in zip(options, by_height, strict=True) if h == min(by_height)]
        p, n, edge = options[self._pick([weights[p] for p, _, _ in options])]
        return Tree(path, node, (self.node(p, n, rule, size),), edge=edge)

    def _taken(self, path: str, body: Node, size: int) -> bool:
        """Whether an option or repetition is taken at all."""
        weights = self._source.weights
        body_weight, nil_weight = weights[path], weights[path.removesuffix("0") + NIL]
        if not nil_weight:
            return True
        if not body_weight or size <= 0:
            return False
        return self._pick([body_weight, nil_weight]) == 0

    def _times(self, least: int, size: int) -> int:
        return least + int(self._number() * max(size, 1)) if size > 0 else least

    def _pick(self, weights: list[int]) -> int:
        if len(weights) == 1:
            return 0
        sums = list(accumulate(weights))
        mark = self._number() * sums[-1]
        return next(i for i, total in enumerate(sums) if mark < total)

    def part(self, part: Part, size: int) -> Tree:
        node: AnyNode = part
        match part:
            case Chars(allowed):
                self._leaves -= 1
                return Tree("", node, text=allowed[int(self._number() * len(allowed))])
            case Sequence(inner):
                return Tree("", node, tuple(self.part(one, size) for one in inner))
            case OneOf(options):
                edge = int(self._number() * len(options))
                return Tree("", node, (self.part(options[edge], size),), edge=edge)
            case Repeat(body, least, most):
                times = min(least + int(self._number() * (size + 1)), most) if size > 0 else least
                return Tree("", node, tuple(self.part(body, size) for _ in range(times)))
