"""Two dumps of one page: the first stage of the pipeline at which they part, and where."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from ..nouns import Box, Dump, DumpNode

Stage = Literal["dom", "style", "layout", "paint"]
Mask = NDArray[np.bool_]
# Engines round boxes in their own ways, to 1/64 of a pixel.
BOX_TOLERANCE = 0.05
# Computed values that are worked out from boxes: they say where layout went, not what style said.
_FROM_LAYOUT = re.compile(
    r"(?:min-|max-)?(?:width|height|(?:inline|block)-size)|top|right|bottom|left|inset.*|margin.*|padding.*"
    r"|transform|transform-origin|perspective-origin|line-height|grid-template-.*|font-size-adjust"
)


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two dumps part: the stage, the styles it shows in (none for dom, layout and paint), and the
    nodes, as indexes into both dumps; `paint` is what is left when nothing else differs."""

    stage: Stage
    # Properties; those of a pseudo-element behind its name.
    styles: frozenset[str] = frozenset()
    nodes: tuple[int, ...] = ()

    @property
    def properties(self) -> frozenset[str]:
        return frozenset(map(_property, self.styles))


def parting(a: Dump, b: Dump, seen: Mask | None = None, noise: Collection[str] = ()) -> Parting:
    """Of nodes outside the mask of what is seen to differ, none counts; nor do styles of noise, or a pseudo-element's
    where the property itself is noise."""
    if _shape(a) != _shape(b):
        return Parting("dom")
    here = [n for n in range(len(a.nodes)) if seen is None or touches(a.nodes[n], seen) or touches(b.nodes[n], seen)]

    def loud(n: int) -> set[str]:
        return {name for name in _styles(a.nodes[n], b.nodes[n]) if name not in noise and _property(name) not in noise}

    styled = {n: names for n in here if (names := loud(n))}
    if styled:
        return Parting("style", frozenset().union(*styled.values()), tuple(styled))
    moved = tuple(n for n in here if not same_boxes(a.nodes[n].boxes, b.nodes[n].boxes))
    return Parting("layout", nodes=moved) if moved else Parting("paint", nodes=tuple(here))


def _property(style: str) -> str:
    """Whose it is, left out."""
    return style.rpartition(" ")[2]


def on_page(seen: Mask, dump: Dump) -> Mask:
    """What is seen in the window, at its place in the document: that is where boxes are told."""
    name = "body" if dump.quirks else "html"
    state = next((node.state for node in dump.nodes if (node.kind, node.name) == ("element", name)), {})
    left, top = int(state.get("scrollLeft", 0)), int(state.get("scrollTop", 0))
    shown = seen[max(0, -top) :, max(0, -left) :]
    return np.pad(shown, ((max(0, top), 0), (max(0, left), 0)))


def usual_noise(a: Dump, b: Dump) -> frozenset[str]:
    """Styles that two engines compute differently on a plain page, and to no effect: the boxes are the same."""
    found = parting(a, b).styles
    return found if parting(a, b, noise=found).stage == "paint" else frozenset()


def bulk(dump: Dump, seen: Mask) -> int | None:
    """The smallest element that has most of what is seen to differ within its boxes; none if only the whole page."""
    sums = cv2.integral(seen.astype(np.uint8))
    best: tuple[float, int] | None = None
    for n, node in enumerate(dump.nodes):
        if node.kind == "element" and node.name not in ("html", "body"):
            inside = 0
            for box in node.boxes:
                left, top, right, bottom = _pixels(box, seen)
                inside += int(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])
            size = sum(w * h for _, _, w, h in node.boxes)
            if 2 * inside > sums[-1, -1] and (best is None or size <= best[0]):
                best = (size, n)
    return best[1] if best else None


def within(seen: Mask, node: DumpNode) -> Mask:
    """Of what is seen to differ, the part in a node's boxes."""
    found = np.zeros_like(seen)
    for box in node.boxes:
        left, top, right, bottom = _pixels(box, seen)
        found[top:bottom, left:right] = seen[top:bottom, left:right]
    return found


def _pixels(box: Box, seen: Mask) -> tuple[int, int, int, int]:
    """A box on the picture, a little larger: left, top, right, bottom."""
    x, y, w, h = box
    height, width = seen.shape
    left, top = min(max(0, int(x) - 1), width), min(max(0, int(y) - 1), height)
    return left, top, max(left, min(width, int(x + w) + 2)), max(top, min(height, int(y + h) + 2))


def _shape(dump: Dump) -> list[tuple[object, ...]]:
    return [(n.parent, n.kind, n.name, n.text, n.attributes) for n in dump.nodes] + [(dump.quirks,)]


def outline(dump: Dump) -> list[str]:
    """The tree, a line a node."""
    depths: list[int] = []
    lines: list[str] = []
    for node in dump.nodes:
        depths.append(depths[node.parent] + 1 if node.parent >= 0 else 0)
        told = [node.name, *(f'{name}="{value}"' for name, value in node.attributes)]
        words = (
            f"<{' '.join(told)}>"
            if node.kind == "element"
            else f"{node.kind} {node.text!r}"
            if node.text
            else node.name
        )
        lines.append(f"{'  ' * depths[-1]}{words}")
    return lines


def box_words(boxes: tuple[Box, ...]) -> str:
    return ", ".join(f"{w:g}×{h:g} at {x:g},{y:g}" for x, y, w, h in boxes) or "no box"


def _styles(a: DumpNode, b: DumpNode) -> set[str]:
    """Longhands that both know and that are not the same; pseudo-elements that only one of them has."""
    found = {name for name, value in a.style.items() if name in b.style and b.style[name] != value}
    for pseudo in a.pseudo.keys() | b.pseudo.keys():
        one, other = a.pseudo.get(pseudo), b.pseudo.get(pseudo)
        if one is None or other is None:
            found.add(pseudo)
        else:
            found |= {f"{pseudo} {name}" for name, value in one.items() if name in other and other[name] != value}
    return {name for name in found if not _FROM_LAYOUT.fullmatch(_property(name))}


def same_boxes(a: tuple[Box, ...], b: tuple[Box, ...]) -> bool:
    return len(a) == len(b) and all(
        abs(x - y) <= BOX_TOLERANCE for one, other in zip(a, b, strict=True) for x, y in zip(one, other, strict=True)
    )


def touches(node: DumpNode, seen: Mask) -> bool:
    for box in node.boxes:
        left, top, right, bottom = _pixels(box, seen)
        if seen[top:bottom, left:right].any():
            return True
    return False
