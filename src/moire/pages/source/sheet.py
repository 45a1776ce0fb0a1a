"""Styles as spans: rules within rules, and declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SKIP = re.compile(r"(?:\s|;|/\*.*?(?:\*/|\Z)|<!--|-->)*", re.DOTALL)
# What is passed over whole: comments, strings, escapes, and anything that is no sign to stop at.
_STEP = re.compile(
    r"""/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|url\(\s*[^\s"')][^)]*\)|\\.|[^;{}()\[\]"'\\/u]+|.""",
    re.DOTALL,
)
_AT = re.compile(r"@[-\w]+")
# Blocks within blocks; what is deeper is cut with what holds it.
MOST_NESTED = 50
_DECLARED = re.compile(r"\s*([-\w]+)\s*:\s*")


@dataclass(frozen=True, slots=True)
class Declaration:
    """`end` is after its semicolon; `value` is without it."""

    name: str
    start: int
    end: int
    value: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rule:
    """`prelude` is its selectors or conditions; a rule without a block has none."""

    name: str
    start: int
    end: int
    prelude: tuple[int, int]
    block: tuple[int, int] | None
    declarations: tuple[Declaration, ...] = ()
    rules: tuple[Rule, ...] = ()


def rules(text: str, start: int, end: int) -> tuple[Rule, ...]:
    """Those of a style sheet that stands from `start` to `end`."""
    return _content(text, start, end, sheet=True)[1]


def declarations(text: str, start: int, end: int) -> tuple[Declaration, ...]:
    """Those of a style attribute."""
    return _content(text, start, end, sheet=False)[0]


def _content(
    text: str, start: int, end: int, *, sheet: bool, depth: int = 0
) -> tuple[tuple[Declaration, ...], tuple[Rule, ...]]:
    declared: list[Declaration] = []
    found: list[Rule] = []
    at = start
    while (at := _skipped(text, at, end)) < end:
        stop = _stop(text, at, end, "{" if sheet and text[at] != "@" else ";{")
        name = _AT.match(text, at, stop)
        if stop < end and text[stop] == "{":
            close = _stop(text, stop + 1, end, "}")
            inner = _content(text, stop + 1, close, sheet=False, depth=depth + 1) if depth < MOST_NESTED else ((), ())
            whole = min(close + 1, end)
            found.append(Rule(name[0].lower() if name else "", at, whole, (at, stop), (stop + 1, close), *inner))
            at = whole
            continue
        whole = min(stop + 1, end) if stop < end and text[stop] == ";" else stop
        if name:
            found.append(Rule(name[0].lower(), at, whole, (at, stop), None))
        elif begun := _DECLARED.match(text, at, stop):
            declared.append(Declaration(begun[1].lower(), at, whole, (begun.end(), stop)))
        at = max(whole, at + 1)
    return tuple(declared), tuple(found)


def _skipped(text: str, at: int, end: int) -> int:
    found = _SKIP.match(text, at, end)
    return found.end() if found else at


def _stop(text: str, at: int, end: int, signs: str) -> int:
    """The first of these signs that is outside all brackets, or the end."""
    depth = 0
    while at < end:
        step = _STEP.match(text, at, end)
        assert step is not None
        sign = step[0]
        if depth == 0 and sign in signs:
            return at
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth = max(0, depth - 1)
        at = step.end()
    return end
