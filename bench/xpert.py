"""Structure compared as X-PERT does it, page by page: every node is looked for among all of the other page's, alignment
graphs are made of both, and every relation is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from moire.apps.match import ANYWHERE, LEVEL, likeness
from moire.apps.page import Edges, Node, Page

SMALL = 5.0


def matched(a: Page, b: Page) -> dict[int, int]:
    """Those that are exactly alike, then the likest on the same level, then the likest anywhere."""
    found: dict[int, int] = {}
    left = [node for node in b.nodes if node.path]
    waiting = [node for node in a.nodes if node.path]

    def settle(least: float, among: Callable[[Node, Node], bool], *, first: bool) -> None:
        for one in list(waiting):
            fits = (other for other in left if among(one, other))
            if first:
                best = next((other for other in fits if likeness(a, one, b, other) >= least), None)
            else:
                best = max(fits, key=lambda other: likeness(a, one, b, other), default=None)
            if best is not None and likeness(a, one, b, best) >= least:
                found[one.id] = best.id
                waiting.remove(one)
                left.remove(best)

    settle(1.0, lambda one, other: True, first=True)
    settle(LEVEL, lambda one, other: one.path.count("/") == other.path.count("/"), first=False)
    settle(ANYWHERE, lambda one, other: True, first=False)
    return found


def _contains(outer: Edges, inner: Edges) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and outer[2] >= inner[2] and outer[3] >= inner[3]


def _area(edges: Edges) -> float:
    return (edges[2] - edges[0]) * (edges[3] - edges[1])


class Graph:
    def __init__(self, page: Page) -> None:
        self.boxes = {
            node.id: node.edges for node in page.nodes
            if node.visible and min(node.edges[2] - node.edges[0], node.edges[3] - node.edges[1]) > SMALL
        }  # fmt: skip
        self.parents: dict[int, int] = {}
        by_size = sorted(self.boxes, key=lambda id: (_area(self.boxes[id]), -id))
        for place, id in enumerate(by_size):
            for larger in by_size[place + 1 :]:
                if _contains(self.boxes[larger], self.boxes[id]):
                    self.parents[id] = larger
                    break
        self.siblings: dict[int, list[int]] = {}
        for id, parent in self.parents.items():
            self.siblings.setdefault(parent, []).append(id)


def _inside(inner: Edges, outer: Edges) -> list[bool]:
    found = []
    for low, high in ((0, 2), (1, 3)):
        before, after = inner[low] - outer[low], outer[high] - inner[high]
        middle = abs(before - after) <= 2 * SMALL
        fills = max(before, after) <= SMALL
        found += [fills, middle and not fills, not middle and before < after, not middle and before > after]
    return found


def _beside(one: Edges, other: Edges) -> list[bool]:
    lines = [abs(one[n] - other[n]) <= SMALL for n in range(4)]
    return [*lines, one[2] <= other[0], other[2] <= one[0], one[3] <= other[1], other[3] <= one[1]]


def differences(a: Page, b: Page) -> Iterator[tuple[int, int]]:
    """Nodes, or pairs of them, of the first page that stand otherwise in the second."""
    same = matched(a, b)
    first, second = Graph(a), Graph(b)
    for id, parent in first.parents.items():
        other = same.get(id, -1)
        if second.parents.get(other) != same.get(parent):
            yield id, parent
        elif other in second.boxes and same[parent] in second.boxes:
            here = _inside(first.boxes[id], first.boxes[parent])
            if here != _inside(second.boxes[other], second.boxes[same[parent]]):
                yield id, parent
    for siblings in first.siblings.values():
        for n, one in enumerate(siblings):
            for two in siblings[n + 1 :]:
                x, y = same.get(one, -1), same.get(two, -1)
                if x in second.boxes and y in second.boxes:
                    here = _beside(first.boxes[one], first.boxes[two])
                    if here != _beside(second.boxes[x], second.boxes[y]):
                        yield one, two
