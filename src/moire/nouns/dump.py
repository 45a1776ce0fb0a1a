"""What a page is inside a browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

NodeKind = Literal["document", "doctype", "element", "shadow", "text", "comment", "other"]
# Left, top, width and height in CSS pixels of the document.
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class DumpNode:
    """One node. `boxes` has one for each line or column it is broken over, `style` every longhand
    the engine knows, `state` what attributes do not tell (a field's value, scrolling, focus)."""

    parent: int
    kind: NodeKind
    name: str
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    boxes: tuple[Box, ...] = ()
    style: Mapping[str, str] = field(default_factory=dict)
    pseudo: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dump:
    """A page's nodes in document order; `parent` is an index into them."""

    nodes: tuple[DumpNode, ...]
    quirks: bool
