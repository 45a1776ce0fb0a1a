"""CSS values as a grammar: from the value definition syntax to rules.

A part that may be left out carries no blank of its own: it is known to be optional, and whoever puts it
next to others decides where blanks and commas go. Parts in any order become rules for what is still to
come, so that n parts take 2ⁿ rules, not n! alternatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...grammar.model import Alt, Literal, Node, Opt, Reference, Star, cat
from . import vds
from .snapshot import Web

# Repetitions beyond this many times are any number of times.
MOST_TIMES = 20

# What the snapshot has no syntax for, or a wrong one.
AMENDED_PROPERTIES = {
    "-webkit-box-align": "start | end | center | baseline | stretch",
    "-webkit-box-flex": "<number [0,∞]>",
    "-webkit-box-ordinal-group": "<integer [1,∞]>",
    "-webkit-box-orient": "horizontal | vertical | inline-axis | block-axis",
    "-webkit-box-pack": "start | end | center | justify",
    "path-length": "none | <length [0,∞]>",
}


class Unknown(Exception):
    """A definition leads to something that nothing is known about."""


@dataclass(frozen=True, slots=True)
class Part:
    """A node that generates something, and whether nothing would do as well."""

    node: Node
    optional: bool = False


class Values:
    """Rules for every property, type and function that was asked for; `primitives` are there already."""

    def __init__(self, web: Web, primitives: dict[str, Node]) -> None:
        self._web = web
        self.rules: dict[str, Node] = dict(primitives)
        self._unknown: set[str] = set()
        self._optional: set[str] = set()
        self._count = 0

    def property(self, name: str) -> str:
        """The name of the rule for a property's value; Unknown if there can be none."""
        known = self._web.properties.get(name)
        return self._defined(f"css-{name}", AMENDED_PROPERTIES.get(name) or (known.syntax if known else ""))

    def type(self, wanted: vds.Type) -> str:
        name = wanted.name
        if name.endswith("()"):
            return self._defined(f"f-{name[:-2]}", self._web.functions.get(name, ""))
        rule = f"t-{name}{_range(wanted)}"
        if rule in self.rules:
            return rule
        syntax = self._web.types.get(name, "")
        if _range(wanted) and syntax:
            # A range on a type of several kinds is a range on each.
            bounds = f" [{_bound(wanted.least)},{_bound(wanted.most)}]"
            syntax = " | ".join(f"{kind.strip()[:-1]}{bounds}>" for kind in syntax.strip("[ ]").split("|"))
        return self._defined(rule, syntax)

    def _defined(self, rule: str, syntax: str) -> str:
        if rule in self._unknown:
            raise Unknown(rule)
        if rule not in self.rules:
            # Known from here on: definitions lead back to themselves.
            self.rules[rule] = Literal("")
            try:
                part = self.part(vds.parse(syntax), rule)
            except (vds.SyntaxProblem, Unknown):
                del self.rules[rule]
                self._unknown.add(rule)
                raise Unknown(rule) from None
            self.rules[rule] = part.node
            if part.optional:
                self._optional.add(rule)
        return rule

    def part(self, value: vds.Value, owner: str) -> Part:
        match value:
            case vds.Word(text):
                return Part(Literal(text))
            case vds.Type():
                return self._named(self.type(value))
            case vds.Property(name):
                return self._named(self.property(name))
            case vds.Function(name, body):
                inner = self.part(body, owner)
                return Part(cat(Literal(f"{name}("), _perhaps(inner), Literal(")")))
            case vds.Row(parts):
                return self._row(parts, owner)
            case vds.OneOf(options):
                return self._one_of(options, owner)
            case vds.AllOf(parts):
                return self._unordered([self.part(part, owner) for part in parts], owner)
            case vds.AnyOf(parts):
                known = self._known(parts, owner)
                whole = self._unordered([Part(part.node, True) for part in known], owner)
                return Part(whole.node, any(part.optional for part in known))
            case vds.Repeat():
                return self._repeat(value, owner)
            case vds.NotEmpty(body):
                return Part(self.part(body, owner).node)

    def _named(self, rule: str) -> Part:
        return Part(Reference(rule), rule in self._optional)

    def _known(self, values: Sequence[vds.Value], owner: str) -> list[Part]:
        """Those that something is known about; at least one must be."""
        found = []
        for value in values:
            try:
                found.append(self.part(value, owner))
            except Unknown:
                continue
        if not found:
            raise Unknown(owner)
        return found

    def _one_of(self, options: Sequence[vds.Value], owner: str) -> Part:
        known = self._known(options, owner)
        # Alternatives of alternatives are alternatives: each keyword has one edge, near the top.
        flat = [n for part in known for n in (part.node.options if isinstance(part.node, Alt) else (part.node,))]
        unique = tuple(dict.fromkeys(flat))
        return Part(unique[0] if len(unique) == 1 else Alt(unique), any(part.optional for part in known))

    def _row(self, values: Sequence[vds.Value], owner: str) -> Part:
        """Side by side, with blanks between; a comma goes where there is something on both of its sides."""
        groups: list[list[Part]] = [[]]
        for value in values:
            if value == vds.Word(","):
                groups.append([])
                continue
            try:
                groups[-1].append(self.part(value, owner))
            except Unknown:
                if not (isinstance(value, vds.Repeat) and value.least == 0):
                    raise
        segments = [_joined(group, " ") for group in groups if group]
        return _joined(segments, ", ") if segments else Part(Literal(""), True)

    def _repeat(self, value: vds.Repeat, owner: str) -> Part:
        body = self.part(value.body, owner)
        if (value.least, value.most) == (0, 1):
            return Part(body.node, True)
        node = self._hoisted(body.node, owner)
        between = Literal(", " if value.commas else " ")
        least = max(1, value.least)
        more = cat(between, node)
        if value.most - least > MOST_TIMES:
            tail: list[Node] = [Star(more)]
        else:
            rest: Node | None = None
            for _ in range(int(value.most) - least):
                rest = Opt(more if rest is None else cat(more, rest))
            tail = [rest] if rest is not None else []
        return Part(cat(node, *[more] * (least - 1), *tail), value.least == 0 or body.optional)

    def _unordered(self, parts: Sequence[Part], owner: str) -> Part:
        """Every part that must be, and any that may, in any order."""
        if len(parts) == 1:
            return parts[0]
        items = [self._hoisted(part.node, owner) for part in parts]
        must = frozenset(n for n, part in enumerate(parts) if not part.optional)
        self._count += 1
        made: dict[frozenset[int], Node] = {}

        def rest(left: frozenset[int]) -> Node:
            if left not in made:
                options = tuple(_after(items[n], left - {n}, must, rest) for n in sorted(left))
                node: Node = options[0] if len(options) == 1 else Alt(options)
                if len(left) > 2:
                    mask = sum(1 << n for n in left)
                    name = f"{owner}.any{self._count}.{mask:x}"
                    self.rules[name] = node
                    node = Reference(name)
                made[left] = node
            return made[left]

        return Part(rest(frozenset(range(len(items)))), not must)

    def _hoisted(self, node: Node, owner: str) -> Node:
        """A node that is used in several places gets a rule to itself."""
        if isinstance(node, Literal | Reference):
            return node
        self._count += 1
        name = f"{owner}.{self._count}"
        self.rules[name] = node
        return Reference(name)


