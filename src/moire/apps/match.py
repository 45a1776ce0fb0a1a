"""Which node of one page is which of another: first by place, level for level, then anywhere.

The same page has much the same tree in every browser, so most nodes are found where they are looked for first; only
those that are not are compared with all that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from .page import Node, Page

# How alike two nodes must be to be one, on the same level and anywhere else.
LEVEL, ANYWHERE = 0.75, 0.85
# How much paths, attributes and the rest count.
_PATH, _ATTRIBUTES, _REST = 0.7, 0.2, 0.1
# What browsers write in their own ways.
_NOISE = frozenset(["style", "src", "href"])


def matched(
    a: Page, b: Page, roots: Iterable[tuple[int, int]] = ((-1, -1),), known: Mapping[int, int] = MappingProxyType({})
) -> dict[int, int]:
    """For elements of the one page, those of the other that they are, but for what is `known`. `roots` are known to be
    the same: only what is below them is looked at."""
    found = dict(known)
    there = set(found.values())
    left_a, left_b = _levels(a, b, roots, found, there)
    while left_a and left_b:
        one = left_a.pop(0)
        best = max(left_b, key=lambda other: likeness(a, one, b, other))
        if likeness(a, one, b, best) > ANYWHERE:
            found[one.id] = best.id
            there.add(best.id)
            left_b.remove(best)
            more_a, more_b = _levels(a, b, [(one.id, best.id)], found, there)
            left_a += more_a
            left_b += more_b
        else:
            # What is below may have gone elsewhere.
            left_a += [node for node in a.elements(one.id) if node.id not in found]
    return found


def _levels(
    a: Page, b: Page, roots: Iterable[tuple[int, int]], found: dict[int, int], there: set[int]
) -> tuple[list[Node], list[Node]]:
    """Matched below some nodes, level for level; what could not be."""
    left_a: list[Node] = []
    left_b: list[Node] = []
    waiting = list(roots)
    while waiting:
        one, other = waiting.pop()
        own = [node for node in a.elements(one) if node.id not in found]
        others = [node for node in b.elements(other) if node.id not in there]
        pairs, alone_a, alone_b = _level(a, own, b, others)
        for x, y in pairs:
            found[x.id] = y.id
            there.add(y.id)
            waiting.append((x.id, y.id))
        left_a += alone_a
        left_b += alone_b
    return left_a, left_b


def _level(
    a: Page, own: Sequence[Node], b: Page, others: Sequence[Node]
) -> tuple[list[tuple[Node, Node]], list[Node], list[Node]]:
    """Children of two that are the same: by name and place, then by likeness."""
    places = {_step(node): node for node in others}
    pairs = [(node, places[_step(node)]) for node in own if _same(node, places.get(_step(node)))]
    taken_a, taken_b = {one.id for one, _ in pairs}, {other.id for _, other in pairs}
    alone_a = [node for node in own if node.id not in taken_a]
    alone_b = [node for node in others if node.id not in taken_b]
    for node in list(alone_a):
        best = max(alone_b, key=lambda other: likeness(a, node, b, other), default=None)
        if best is not None and likeness(a, node, b, best) >= LEVEL:
            pairs.append((node, best))
            alone_a.remove(node)
            alone_b.remove(best)
    return pairs, alone_a, alone_b


def _same(node: Node, other: Node | None) -> bool:
    """At the same place, and not called otherwise: an id is a name."""
    return other is not None and node.attributes.get("id", "") == other.attributes.get("id", "")


def likeness(a: Page, one: Node, b: Page, other: Node) -> float:
    """From 0 to 1."""
    path = _paths(one.path, other.path)
    if path == 1.0 and one.attributes == other.attributes:
        return 1.0
    words = _PATH * path + _ATTRIBUTES * _alike(one.attributes, other.attributes)
    return words + _REST * (_count(a, one) == _count(b, other) and one.visible == other.visible)


def _alike(one: Mapping[str, str], other: Mapping[str, str]) -> float:
    names = (one.keys() | other.keys()) - _NOISE
    return sum(one.get(name) == other.get(name) for name in names) / len(names) if names else 1.0


def _paths(one: str, other: str) -> float:
    """By steps: of paths as long as these, most of the text is always the same."""
    first, second = one.split("/")[1:], other.split("/")[1:]
    if first[-1:] and second[-1:] and first[-1].partition("[")[0] != second[-1].partition("[")[0]:
        return 0.0
    return 1 - _steps(first, second) / max(len(first), len(second), 1)


def _steps(first: Sequence[str], second: Sequence[str]) -> float:
    """How many steps would have to be put in, taken out or changed; only another place among siblings is half that."""
    row = [float(n) for n in range(len(second) + 1)]
    for n, one in enumerate(first, 1):
        before, row[0] = row[0], float(n)
        for m, other in enumerate(second, 1):
            changed = 0.0 if one == other else 0.5 if one.partition("[")[0] == other.partition("[")[0] else 1.0
            before, row[m] = row[m], min(before + changed, row[m] + 1, row[m - 1] + 1)
    return row[-1]


def _step(node: Node) -> str:
    """Its name and place among those of that name."""
    step = node.path.rpartition("/")[2].upper()
    return step if step.endswith("]") else f"{step}[1]"


def _count(page: Page, node: Node) -> int:
    return len(page.inside[node.id])
