"""CSS values read back: which alternatives of the web's grammar a value written by anyone takes.

Values are read token by token, so that blanks, case and the spelling of numbers do not matter. What is in a
page is not always what the specifications say; a value that nothing matches has no reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Union

from ...grammar.model import (
    Alt,
    Cat,
    Grammar,
    Hidden,
    Literal,
    Node,
    Not,
    Opt,
    Pattern,
    Plus,
    Reference,
    Star,
    children,
)

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<url>url\(\s*[^'")\s][^)]*\))
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?P<unit>%|[a-z]+)?)
    | (?P<hash>\#[\w-]+)
    | (?P<function>-{0,2}[a-z_][\w-]*\()
    | (?P<ident>-{0,2}[a-z_\u0080-\uffff][\w-]*|--[\w-]*)
    | (?P<sign>.)
    )""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_LENGTHS = """
px em rem ex rex ch rch cap rcap ic ric lh rlh vw vh vi vb vmin vmax svw svh svi svb svmin svmax lvw lvh lvi lvb
lvmin lvmax dvw dvh dvi dvb dvmin dvmax cqw cqh cqi cqb cqmin cqmax cm mm q in pt pc
"""
_UNITS = {
    **dict.fromkeys(_LENGTHS.split(), "length"),
    **dict.fromkeys(("deg", "rad", "grad", "turn"), "angle"), **dict.fromkeys(("s", "ms"), "time"),
    **dict.fromkeys(("hz", "khz"), "frequency"), **dict.fromkeys(("dpi", "dpcm", "dppx", "x"), "resolution"),
    "fr": "flex", "%": "percentage", "db": "decibel", "st": "semitones",
}  # fmt: skip
_MATH = re.compile(
    r"(?:-webkit-)?(?:calc|min|max|clamp|round|mod|rem|sin|cos|tan|abs|sign|pow|sqrt|hypot|log|exp|env|var)\("
)
# Types that are one token, or a sum to be worked out; each by its name in the grammar without its range.
_PRIMITIVES = {
    "t-zero": "integer", "t-integer": "integer", "t-number": "number", "t-number-token": "number",
    "t-dimension": "dimension", "t-hex-color": "hash", "t-hash-token": "hash", "t-id": "hash", "t-ident": "ident",
    "t-ident-token": "ident", "t-custom-ident": "ident", "t-dashed-ident": "ident", "t-string": "string",
    "t-url-token": "url", "t-family-name": "name", "f-url": "link",
    **{f"t-{unit}": unit for unit in set(_UNITS.values())},
}  # fmt: skip
# Edges from the last to the first; one may stand for a whole trail.
Trail = tuple[Union[str, "Trail"], "Trail"] | None


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    kinds: frozenset[str]


def tokens(value: str) -> list[Token]:
    found, at = [], 0
    value = value.strip()
    while at < len(value):
        match = _TOKEN.match(value, at)
        if match is None or match.end() == at:
            break
        at = match.end()
        kind = match.lastgroup if match.lastgroup != "unit" else "number"
        assert kind is not None
        text = match[kind].lower() if kind not in ("string", "url") else match[kind]
        found.append(Token(text, _kinds(kind, text, (match["unit"] or "").lower())))
    return found


def _kinds(kind: str, text: str, unit: str) -> frozenset[str]:
    if kind == "number":
        if unit:
            return frozenset([_UNITS.get(unit, "dimension"), "dimension"])
        whole = {"number", "integer"} if re.fullmatch(r"[+-]?\d+", text) else {"number"}
        # Nought needs no unit, and SVG's attributes and quirks need none at all.
        return frozenset(whole | {"length", "angle"} if float(text) == 0 else whole)
    if kind == "ident":
        return frozenset(["ident", "name"])
    if kind == "string":
        return frozenset(["string", "name"])
    if kind == "url":
        return frozenset(["url", "link"])
    return frozenset([kind])


@dataclass
class Matcher:
    """Reads values by a grammar's rules. Readings are kept: pages say the same thing over and over."""

    grammar: Grammar
    _known: dict[tuple[str, str], tuple[str, ...] | None] = field(default_factory=dict)
    _literals: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def edges(self, rule: str, value: str) -> tuple[str, ...] | None:
        """The edges that a value takes from a rule, in order; None if it has no reading."""
        if (rule, value) not in self._known:
            self._known[rule, value] = self._read(rule, value)
        return self._known[rule, value]

    def _read(self, rule: str, value: str) -> tuple[str, ...] | None:
        read = tokens(value)
        if not read or rule not in self.grammar.rules:
            return None
        ends = _Reading(self, read).rule(rule, 0)
        if len(read) not in ends:
            return None
        return tuple(_flat(ends[len(read)]))

    def words(self, text: str) -> tuple[str, ...]:
        if text not in self._literals:
            self._literals[text] = tuple(token.text for token in tokens(text))
        return self._literals[text]

    @cached_property
    def firsts(self) -> dict[str, frozenset[str]]:
        """For each rule, what its texts may begin with: words, or kinds of token in angle brackets."""
        found: dict[str, frozenset[str]] = {name: frozenset() for name in self.grammar.rules}
        changed = True
        while changed:
            changed = False
            for name, node in self.grammar.rules.items():
                now, _ = (
                    self._first(node, found)
                    if not primitive(name)
                    else (frozenset([f"<{primitive(name)}>", "<math>"]), False)
                )
                if not now <= found[name]:
                    found[name] |= now
                    changed = True
        return found

    def _first(self, node: Node, found: dict[str, frozenset[str]]) -> tuple[frozenset[str], bool]:
        """The same for a node, and whether it may be nothing."""
        match node:
            case Literal(text):
                words = self.words(text)
                return (frozenset(words[:1]), not words)
            case Reference(rule):
                return found[rule], False
            case Hidden(body):
                return self._first(body, found)
            case Pattern():
                return frozenset(["<any>"]), False
            case Not():
                return frozenset(), True
            case Alt(options):
                inner = [self._first(option, found) for option in options]
                return frozenset().union(*(one for one, _ in inner)), any(empty for _, empty in inner)
            case Cat(parts):
                whole: frozenset[str] = frozenset()
                for part in parts:
                    first, empty = self._first(part, found)
                    whole |= first
                    if not empty:
                        return whole, False
                return whole, True
            case Opt(body) | Star(body):
                return self._first(body, found)[0], True
            case Plus(body):
                return self._first(body, found)


