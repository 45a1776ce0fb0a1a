"""The value definition syntax, in which CSS says what its values are.

    <line-width> || <line-style> || <color>
    [ left | right ]{1,2} && <length-percentage [0,∞]>#? / none

Side by side binds tightest, then `&&` (all, in any order), `||` (one or more, in any order), `|` (one of
them). `? * + # {m,n} #{m,n}` repeat, `!` forbids a group to be empty.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias


class SyntaxProblem(ValueError):
    """A definition that does not follow the syntax."""


@dataclass(frozen=True, slots=True)
class Word:
    """A keyword or a delimiter, as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Type:
    """`<length [0,∞]>`; `name` of a function type ends with `()`. The range is in the type's own unit."""

    name: str
    least: float = -math.inf
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Property:
    """`<'margin-left'>`: what that property takes."""

    name: str


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Value


@dataclass(frozen=True, slots=True)
class Row:
    """Side by side."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """`&&`: every one, in any order."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`||`: one or more, in any order, each once."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    options: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    body: Value
    least: int
    most: float
    commas: bool = False


@dataclass(frozen=True, slots=True)
class NotEmpty:
    """`[ … ]!`: at least one of its parts must be there."""

    body: Value


Value: TypeAlias = Word | Type | Property | Function | Row | AllOf | AnyOf | OneOf | Repeat | NotEmpty

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<property><'(?P<property_name>[^']+)'(?:\s*\[[^\]]*\])?>)
    | (?P<type><(?P<type_name>[\w@-]+(?:\(\))?|\W-token)(?:\s*\[(?P<least>[^,\]]+),(?P<most>[^\]]+)\])?\s*>)
    | (?P<quoted>'(?P<text>[^']+)')
    | (?P<function>[\w@-]+\()
    | (?P<times>\{\s*(?P<from>\d+)\s*(?P<comma>,)?\s*(?P<to>\d+)?\s*\})
    | (?P<word>@?[\w.%-]*[\w%][\w.%-]*)
    | (?P<sign>&&|\|\||[|\[\]()?*+\#!,/:;=<>{}.^$~-])
    )""",
    re.VERBOSE,
)


def parse(text: str) -> Value:
    """A definition as a tree; SyntaxProblem says where it goes wrong."""
    reader = _Reader(text)
    value = reader.one_of()
    if not reader.at_end():
        reader.fail("an operator or the end")
    return value


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int
    match: re.Match[str]


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SyntaxProblem(f"Column {at + 1} of {text!r}: {text[at:].strip()[:1]!r} has no meaning here.")
        kind = next(k for k in ("property", "type", "quoted", "function", "times", "word", "sign") if match[k])
        found.append(_Token(kind, match[kind], match.start(kind), match))
        at = match.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0

    def at_end(self) -> bool:
        return self._next >= len(self._tokens)

    def fail(self, expected: str) -> None:
        at = len(self._text) if self.at_end() else self._tokens[self._next].at
        raise SyntaxProblem(f"Column {at + 1} of {self._text!r}: expected {expected}.")

    def _peek(self) -> str:
        return "" if self.at_end() or self._tokens[self._next].kind != "sign" else self._tokens[self._next].text

    def _take(self, sign: str) -> bool:
        if self._peek() == sign:
            self._next += 1
            return True
        return False

    def one_of(self) -> Value:
        options = [self._any_of()]
        while self._take("|"):
            options.append(self._any_of())
        return options[0] if len(options) == 1 else OneOf(tuple(options))

    def _any_of(self) -> Value:
        parts = [self._all_of()]
        while self._take("||"):
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all_of(self) -> Value:
        parts = [self._row()]
        while self._take("&&"):
            parts.append(self._row())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _row(self) -> Value:
        parts = []
        while not self.at_end() and self._peek() not in ("|", "||", "&&", "]", ")"):
            parts.append(self._repeated())
        if not parts:
            self.fail("a value")
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _repeated(self) -> Value:
        value = self._single()
        while not self.at_end():
            token = self._tokens[self._next]
            if token.kind == "times":
                self._next += 1
                value = Repeat(value, *_bounds(token))
            elif token.kind == "sign" and token.text in "?*+#!":
                self._next += 1
                value = self._suffixed(value, token.text)
            else:
                break
        return value

    def _suffixed(self, value: Value, sign: str) -> Value:
        if sign == "!":
            return NotEmpty(value)
        if sign == "#":
            if not self.at_end() and self._tokens[self._next].kind == "times":
                self._next += 1
                return Repeat(value, *_bounds(self._tokens[self._next - 1]), commas=True)
            return Repeat(value, 1, math.inf, commas=True)
        least, most = {"?": (0, 1), "*": (0, math.inf), "+": (1, math.inf)}[sign]
        return Repeat(value, int(least), most)

    def _single(self) -> Value:
        token = self._tokens[self._next]
        self._next += 1
        match token.kind:
            case "type":
                return Type(token.match["type_name"], *_range(token.match))
            case "property":
                return Property(token.match["property_name"])
            case "quoted":
                return Word(token.match["text"])
            case "word":
                return Word(token.text)
            case "function":
                body: Value = Row(()) if self._peek() == ")" else self.one_of()
                if not self._take(")"):
                    self.fail("')'")
                return Function(token.text[:-1], body)
            case "times":
                self._next -= 1
                self.fail("a value before the repetition")
        if token.text == "[":
            body = self.one_of()
            if not self._take("]"):
                self.fail("']'")
            return body
        if token.text in "(,/:;=<>{}.^$~-+*":
            if token.text == "(":
                body = self.one_of()
                if not self._take(")"):
                    self.fail("')'")
                return Row((Word("("), body, Word(")")))
            return Word(token.text)
        self._next -= 1
        self.fail("a value")
        raise AssertionError


def _bounds(token: _Token) -> tuple[int, float]:
    least = int(token.match["from"])
    if token.match["to"]:
        return least, int(token.match["to"])
    return least, math.inf if token.match["comma"] else least


def _range(match: re.Match[str]) -> tuple[float, float]:
    if match["least"] is None:
        return -math.inf, math.inf
    return _number(match["least"]), _number(match["most"])


def _number(text: str) -> float:
    text = text.strip().replace("−", "-").replace("∞", "inf")
    found = re.match(r"[+-]?(?:inf|\d+(?:\.\d+)?)", text)
    if found is None:
        raise SyntaxProblem(f"{text!r} is no bound of a range.")
    return float(found[0])
