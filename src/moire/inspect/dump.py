"""Taking a dump: the document's tree, computed styles, boxes and text in one call."""

from __future__ import annotations

from typing import Any

from ..browsers.drivers.base import Tab, Untestable
from ..nouns import Dump, DumpNode
from .scripts import script


async def take(tab: Tab, *, every: bool = False) -> Dump:
    """With styles of every kind of pseudo-element that the page styles, if they are asked for: that takes longer."""
    try:
        return _read(await tab.inspect(script("dump.js", "const every = true;" if every else "")))
    except (ValueError, TypeError, KeyError, IndexError):
        raise Untestable("the page meddles with the answers of scripts") from None


def _read(answer: dict[str, Any]) -> Dump:
    properties, values = answer["properties"], answer["values"]

    def style(numbers: list[int]) -> dict[str, str]:
        return {name: values[n] for name, n in zip(properties, numbers, strict=True)}

    nodes = tuple(
        DumpNode(
            parent=node["parent"],
            kind=node["kind"],
            name=node["name"],
            text=node.get("text", ""),
            attributes=tuple((name, value) for name, value in node.get("attributes", ())),
            state=node.get("state", {}),
            boxes=tuple((x, y, width, height) for x, y, width, height in node.get("boxes", ())),
            style=style(node["style"]) if "style" in node else {},
            pseudo={name: style(numbers) for name, numbers in node.get("pseudo", {}).items()},
        )
        for node in answer["nodes"]
    )
    return Dump(nodes, quirks=answer["mode"] == "BackCompat")
