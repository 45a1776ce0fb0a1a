"""What makes a difference the same difference, or part of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import cv2
import numpy as np

from ...inspect.compare import Mask, Parting, bulk, on_page, parting, within
from ...nouns import Box, Dump, Shot
from ...oracles.change import image
from ...pixels import common

# A channel that is off by more than this is seen by anyone.
CLEAR = 64
# What elements are renamed to.
PLAIN_NAMES = ("div", "span")


@dataclass(frozen=True, slots=True)
class Signature:
    """What must stay: the kind of verdict, how strong the difference is, the stage it comes from, of style the
    properties, and the kind of element that has most of it, if one has."""

    kind: str
    strength: Literal["", "faint", "clear"] = ""
    stage: str = ""
    properties: frozenset[str] = frozenset()
    where: str = ""

    def keeps(self, other: Signature) -> bool:
        """Whether the other is the same difference, or part of it."""
        if (self.kind, self.strength, self.stage) != (other.kind, other.strength, other.stage):
            return False
        if self.where not in ("", other.where):
            return False
        return not self.properties or bool(self.properties & other.properties)

    @property
    def words(self) -> str:
        style = ", ".join(sorted(self.properties)[:3])
        return " ".join(filter(None, [self.kind, self.strength, self.stage, style, self.where and f"in {self.where}"]))

    def renamed(self, other: Signature) -> Signature:
        """The same, if the other is in an element of a plain name."""
        return replace(self, where="") if self.where and other.where in PLAIN_NAMES else self


@dataclass(frozen=True, slots=True)
class Described:
    """A difference, the elements it shows in, and where the first of them is on the page."""

    signature: Signature
    suspects: list[tuple[str, int]]
    boxes: tuple[Box, ...] = ()


def described(
    a: Shot, b: Shot, dumps: tuple[Dump, Dump] | None, scale: float, noise: Collection[str] = ()
) -> Described:
    """The signature of a difference between two pictures, and the elements it shows in."""
    seen, most = mask(a.png, b.png)
    if dumps is None:
        return Described(Signature("different", strength(most)), [])
    seen = on_page(in_css_pixels(seen, scale), dumps[1])
    chief = bulk(dumps[1], seen)
    name = "" if chief is None else dumps[1].nodes[chief].name
    # A page may show several differences: stage and properties are those of the one it shows most of.
    most_of_it = seen if chief is None else within(seen, dumps[1].nodes[chief])
    parts = parting(dumps[0], dumps[1], most_of_it, noise)
    signature = Signature("different", strength(most), parts.stage, parts.properties, name)
    return Described(signature, _named(dumps[1], chief, parts), _boxes(dumps[1], chief))


def drawn(a: Shot, b: Shot, dump: Dump, scale: float) -> Described:
    """The same by the first build's dump alone: of two engines, neither styles nor boxes are told alike."""
    seen, most = mask(a.png, b.png)
    chief = bulk(dump, on_page(in_css_pixels(seen, scale), dump))
    name = "" if chief is None else dump.nodes[chief].name
    signature = Signature("different", strength(most), where=name)
    return Described(signature, _named(dump, chief, Parting("paint")), _boxes(dump, chief))


def _boxes(dump: Dump, chief: int | None) -> tuple[Box, ...]:
    return () if chief is None else dump.nodes[chief].boxes


@lru_cache(maxsize=8)
def mask(a: bytes, b: bytes) -> tuple[Mask, int]:
    """Where two pictures differ: clearly, if they do so anywhere; and by how much at the most."""
    red, green, blue = cv2.split(cv2.absdiff(*common(image(a), image(b))))
    worst = cv2.max(cv2.max(red, green), blue)
    most = int(worst.max(initial=0))
    return worst > (CLEAR if most > CLEAR else 0), most


def in_css_pixels(mask: Mask, scale: float) -> Mask:
    if scale == 1:
        return mask
    height, width = mask.shape
    size = (max(1, round(width / scale)), max(1, round(height / scale)))
    return cv2.resize(mask.astype(np.uint8) * 255, size, interpolation=cv2.INTER_AREA) > 0


def strength(most: int) -> Literal["faint", "clear"]:
    return "clear" if most > CLEAR else "faint"


def _named(dump: Dump, chief: int | None, parts: Parting) -> list[tuple[str, int]]:
    """The chief suspect, and the elements among the nodes that part, the smallest first: what is round them
    differs because they do."""
    sizes: dict[tuple[str, int], float] = {}
    count: dict[str, int] = {}
    places: dict[int, tuple[str, int]] = {}
    for n, node in enumerate(dump.nodes):
        if node.kind == "element":
            places[n] = (node.name, count.get(node.name, 0))
            count[node.name] = count.get(node.name, 0) + 1
    for n in parts.nodes:
        owner = n if n in places else dump.nodes[n].parent
        if owner in places and dump.nodes[owner].name not in ("html", "body", "head"):
            sizes[places[owner]] = sum(w * h for _, _, w, h in dump.nodes[owner].boxes)
    found = sorted(sizes, key=lambda place: (sizes[place], place))
    return list(dict.fromkeys([*([places[chief]] if chief is not None else []), *found]))
