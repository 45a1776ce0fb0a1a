"""What an event changed in a page: nodes that are new, gone or otherwise, and nodes that are elsewhere on the screen.

Only these are compared between browsers after an event; what did not change was compared before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_

from .page import Page


@dataclass(frozen=True, slots=True)
class Mutations:
    """By numbers of nodes: elements of the page after the event, but for those that were `removed`. `texts` are the
    elements in which something is written that was not, or is no longer."""

    added: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()
    reparented: frozenset[int] = frozenset()
    reordered: frozenset[int] = frozenset()
    attributes: Mapping[int, frozenset[str]] = field(default_factory=dict)
    texts: frozenset[int] = frozenset()
    # Boxes that moved, grew or shrank: not a change of the tree, but what comes of one.
    moved: frozenset[int] = frozenset()

    @property
    def none(self) -> bool:
        """Whether the tree stayed as it was."""
        others = (self.added, self.removed, self.reparented, self.reordered, self.attributes, self.texts)
        return not any(others)

    @property
    def any(self) -> bool:
        return bool(self.moved) or not self.none

    @property
    def comes(self) -> bool:
        """Whether there are elements where they were not."""
        return bool(self.added or self.reparented)

    @property
    def changed(self) -> frozenset[int]:
        """All that are in the page and not as they were, or not where."""
        return frozenset([
            *self.added, *self.reparented, *self.reordered, *self.attributes, *self.texts, *self.moved
        ])  # fmt: skip


def mutations(before: Page | None, after: Page) -> Mutations:
    """From one look at a page to the next; from nothing, all is new."""
    if before is None:
        every = frozenset(node.id for node in after.nodes if node.path)
        return Mutations(added=every, texts=every, moved=every)
    if len(before.nodes) == len(after.nodes) and all(map(is_, before.nodes, after.nodes)):
        return Mutations()
    old, new = before.by_id, after.by_id
    added: set[int] = set()
    reparented: set[int] = set()
    texts: set[int] = set()
    moved: set[int] = set()
    attributes: dict[int, frozenset[str]] = {}
    for node in after.nodes:
        was = old.get(node.id)
        if was is node:
            continue
        if not node.path:
            if was is None or was.text != node.text or was.parent != node.parent:
                texts.add(node.parent)
                if was is not None and was.parent in new:
                    texts.add(was.parent)
        elif was is None:
            added.add(node.id)
            moved.add(node.id)
        else:
            if was.parent != node.parent:
                reparented.add(node.id)
            if was.attributes != node.attributes:
                names = was.attributes.keys() | node.attributes.keys()
                attributes[node.id] = frozenset(n for n in names if was.attributes.get(n) != node.attributes.get(n))
            if (was.edges, was.visible) != (node.edges, node.visible):
                moved.add(node.id)
    gone = [old[id] for id in old.keys() - new.keys()]
    texts |= {node.parent for node in gone if not node.path and node.parent in new}
    return Mutations(
        frozenset(added), frozenset(node.id for node in gone if node.path), frozenset(reparented),
        frozenset(_reordered(before, after)), attributes, frozenset(texts), frozenset(moved),
    )  # fmt: skip


def _reordered(before: Page, after: Page) -> set[int]:
    """Elements that are still in their parent, and no longer in the order among those that are."""
    found: set[int] = set()
    for parent, now in after.inside.items():
        was = before.inside.get(parent, now)
        if now == was:
            continue
        kept = {*now} & {*was}
        own, former = [n for n in now if n in kept], [n for n in was if n in kept]
        if own != former:
            found |= {*own} - _in_order(former, own)
    return found


def _in_order(was: list[int], now: list[int]) -> set[int]:
    """The most that kept their order: the others were moved past them."""
    places = {n: place for place, n in enumerate(was)}
    # The end of the best row of each length, and the one before each.
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for n in now:
        low = next((k for k, end in enumerate(ends) if places[end] > places[n]), len(ends))
        before[n] = ends[low - 1] if low else None
        ends[low : low + 1] = [n]
    kept: set[int] = set()
    last: int | None = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return kept
