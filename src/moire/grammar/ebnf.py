"""EBNF in and out.

    greeting = 'hello' | 'good ' ( 'day' (* {:weight 300} *) | 'night' ) ;
    number  := #'[1-9][0-9]*'
    list    := number { ',' number } [ ';' ]

Both quotes; `#'…'` for regular expressions; `''`, `""`, `ε` and `epsilon` for nothing; parts side by side
or with commas; `|`, and `/` where the earlier should win; `?` or `[…]`, `*` or `{…}`, `+`; `(…)`; `<…>`
hides; `!` looks ahead; `=`, `:=`, `:` or `::=`; a `;` at the end if one likes; comments in `(* … *)`,
nested too. A comment `(* {:weight N} *)` weighs the alternative, option or repetition it ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .model import (
    EPSILON,
    Alt,
    Cat,
    Grammar,
    GrammarError,
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
    deep,
)

_NAME = re.compile(r"[A-Za-z_][\w.-]*|[^\W\d][\w-]*")
_DEFINES = re.compile(r"::=|:=|=|:")
_WEIGHT = re.compile(r"\{\s*:weight\b\s*([^}]*?)\s*\}")
# Brackets within brackets.
MOST_NESTED = 50
_SUFFIXES = ("?", "*", "+")
_BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_EPSILONS = {"ε", "epsilon", "eps", "EPSILON"}


@dataclass(slots=True)
class _Weighed:
    """A node on its way into a grammar, with the weight that a comment after it set; `inner` is that
    of the last comment inside its parentheses, which is for the repetition that may follow them."""

    node: Node
    weight: int | None = None
    below: tuple[_Weighed, ...] = ()
    inner: int | None = None


def read(text: str, start: str = "") -> Grammar:
    """A grammar from its EBNF; GrammarError says where it is wrong and what was expected there."""
    with deep():
        return _read(text, start)


def _read(text: str, start: str) -> Grammar:
    reader = _Reader(text)
    rules: dict[str, _Weighed] = {}
    hidden = set()
    while not reader.at_end():
        name, is_hidden, body = reader.rule()
        if name in rules:
            reader.fail(f"a new name: there is a rule {name!r} already")
        rules[name] = body
        if is_hidden:
            hidden.add(name)
    if not rules:
        reader.fail("a rule, for example  start = 'a' | 'b' ;")
    weights: dict[str, int] = {}
    for name, body in rules.items():
        _collect(name, body, weights)
    nodes = {name: body.node for name, body in rules.items()}
    return Grammar(nodes, start or next(iter(nodes)), weights, frozenset(hidden))


def _collect(path: str, weighed: _Weighed, weights: dict[str, int]) -> None:
    for (child_path, _), below in zip(children(path, weighed.node), weighed.below, strict=True):
        if below.weight is not None and path_is_edge(child_path):
            weights[child_path] = below.weight
        _collect(child_path, below, weights)


def path_is_edge(path: str) -> bool:
    """Whether a path ends with an edge that carries a weight."""
    return path.split("/")[-2] in ("alt", "ord", "opt", "star")


def _repeated(sign: str, body: Node) -> Node:
    return Opt(body) if sign == "?" else Star(body) if sign == "*" else Plus(body)


class _Reader:
    """Recursive descent, one method a level: alternatives, sequence, repetition, atom."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._weight: int | None = None
        self._nested = 0
        self._skip()

    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def fail(self, expected: str, at: int | None = None) -> None:
        at = self._at if at is None else at
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        found = repr(self._text[at]) if at < len(self._text) else "the end"
        raise GrammarError(f"Line {line}, column {column}: expected {expected}, found {found}.")

    def _skip(self) -> None:
        """Over blanks and comments; the last weight among them is kept until it is asked for."""
        text = self._text
        self._weight = None
        while True:
            while self._at < len(text) and text[self._at].isspace():
                self._at += 1
            if not text.startswith("(*", self._at):
                return
            begun, depth = self._at, 0
            while True:
                if text.startswith("(*", self._at):
                    depth += 1
                    self._at += 2
                elif text.startswith("*)", self._at):
                    depth -= 1
                    self._at += 2
                    if depth == 0:
                        break
                elif self._at >= len(text):
                    self.fail("the end of this comment, *)", begun)
                else:
                    self._at += 1
            if found := _WEIGHT.search(text, begun, self._at):
                if not re.fullmatch(r"[0-9]{1,9}", found[1]):
                    self.fail("a weight from 0 to 999999999", found.start(1))
                self._weight = int(found[1])

    def _take(self, token: str) -> bool:
        if self._text.startswith(token, self._at):
            self._at += len(token)
            self._skip()
            return True
        return False

    def _name(self) -> str:
        found = _NAME.match(self._text, self._at)
        if found is None:
            self.fail("a name")
            raise AssertionError
        self._at = found.end()
        self._skip()
        return found[0]

    def rule(self) -> tuple[str, bool, _Weighed]:
        hidden = self._take("<")
        begun = self._at
        name = self._name()
        if name in _EPSILONS:
            self.fail(f"a rule of another name: {name} stands for nothing", begun)
        if hidden and not self._take(">"):
            self.fail("'>'")
        defines = _DEFINES.match(self._text, self._at)
        if defines is None:
            self.fail("'=', ':=', ':' or '::='")
            raise AssertionError
        self._at = defines.end()
        self._skip()
        body = self._alternatives("the end of the rule")
        self._take(";")
        if not self.at_end() and not self._at_rule():
            self.fail("an operator, another part, ';' or a new rule")
        return name, hidden, body

    def _at_rule(self) -> bool:
        """Whether a rule begins here; the `;` before it is optional, so a look ahead must tell."""
        kept = self._at, self._weight
        try:
            hidden = self._take("<")
            self._name()
            return (not hidden or self._take(">")) and _DEFINES.match(self._text, self._at) is not None
        except GrammarError:
            return False
        finally:
            self._at, self._weight = kept

    def _alternatives(self, closing: str) -> _Weighed:
        options = [self._sequence(closing)]
        operator = ""
        while self._text[self._at : self._at + 1] in ("|", "/"):
            here = self._text[self._at]
            if operator and here != operator:
                self.fail(f"{operator!r}, or parentheses round the parts that belong together")
            operator = here
            self._take(here)
            options.append(self._sequence(closing))
        if len(options) == 1:
            return options[0]
        node = Alt(tuple(option.node for option in options), ordered=operator == "/")
        return _Weighed(node, None, tuple(options))

    def _sequence(self, closing: str) -> _Weighed:
        parts: list[_Weighed] = []
        while True:
            part = self._repetition(closing, needed=not parts)
            if part is None:
                break
            parts.append(part)
            if self._take(","):
                continue
        if len(parts) == 1:
            return parts[0]
        return _Weighed(Cat(tuple(part.node for part in parts)), parts[-1].weight, tuple(parts))

    def _repetition(self, closing: str, *, needed: bool) -> _Weighed | None:
        if self._take("!"):
            body = self._repetition(closing, needed=True)
            assert body is not None
            return _Weighed(Not(body.node), None, (body,))
        atom = self._atom()
        if atom is None:
            if needed:
                self.fail(f"a name, a quoted text, a regular expression or a bracket before {closing}")
            return None
        while (suffix := self._text[self._at : self._at + 1]) in _SUFFIXES:
            self._take(suffix)
            body = replace(atom, weight=atom.weight if atom.inner is None else atom.inner)
            atom = _Weighed(_repeated(suffix, atom.node), self._weight, (body,))
        return atom

    def _atom(self) -> _Weighed | None:
        here = self._text[self._at : self._at + 1]
        if here in ("'", '"'):
            begun = self._at
            text = _unescaped(self._quoted())
            if any("\ud800" <= character <= "\udfff" for character in text):
                self.fail("whole characters, not one half of a pair", begun)
            return self._weighed(Literal(text))
        if here == "#":
            self._at += 1
            if self._text[self._at : self._at + 1] not in ("'", '"'):
                self.fail("a quoted regular expression after '#'")
            begun = self._at
            source = self._quoted()
            try:
                re.compile(source)
            except (re.error, OverflowError, RecursionError) as error:
                self.fail(f"a regular expression that compiles ({error})", begun)
            return self._weighed(Pattern(source))
        if here in _BRACKETS and here:
            if here == "<" and self._at_rule():
                return None
            close = _BRACKETS[here]
            self._nested += 1
            if self._nested > MOST_NESTED:
                self.fail(f"at most {MOST_NESTED} brackets within each other")
            self._take(here)
            body = self._alternatives(repr(close))
            self._nested -= 1
            if not self._text.startswith(close, self._at):
                self.fail(repr(close))
            self._take(close)
            if here == "(":
                return _Weighed(body.node, self._weight, body.below, body.weight)
            if here == "<":
                return _Weighed(Hidden(body.node), self._weight, body.below)
            return _Weighed(_repeated("?" if here == "[" else "*", body.node), self._weight, (body,))
        if _NAME.match(self._text, self._at) and not self._at_rule():
            name = self._name()
            return self._weighed(EPSILON if name in _EPSILONS else Reference(name))
        return None

    def _weighed(self, node: Node) -> _Weighed:
        return _Weighed(node, self._weight)

    def _quoted(self) -> str:
        """The text between quotes, escapes as they stand."""
        quote, begun = self._text[self._at], self._at
        at = begun + 1
        while at < len(self._text) and self._text[at] != quote:
            at += 2 if self._text[at] == "\\" else 1
        if at >= len(self._text):
            self.fail(f"the closing {quote} of this text", begun)
        self._at = at + 1
        self._skip()
        return self._text[begun + 1 : at]


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)


