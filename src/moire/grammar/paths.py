"""Looking around in a grammar, and changing it, by paths."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

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
    bare,
    cat,
    children,
    edges,
    walk,
)
from .weights import Weights

Found = Callable[[str, Node], bool]


def node_at(grammar: Grammar, path: str) -> Node:
    """The node a path names."""
    rule, *_ = path.split("/")
    if rule in grammar.rules:
        for here, node in walk(rule, grammar.rules[rule]):
            if here == path:
                return node
    raise GrammarError(f"The grammar has no node at {path}.")


def updated(grammar: Grammar, path: str, change: Callable[[Node], Node]) -> Grammar:
    """The grammar with another node at a path: what `change` makes of the one that is there."""
    node_at(grammar, path)
    rule, *steps = path.split("/")
    return replace(grammar, rules={**grammar.rules, rule: _changed(grammar.rules[rule], steps, change)})


def replaced(grammar: Grammar, nodes: Mapping[str, Node]) -> Grammar:
    """The grammar with other nodes at these paths."""
    for path, node in nodes.items():
        grammar = updated(grammar, path, lambda old, new=node: new)  # type: ignore[misc]
    return grammar


def _changed(node: Node, steps: list[str], change: Callable[[Node], Node]) -> Node:
    if isinstance(node, Hidden):
        return Hidden(_changed(node.body, steps, change))
    if not steps:
        return change(node)
    at, rest = int(steps[1]), steps[2:]
    match node:
        case Cat(parts):
            return Cat((*parts[:at], _changed(parts[at], rest, change), *parts[at + 1 :]))
        case Alt(options, ordered):
            return Alt((*options[:at], _changed(options[at], rest, change), *options[at + 1 :]), ordered)
        case Opt(body) | Star(body) | Plus(body) | Not(body):
            return replace(node, body=_changed(body, rest, change))
        case _:
            raise AssertionError(node)


def leaves(grammar: Grammar) -> dict[str, Node]:
    """Every text, regular expression and reference, by its path."""
    return {path: node for path, node in grammar.nodes() if isinstance(node, Literal | Pattern | Reference)}


def references(grammar: Grammar, rule: str) -> list[str]:
    """The paths at which a rule is used."""
    return [path for path, node in grammar.nodes() if isinstance(node, Reference) and node.rule == rule]


def descendants(grammar: Grammar, path: str, wanted: Found) -> list[str]:
    """The nearest nodes below a path that are wanted, through other rules too."""
    found: list[str] = []
    seen = set()
    waiting = [(path, node_at(grammar, path))]
    while waiting:
        here, node = waiting.pop(0)
        below = list(children(here, node))
        if isinstance(node, Reference) and node.rule not in seen:
            seen.add(node.rule)
            below.append((node.rule, grammar.rules[node.rule]))
        for p, n in below:
            if wanted(p, bare(n)):
                found.append(p)
            else:
                waiting.append((p, bare(n)))
    return found


def ancestors(grammar: Grammar, path: str, wanted: Found) -> list[str]:
    """The nearest nodes above a path that are wanted, through other rules too."""
    node_at(grammar, path)
    found: list[str] = []
    seen = set()
    waiting = [path]
    while waiting:
        here = waiting.pop(0)
        rule, *steps = here.split("/")
        above = ["/".join([rule, *steps[:-2]])] if steps else references(grammar, rule)
        for p in above:
            if p in seen:
                continue
            seen.add(p)
            if wanted(p, node_at(grammar, p)):
                found.append(p)
            else:
                waiting.append(p)
    return found


def weighted_ancestors(grammar: Grammar, path: str) -> list[str]:
    """The nearest choices above a path."""
    return ancestors(grammar, path, lambda p, node: isinstance(node, Alt | Opt | Star))


def joined(grammar: Grammar) -> Grammar:
    """The grammar with texts that follow each other made one."""
    return replace(grammar, rules={name: _joined(node) for name, node in grammar.rules.items()}, comment_weights={})


def _joined(node: Node) -> Node:
    match node:
        case Cat(parts):
            return cat(*map(_joined, parts))
        case Alt(options, ordered):
            return Alt(tuple(map(_joined, options)), ordered)
        case Opt(body) | Star(body) | Plus(body) | Hidden(body) | Not(body):
            return replace(node, body=_joined(body))
        case _:
            return node


def removed(grammar: Grammar, weights: Weights, path: str) -> bool:
    """Whether a choice has nothing left to choose."""
    node = node_at(grammar, path)
    return isinstance(node, Alt | Opt | Star) and not any(weights[edge] for edge in edges(path, node))


def likelihoods(grammar: Grammar, weights: Weights) -> dict[str, float]:
    """How likely a derivation is to come to each node, by the likeliest way from the start; 0 where none leads."""
    found = {path: 0.0 for path, _ in grammar.nodes()}
    waiting: list[tuple[float, str, Node]] = [(-1.0, grammar.start, bare(grammar.rules[grammar.start]))]
    while waiting:
        chance, path, node = heapq.heappop(waiting)
        if -chance <= found[path]:
            continue
        found[path] = -chance
        for p, n, share in _shares(path, node, weights):
            heapq.heappush(waiting, _Way((chance * share, p, bare(n))))
        if isinstance(node, Reference):
            heapq.heappush(waiting, _Way((chance, node.rule, bare(grammar.rules[node.rule]))))
    return found


class _Way(tuple[float, str, Node]):
    """Compared by chance and path: nodes have no order."""

    def __lt__(self, other: tuple[float, str, Node]) -> bool:  # type: ignore[override]
        return self[:2] < other[:2]


def _shares(path: str, node: Node, weights: Weights) -> Iterator[tuple[str, Node, float]]:
    below = list(children(path, node))
    if isinstance(node, Not):
        return
    if not isinstance(node, Alt | Opt | Star):
        yield from ((p, n, 1.0) for p, n in below)
        return
    nil = 0 if isinstance(node, Alt) else weights[below[0][0].removesuffix("0") + NIL]
    total = sum(weights[p] for p, _ in below) + nil
    yield from ((p, n, weights[p] / total) for p, n in below if weights[p])


def terminal_likelihoods(grammar: Grammar, weights: Weights) -> dict[str, float]:
    """The same for texts and regular expressions alone."""
    known = likelihoods(grammar, weights)
    return {path: known[path] for path, node in leaves(grammar).items() if not isinstance(node, Reference)}


def ordered(grammar: Grammar) -> list[str]:
    """The rules, each after those it uses; GrammarError where a rule leads back to itself through others."""
    uses: dict[str, set[str]] = {name: set() for name in grammar.rules}
    for used, users in grammar.users.items():
        for user in users:
            uses[user] |= {used} - {user}
    try:
        return list(TopologicalSorter(uses).static_order())
    except CycleError as error:
        raise GrammarError(f"These rules lead round in a circle: {', '.join(reversed(error.args[1]))}.") from None