def primitive(rule: str) -> str:
    """What kind of token a rule stands for; none for most."""
    return _PRIMITIVES.get(rule.partition(".")[0], "")


class _Reading:
    """One value's readings: from a node and a place to all places where it may end."""

    def __init__(self, matcher: Matcher, read: list[Token]) -> None:
        self._matcher = matcher
        self._tokens = read
        self._rules: dict[tuple[str, int], dict[int, Trail]] = {}
        self._begin = [
            frozenset({t.text, "<any>", *(f"<{k}>" for k in t.kinds), *(["<math>"] if _MATH.match(t.text) else [])})
            for t in read
        ]

    def rule(self, name: str, at: int) -> dict[int, Trail]:
        """Trails begin anew in each rule; the caller puts them behind its own."""
        if at >= len(self._tokens) or not (self._begin[at] & self._matcher.firsts[name]):
            return {}
        key = (name, at)
        if key not in self._rules:
            # A rule that is being read already at this place has no other reading there.
            self._rules[key] = {}
            self._rules[key] = (
                self._one(name, at)
                if primitive(name)
                else self._node(name, self._matcher.grammar.rules[name], at, None)
            )
        return self._rules[key]

    def _one(self, name: str, at: int) -> dict[int, Trail]:
        token = self._tokens[at]
        if primitive(name) in token.kinds:
            return {at + 1: None}
        if _MATH.match(token.text) and primitive(name) not in ("ident", "string", "hash", "url", "name", "link"):
            depth = 0
            for n in range(at, len(self._tokens)):
                depth += self._tokens[n].text.endswith("(")
                depth -= self._tokens[n].text == ")"
                if depth == 0:
                    return {n + 1: None}
        return {}

    def _node(self, path: str, node: Node, at: int, trail: Trail) -> dict[int, Trail]:
        match node:
            case Literal(text):
                words = self._matcher.words(text)
                here = self._tokens[at : at + len(words)]
                return {at + len(words): trail} if tuple(t.text for t in here) == words else {}
            case Pattern(source):
                well = at < len(self._tokens) and re.fullmatch(source, self._tokens[at].text)
                return {at + 1: trail} if well else {}
            case Reference(rule):
                return {end: _behind(inner, trail) for end, inner in self.rule(rule, at).items()}
            case Hidden(body):
                return self._node(path, body, at, trail)
            case Not():
                return {at: trail}
            case Cat():
                ends = {at: trail}
                for p, n in children(path, node):
                    ends = {e: t for here, so_far in ends.items() for e, t in self._node(p, n, here, so_far).items()}
                    if not ends:
                        break
                return ends
            case Alt():
                found: dict[int, Trail] = {}
                for p, n in children(path, node):
                    for end, inner in self._node(p, n, at, (p, trail)).items():
                        found.setdefault(end, inner)
                return found
            case Opt():
                ((p, n),) = children(path, node)
                return {at: (p[:-1] + "nil", trail)} | self._node(p, n, at, (p, trail))
            case Star() | Plus():
                return self._repeated(path, node, at, trail)

    def _repeated(self, path: str, node: Star | Plus, at: int, trail: Trail) -> dict[int, Trail]:
        ((p, n),) = children(path, node)
        weighted = isinstance(node, Star)
        found: dict[int, Trail] = {at: (p[:-1] + "nil", trail)} if weighted else {}
        waiting: list[tuple[int, Trail]] = [(at, trail)]
        while waiting:
            here, so_far = waiting.pop()
            for end, inner in self._node(p, n, here, (p, so_far) if weighted else so_far).items():
                if end > here and end not in found:
                    found[end] = inner
                    waiting.append((end, inner))
        return found


def _behind(inner: Trail, trail: Trail) -> Trail:
    """One trail after another."""
    return trail if inner is None else (inner, trail)


def _flat(trail: Trail) -> list[str]:
    """The edges, from the first to the last."""
    found: list[str] = []
    waiting: list[str | Trail] = [trail]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif one is not None:
            waiting += [one[1], one[0]]
    found.reverse()
    return found
