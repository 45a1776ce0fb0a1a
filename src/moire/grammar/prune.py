"""A grammar cut down to what its weights can reach."""

from __future__ import annotations

from dataclasses import dataclass, field

from .model import (
    DEFAULT_WEIGHT,
    EPSILON,
    NIL,
    Alt,
    Cat,
    Grammar,
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
from .weights import Weights, check, reachable


@dataclass(slots=True)
class _Cut:
    """A node that was cut, and the weights of the edges below it by their new paths from here."""

    node: Node
    weights: dict[str, int] = field(default_factory=dict)

    def under(self, prefix: str) -> dict[str, int]:
        return {f"{prefix}{path}": weight for path, weight in self.weights.items()}


def prune(grammar: Grammar, weights: Weights) -> Grammar:
    """Without the edges of weight 0 and the rules that then nothing leads to. Weights that are left go
    into the new grammar as its own, under the new paths."""
    check(grammar, weights)
    reached = {path for path, _ in reachable(grammar, weights)}
    rules: dict[str, Node] = {}
    kept: dict[str, int] = {}
    for name, node in grammar.rules.items():
        if name in reached:
            cut = _cut(name, node, weights)
            rules[name] = cut.node
            kept |= cut.under(name)
    own = {path: weight for path, weight in kept.items() if weight != DEFAULT_WEIGHT}
    return Grammar(rules, grammar.start, own, grammar.hidden & rules.keys())


def _cut(path: str, node: Node, weights: Weights) -> _Cut:
    match node:
        case Literal() | Pattern() | Reference() | Not():
            return _Cut(node)
        case Hidden(shown):
            cut = _cut(path, shown, weights)
            return _Cut(Hidden(cut.node), cut.weights)
        case Cat():
            parts = [_cut(p, n, weights) for p, n in children(path, node)]
            below = {k: v for i, part in enumerate(parts) for k, v in part.under(f"/cat/{i}").items()}
            return _Cut(Cat(tuple(part.node for part in parts)), below)
        case Alt(_, ordered):
            left = [(weights[p], _cut(p, n, weights)) for p, n in children(path, node) if weights[p]]
            if len(left) == 1:
                return left[0][1]
            kind = "ord" if ordered else "alt"
            below = {}
            for i, (weight, option) in enumerate(left):
                below |= {f"/{kind}/{i}": weight, **option.under(f"/{kind}/{i}")}
            return _Cut(Alt(tuple(option.node for _, option in left), ordered), below)
        case Plus():
            ((p, n),) = children(path, node)
            body = _cut(p, n, weights)
            return _Cut(Plus(body.node), body.under("/plus/0"))
        case Opt() | Star():
            return _cut_optional(path, node, weights)


def _cut_optional(path: str, node: Opt | Star, weights: Weights) -> _Cut:
    kind = "opt" if isinstance(node, Opt) else "star"
    taken, nil = weights[f"{path}/{kind}/0"], weights[f"{path}/{kind}/{NIL}"]
    if not taken:
        return _Cut(EPSILON)
    ((p, n),) = children(path, node)
    body = _cut(p, n, weights)
    if not nil:
        return body if kind == "opt" else _Cut(Plus(body.node), body.under("/plus/0"))
    whole: Node = Opt(body.node) if kind == "opt" else Star(body.node)
    return _Cut(whole, {f"/{kind}/0": taken, f"/{kind}/{NIL}": nil, **body.under(f"/{kind}/0")})
