"""A page's data at one moment of a session: its nodes, where they are, and what they say."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..nouns import UsageError

# Left, top, right and bottom.
Edges = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Node:
    """An element, or a text if it has no path. `id` stays with a node for as long as it is in its document."""

    id: int
    parent: int
    path: str = ""
    edges: Edges = (0, 0, 0, 0)
    visible: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def tag(self) -> str:
        return self.path.rpartition("/")[2].partition("[")[0].lower()


@dataclass(frozen=True)
class Page:
    """Nodes in document order; a parent of -1 is none."""

    nodes: Sequence[Node]

    @cached_property
    def by_id(self) -> Mapping[int, Node]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def children(self) -> Mapping[int, Sequence[Node]]:
        found: dict[int, list[Node]] = {-1: []}
        for node in self.nodes:
            found.setdefault(node.id, [])
            found.setdefault(node.parent, []).append(node)
        return found

    @cached_property
    def inside(self) -> Mapping[int, tuple[int, ...]]:
        """The elements in each node, in their order."""
        found: dict[int, list[int]] = {-1: []}
        for node in self.nodes:
            if node.path:
                found.setdefault(node.id, [])
                found.setdefault(node.parent, []).append(node.id)
        return {of: tuple(own) for of, own in found.items()}

    def elements(self, of: int) -> list[Node]:
        return [self.by_id[id] for id in self.inside[of]]


def read(file: Path) -> Page:
    """A dump as Moire writes it, or in the shape of X-PERT's."""
    try:
        rows = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Give a page's dump.") from None
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise UsageError(f"{file} is no JSON.", "Give a page's dump.") from None
    try:
        return parsed(rows)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        raise UsageError(f"{file} is no page's dump.", "It is a list of nodes, as `moire app` writes it.") from None


def parsed(rows: Any, before: Page | None = None) -> Page:
    """Nodes that are as they were `before` are the same objects: long sessions take no more room than they must, and
    what did not change is told at a glance."""
    if not isinstance(rows, list):
        raise TypeError("nodes are a list")
    nodes = [_node(row) for row in rows]
    if before is not None:
        nodes = [was if (was := before.by_id.get(node.id)) == node else node for node in nodes]
    known = {node.id for node in nodes}
    if len(known) < len(nodes) or not all(node.parent in known or node.parent == -1 for node in nodes):
        raise ValueError("nodes have no order")
    return Page(nodes)


def _node(row: Mapping[str, Any]) -> Node:
    id, parent = int(row["nodeid"]), int(row["pid"])
    if row["type"] != 1:
        return Node(id, parent, text=str(row.get("text", "")))
    left, top, right, bottom = (float(edge) for edge in row.get("coord") or (0, 0, 0, 0))
    if not all(map(math.isfinite, (left, top, right, bottom))):
        raise ValueError("an edge is nowhere")
    attributes = {str(name): unquote(str(value)) for name, value in row.get("attributes", {}).items()}
    visible = bool(row.get("visible", True)) and right > left and bottom > top
    return Node(id, parent, str(row["xpath"]), (left, top, right, bottom), visible, attributes)


def plain(page: Page) -> list[dict[str, Any]]:
    """As it is written."""
    return [
        {"type": 1, "nodeid": one.id, "pid": one.parent, "xpath": one.path, "coord": list(one.edges),
         "visible": int(one.visible), "attributes": dict(one.attributes)}
        if one.path else {"type": 0, "nodeid": one.id, "pid": one.parent, "text": one.text}
        for one in page.nodes
    ]  # fmt: skip
