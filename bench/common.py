"""What the benchmarks share."""

from __future__ import annotations

from typing import Any

from moire.browsers import names
from moire.nouns import Build
from moire.pages.simple import page

Row = dict[str, Any]


def build(name: str) -> Build:
    return names.resolve(name)


def pages(count: int, size: int, first: int = 0) -> list[str]:
    return [page(first + n, size).html.decode() for n in range(count)]


def row(measure: str, value: float, least: str, **details: Any) -> Row:
    return {"measure": measure, "value": round(value, 3), "wanted": least, **details}
