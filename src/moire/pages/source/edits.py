"""Changes to a text, by place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """What goes in place of a span; nothing, if it is cut out."""

    start: int
    end: int
    new: str = ""


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after all of them. One that lies within another, or over its end, has no place any more."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, -e.end)):
        if edit.start >= at:
            parts += [text[at : edit.start], edit.new]
            at = edit.end
    return "".join([*parts, text[at:]])
