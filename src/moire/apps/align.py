"""How a page is laid out, as relations that do not depend on single pixels: what is in what, what is beside what, and
which edges are on one line. Two pages are laid out alike if these are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .page import Edges, Node, Page

# Boxes that are no larger say nothing of a layout, and edges that are no farther apart are on one line.
TOLERANCE = 5.0
# What sticks out of a box by no more is in it all the same: engines round in their own ways.
SLACK = 1.0
# What engines make of parts of a pixel.
ROUNDED = 0.5
# What is off by more than this part of what holds it is somewhere else, to a person's eye.
FAR = 0.05


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


Table = NDArray[np.float64]
# Whether a relation holds, and the amount that this rests on: one that only just flips is told by that from one that
# really does.
Relation = tuple[NDArray[np.bool_], Table]
Rows = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Graph:
    """Visible boxes, each in the smallest that contains it. Texts are none."""

    page: Page

    @cached_property
    def boxes(self) -> Sequence[Node]:
        return [node for node in self.page.nodes if node.visible and _large(node.edges)]

    @cached_property
    def rows(self) -> Mapping[int, int]:
        """Where a node is among the boxes."""
        return {node.id: row for row, node in enumerate(self.boxes)}

    @cached_property
    def edges(self) -> Table:
        return np.array([node.edges for node in self.boxes], dtype=np.float64).reshape(-1, 4)

    @cached_property
    def holders(self) -> NDArray[np.intp]:
        """For each box, the one that it is in; -1 for those that are in no other."""
        count = len(self.boxes)
        areas = (self.edges[:, 2] - self.edges[:, 0]) * (self.edges[:, 3] - self.edges[:, 1])
        # Of boxes that are the same, the outer one is first in the document.
        order = np.lexsort((-np.arange(count), areas))
        left, top, right, bottom = self.edges[order].T
        found = np.full(count, -1, dtype=np.intp)
        for start in range(0, count, _AT_ONCE):
            own = slice(start, start + _AT_ONCE)
            holds = (left - SLACK <= left[own, None]) & (right + SLACK >= right[own, None])
            holds &= (top - SLACK <= top[own, None]) & (bottom + SLACK >= bottom[own, None])
            # Only what comes later is larger.
            holds &= np.arange(count) > np.arange(count)[own, None]
            first = holds.argmax(axis=1)
            found[order[own]] = np.where(holds[np.arange(len(first)), first], order[first], -1)
        return found

    @cached_property
    def held(self) -> Mapping[int, NDArray[np.intp]]:
        """What is in each box."""
        order = np.argsort(self.holders, kind="stable")
        own, starts = np.unique(self.holders[order], return_index=True)
        return dict(zip(own.tolist(), np.split(order, starts[1:]), strict=True))


# Boxes of which it is worked out at once what they are in, and pairs of boxes of which it is how they stand.
_AT_ONCE, _PAIRS = 256, 1 << 16


def _large(edges: Edges) -> bool:
    left, top, right, bottom = edges
    return right - left > TOLERANCE and bottom - top > TOLERANCE


def within(inner: Table, outer: Table) -> dict[str, Relation]:
    """Where boxes stand in those that hold them."""
    found: dict[str, Relation] = {}
    for side, names in ((0, ("LEFT-JUSTIFICATION", "CENTER-ALIGNMENT", "RIGHT-JUSTIFICATION", "HFILL")),
                        (1, ("TOP-ALIGNMENT", "VMID-ALIGNMENT", "BOTTOM-ALIGNMENT", "VFILL"))):  # fmt: skip
        before, after = inner[:, side] - outer[:, side], outer[:, side + 2] - inner[:, side + 2]
        # How far from the middle, and to which side.
        off, most = (before - after) / 2, np.maximum(before, after)
        fills = most <= TOLERANCE
        middle = ~fills & (np.abs(off) <= TOLERANCE)
        aside = ~fills & ~middle
        first, centre, last, whole = names
        found[first], found[last] = (aside & (off < 0), off), (aside & (off > 0), off)
        found[centre], found[whole] = (middle, np.abs(off)), (fills, most)
    return found


def beside(one: Table, other: Table) -> dict[str, Relation]:
    """How boxes stand to others that one and the same box holds."""
    names = ("LEFT-EDGE-ALIGNMENT", "TOP-EDGE-ALIGNMENT", "RIGHT-EDGE-ALIGNMENT", "BOTTOM-EDGE-ALIGNMENT")
    apart = np.abs(one - other)
    found: dict[str, Relation] = {name: (apart[:, n] <= TOLERANCE, apart[:, n]) for n, name in enumerate(names)}
    gaps = {
        "LEFT-RIGHT": other[:, 0] - one[:, 2], "RIGHT-LEFT": one[:, 0] - other[:, 2],
        "TOP-BOTTOM": other[:, 1] - one[:, 3], "BOTTOM-TOP": one[:, 1] - other[:, 3],
    }  # fmt: skip
    return found | {name: (gap >= 0, gap) for name, gap in gaps.items()}


def differences(
    a: Graph, b: Graph, same: Mapping[int, int], only: Collection[int] | None = None
) -> Iterator[Difference]:
    """What is laid out otherwise, of all nodes of the first page or `only` some."""
    if _same_boxes(a.page, b.page, same):
        return
    there, rows = _chosen(a, b, same, only)
    if not len(rows):
        return
    known = np.flatnonzero(there >= 0)
    # What a relation rests on is how far two edges are apart: where no edge is off by more than half of what counts,
    # none is off by what counts.
    off = bool((np.abs(a.edges[known] - b.edges[there[known]]) > TOLERANCE / 2).any())
    yield from _holders(a, b, there, rows, off)
    if off:
        yield from _siblings(a, b, there, rows)


def _holders(a: Graph, b: Graph, there: NDArray[np.intp], rows: NDArray[np.intp], off: bool) -> Iterator[Difference]:
    others = there[rows]
    outer, other_outer = a.holders[rows], b.holders[others]
    for n in np.flatnonzero((outer < 0) != (other_outer < 0)):
        yield Difference("MISSING-PARENT", _pair(a, rows[n], outer[n]), _pair(b, others[n], other_outer[n]))
    both = (outer >= 0) & (other_outer >= 0)
    # A box that is not in both pages, or too small in one, is another matter.
    known = both & (there[outer] >= 0)
    alike = known & (there[outer] == other_outer)
    for n in np.flatnonzero(known & ~alike):
        yield Difference("PARENTS-DIFFER", _pair(a, rows[n], outer[n]), _pair(b, others[n], other_outer[n]))
    if off:
        yield from _flipped(a, b, (rows[alike], outer[alike]), (others[alike], other_outer[alike]), within)


def shifted(a: Graph, b: Graph, same: Mapping[int, int], only: Collection[int] | None = None) -> Iterator[Difference]:
    """Boxes that stand far from where they stand in what holds them in the other page, whatever all relations say: a
    button that is 200 pixels farther to the right of a wide bar is to the left of its middle all the same."""
    there, rows = _chosen(a, b, same, only)
    outer, others = a.holders[rows], b.holders[there[rows]]
    kept = (outer >= 0) & (others >= 0) & (there[outer] == others)
    here, elsewhere = (rows[kept], outer[kept]), (there[rows[kept]], others[kept])
    for side, kind in ((0, "SHIFTED-X"), (1, "SHIFTED-Y")):
        first, second = _gaps(a, here, side), _gaps(b, elsewhere, side)
        off = first - second
        most = np.maximum(TOLERANCE, FAR * np.minimum(first[2], second[2]))
        # What is only wider, or narrower, stands where it stood.
        far = (np.abs(off[0]) > most) & (np.abs(off[1]) > most) & (off[0] * off[1] < 0)
        for n in np.flatnonzero(far):
            yield Difference(kind, _pair(a, here[0][n], here[1][n]), _pair(b, elsewhere[0][n], elsewhere[1][n]))


def _same_boxes(a: Page, b: Page, same: Mapping[int, int]) -> bool:
    """Whether all boxes of both pages are where they are in the other, to a part of a pixel: most steps need no closer
    look, and what is within another box by less is in it by chance."""
    nodes, others = a.by_id, b.by_id
    for one, other in same.items():
        x, y = nodes[one], others[other]
        if x.visible != y.visible:
            return False
        p, q = x.edges, y.edges
        # Written out: this is all that most steps cost.
        across = abs(p[0] - q[0]) > ROUNDED or abs(p[2] - q[2]) > ROUNDED
        if x.visible and (across or abs(p[1] - q[1]) > ROUNDED or abs(p[3] - q[3]) > ROUNDED):
            return False
    return True


def _gaps(graph: Graph, rows: Rows, side: int) -> Table:
    """Before and after boxes in those that hold them, and how large these are."""
    inner, outer = graph.edges[rows[0]], graph.edges[rows[1]]
    before, after = inner[:, side] - outer[:, side], outer[:, side + 2] - inner[:, side + 2]
    return np.array([before, after, outer[:, side + 2] - outer[:, side]])


def _chosen(
    a: Graph, b: Graph, same: Mapping[int, int], only: Collection[int] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each box of the first page, where it is in the second; and those of all or `only` some that are in both."""
    places = b.rows
    there = np.array([places.get(same.get(node.id, -1), -1) for node in a.boxes], dtype=np.intp)
    chosen = there >= 0
    if only is not None:
        chosen &= np.array([node.id in only for node in a.boxes], dtype=np.bool_)
    return there, np.flatnonzero(chosen)


