"""What the web's specifications say, as of the snapshot in `data/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ...nouns import MoireError

FILE = Path(__file__).with_name("data") / "web.json"

Status = Literal["standard", "experimental", "legacy"]
Space = Literal["html", "svg", "mathml"]


@dataclass(frozen=True, slots=True)
class Feature:
    """Anything a page can use. `since` has the first version of each engine that knows it."""

    name: str
    status: Status
    since: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Property(Feature):
    syntax: str
    longhands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selector(Feature):
    syntax: str


@dataclass(frozen=True, slots=True)
class Attribute(Feature):
    """`values` are those that the data names; most attributes take others too."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Element(Feature):
    space: Space
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class Web:
    """The snapshot. The element named "" holds the attributes that all elements of its space share."""

    sources: Mapping[str, Mapping[str, str]]
    properties: Mapping[str, Property]
    types: Mapping[str, str]
    functions: Mapping[str, str]
    selectors: Mapping[str, Selector]
    elements: Mapping[Space, Mapping[str, Element]]


@cache
def load(path: Path = FILE) -> Web:
    try:
        data = json.loads(path.read_text("utf-8"))
        return Web(
            data["sources"],
            {n: Property(n, p["status"], p["since"], p["syntax"], tuple(p.get("longhands", ())))
             for n, p in data["properties"].items()},
            data["types"],
            data["functions"],
            {n: Selector(n, s["status"], s["since"], s["syntax"]) for n, s in data["selectors"].items()},
            {space: {n: _element(space, n, e) for n, e in known.items()} for space, known in data["elements"].items()},
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MoireError(f"The snapshot {path} is damaged ({error}).", "Run `moire pages refresh`.") from None


def _element(space: Space, name: str, data: dict[str, Any]) -> Element:
    attributes = {n: Attribute(n, a["status"], a["since"], tuple(a["values"])) for n, a in data["attributes"].items()}
    return Element(name, data["status"], data["since"], space, attributes)
