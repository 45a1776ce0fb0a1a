"""What is different between two replays of one session, event by event, and only in what an event changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..pixels import Image, Measure, decode, measure, size
from .align import Difference, Graph, differences, shifted
from .compare import missing, own_text
from .follow import Change, Following
from .page import Edges, Node, Page
from .replay import Behaviour, Replayed, Step, View

Kind = Literal["behaviour", "structure", "text", "image"]
# χ² of two engines' text in one font stays below half of this; so does how differently it is inked, which thin text
# shows that χ² does not.
IMAGES = (measure("chi2:0.2"), measure("ink:0.3"))
_DRAWN_ON = frozenset(["canvas", "video", "img", "object", "embed", "iframe"])


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

    images: Sequence[Measure] = IMAGES
    _told: set[str] = field(default_factory=set, init=False)
    _following: Following = field(default_factory=Following, init=False)
    _page: int = field(default=-1, init=False)
    _seen: tuple[bytes, bytes] = field(default=(b"", b""), init=False)

    def issues(self, a: Replayed, b: Replayed) -> Iterator[Issue]:
        for n, (one, other) in enumerate(zip(a.steps, b.steps, strict=False)):
            for issue in self._step(n, one, other):
                if issue.signature not in self._told:
                    self._told.add(issue.signature)
                    yield issue
        if a.ended or b.trouble:
            # How it would have gone on is not known.
            return
        if b.ended:
            yield Issue(len(b.steps) - 1, "", "behaviour", "ended", f"{b.build}: {b.ended}")
        known = {(one.event, one.kind, one.words) for one in a.behaviour}
        for own in b.behaviour:
            if (own.event, own.kind, own.words) not in known:
                yield _behaviour(_step_of(b, own.event), own)

    def _step(self, n: int, a: Step, b: Step) -> Iterator[Issue]:
        known = {(one.event, one.kind, one.words) for one in a.behaviour}
        wrong = [one for one in b.behaviour if (one.event, one.kind, one.words) not in known]
        yield from (_behaviour(n, one) for one in wrong)
        afresh, self._page = a.page != self._page, a.page
        change = self._following.step(a.data, b.data, afresh=afresh)
        event = a.events[-1].id if a.events else f"{a.page}.0"
        touched = self._drawn(a, b)
        off: set[str] = set()
        if change is not None:
            if not wrong:
                yield from _mutated(n, event, a, b, change)
            yield from self._looks(n, event, a, b, change, off)
            touched |= change.either(change.first.changed, change.second.changed)
        same = self._following.same
        pairs = [(a.data.by_id[own], b.data.by_id[same[own]]) for own in sorted(touched)]
        yield from self._images(n, event, a, b, pairs, off)

    def _drawn(self, a: Step, b: Step) -> set[int]:
        """Elements that scripts draw on, of which no change of the tree tells, if anything is seen that was not."""
        before, self._seen = self._seen, (a.views[0].png, b.views[0].png)
        if before == self._seen:
            return set()
        return {node.id for node in a.data.nodes if node.tag in _DRAWN_ON and node.id in self._following.same}

    def _looks(self, n: int, event: str, a: Step, b: Step, change: Change, off: set[str]) -> Iterator[Issue]:
        """Structure and text; what is `off` in either."""
        first, second = change.first, change.second
        if moved := change.either(first.moved, second.moved):
            graphs = Graph(a.data), Graph(b.data)
            found = [*differences(graphs[0], graphs[1], change.same, moved)]
            for one in found:
                off |= {*(one.a or ())}
            for one in gathered(found):
                yield _structure(n, event, one, a.data, b.data)
            for one in shifted(graphs[0], graphs[1], change.same, moved):
                if one.a is not None and one.a[0] not in off:
                    off.add(one.a[0])
                    yield _structure(n, event, one, a.data, b.data)
        # What is shown now may have been written before.
        for own in sorted(change.either(first.texts | first.moved, second.texts | second.moved)):
            x, y = a.data.by_id[own], b.data.by_id[change.same[own]]
            said = own_text(a.data, x.id), own_text(b.data, y.id)
            if x.visible and y.visible and said[0] != said[1]:
                off.add(x.path)
                words = f"{said[0][:80]!r} and {said[1][:80]!r}"
                yield _of_two(n, event, "text", "text", words, x, y)

    def _images(
        self, n: int, event: str, a: Step, b: Step, touched: Collection[tuple[Node, Node]], off: set[str]
    ) -> Iterator[Issue]:
        """Elements with no others in them, as they look, where they are laid out alike and say the same."""
        album = Album(a), Album(b)
        for x, y in touched:
            if not (x.visible and y.visible) or x.path in off or a.data.inside[x.id] or b.data.inside[y.id]:
                continue
            if ":native" in x.attributes and ":native" in y.attributes:
                continue
            cuts = album[0].cut(x.edges), album[1].cut(y.edges)
            if any(cut.size == 0 for cut in cuts):
                continue
            for by in self.images:
                apart: float = by.distance(*cuts)
                if apart > by.threshold and not (_crossed(a.data, x) or _crossed(b.data, y)):
                    words = f"{by.name.partition(':')[0]} {apart:.3g}"
                    yield _of_two(n, event, "image", "picture", words, x, y)
                    break


@dataclass
class Album:
    """The views of a step, decoded when they are asked for."""

    step: Step
    _decoded: dict[int, Image] = field(default_factory=dict, init=False)

    def cut(self, edges: Edges) -> Image:
        """The element, as far as it is in the view that shows most of it, but for pixels that it shares with others."""
        best = view(self.step, edges)
        place = self.step.views.index(best)
        if place not in self._decoded:
            self._decoded[place] = decode(best.png)
        left, top = (max(0, math.ceil(edges[n] - best.scroll[n])) for n in range(2))
        right, bottom = (max(0, math.floor(edges[n + 2] - best.scroll[n])) for n in range(2))
        return self._decoded[place][top : max(top, bottom), left : max(left, right)]


def view(step: Step, edges: Edges | None) -> View:
    """The one that shows most of an element, or what a user sees."""
    if edges is None or len(step.views) == 1:
        return step.views[0]
    width, height = size(step.views[0].png)

    def seen(one: View) -> float:
        left, top = one.scroll
        across = min(edges[2], left + width) - max(edges[0], left)
        return max(0.0, across) * max(0.0, min(edges[3], top + height) - max(edges[1], top))

    return max(step.views, key=seen)


# Of an element's area: where so much is parts of others, what is seen is theirs.
MOST_CROSSED = 0.05


# Structures that are told of after one event: where more are off, it is the same all over.
MOST_STRUCTURES = 100


def gathered(found: Sequence[Difference]) -> Iterator[Difference]:
    """A box that is out of its place is so to everything about it: one of each kind for each box, of those that most
    are about first."""
    left = [(one, {(one.kind, path) for path in (*(one.a or ()), *(one.b or ()))}) for one in found]
    for _ in range(MOST_STRUCTURES):
        if not left:
            return
        ((chosen, _), *_) = Counter(box for _, boxes in left for box in sorted(boxes)).most_common(1)
        yield next(one for one, boxes in left if chosen in boxes)
        left = [(one, boxes) for one, boxes in left if chosen not in boxes]


def _crossed(page: Page, node: Node) -> bool:
    """Whether parts of other elements are in its place: that is their affair."""
    left, top, right, bottom = node.edges
    area = 0.0
    for one in page.nodes:
        if not one.visible or one is node or page.inside[one.id]:
            continue
        x, y, z, w = one.edges
        across, down = min(right, z) - max(left, x), min(bottom, w) - max(top, y)
        covers = x <= left + 1 and y <= top + 1 and z >= right - 1 and w >= bottom - 1
        within = left <= x + 1 and top <= y + 1 and right >= z - 1 and bottom >= w - 1
        if min(across, down) > 1 and not covers and not within:
            area += across * down
    return area > MOST_CROSSED * (right - left) * (bottom - top)


def _mutated(n: int, event: str, a: Step, b: Step, change: Change) -> Iterator[Issue]:
    """Whether the event did the same to the tree."""
    for one in missing(a.data, b.data, change.same, change.back, change.alone):
        path = (one.a or one.b or ("",))[0]
        node_a = _at(a.data, one.a)
        node_b = _at(b.data, one.b)
        yield Issue(
            n, event, "behaviour", "node", f"{path} is in one of them only", one.a or (), one.b or (),
            node_a.edges if node_a else None, node_b.edges if node_b else None,
        )  # fmt: skip
    first, second = change.first, change.second
    names_a, names_b = first.attributes, second.attributes
    for own in sorted(change.either(names_a.keys() | first.added, names_b.keys() | second.added)):
        x, y = a.data.by_id[own], b.data.by_id[change.same[own]]
        if x.id in first.added or y.id in second.added:
            names = {*x.attributes, *y.attributes}
        else:
            names = {*names_a.get(x.id, ()), *names_b.get(y.id, ())}
        for name in sorted(names - _OWN_WAYS):
            values = x.attributes.get(name), y.attributes.get(name)
            if values[0] != values[1]:
                words = " and ".join("nothing" if value is None else repr(value[:80]) for value in values)
                yield _of_two(n, event, "behaviour", f"attribute {name}", f"{name} is {words}", x, y)


# What engines write in their own ways; what it does is seen in layout and pictures.
_OWN_WAYS = frozenset(["style", ":native"])


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
