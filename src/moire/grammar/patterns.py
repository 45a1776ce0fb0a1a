"""Regular expressions as something to generate from: simple characters, few repetitions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

# The standard library's own reader of regular expressions. It has no public name, and its results
# have kept their shape since Python 1.5; the tests say if that ends.
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from .model import GrammarError

# What "any character" and "any but these" stand for, the simplest first.
PRINTABLE = "a0 " + "".join(chr(n) for n in range(33, 127) if chr(n) not in "a0")
# Where a pattern allows any number.
MANY = 2**32
# Times that a pattern may insist on.
MOST_TIMES = 10_000


@dataclass(frozen=True, slots=True)
class Chars:
    """One of these characters, the simplest first."""

    allowed: str


@dataclass(frozen=True, slots=True)
class Repeat:
    body: Part
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    options: tuple[Part, ...]


Part: TypeAlias = Chars | Repeat | Sequence | OneOf


@cache
def parts(source: str) -> Part:
    """What a pattern generates. `\\s*` is nothing and `\\s+` one blank, as people mean them."""
    return _sequence(_parser.parse(source), source)


def _sequence(tokens: Any, source: str) -> Part:
    found = tuple(part for token in tokens if (part := _part(token, source)) is not None)
    return found[0] if len(found) == 1 else Sequence(found)


def _part(token: Any, source: str) -> Part | None:
    kind, value = token
    if kind in (c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY):
        return Chars(_characters(token, source))
    if kind in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
        least, most, body = value
        if least > MOST_TIMES:
            raise GrammarError(f"The regular expression {source!r} repeats {least} times; {MOST_TIMES} is the most.")
        if list(body) == [(c.IN, [(c.CATEGORY, c.CATEGORY_SPACE)])] and most == c.MAXREPEAT:
            return Sequence((Chars(" "),) * least)
        return Repeat(_sequence(body, source), int(least), MANY if most == c.MAXREPEAT else int(most))
    if kind == c.SUBPATTERN:
        return _sequence(value[-1], source)
    if kind == c.ATOMIC_GROUP:
        return _sequence(value, source)
    if kind == c.BRANCH:
        return OneOf(tuple(_sequence(option, source) for option in value[1]))
    if kind == c.AT and value not in (c.AT_BOUNDARY, c.AT_NON_BOUNDARY):
        # A pattern stands for a whole text: its begin and end are where they are.
        return None
    raise GrammarError(f"Nothing can be generated from the regular expression {source!r} ({str(kind).lower()}).")


_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d", c.CATEGORY_NOT_DIGIT: r"\D", c.CATEGORY_SPACE: r"\s",
    c.CATEGORY_NOT_SPACE: r"\S", c.CATEGORY_WORD: r"\w", c.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _characters(token: Any, source: str) -> str:
    kind, value = token
    if kind == c.LITERAL:
        return chr(value)
    if kind == c.ANY:
        return PRINTABLE
    if kind == c.NOT_LITERAL:
        return PRINTABLE.replace(chr(value), "")
    allowed: dict[str, None] = {}
    refused = value[0] == (c.NEGATE, None)
    for inner, what in value[1:] if refused else value:
        if inner == c.LITERAL:
            allowed[chr(what)] = None
        elif inner == c.RANGE:
            codes = range(what[0], min(what[1], what[0] + 0x1000) + 1)
            # Halves of pairs are no characters.
            allowed |= dict.fromkeys(chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF)
        else:
            allowed |= dict.fromkeys(x for x in PRINTABLE if re.fullmatch(_CATEGORIES[what], x))
    characters = "".join(x for x in PRINTABLE if x not in allowed) if refused else "".join(allowed)
    if not characters:
        raise GrammarError(f"The regular expression {source!r} has a set without any character.")
    return characters
