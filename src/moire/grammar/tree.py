"""Derivations: how a text comes from a grammar, whether it was generated or read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .model import NIL, Alt, Grammar, Node, Opt, Star, choices, edges
from .patterns import Part

AnyNode: TypeAlias = Node | Part


@dataclass(frozen=True, slots=True)
class Tree:
    """One node's derivation.

    `path` is the node's place in the grammar, "" inside a regular expression. `edge` says which
    alternative was taken; an option or repetition has as many children as it was taken times.
    """

    path: str
    node: AnyNode
    children: tuple[Tree, ...] = ()
    text: str = ""
    edge: int = 0


def walk(tree: Tree) -> Iterator[Tree]:
    """Every tree in a tree, in the order of the text. Not recursive: lists may nest as deep as they are long."""
    waiting = [tree]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(reversed(here.children))


def flat(tree: Tree) -> str:
    """The text a derivation stands for."""
    return "".join(one.text for one in walk(tree) if one.text)


def counts(grammar: Grammar, trees: Iterable[Tree]) -> dict[str, int]:
    """How often each edge of each choice was taken.

    An option's `nil` is how often it was not taken. A repetition's is the difference between how often it was
    met and how often its body was taken, as Instacheck counts; but never less than how often it was empty,
    so that the texts that were read can be generated from the counts.
    """
    met: Counter[str] = Counter()
    empty: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for tree in trees:
        for one in walk(tree):
            match one.node:
                case Alt(_, ordered):
                    taken[f"{one.path}/{'ord' if ordered else 'alt'}/{one.edge}"] += 1
                case Opt():
                    met[one.path] += 1
                    taken[f"{one.path}/opt/0"] += len(one.children)
                case Star():
                    met[one.path] += 1
                    empty[one.path] += not one.children
                    taken[f"{one.path}/star/0"] += len(one.children)
                case _:
                    pass
    found: dict[str, int] = {}
    for path, choice in choices(grammar):
        for edge in edges(path, choice):
            if edge.endswith(f"/{NIL}"):
                body = taken[edge.removesuffix(NIL) + "0"]
                found[edge] = max(abs(met[path] - body), empty[path])
            else:
                found[edge] = taken[edge]
    return found


def merged(many: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts of several texts, summed."""
    total: Counter[str] = Counter()
    for one in many:
        total.update(one)
    return dict(total)
