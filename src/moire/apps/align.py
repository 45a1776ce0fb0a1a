"""How a page is laid out, as relations that do not depend on single pixels: what is in what, what is beside what, and
which edges are on one line. Two pages are laid out alike if these are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .page import Edges, Node, Page

# Boxes that are no larger say nothing of a layout, and edges that are no farther apart are on one line.
TOLERANCE = 5.0
# What sticks out of a box by no more is in it all the same: engines round in their own ways.
SLACK = 1.0


@dataclass(frozen=True, slots=True)
class Relation:
    """`holds`, and `amount` is what that rests on: one that only just flips is told by it from one that really does."""

    holds: bool
    amount: float


@dataclass(frozen=True, slots=True)
class Difference:
    """`a` and `b` are paths of the node, or of two nodes, in each page; nothing where they are not."""

    kind: str
    a: tuple[str, ...] | None
    b: tuple[str, ...] | None

    @property
    def plain(self) -> dict[str, str]:
        whole = len(self.a or self.b or ())
        return {"kind": self.kind, "a": _written(self.a, whole), "b": _written(self.b, whole)}


def _written(paths: tuple[str, ...] | None, whole: int) -> str:
    """Two as `(one-other)`, and what is not there as stars."""
    words = "-".join(paths or ["*"] * whole)
    return f"({words})" if whole > 1 else words


@dataclass(frozen=True)
class Graph:
    """Visible boxes, each in the smallest that contains it."""

    page: Page

    @cached_property
    def boxes(self) -> Mapping[int, Node]:
        return {node.id: node for node in self.page.nodes if node.path and node.visible and _large(node.edges)}

    @cached_property
    def holders(self) -> Mapping[int, int]:
        """For each box the one that it is in; none for those that are in no other."""
        nodes = list(self.boxes.values())
        if not nodes:
            return {}
        edges = np.array([node.edges for node in nodes])
        areas = (edges[:, 2] - edges[:, 0]) * (edges[:, 3] - edges[:, 1])
        # Of boxes that are the same, the outer one is first in the document.
        order = np.lexsort((-np.arange(len(nodes)), areas))
        found: dict[int, int] = {}
        left, top, right, bottom = edges[order].T
        for place, n in enumerate(order):
            x, y, z, w = edges[n]
            later = slice(place + 1, None)
            inside = (left[later] - SLACK <= x) & (top[later] - SLACK <= y)
            inside &= (right[later] + SLACK >= z) & (bottom[later] + SLACK >= w)
            if inside.any():
                found[nodes[n].id] = nodes[order[place + 1 + int(inside.argmax())]].id
        return found

    @cached_property
    def held(self) -> Mapping[int, Sequence[int]]:
        found: dict[int, list[int]] = {}
        for node, holder in self.holders.items():
            found.setdefault(holder, []).append(node)
        return found


def _large(edges: Edges) -> bool:
    left, top, right, bottom = edges
    return right - left > TOLERANCE and bottom - top > TOLERANCE


def within(inner: Edges, outer: Edges) -> dict[str, Relation]:
    """Where a box stands in the one that holds it."""
    found: dict[str, Relation] = {}
    for side, names in ((0, ("LEFT-JUSTIFICATION", "CENTER-ALIGNMENT", "RIGHT-JUSTIFICATION", "HFILL")),
                        (1, ("TOP-ALIGNMENT", "VMID-ALIGNMENT", "BOTTOM-ALIGNMENT", "VFILL"))):  # fmt: skip
        before, after = inner[side] - outer[side], outer[side + 2] - inner[side + 2]
        # How far from the middle, and to which side.
        off = (before - after) / 2
        fills = max(before, after) <= TOLERANCE
        middle = not fills and abs(off) <= TOLERANCE
        aside = not fills and not middle
        first, centre, last, whole = names
        found[first], found[last] = Relation(aside and off < 0, off), Relation(aside and off > 0, off)
        found[centre], found[whole] = Relation(middle, abs(off)), Relation(fills, max(before, after))
    return found


def beside(one: Edges, other: Edges) -> dict[str, Relation]:
    """How two boxes stand to each other that one and the same box holds."""
    edges = ("LEFT-EDGE-ALIGNMENT", "TOP-EDGE-ALIGNMENT", "RIGHT-EDGE-ALIGNMENT", "BOTTOM-EDGE-ALIGNMENT")
    found = {
        name: Relation(abs(one[n] - other[n]) <= TOLERANCE, abs(one[n] - other[n])) for n, name in enumerate(edges)
    }
    gaps = {
        "LEFT-RIGHT": other[0] - one[2], "RIGHT-LEFT": one[0] - other[2],
        "TOP-BOTTOM": other[1] - one[3], "BOTTOM-TOP": one[1] - other[3],
    }  # fmt: skip
    return found | {name: Relation(gap >= 0, gap) for name, gap in gaps.items()}


def differences(
    a: Graph, b: Graph, same: Mapping[int, int], only: Collection[int] | None = None
) -> Iterator[Difference]:
    """What is laid out otherwise, of all nodes of the first page or `only` some."""
    chosen = [n for n in a.boxes if (only is None or n in only) and same.get(n) in b.boxes]
    for n in chosen:
        yield from _holders(a, b, same, n)
    seen: set[frozenset[int]] = set()
    for n in chosen:
        for m in a.held.get(a.holders.get(n, -1), ()):
            pair = frozenset([n, m])
            if n != m and pair not in seen and same.get(m) in b.boxes:
                seen.add(pair)
                yield from _pairs(a, b, same, n, m)


def _holders(a: Graph, b: Graph, same: Mapping[int, int], n: int) -> Iterator[Difference]:
    m = same[n]
    outer, other = a.holders.get(n), b.holders.get(m)
    here = None if outer is None else _paths(a, n, outer)
    there = None if other is None else _paths(b, m, other)
    if outer is None or other is None:
        if outer != other:
            yield Difference("MISSING-PARENT", here, there)
        return
    if same.get(outer) != other:
        # A box that is not in both pages, or too small in one, is another matter.
        if same.get(outer) in b.boxes:
            yield Difference("PARENTS-DIFFER", here, there)
        return
    first = within(a.boxes[n].edges, a.boxes[outer].edges)
    second = within(b.boxes[m].edges, b.boxes[other].edges)
    yield from (Difference(kind, here, there) for kind in _flipped(first, second))


def _pairs(a: Graph, b: Graph, same: Mapping[int, int], n: int, m: int) -> Iterator[Difference]:
    x, y = same[n], same[m]
    if b.holders.get(x) != b.holders.get(y):
        return
    first = beside(a.boxes[n].edges, a.boxes[m].edges)
    second = beside(b.boxes[x].edges, b.boxes[y].edges)
    for kind in _flipped(first, second):
        yield Difference(kind, _paths(a, n, m), _paths(b, x, y))


def _flipped(first: Mapping[str, Relation], second: Mapping[str, Relation]) -> Iterator[str]:
    for kind, one in first.items():
        other = second[kind]
        if one.holds != other.holds and abs(one.amount - other.amount) > TOLERANCE:
            yield kind


def _paths(graph: Graph, n: int, m: int) -> tuple[str, str]:
    return graph.boxes[n].path, graph.boxes[m].path
