"""Weight reduction: after a finding, look elsewhere.

An edge that the finding used is *picked*, its weight *reduced*, and what that leaves without a choice
is *propagated* towards the start, until the weights can be generated from again.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Literal as OneOf
from typing import get_args

from .model import NIL, Alt, Choice, Grammar, GrammarError, Opt, Reference, Star, children, choices, edges
from .weights import Weights, height, heights, reachable

# From an edge's weight to a smaller one, and at last to 0.
Reducer = Callable[[int], int]
Pick = OneOf["weight", "dist", "weight-dist"]
Propagation = OneOf["zero", "max-child", "reducer"]


def zero(weight: int) -> int:
    return 0


def half(weight: int) -> int:
    return weight // 2


def divide(divisor: float, weight: int) -> int:
    return int(weight / divisor)


def ladder(steps: Collection[int], weight: int) -> int:
    """The next step below."""
    return max((step for step in steps if step < weight), default=0)


def reducer(name: str) -> Reducer:
    """`zero`, `half`, `divide:N` or `ladder:30,10,3,1`."""
    kind, _, rest = name.partition(":")
    try:
        if kind == "zero" and not rest:
            return zero
        if kind == "half" and not rest:
            return half
        if kind == "divide" and float(rest) > 1:
            return partial(divide, float(rest))
        if kind == "ladder" and rest and min(steps := tuple(int(step) for step in rest.split(","))) >= 0:
            return partial(ladder, steps)
    except ValueError:
        pass
    raise GrammarError(f"There is no reducer {name!r}. Write zero, half, divide:N or ladder:30,10,3,1.")


class NothingLeft(GrammarError):
    """The reduction has reached the start: these weights generate nothing new any more."""


def reduce(
    grammar: Grammar,
    weights: Weights,
    used: Mapping[str, int],
    *,
    seed: int,
    pick: Pick = "weight",
    propagation: Propagation = "zero",
    by: Reducer = half,
    never: Collection[str] = (),
) -> dict[str, int]:
    """New weights after a finding that `used` these edges so many times; `never` are left alone."""
    edge = picked(grammar, weights, used, seed, pick, never)
    if edge is None:
        return dict(weights)
    lowered = {**weights, edge: by(weights[edge])}
    if lowered[edge] and propagation != "max-child":
        # Nothing is gone: no other edge is the worse for it.
        return lowered
    return without_endless(grammar, propagate(grammar, lowered, [edge], propagation, by, never), never)


def without_endless(grammar: Grammar, weights: dict[str, int], never: Collection[str] = ()) -> dict[str, int]:
    """What can only go on for ever (the last way out of a recursion was reduced) is gone too."""
    while True:
        known = heights(grammar, weights)
        if known[grammar.start] == math.inf:
            raise NothingLeft(f"Rule {grammar.start!r} no longer comes to an end.")
        endless = [
            edge
            for path, node in reachable(grammar, weights)
            if isinstance(node, Alt | Opt | Star)
            for edge, child in children(path, node)
            if weights[edge] and height(edge, child, weights, known) == math.inf
        ]
        if not endless:
            return weights
        weights = propagate(grammar, {**weights, **dict.fromkeys(endless, 0)}, endless, "zero", zero, never)


def picked(
    grammar: Grammar, weights: Weights, used: Mapping[str, int], seed: int, pick: Pick, never: Collection[str] = ()
) -> str | None:
    """One of the used edges that still have a weight: by how often it was used, how far it is from the
    start, or both."""
    if pick not in get_args(Pick):
        raise GrammarError(f"There is no way {pick!r} to pick an edge. Write weight, dist or weight-dist.")
    able = [edge for edge in sorted(used) if used[edge] > 0 and weights.get(edge, 0) > 0 and edge not in never]
    # To leave something out is no feature: without that edge, the rest would only have to be longer.
    able = [edge for edge in able if not edge.endswith(f"/{NIL}")] or able
    if not able:
        return None
    far = distances(grammar) if pick != "weight" else {}
    odds = [(used[e] if pick != "dist" else 1) * far.get(e, 1) for e in able]
    mark = random.Random(seed).random() * sum(odds)
    for edge, share in zip(able, odds, strict=True):
        mark -= share
        if mark < 0:
            return edge
    return able[-1]


def distances(grammar: Grammar) -> dict[str, float]:
    """For each edge of each choice, how many steps it is from the start; infinite where none leads."""
    found: dict[str, float] = {grammar.start: 0}
    waiting = deque([(grammar.start, grammar.rules[grammar.start])])
    while waiting:
        path, node = waiting.popleft()
        below = list(children(path, node))
        if isinstance(node, Reference) and node.rule not in found:
            below.append((node.rule, grammar.rules[node.rule]))
        for child_path, child in below:
            found[child_path] = found[path] + 1
            waiting.append((child_path, child))
        if isinstance(node, Opt | Star):
            found[edges(path, node)[-1]] = found[path] + 1
    return {edge: found.get(edge, math.inf) for path, choice in choices(grammar) for edge in edges(path, choice)}


def propagate(
    grammar: Grammar,
    weights: Weights,
    reduced: Collection[str] | None = None,
    mode: Propagation = "zero",
    by: Reducer = zero,
    never: Collection[str] = (),
) -> dict[str, int]:
    """Weights in which what is gone is also no longer chosen, from the `reduced` edges upwards (all, if
    none are named). NothingLeft when that reaches the start.

    zero       a choice without any edge left takes the edges that lead to it to 0
    max-child  an edge weighs no more than the heaviest edge of the choice it leads to
    reducer    a choice without any edge left has the edges that lead to it reduced, and shares out among
               its own edges what those lost
    """
    if mode not in get_args(Propagation):
        raise GrammarError(f"There is no propagation {mode!r}. Write zero, max-child or reducer.")
    new = dict(weights)
    found, owner = grammar.choices_by_path, grammar.owners
    above = _edges_above(grammar, found)
    pending = deque(sorted({owner[edge] for edge in (owner if reduced is None else reduced)}))
    # Choices that lead only to each other would share out for ever.
    shared: set[str] = set()
    while pending:
        path = pending.popleft()
        own = edges(path, found[path])
        heaviest = max(new[edge] for edge in own)
        if heaviest == 0 and grammar.start in above[path]:
            raise NothingLeft(f"Every edge of {path} has weight 0, and nothing lies between it and the start.")
        heavier = sorted(e for e in above[path] - {grammar.start} if new[e] > heaviest and e not in never)
        if mode == "max-child" or (mode == "zero" and heaviest == 0):
            for edge in heavier:
                _lower(new, edge, heaviest, found, owner, above)
                pending.append(owner[edge])
        elif mode == "reducer" and heaviest == 0 and path not in shared:
            shared.add(path)
            lost = 0
            for edge in heavier:
                before = new[edge]
                new[edge] = by(before)
                lost += before - new[edge]
                if new[edge] == 0:
                    pending.append(owner[edge])
            able = [edge for edge in own if edge not in never and not _leads_nowhere(edge, path, grammar, found, new)]
            for edge in able:
                new[edge] = math.ceil(lost / len(able))
    return new


def _lower(
    weights: dict[str, int], edge: str, to: int, found: Mapping[str, Choice], owner: Mapping[str, str],
    above: Mapping[str, set[str]],
) -> None:  # fmt: skip
    """Lower an edge; one of a choice that is itself cut off takes its siblings along."""
    weights[edge] = to
    path = owner[edge]
    if to == 0 and all(weights.get(up, 1) == 0 for up in above[path] if owner.get(up) != path):
        for sibling in edges(path, found[path]):
            weights[sibling] = 0


def _edges_above(grammar: Grammar, found: Mapping[str, Choice]) -> dict[str, set[str]]:
    """For each choice, the nearest edges that lead to it, through other rules if need be; the start's name
    stands for "none in between"."""
    nearest: dict[str, str] = {}
    users: dict[str, list[str]] = {}
    for name, node in grammar.rules.items():
        waiting = [(name, node, "")]
        while waiting:
            path, here, edge = waiting.pop()
            nearest[path] = edge
            if isinstance(here, Reference):
                users.setdefault(here.rule, []).append(edge or f"{name}:")
            for child_path, child in children(path, here):
                weighted = isinstance(here, Alt | Opt | Star)
                waiting.append((child_path, child, child_path if weighted else edge))

    def rule_edges(rule: str) -> set[str]:
        out: set[str] = set()
        seen, waiting = {rule}, [rule]
        while waiting:
            here = waiting.pop()
            out |= {grammar.start} if here == grammar.start else set()
            for user in users.get(here, ()):
                if not user.endswith(":"):
                    out.add(user)
                elif user[:-1] not in seen:
                    seen.add(user[:-1])
                    waiting.append(user[:-1])
        return out

    return {path: {nearest[path]} if nearest[path] else rule_edges(path.split("/")[0]) for path in found}


def _leads_nowhere(edge: str, path: str, grammar: Grammar, found: Mapping[str, Choice], weights: Weights) -> bool:
    """Whether somewhere below an edge, in its own rule, a choice has no edge left."""
    return any(
        below != path and below.startswith(edge + "/") and not any(weights[e] for e in edges(below, choice))
        for below, choice in found.items()
    )
