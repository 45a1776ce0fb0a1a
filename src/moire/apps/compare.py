"""One page in two browsers, as a whole: structure and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from .align import Difference, Graph, differences
from .match import matched
from .page import Node, Page


def compared(a: Page, b: Page) -> Iterator[Difference]:
    """What is laid out otherwise, what is there only once, and what reads otherwise."""
    same = matched(a, b)
    yield from chain(differences(Graph(a), Graph(b), same), missing(a, b, same), texts(a, b, same))


def missing(
    a: Page, b: Page, same: Mapping[int, int], back: Mapping[int, int] | None = None,
    alone: tuple[Iterable[int], Iterable[int]] | None = None,
) -> Iterator[Difference]:  # fmt: skip
    """Visible elements that are in one page only, of all or of those that are known to be `alone`; what is in such an
    element goes with it."""
    back = back if back is not None else {other: one for one, other in same.items()}
    own, others = alone or (a.inside, b.inside)
    for node in _lone(a, own, same):
        yield Difference("MISSING-NODE-2", (node.path,), None)
    for node in _lone(b, others, back):
        yield Difference("MISSING-NODE-1", None, (node.path,))


def _lone(page: Page, among: Iterable[int], same: Mapping[int, int]) -> Iterator[Node]:
    for id in among:
        node = page.by_id.get(id)
        if node is not None and node.visible and id not in same and (node.parent in same or node.parent < 0):
            yield node


def texts(a: Page, b: Page, same: Mapping[int, int]) -> Iterator[Difference]:
    """Elements whose own words differ, but for white space."""
    for one, other in same.items():
        if a.by_id[one].visible and b.by_id[other].visible and own_text(a, one) != own_text(b, other):
            yield Difference("TEXT", (a.by_id[one].path,), (b.by_id[other].path,))


def own_text(page: Page, of: int) -> str:
    return " ".join("".join(node.text for node in page.children[of] if not node.path).split())
