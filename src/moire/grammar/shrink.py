"""Shrinking: from a derivation that fails to the smallest one near it that still fails.

A derivation is simpler than another if it has fewer nodes; then, a shorter text; then, heavier
alternatives and earlier characters. Candidates come in a fixed order and the first that fails is
taken, so that the result is one and the same however many are tried at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .derive import Source
from .model import NIL, Alt, Cat, GrammarError, Opt, Pattern, Plus, Reference, Star, bare, children, deep
from .parse import Parser
from .patterns import Chars, OneOf, Repeat
from .tree import Tree, counts, flat, walk

Place = tuple[int, ...]
# Which of these texts fail? The answer has one truth value for each, but may end with one that fails.
Fails = Callable[[Sequence[str]], Sequence[bool]]
Simplicity = tuple[int, int, int]
# Characters of a text that is short enough to be read again and again.
MOST_READ = 100


@dataclass(frozen=True, slots=True)
class Step:
    """One candidate that was tried."""

    text: str
    failed: bool


def shrink(
    source: Source, tree: Tree, fails: Fails, *, batch: int = 1, heard: Callable[[Step], None] = lambda step: None
) -> Tree:
    """The smallest derivation found. `fails` is asked about `batch` texts at a time."""
    known: dict[str, bool] = {flat(tree): True}
    with deep():
        while (found := _first_failing(source, tree, fails, batch, known, heard)) is not None:
            tree = found
    return tree


def _first_failing(
    source: Source, tree: Tree, fails: Fails, batch: int, known: dict[str, bool], heard: Callable[[Step], None]
) -> Tree | None:
    bound = simplicity(source, tree)
    waiting: list[Tree] = []

    def settle() -> Tree | None:
        texts = list(dict.fromkeys(text for text in map(flat, waiting) if text not in known))
        if texts:
            for text, failed in zip(texts, fails(texts), strict=False):
                known[text] = failed
                heard(Step(text, failed))
        first = next((one for one in waiting if known.get(flat(one))), None)
        waiting.clear()
        return first

    for candidate in candidates(source, tree):
        if simplicity(source, candidate) >= bound:
            continue
        waiting.append(candidate)
        if len(waiting) >= batch and (found := settle()) is not None:
            return found
    return settle()


def simplicity(source: Source, tree: Tree) -> Simplicity:
    nodes = rank = 0
    for one in walk(tree):
        nodes += 1
        if isinstance(one.node, Alt):
            rank += _heavier(source, one)
        elif isinstance(one.node, Chars):
            rank += one.node.allowed.index(one.text)
        elif isinstance(one.node, OneOf):
            rank += one.edge
    return nodes, len(flat(tree)), rank


def _heavier(source: Source, tree: Tree) -> int:
    """How many alternatives are simpler than the one taken. Of equal weights none is: what was found should not
    turn into something else that is no smaller."""
    assert isinstance(tree.node, Alt)
    weights = [source.weights[path] for path, _ in children(tree.path, tree.node)]
    return sum(weight > weights[tree.edge] for weight in weights)


def _order(source: Source, tree: Tree) -> list[int]:
    """An alternation's edges, the heaviest first; those of weight 0 are out of the question."""
    assert isinstance(tree.node, Alt)
    weights = [source.weights[path] for path, _ in children(tree.path, tree.node)]
    return sorted(range(len(weights)), key=lambda edge: (weights[edge] == 0, -weights[edge], edge))


def candidates(source: Source, tree: Tree) -> Iterator[Tree]:
    """Simpler derivations, from the top of the tree to its leaves: first those that only leave something out,
    so that what fails stays what it is; then those with something smaller in its place; and at last those of
    texts with something cut out, which no step within the tree may lead to."""
    for simpler in (_less, _smaller):
        for place, here in _places(tree):
            for candidate in simpler(source, here):
                yield _replaced(tree, place, candidate)
    yield from _cut_out(source, tree)


