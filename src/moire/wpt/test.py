"""What a web-platform-test is: its kind, what it is compared with, and how much they may differ. Read, not run."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from ..nouns import Case
from ..pages.source import Node, elements, parse

Relation = Literal["match", "mismatch"]
Kind = Literal["reftest", "testharness", "none"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The least and the most of the largest difference of a channel, and of the number of pixels that differ."""

    difference: tuple[int, int] = (0, 0)
    pixels: tuple[int, int] = (0, 0)

    def allows(self, difference: int, pixels: int) -> bool:
        if not pixels:
            # The same picture is within any tolerance that begins at none.
            return self.difference[0] == 0 or self.pixels[0] == 0
        return self.difference[0] <= difference <= self.difference[1] and self.pixels[0] <= pixels <= self.pixels[1]

    @property
    def words(self) -> str:
        return f"{self.difference[0]}-{self.difference[1]};{self.pixels[0]}-{self.pixels[1]}"


EXACT = Tolerance()


@dataclass(frozen=True, slots=True)
class Reference:
    relation: Relation
    path: str


@dataclass(frozen=True, slots=True)
class Test:
    """`references` are alternatives if they match, and all hold if they must not; `fuzzy` is by the reference's path,
    and "" stands for any."""

    kind: Kind
    references: tuple[Reference, ...]
    fuzzy: Mapping[str, Tolerance]

    def tolerance(self, path: str) -> Tolerance:
        return self.fuzzy.get(path, self.fuzzy.get("", EXACT))


def read(case: Case) -> Test:
    """The test in a page whose name is its path in a checkout."""
    text = case.html.decode("utf-8", "replace")
    references: list[Reference] = []
    fuzzy: dict[str, Tolerance] = {}
    harness = False
    for node in elements(parse(text)):
        name = node.name.rpartition(":")[2].lower()
        if name == "link":
            words = _value(text, node, "rel").lower().split()
            for relation in ("match", "mismatch"):
                if relation in words and (path := _path(case.name, _value(text, node, "href"))):
                    references.append(Reference("match" if relation == "match" else "mismatch", path))
        elif name == "meta" and _value(text, node, "name").lower() == "fuzzy":
            reference, tolerance = _tolerance(_value(text, node, "content"))
            if tolerance is not None:
                fuzzy[_path(case.name, reference) if reference else ""] = tolerance
        elif name == "script" and _value(text, node, "src").split("?")[0].endswith("/testharness.js"):
            harness = True
    kind: Kind = "reftest" if references else "testharness" if harness else "none"
    return Test(kind, tuple(references), fuzzy)


def _value(text: str, node: Node, name: str) -> str:
    found = node.attribute(name)
    return html.unescape(text[slice(*found.value)]).strip() if found is not None and found.value is not None else ""


def _path(page: str, address: str) -> str:
    """A path in the checkout, from one in the page."""
    plain = unquote(re.split(r"[?#]", address)[0])
    if not plain or ":" in plain:
        return ""
    joined = plain if plain.startswith("/") else posixpath.join("/", posixpath.dirname(page), plain)
    return posixpath.normpath(joined).lstrip("/")


def _tolerance(content: str) -> tuple[str, Tolerance | None]:
    """`[REFERENCE:]maxDifference=0-5;totalPixels=0-100`, the names and the lower bounds optional."""
    reference, _, rest = content.rpartition(":")
    found: dict[str, tuple[int, int]] = {}
    for key, part in zip(("maxDifference", "totalPixels"), re.split(r"[;,]", rest), strict=False):
        name, _, numbers = part.strip().rpartition("=")
        low, dash, high = numbers.strip().partition("-")
        if not low.strip().isdecimal() or (dash and not high.strip().isdecimal()):
            return reference.strip(), None
        # One number alone is exactly that many.
        found[name.strip() or key] = (int(low), int(high) if dash else int(low))
    if found.keys() != {"maxDifference", "totalPixels"}:
        return reference.strip(), None
    return reference.strip(), Tolerance(found["maxDifference"], found["totalPixels"])
