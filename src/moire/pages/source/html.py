"""Markup as a tree of spans.

It is what the markup says, not what a browser makes of it: a tag that closes nothing is a piece of its own,
an element that is never closed ends with what holds it, and no text is without a place. Whoever cuts by this
tree asks a browser afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _words("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
# Elements whose text is no markup.
RAW = _words("script style textarea title xmp iframe noembed noframes")
_BLOCKS = _words(
    "address article aside blockquote center details dialog dir div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 "
    "header hgroup hr main menu nav ol p pre search section table ul"
)
_CELLS, _ROWS = frozenset(["td", "th"]), frozenset(["td", "th", "tr"])
_GROUPS = _ROWS | {"thead", "tbody", "tfoot"}
# What a start tag puts an end to, if it stands right before it.
_ENDS = {
    "li": frozenset(["li"]), "dt": frozenset(["dt", "dd"]), "dd": frozenset(["dt", "dd"]), "td": _CELLS, "th": _CELLS,
    "tr": _ROWS, "thead": _GROUPS, "tbody": _GROUPS, "tfoot": _GROUPS, "option": frozenset(["option"]),
    "optgroup": frozenset(["option", "optgroup"]), "body": frozenset(["head"]),
    **dict.fromkeys(_BLOCKS, frozenset(["p"])),
}  # fmt: skip
_MAY_STAY_OPEN = _words("html head body li dt dd p option optgroup thead tbody tfoot tr td th colgroup rt rp")
_TOKEN = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?][^>]*>?|</[a-zA-Z][^>]*>?|<[a-zA-Z]", re.DOTALL)
_NAME = re.compile(r"[^\s/>]+")
_ATTRIBUTE = re.compile(
    r"""[\s/]*(?P<name>[^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s>"'][^\s>]*)))?""",
)

Kind = Literal["root", "element", "text", "comment", "other"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """`start` is before the blank that parts it from the rest; `value` is within the quotes."""

    name: str
    start: int
    end: int
    value: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """An element's start tag ends at `head`, its end tag begins at `tail`, which is its `end` if it has none."""

    kind: Kind
    start: int
    end: int
    name: str = ""
    head: int = 0
    tail: int = 0
    attributes: tuple[Attribute, ...] = ()
    children: tuple[Node, ...] = ()

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)


@dataclass
class _Open:
    kind: Kind
    start: int
    name: str = ""
    head: int = 0
    attributes: tuple[Attribute, ...] = ()
    children: list[Node] = field(default_factory=list)


def parse(text: str) -> Node:
    stack = [_Open("root", 0)]

    def close(tail: int, end: int) -> None:
        one = stack.pop()
        node = Node(one.kind, one.start, end, one.name, one.head, tail, one.attributes, tuple(one.children))
        stack[-1].children.append(node)

    at = 0
    while at < len(text):
        token = _TOKEN.search(text, at)
        begin = token.start() if token else len(text)
        if begin > at:
            stack[-1].children.append(Node("text", at, begin))
        if token is None:
            break
        at = token.end()
        if token[0].startswith("<!--"):
            stack[-1].children.append(Node("comment", begin, at))
        elif token[0].startswith(("<!", "<?")):
            stack[-1].children.append(Node("other", begin, at))
        elif token[0].startswith("</"):
            name = _name(text, begin + 2)
            if any(one.name == name for one in stack):
                while stack[-1].name != name:
                    close(begin, begin)
                close(begin, at)
            else:
                stack[-1].children.append(Node("other", begin, at))
        else:
            name, attributes, at = _start_tag(text, begin)
            while len(stack) > 1 and stack[-1].name in _ENDS.get(name, ()):
                close(begin, begin)
            if name in VOID or (text.endswith("/>", begin, at) and _foreign(stack)):
                stack[-1].children.append(Node("element", begin, at, name, at, at, attributes))
                continue
            stack.append(_Open("element", begin, name, at, attributes))
            if name in RAW or name == "plaintext":
                end = re.compile(rf"</{re.escape(name)}(?=[\s/>])", re.IGNORECASE).search(text, at)
                inner = end.start() if end and name != "plaintext" else len(text)
                if inner > at:
                    stack[-1].children.append(Node("text", at, inner))
                at = inner
    while len(stack) > 1:
        close(len(text), len(text))
    return Node("root", 0, len(text), children=tuple(stack[0].children))


def _foreign(stack: list[_Open]) -> bool:
    return any(one.name in ("svg", "math") for one in stack)


def _name(text: str, at: int) -> str:
    found = _NAME.match(text, at)
    return found[0].lower() if found else ""


def _start_tag(text: str, begin: int) -> tuple[str, tuple[Attribute, ...], int]:
    found = _NAME.match(text, begin + 1)
    name, at = (found[0].lower(), found.end()) if found else ("", begin + 1)
    attributes = []
    while found := _ATTRIBUTE.match(text, at):
        group = next((g for g in ("double", "single", "bare") if found[g] is not None), None)
        attributes.append(Attribute(found["name"].lower(), at, found.end(), found.span(group) if group else None))
        at = found.end()
    end = text.find(">", at)
    return name, tuple(attributes), len(text) if end < 0 else end + 1


def broken(text: str, root: Node) -> bool:
    """Whether tags stand where no tree has a place for them: what closes nothing, and what nothing closes."""
    waiting = list(root.children)
    while waiting:
        node = waiting.pop()
        if node.kind == "other" and text.startswith("</", node.start):
            return True
        closed = node.tail < node.end or text.endswith("/>", node.start, node.head)
        if node.kind == "element" and not closed and node.name not in VOID | _MAY_STAY_OPEN:
            return True
        waiting += node.children
    return not any(node.kind == "element" for node in root.children)


def elements(node: Node) -> Iterator[Node]:
    """All of them, in the order of their start tags."""
    waiting = list(reversed(node.children))
    while waiting:
        one = waiting.pop()
        if one.kind == "element":
            yield one
            waiting += reversed(one.children)
