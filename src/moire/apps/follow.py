"""One page in two browsers from step to step: which node is which, and what a step changed. Only what changed is looked
at, so that a step costs what it does and not what there is."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from .match import matched
from .mutations import Mutations, mutations
from .page import Node, Page


@dataclass(frozen=True, slots=True)
class Change:
    """What a step did on both sides. `same` and `back` say which node of the first page is which of the second, and the
    other way round; `alone` are elements of each that came, moved or lost their like, and are none of the other's."""

    first: Mutations
    second: Mutations
    same: Mapping[int, int]
    back: Mapping[int, int]
    alone: tuple[Set[int], Set[int]]

    def either(self, first: Set[int], second: Set[int]) -> set[int]:
        """By numbers of the first page, what is in one set or the other."""
        return (first | {self.back[n] for n in second & self.back.keys()}) & self.same.keys()


@dataclass
class Following:
    def __post_init__(self) -> None:
        self._pages: tuple[Page, Page] | None = None
        self._same: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self._marks = 0, 0
        self._seen: set[tuple[int, int]] = set()

    @property
    def same(self) -> Mapping[int, int]:
        """For elements of the first page, those of the second that they are."""
        return self._same

    def step(self, a: Page, b: Page, *, afresh: bool = False) -> Change | None:
        """To the next step; `afresh` if another page was loaded. Nothing, if nothing changed or it was all seen."""
        before = None if afresh else self._pages
        self._pages = a, b
        if before is None:
            self._same, self._back = {}, {}
            self._marks = 0, 0
        was, other = before or (None, None)
        first, second = mutations(was, a), mutations(other, b)
        if not (first.any or second.any):
            return None
        lost = self._forget(first.removed, second.removed)
        if first.comes or second.comes:
            self._same = matched(a, b, self._roots(a, b, first, second), self._same)
            self._back = {other: one for one, other in self._same.items()}
        self._marks = _mark(self._marks[0], was, a), _mark(self._marks[1], other, b)
        if self._marks in self._seen:
            return None
        self._seen.add(self._marks)
        alone = (
            (first.added | first.moved | lost[0]) - self._same.keys(),
            (second.added | second.moved | lost[1]) - self._back.keys(),
        )
        return Change(first, second, self._same, self._back, alone)

    def _forget(self, first: Set[int], second: Set[int]) -> tuple[set[int], set[int]]:
        """Pairs of which one is gone; the others of them."""
        gone = (first & self._same.keys()) | {self._back[n] for n in second & self._back.keys()}
        if not gone:
            return set(), set()
        self._same = dict(self._same)
        pairs = [(one, self._same.pop(one)) for one in gone]
        self._back = {other: one for one, other in self._same.items()}
        return {one for one, _ in pairs if one not in first}, {other for _, other in pairs if other not in second}

    def _roots(self, a: Page, b: Page, first: Mutations, second: Mutations) -> list[tuple[int, int]]:
        """Nodes that are known to be the same, and that have got something new in them."""
        if not self._same:
            return [(-1, -1)]
        parents = {a.by_id[n].parent for n in (*first.added, *first.reparented)}
        others = {b.by_id[n].parent for n in (*second.added, *second.reparented)}
        parents |= {self._back[n] for n in others & self._back.keys()}
        return [(one, self._same[one]) for one in sorted(parents & self._same.keys())]


def _mark(mark: int, before: Page | None, after: Page) -> int:
    """Of a tree without its numbers, which are another browser's or another load's; from that of the tree before."""
    old: Mapping[int, Node] = before.by_id if before is not None else {}
    for node in after.nodes:
        was = old.get(node.id)
        if was is not node:
            mark += _digest(node) - (_digest(was) if was is not None else 0)
    return mark - sum(_digest(old[id]) for id in old.keys() - after.by_id.keys())


def _digest(node: Node) -> int:
    return hash((node.path, node.text, node.edges, node.visible, *node.attributes.items()))
