"""What a grammar is: rules, each a small tree of nodes, and paths that name the nodes.

A path starts with its rule's name and goes down by kind and child: `start/alt/1/cat/0`. Groups, hidden
marks and references add nothing to it. A *choice* is an alternation, an option or a repetition that
may be empty; its edges carry weights, and that of "nothing" is called `nil`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

DEFAULT_WEIGHT = 100
NIL = "nil"


# Grammars and derivations are as deep as their authors want them.
DEPTH = 200_000


@contextmanager
def deep() -> Iterator[None]:
    """Python's own limit is for mistakes; here depth is in the nature of things, and costs no C stack."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class GrammarError(ValueError):
    """What is wrong with a grammar, its weights or a text, in a sentence for its author."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Text as it stands; the empty text is epsilon."""

    text: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression."""

    source: str


@dataclass(frozen=True, slots=True)
class Reference:
    """Another rule, by name."""

    rule: str


@dataclass(frozen=True, slots=True)
class Cat:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """One of several. `ordered` matters when a text could be read in two ways: the earlier wins."""

    options: tuple[Node, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Opt:
    """Once or not at all."""

    body: Node


@dataclass(frozen=True, slots=True)
class Star:
    """Any number of times."""

    body: Node


@dataclass(frozen=True, slots=True)
class Plus:
    """At least once."""

    body: Node


@dataclass(frozen=True, slots=True)
class Hidden:
    """Left out of what a parse shows; generated and matched like its body."""

    body: Node


@dataclass(frozen=True, slots=True)
class Not:
    """Matches nothing, and only where its body does not match. Generates nothing."""

    body: Node


Node: TypeAlias = Literal | Pattern | Reference | Cat | Alt | Opt | Star | Plus | Hidden | Not
Choice: TypeAlias = Alt | Opt | Star
EPSILON = Literal("")


@dataclass(frozen=True)
class Grammar:
    """Rules in the order they were written, the one to start from, and the weights its comments set."""

    rules: Mapping[str, Node]
    start: str
    comment_weights: Mapping[str, int] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.start not in self.rules:
            raise GrammarError(f"There is no rule {self.start!r}.")
        for name, node in self.rules.items():
            for _, inner in walk(name, node):
                if isinstance(inner, Reference) and inner.rule not in self.rules:
                    raise GrammarError(f"Rule {name!r} uses {inner.rule!r}, which has no rule.")

    @cached_property
    def choices(self) -> tuple[tuple[str, Choice], ...]:
        return tuple((path, node) for path, node in self.nodes() if isinstance(node, Alt | Opt | Star))

    @cached_property
    def choices_by_path(self) -> dict[str, Choice]:
        return dict(self.choices)

    @cached_property
    def owners(self) -> dict[str, str]:
        """For each edge, the choice that it is one of."""
        return {edge: path for path, choice in self.choices for edge in edges(path, choice)}

    @cached_property
    def users(self) -> dict[str, list[str]]:
        """For each rule, the rules that refer to it."""
        found: dict[str, dict[str, None]] = {}
        for path, node in self.nodes():
            if isinstance(node, Reference):
                found.setdefault(node.rule, {})[path.split("/")[0]] = None
        return {name: list(users) for name, users in found.items()}

    def nodes(self) -> Iterator[tuple[str, Node]]:
        """Every node with its path, rule by rule, from the top down."""
        for name, node in self.rules.items():
            yield from walk(name, node)


def walk(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """A node and all below it, with their paths; marks that only hide are seen through."""
    waiting = [(path, node)]
    while waiting:
        path, node = waiting.pop()
        yield path, bare(node)
        waiting.extend(reversed(list(children(path, node))))


def children(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """A node's direct children with their paths."""
    match node:
        case Cat(parts):
            yield from ((f"{path}/cat/{i}", part) for i, part in enumerate(parts))
        case Alt(options, ordered):
            kind = "ord" if ordered else "alt"
            yield from ((f"{path}/{kind}/{i}", option) for i, option in enumerate(options))
        case Opt(body):
            yield f"{path}/opt/0", body
        case Star(body):
            yield f"{path}/star/0", body
        case Plus(body):
            yield f"{path}/plus/0", body
        case Not(body):
            yield f"{path}/neg/0", body
        case Hidden(body):
            yield from children(path, body)
        case _:
            return


def cat(*nodes: Node) -> Node:
    """Nodes side by side, with texts that meet made one."""
    flat: list[Node] = []
    for node in nodes:
        for one in node.parts if isinstance(node, Cat) else (node,):
            if isinstance(one, Literal) and flat and isinstance(last := flat[-1], Literal):
                flat[-1] = Literal(last.text + one.text)
            else:
                flat.append(one)
    return flat[0] if len(flat) == 1 else Cat(tuple(flat))


def bare(node: Node) -> Node:
    """The node without the marks that only say "do not show"."""
    while isinstance(node, Hidden):
        node = node.body
    return node


def edges(path: str, node: Choice) -> list[str]:
    """The paths of a choice's edges, `nil` last."""
    below = [child for child, _ in children(path, node)]
    if isinstance(node, Alt):
        return below
    kind = "opt" if isinstance(node, Opt) else "star"
    return [*below, f"{path}/{kind}/{NIL}"]


def choices(grammar: Grammar) -> Iterator[tuple[str, Choice]]:
    return iter(grammar.choices)