def _siblings(a: Graph, b: Graph, there: NDArray[np.intp], rows: NDArray[np.intp]) -> Iterator[Difference]:
    taken = np.zeros(len(a.boxes), dtype=np.bool_)
    pairs: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
    count = 0
    for row in rows.tolist():
        holder = int(a.holders[row])
        taken[row] = True
        if holder < 0:
            continue
        members = a.held[holder]
        # Two that are both chosen are looked at once.
        members = members[~taken[members]]
        other = there[members]
        # What is in another box there was told of that.
        members = members[(other >= 0) & (b.holders[other] == b.holders[there[row]])]
        if len(members):
            pairs.append((np.full(len(members), row, dtype=np.intp), members))
            count += len(members)
        if count > _PAIRS:
            yield from _beside(a, b, there, pairs)
            pairs, count = [], 0
    if pairs:
        yield from _beside(a, b, there, pairs)


def _beside(
    a: Graph, b: Graph, there: NDArray[np.intp], pairs: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
) -> Iterator[Difference]:
    ones, others = (np.concatenate(side) for side in zip(*pairs, strict=True))
    yield from _flipped(a, b, (ones, others), (there[ones], there[others]), beside)


def _flipped(
    a: Graph, b: Graph, here: Rows, there: Rows, relations: Callable[[Table, Table], Mapping[str, Relation]]
) -> Iterator[Difference]:
    first = relations(a.edges[here[0]], a.edges[here[1]])
    second = relations(b.edges[there[0]], b.edges[there[1]])
    for kind, (holds, amount) in first.items():
        held, other = second[kind]
        for n in np.flatnonzero((holds != held) & (np.abs(amount - other) > TOLERANCE)):
            yield Difference(kind, _pair(a, here[0][n], here[1][n]), _pair(b, there[0][n], there[1][n]))


def _pair(graph: Graph, n: np.intp, m: np.intp) -> tuple[str, str] | None:
    return None if n < 0 or m < 0 else (graph.boxes[int(n)].path, graph.boxes[int(m)].path)
