"""The page mutator: operations for a page, drawn from the grammar that the page is from.

The same page, seed and weights give the same operations. Targets are named by id where they have one, and else by the
path to them, so that a page that changes before it is drawn finds the same ones.
"""

from __future__ import annotations

import html
import random
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ...nouns import Case, Operation, operation
from ...nouns.update import POSITIONS
from ..make import Pages
from ..source import elements, parse, rules
from ..source.html import VOID

T = TypeVar("T")

# How often each kind is drawn, against the others.
USUAL: Mapping[str, float] = {
    "insert-node": 10, "delete-node": 10, "move-node": 10, "set-attribute": 10, "remove-attribute": 10,
    "toggle-class": 10, "set-style": 20, "set-text": 10, "insert-rule": 20, "delete-rule": 20, "focus": 10,
    "scroll": 10, "resize": 10, "open": 5, "close": 5, "set-value": 5, "set-checked": 5,
}  # fmt: skip
# As far as Metamong scrolls and resizes.
FARTHEST, SMALLEST = 1000, 100
SIZES = (1, 2, 3, 4)
SURE = 0.8
# What is deeper is left alone.
MOST_DEEP = 100
# Tries to draw an operation that the page has something for.
TRIES = 20
_OUTSIDE = ("beforebegin", "afterend")
_FOCUSABLE = frozenset(["a", "area", "button", "input", "select", "textarea", "summary", "iframe"])
_FORCING = frozenset(["focus", "scroll", "open"])
_HEAD = frozenset(["html", "head", "body", "title", "meta", "style", "link", "base", "script", "noscript"])
_FIELDS = frozenset(["input", "textarea", "select", "progress", "meter"])


@dataclass(frozen=True, slots=True)
class _Place:
    """An element of the page, and how to find it. Those it holds are the places from the one after it to `end`."""

    name: str
    target: str
    rule: str
    attributes: tuple[str, ...]
    classes: tuple[str, ...]
    at: int
    end: int


class _Page:
    """What there is to operate on, as a browser's parser sees it."""

    def __init__(self, text: str) -> None:
        self.places: list[_Place] = []
        self.named = 0
        self._count = 0
        body = LexborHTMLParser(text).body
        if body is not None:
            self._walk(body, "body", "html")
        self.places.sort(key=lambda place: place.at)
        sheet = next((node for node in elements(parse(text)) if node.name == "style"), None)
        # Only the first sheet is operated on.
        found = rules(text, sheet.head, sheet.tail) if sheet is not None else ()
        self.rules = len([one for one in found if one.block is not None])

    @property
    def sure_rules(self) -> int:
        """Of the rules, so many are there even if a build refuses some."""
        return int(self.rules * SURE)

    def _walk(self, node: LexborNode, path: str, space: str) -> None:
        for nth, child in enumerate(node.iter(), 1):
            inner = {"svg": "svg", "math": "mathml"}.get(child.tag or "", space)
            here = f"{path} > :nth-child({nth})"
            self._count += 1
            at = self._count
            if child.tag != "template" and path.count(">") < MOST_DEEP:
                self._walk(child, here, "html" if child.tag == "foreignobject" else inner)
            if child.tag not in _HEAD:
                self._add(child, here, inner, at)

    def _add(self, node: LexborNode, path: str, space: str, at: int) -> None:
        values = {name: value or "" for name, value in node.attributes.items()}
        name = values.get("id", "")
        target = f"#{name}" if name.isascii() and name.isalnum() and name[:1].isalpha() else path
        if name[:1] == "e" and name[1:].isdecimal():
            self.named = max(self.named, int(name[1:]))
        own = tuple(name for name in values if name != "id")
        classes = tuple(values.get("class", "").split())
        self.places.append(_Place(node.tag or "", target, f"{space}-{node.tag}", own, classes, at, self._count))