def _after(item: Node, left: frozenset[int], must: frozenset[int], rest: Callable[[frozenset[int]], Node]) -> Node:
    if not left:
        return item
    more = cat(Literal(" "), rest(left))
    return cat(item, more if left & must else Opt(more))


def _joined(parts: Sequence[Part], between: str) -> Part:
    if len(parts) == 1:
        return parts[0]
    gap = Literal(between)
    first = next((n for n, part in enumerate(parts) if not part.optional), None)
    if first is None:
        options = [
            cat(part.node, *(Opt(cat(gap, later.node)) for later in parts[n + 1 :])) for n, part in enumerate(parts)
        ]
        return Part(Alt(tuple(options)), True)
    before = [Opt(cat(part.node, gap)) for part in parts[:first]]
    after = [Opt(cat(gap, p.node)) if p.optional else cat(gap, p.node) for p in parts[first + 1 :]]
    return Part(cat(*before, parts[first].node, *after))


def _perhaps(part: Part) -> Node:
    return Opt(part.node) if part.optional and part.node != Literal("") else part.node


def _range(wanted: vds.Type) -> str:
    if (wanted.least, wanted.most) == (-math.inf, math.inf):
        return ""
    return f".{wanted.least:g}.{wanted.most:g}"


def _bound(number: float) -> str:
    return f"{number:g}".replace("inf", "∞")