def _unescaped(source: str) -> str:
    def one(match: re.Match[str]) -> str:
        if code := match[1] or match[2]:
            return chr(int(code, 16))
        return _ESCAPES.get(match[3], match[3])

    return _ESCAPE.sub(one, source)


def _escaped(text: str) -> str:
    named = {value: f"\\{key}" for key, value in _ESCAPES.items()}
    plain = "".join(named.get(c, "\\\\" if c == "\\" else "\\'" if c == "'" else c) for c in text)
    return f"'{plain}'"


def write(grammar: Grammar, weights: Mapping[str, int] | None = None) -> str:
    """The grammar as EBNF that reads back to the same; `weights` other than the default become comments."""
    order = [grammar.start, *(name for name in grammar.rules if name != grammar.start)]
    shown = dict(grammar.comment_weights if weights is None else weights)
    lines = []
    for name in order:
        left = f"<{name}>" if name in grammar.hidden else name
        node = grammar.rules[name]
        if isinstance(node, Alt):
            sign = "/" if node.ordered else "|"
            parts = [_written(path, option, shown, 1) for path, option in children(name, node)]
            between = "\n" + " " * len(left) + f" {sign} "
            lines.append(f"{left} = {between.join(parts)} ;")
        else:
            lines.append(f"{left} = {_written(name, node, shown, 0)} ;")
    return "\n".join(lines) + "\n"


