"""Weights: what is asked of a grammar. A map from the path of a choice's edge to a whole number."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path

from .model import (
    DEFAULT_WEIGHT,
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
    children,
    choices,
    edges,
)

Weights = Mapping[str, int]
MOST_WEIGHT = 999_999_999
Heights = dict[str, float]


def default(grammar: Grammar) -> dict[str, int]:
    """Every edge's weight as the grammar itself has it."""
    found = {edge: DEFAULT_WEIGHT for path, choice in choices(grammar) for edge in edges(path, choice)}
    return found | dict(grammar.comment_weights)


def layered(grammar: Grammar, *layers: Weights) -> dict[str, int]:
    """The grammar's own weights with each layer laid over those before; what cannot work is refused."""
    merged = default(grammar)
    for layer in layers:
        for path, weight in layer.items():
            if path not in merged:
                raise GrammarError(f"The grammar has no choice with the edge {path}.")
            _within(path, weight)
            merged[path] = weight
    check(grammar, merged)
    return merged


def _within(path: str, weight: int) -> None:
    if not 0 <= weight <= MOST_WEIGHT:
        raise GrammarError(f"The weight of {path} is {weight}. Give 0 to {MOST_WEIGHT}.")


def check(grammar: Grammar, weights: Weights) -> Heights:
    """Refuse weights under which some reachable choice has nothing to choose or never comes to an end; the heights of
    rules by all others."""
    known = heights(grammar, weights)
    found = reachable(grammar, weights)
    for path, node in found:
        if isinstance(node, Alt | Opt | Star) and not any(weights[edge] for edge in edges(path, node)):
            raise GrammarError(
                f"Every edge of {path} has weight 0, and the grammar can get there. Give one of them a weight, or "
                "let `moire grammar reduce` take the ways there away as well."
            )
    for path, node in found:
        if isinstance(node, Alt | Opt | Star) and height(path, node, weights, known) == math.inf:
            raise GrammarError(f"What {path} may choose never comes to an end.")
        if isinstance(node, Reference) and known[node.rule] == math.inf:
            raise GrammarError(f"Rule {node.rule!r} never comes to an end.")
    if known[grammar.start] == math.inf:
        raise GrammarError(f"Rule {grammar.start!r} never comes to an end.")
    return known


def reachable(grammar: Grammar, weights: Weights) -> list[tuple[str, Node]]:
    """Every node that can be generated from the start, with its path."""
    found: list[tuple[str, Node]] = []
    rules = {grammar.start}
    waiting: list[tuple[str, Node]] = [(grammar.start, grammar.rules[grammar.start])]
    while waiting:
        path, node = waiting.pop()
        node = bare(node)
        found.append((path, node))
        if isinstance(node, Not):
            continue
        if isinstance(node, Reference) and node.rule not in rules:
            rules.add(node.rule)
            waiting.append((node.rule, grammar.rules[node.rule]))
        waiting.extend((p, n) for p, n in children(path, node) if weights.get(p, 1))
    return found


def heights(grammar: Grammar, weights: Weights, blocked: Collection[str] = ()) -> Heights:
    """For each rule, how many references deep its shallowest derivation is; infinite where there is none,
    and for rules that are blocked."""
    known: Heights = dict.fromkeys(grammar.rules, math.inf)
    # Rules whose heights may be lower than is known: first all, later the users of what became lower.
    waiting = [name for name in grammar.rules if name not in blocked]
    while waiting:
        lower = []
        for name in waiting:
            now = height(name, grammar.rules[name], weights, known)
            if now < known[name]:
                known[name] = now
                lower.append(name)
        users = dict.fromkeys(user for name in lower for user in grammar.users.get(name, ()))
        waiting = [user for user in users if user not in blocked]
    return known


def height(path: str, node: Node, weights: Weights, known: Heights) -> float:
    match node:
        case Literal() | Pattern() | Not():
            return 0
        case Reference(rule):
            return 1 + known[rule]
        case Hidden(body):
            return height(path, body, weights, known)
        case Cat() | Plus():
            return max((height(p, n, weights, known) for p, n in children(path, node)), default=0)
        case Alt():
            return min((height(p, n, weights, known) for p, n in children(path, node) if weights[p]), default=math.inf)
        case Opt() | Star():
            ((p, n),) = children(path, node)
            nil = p.removesuffix("0") + NIL
            return 0 if weights[nil] else height(p, n, weights, known) if weights[p] else math.inf


def load(path: Path) -> dict[str, int]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise GrammarError(f"The weights in {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise GrammarError(f"The weights in {path} are no JSON, but bytes of another kind.") from None
    except (ValueError, RecursionError) as error:
        raise GrammarError(f"The weights in {path} are no JSON: {error}.") from None
    if not isinstance(data, dict) or not all(isinstance(n, int) and not isinstance(n, bool) for n in data.values()):
        raise GrammarError(f"The weights in {path} must be an object of paths and whole numbers.")
    for edge, weight in data.items():
        _within(edge, weight)
    return data


def text(weights: Weights) -> str:
    return json.dumps(dict(sorted(weights.items())), indent=1) + "\n"