class Updates:
    """A source of operations. `weights` say how often each kind is drawn."""

    def __init__(self, pages: Pages, weights: Mapping[str, float] = USUAL) -> None:
        self._pages = pages
        self._weights = {kind: weight for kind, weight in weights.items() if weight}

    def updated(self, case: Case, seed: int, operations: int) -> Case:
        """The case with so many operations; fewer if there is nothing to operate on."""
        number = random.Random(f"update {seed}").random
        page = _Page(case.html.decode("utf-8", "replace"))
        made: list[Operation] = []
        for _ in range(operations):
            for _ in range(TRIES):
                if (one := self._draw(page, number)) is not None:
                    made.append(one)
                    break
        if number() < 0.5 and not any(one.op == "delete-node" for one in made):
            # These lay the page out as soon as they are done, on the fresh page, too: what comes after them would be
            # an update there as well.
            made.sort(key=lambda one: one.op in _FORCING)
        return replace(case, update=tuple(made))

    def _draw(self, page: _Page, number: Callable[[], float]) -> Operation | None:
        """One operation; none if the page has nothing for its kind."""
        kind = self._kind(number() * sum(self._weights.values()))
        match kind:
            case "resize":
                width, height = (SMALLEST + int(number() * (FARTHEST - SMALLEST)) for _ in range(2))
                return operation(kind, width=width, height=height)
            case "insert-rule":
                index = int(number() * (page.sure_rules + 1))
                page.rules += 1
                return operation(kind, index=index, rule=self._part("rule", page, number))
            case "delete-rule":
                if not page.rules:
                    return None
                index = int(number() * max(1, page.sure_rules))
                page.rules -= 1
                return operation(kind, index=index)
            case "scroll":
                x, y = (int(number() * FARTHEST) for _ in range(2))
                window = number() < 0.5 or not page.places
                return operation(kind, target="" if window else _picked(page.places, number).target, x=x, y=y)
        fit = [place for place in page.places if _fits(kind, place)]
        if not fit:
            return None
        place = _picked(fit, number)
        if kind == "delete-node":
            # What it holds goes with it.
            page.places = [p for p in page.places if not place.at <= p.at <= place.end]
        return self._on(kind, place, page, number)

    def _kind(self, at: float) -> str:
        kinds = list(self._weights)
        return kinds[min(bisect(list(accumulate(self._weights.values())), at), len(kinds) - 1)]

    def _on(self, kind: str, place: _Place, page: _Page, number: Callable[[], float]) -> Operation | None:
        target = place.target
        match kind:
            case "insert-node":
                positions = _OUTSIDE if place.name in VOID else POSITIONS
                markup = self._part("flow", page, number)
                return operation(kind, target=target, position=_picked(positions, number), html=markup)
            case "move-node":
                others = [p for p in page.places if not place.at <= p.at <= place.end]
                if not others:
                    return None
                to = _picked(others, number)
                positions = _OUTSIDE if to.name in VOID else POSITIONS
                return operation(kind, target=target, to=to.target, position=_picked(positions, number))
            case "set-attribute":
                rule = f"{place.rule}.attribute"
                drawn = self._part(rule if self._pages.makes(rule) else "html-div.attribute", page, number)
                name, _, value = drawn.partition("=")
                return operation(kind, target=target, name=name, value=html.unescape(value.strip("\"'")))
            case "remove-attribute":
                return operation(kind, target=target, name=_picked(place.attributes, number))
            case "toggle-class":
                names = [*place.classes, self._part("some-class", page, number)]
                return operation(kind, target=target, name=_picked(names, number))
            case "set-style":
                name, _, value = self._part("declaration", page, number).partition(":")
                return operation(kind, target=target, name=name, value=value)
            case "set-text":
                return operation(kind, target=target, value=html.unescape(self._part("text", page, number)))
            case "open":
                return operation(kind, target=target, modal=place.name == "dialog" and number() < 0.5)
            case "set-value":
                counts = place.name in ("progress", "meter")
                value = str(int(number() * 10)) if counts or number() < 0.5 else self._part("words", page, number)
                return operation(kind, target=target, value=value)
            case "set-checked":
                return operation(kind, target=target, value=number() < 0.5)
        return operation(kind, target=target)

    def _part(self, rule: str, page: _Page, number: Callable[[], float]) -> str:
        drawn = self._pages.part(rule, SIZES[int(number() * len(SIZES))], number, page.named)
        page.named += drawn.count(" id=e")
        return drawn


def _fits(kind: str, place: _Place) -> bool:
    name = place.name
    match kind:
        case "remove-attribute":
            return bool(place.attributes)
        case "focus":
            return name in _FOCUSABLE or "tabindex" in place.attributes or "contenteditable" in place.attributes
        case "open" | "close":
            return name in ("details", "dialog")
        case "set-value":
            return name in _FIELDS
        case "set-checked":
            return name == "input"
    return True


def _picked(options: Sequence[T], number: Callable[[], float]) -> T:
    return options[int(number() * len(options))]