def _cut_out(source: Source, tree: Tree) -> Iterator[Tree]:
    text = flat(tree)
    # Reading takes its time, and a text that is read has no choices within its regular expressions.
    if len(text) > MOST_READ or source.overrides or any(isinstance(one.node, Pattern) for one in walk(tree)):
        return
    parser = Parser(source.grammar)
    size = len(text) // 2
    while size:
        for start in range(0, len(text), size):
            try:
                read = parser.parse(text[:start] + text[start + size :], tree.path)
            except GrammarError:
                continue
            used = counts(source.grammar, [read])
            if all(source.weights[edge] or not used[edge] for edge in used if not edge.endswith(f"/{NIL}")):
                yield read
        size //= 2


def _places(tree: Tree) -> Iterator[tuple[Place, Tree]]:
    """Every place in a tree, level by level."""
    level: list[tuple[Place, Tree]] = [((), tree)]
    while level:
        yield from level
        level = [((*place, n), child) for place, here in level for n, child in enumerate(here.children)]


def _replaced(tree: Tree, place: Place, new: Tree) -> Tree:
    if not place:
        return new
    index, *rest = place
    changed = _replaced(tree.children[index], tuple(rest), new)
    return replace(tree, children=(*tree.children[:index], changed, *tree.children[index + 1 :]))


def _less(source: Source, tree: Tree) -> Iterator[Tree]:
    match tree.node:
        case Reference(rule):
            # A rule inside itself may stand for the whole.
            for inner in walk(tree.children[0]):
                if inner is not tree and isinstance(inner.node, Reference) and inner.node.rule == rule:
                    yield replace(tree, children=inner.children)
        case Opt() | Star() | Plus() | Repeat():
            yield from _fewer(source, tree)
        case Cat():
            yield from _begun_later(source, tree)
        case _:
            return


def _begun_later(source: Source, tree: Tree) -> Iterator[Tree]:
    """Of a list like `x (',' x)*`: without its first, so that it begins with a later one."""
    for at, (first, rest) in enumerate(pairwise(tree.children)):
        if isinstance(first.node, Reference) and isinstance(rest.node, Star):
            last = len(rest.children) - (not source.weights[_nil(rest)])
            for n, item in enumerate(rest.children[: max(0, last)]):
                for inner in (item, *item.children):
                    if inner.node == first.node:
                        new = replace(inner, path=first.path)
                        left = replace(rest, children=rest.children[n + 1 :])
                        yield replace(tree, children=(*tree.children[:at], new, left, *tree.children[at + 2 :]))


def _smaller(source: Source, tree: Tree) -> Iterator[Tree]:
    match tree.node:
        case Reference(rule):
            yield Tree(tree.path, tree.node, (source.smallest(rule),))
        case Alt():
            options = list(children(tree.path, tree.node))
            for edge in _order(source, tree):
                path, node = options[edge]
                if edge != tree.edge and source.weights[path]:
                    yield Tree(tree.path, tree.node, (source.smallest_node(path, bare(node)),), edge=edge)
            path, node = options[tree.edge]
            yield replace(tree, children=(source.smallest_node(path, bare(node)),))
        case Chars(allowed):
            at = allowed.index(tree.text)
            for index in dict.fromkeys((0, at // 2, at - 1)):
                if 0 <= index < at:
                    yield replace(tree, text=allowed[index])
        case OneOf(options):
            for edge in range(tree.edge):
                yield Tree("", tree.node, (source.smallest_part(options[edge]),), edge=edge)
        case _:
            return


def _fewer(source: Source, tree: Tree) -> Iterator[Tree]:
    """Without some of a repetition: all, halves, quarters, and so on to one at a time."""
    count = len(tree.children)
    least = 1 if isinstance(tree.node, Plus) else tree.node.least if isinstance(tree.node, Repeat) else 0
    if isinstance(tree.node, Opt | Star) and not source.weights[_nil(tree)]:
        least = 1
    size = count
    while size:
        for start in range(0, count, size):
            kept = tree.children[:start] + tree.children[start + size :]
            if least <= len(kept) < count:
                yield replace(tree, children=kept)
        size //= 2


def _nil(tree: Tree) -> str:
    return f"{tree.path}/{'opt' if isinstance(tree.node, Opt) else 'star'}/nil"