# How tightly each kind holds together: alternatives 0, sequence 1, repetition 2.
def _written(path: str, node: Node, weights: Mapping[str, int], tightness: int, *, own: bool = True) -> str:
    below = list(children(path, node))
    match node:
        case Literal(text):
            word = _escaped(text) if text else "''"
            level = 2
        case Pattern(source):
            quote = '"' if re.search(r"(?<!\\)(?:\\\\)*'", source) else "'"
            word, level = f"#{quote}{source}{quote}", 2
        case Reference(rule):
            word, level = rule, 2
        case Cat():
            word, level = " ".join(_written(p, n, weights, 2) for p, n in below), 1
        case Alt(_, ordered):
            word, level = (" / " if ordered else " | ").join(_written(p, n, weights, 1) for p, n in below), 0
        case Opt() | Star() | Plus():
            sign = {Opt: "?", Star: "*", Plus: "+"}[type(node)]
            ((p, n),) = below
            # Parentheses always: a weight's comment must look neither like the repetition's own nor like that
            # of its last alternative.
            inner = _written(p, n, weights, 1 if p in weights else 0)
            word, level = (f"{inner}{sign}" if re.fullmatch(r"[\w.-]+", inner) else f"( {inner} ){sign}"), 2
        case Hidden(body):
            word, level = f"<{_written(path, body, weights, 0, own=False)}>", 2
        case Not():
            ((p, n),) = below
            word, level = f"!{_written(p, n, weights, 2)}", 2
    if level < tightness:
        word = f"( {word} )"
    if own and path in weights and "/" in path and path_is_edge(path):
        word += f" (* {{:weight {weights[path]}}} *)"
    return word
