"""What is different between two replays of one session, event by event, and only in what an event changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..pixels import Image, Measure, decode, measure
from .align import Difference, Graph, differences
from .compare import missing, own_text
from .match import matched
from .mutations import Mutations, mutations
from .page import Edges, Node, Page
from .replay import Behaviour, Replayed, Step

Kind = Literal["behaviour", "structure", "text", "image"]
# χ² of two engines' text in one font stays below half of this.
IMAGE = measure("chi2:0.15")


@dataclass(frozen=True, slots=True)
class Issue:
    """Something that is different elsewhere: after which event, of which kind, where, and in words. `a` and `b` are
    paths of what it is in, in each browser."""

    step: int
    event: str
    kind: Kind
    what: str
    words: str
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()
    box_a: Edges | None = None
    box_b: Edges | None = None

    @property
    def signature(self) -> str:
        """The same thing at another event is the same thing."""
        what = [] if self.what == self.kind else [self.what]
        return " ".join([self.kind, *what, *(self.a or self.b or (self.words,))])


@dataclass
class Detector:
    """Two replays, step by step; what was told once is not told again."""

    image: Measure = IMAGE
    _seen: set[str] = field(default_factory=set, init=False)
    _told: set[str] = field(default_factory=set, init=False)
    _same: dict[int, int] = field(default_factory=dict, init=False)
    _before: tuple[Step, Step] | None = field(default=None, init=False)

    def issues(self, a: Replayed, b: Replayed) -> Iterator[Issue]:
        for n, (one, other) in enumerate(zip(a.steps, b.steps, strict=False)):
            for issue in self._step(n, one, other):
                if issue.signature not in self._told:
                    self._told.add(issue.signature)
                    yield issue
        if len(b.steps) != len(a.steps) or b.ended != a.ended:
            shorter = min(a, b, key=lambda one: len(one.steps))
            words = shorter.ended or "the session ended"
            yield Issue(len(shorter.steps) - 1, "", "behaviour", "ended", f"{shorter.build}: {words}")
        known = {(one.event, one.kind, one.words) for one in a.behaviour}
        for own in b.behaviour:
            if (own.event, own.kind, own.words) not in known:
                yield _behaviour(_step_of(b, own.event), own)

    def _step(self, n: int, a: Step, b: Step) -> Iterator[Issue]:
        before, self._before = self._before, (a, b)
        known = {(one.event, one.kind, one.words) for one in a.behaviour}
        wrong = [one for one in b.behaviour if (one.event, one.kind, one.words) not in known]
        if wrong:
            yield from (_behaviour(n, one) for one in wrong)
        if before is None or before[0].page != a.page:
            before, self._same = None, {}
        mark = _hash(a) + _hash(b)
        if mark in self._seen:
            self._same = matched(a.data, b.data)
            return
        self._seen.add(mark)
        changed = [mutations(before[k].data if before else None, step.data) for k, step in enumerate((a, b))]
        self._same = _kept(self._same, a.data, b.data)
        if all(one.none and not one.moved for one in changed):
            return
        roots = _roots(a.data, b.data, self._same, changed[0], changed[1])
        self._same |= matched(a.data, b.data, roots)
        event = a.events[-1].id if a.events else f"{a.page}.0"
        if not wrong:
            yield from self._mutated(n, event, a, b, changed[0], changed[1])
        yield from self._looks(n, event, a, b, changed[0], changed[1])

    def _mutated(self, n: int, event: str, a: Step, b: Step, first: Mutations, second: Mutations) -> Iterator[Issue]:
        """Whether the event did the same to the tree."""
        for one in missing(a.data, b.data, self._same):
            path = (one.a or one.b or ("",))[0]
            node_a = _at(a.data, one.a)
            node_b = _at(b.data, one.b)
            yield Issue(
                n, event, "behaviour", "node", f"{path} is in one of them only", one.a or (), one.b or (),
                node_a.edges if node_a else None, node_b.edges if node_b else None,
            )  # fmt: skip
        for own in sorted(first.attributes.keys() | {k for k, v in self._same.items() if v in second.attributes}):
            other = self._same.get(own)
            if other is None or own not in a.data.by_id:
                continue
            x, y = a.data.by_id[own], b.data.by_id[other]
            names = first.attributes.get(own, frozenset()) | second.attributes.get(other, frozenset())
            for name in sorted(names):
                if _plain_value(x, name) != _plain_value(y, name):
                    words = f"{name} is {_plain_value(x, name)!r} and {_plain_value(y, name)!r}"
                    yield _of_two(n, event, "behaviour", f"attribute {name}", words, x, y)

    def _looks(self, n: int, event: str, a: Step, b: Step, first: Mutations, second: Mutations) -> Iterator[Issue]:
        same, back = self._same, {other: own for own, other in self._same.items()}
        moved = first.moved | {back[m] for m in second.moved if m in back}
        off: set[str] = set()
        for one in differences(Graph(a.data), Graph(b.data), same, moved):
            off |= {*(one.a or ())}
            yield _structure(n, event, one, a.data, b.data)
        texts = first.texts | {back[m] for m in second.texts if m in back}
        for own in sorted(texts & same.keys()):
            x, y = a.data.by_id[own], b.data.by_id[same[own]]
            said = own_text(a.data, own), own_text(b.data, same[own])
            if x.visible and y.visible and said[0] != said[1]:
                off.add(x.path)
                words = f"{said[0][:80]!r} and {said[1][:80]!r}"
                yield _of_two(n, event, "text", "text", words, x, y)
        touched = (first.changed | {back[m] for m in second.changed if m in back}) & same.keys()
        yield from self._images(n, event, a, b, touched, off)

    def _images(self, n: int, event: str, a: Step, b: Step, touched: Collection[int], off: set[str]) -> Iterator[Issue]:
        """Elements with no others in them, as they look, where they are laid out alike and say the same."""
        pictures: list[Image] = []
        for own in sorted(touched):
            x, y = a.data.by_id[own], b.data.by_id[self._same[own]]
            if not (x.visible and y.visible) or x.path in off or a.data.elements(own) or b.data.elements(y.id):
                continue
            if ":native" in x.attributes and ":native" in y.attributes:
                continue
            pictures = pictures or [decode(a.png), decode(b.png)]
            sides = zip(pictures, (x, y), (a, b), strict=True)
            cuts = [_cut(picture, node.edges, step.scroll) for picture, node, step in sides]
            if any(cut.size == 0 for cut in cuts):
                continue
            apart = self.image.distance(cuts[0], cuts[1])
            if apart > self.image.threshold:
                words = f"{self.image.name.partition(':')[0]} {apart:.3g}"
                yield _of_two(n, event, "image", "picture", words, x, y)


def _of_two(n: int, event: str, kind: Kind, what: str, words: str, x: Node, y: Node) -> Issue:
    return Issue(n, event, kind, what, words, (x.path,), (y.path,), x.edges, y.edges)


def _behaviour(step: int, one: Behaviour) -> Issue:
    return Issue(step, one.event, "behaviour", one.kind, one.words)


def _step_of(replayed: Replayed, event: str) -> int:
    for n, step in enumerate(replayed.steps):
        if any(one.id == event for one in step.events):
            return n
    return next((n for n, step in enumerate(replayed.steps) if f"{step.page}.0" == event), 0)


def _structure(n: int, event: str, one: Difference, a: Page, b: Page) -> Issue:
    plain_one = one.plain
    x, y = _at(a, one.a), _at(b, one.b)
    return Issue(
        n, event, "structure", one.kind, f"{one.kind.lower()}: {plain_one['a']} and {plain_one['b']}", one.a or (),
        one.b or (), x.edges if x else None, y.edges if y else None,
    )  # fmt: skip


def _at(page: Page, paths: tuple[str, ...] | None) -> Node | None:
    return next((node for node in page.nodes if paths and node.path == paths[0]), None)


# What engines write in their own ways.
def _plain_value(node: Node, name: str) -> str:
    value = node.attributes.get(name, "")
    return "".join(sorted(value.replace(" ", "").rstrip(";").split(";"))) if name == "style" else value


def _hash(step: Step) -> str:
    """The tree without its numbers, which are another browser's or another load's."""
    rows = [[node.path, node.text, sorted(node.attributes.items()), node.edges] for node in step.data.nodes]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _kept(same: Mapping[int, int], a: Page, b: Page) -> dict[int, int]:
    return {one: other for one, other in same.items() if one in a.by_id and other in b.by_id}


def _roots(a: Page, b: Page, same: Mapping[int, int], first: Mutations, second: Mutations) -> list[tuple[int, int]]:
    """Nodes that are known to be the same, and that have got something new below them."""
    if not same:
        return [(-1, -1)]
    back = {other: one for one, other in same.items()}
    parents = {a.by_id[n].parent for n in (*first.added, *first.reparented)}
    parents |= {back[p] for n in (*second.added, *second.reparented) if (p := b.by_id[n].parent) in back}
    return [(one, same[one]) for one in sorted(parents & same.keys())]


def _cut(picture: Image, edges: Edges, scroll: tuple[float, float]) -> Image:
    """The element on the picture of the window, as far as it is in it."""
    left, top, right, bottom = (max(0, round(edge - scroll[n % 2])) for n, edge in enumerate(edges))
    return picture[top : max(top, bottom), left : max(left, right)]
