"""One page in two browsers, as a whole: structure and text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from .align import Difference, Graph, differences
from .match import matched
from .page import Node, Page


def compared(a: Page, b: Page) -> Iterator[Difference]:
    """What is laid out otherwise, what is there only once, and what reads otherwise."""
    same = matched(a, b)
    yield from chain(differences(Graph(a), Graph(b), same), missing(a, b, same), texts(a, b, same))


def missing(a: Page, b: Page, same: Mapping[int, int]) -> Iterator[Difference]:
    """Visible elements that are in one page only; what is in such an element goes with it."""
    there = set(same.values())
    for node in a.nodes:
        if node.path and node.visible and node.id not in same and _shown(a.by_id.get(node.parent), same.keys()):
            yield Difference("MISSING-NODE-2", (node.path,), None)
    for node in b.nodes:
        if node.path and node.visible and node.id not in there and _shown(b.by_id.get(node.parent), there):
            yield Difference("MISSING-NODE-1", None, (node.path,))


def _shown(parent: Node | None, known: Collection[int]) -> bool:
    return parent is None or parent.id in known


def texts(a: Page, b: Page, same: Mapping[int, int]) -> Iterator[Difference]:
    """Elements whose own words differ, but for white space."""
    for one, other in same.items():
        if a.by_id[one].visible and b.by_id[other].visible and own_text(a, one) != own_text(b, other):
            yield Difference("TEXT", (a.by_id[one].path,), (b.by_id[other].path,))


def own_text(page: Page, of: int) -> str:
    return " ".join("".join(node.text for node in page.children[of] if not node.path).split())
