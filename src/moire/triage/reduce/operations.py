"""A page and its operations as one text, so that one search goes over both, and the passes over operations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from ...nouns import Case, Operation, Update
from ...nouns.update import read
from ...pages.source import elements, rules
from . import passes
from .passes import Asking, Pass

NUMBERS = (0, 1, 10, 100)
# What an operation can do without, or with less of: the first that will do.
_TEXTS = ("", "a")
_SHEET = ("<style>", "</style>")


def joined(update: Sequence[Operation], html: str) -> str:
    """The operations are the first line."""
    return f"{json.dumps([one.plain for one in update])}\n{html}"


def parted(text: str) -> tuple[Update, str]:
    line, _, html = text.partition("\n")
    return read(line), html


def whole(case: Case, coding: str = "utf-8") -> str:
    """A case as one text: the page alone, if it has no operations."""
    html = case.html.decode(coding)
    return joined(case.update, html) if case.update else html


def on_page(step: Pass) -> Pass:
    """A pass over pages, for a page with operations: these follow what they are about."""

    def lifted(text: str) -> Asking:
        update, html = parted(text)

        def with_update(smaller: str) -> str:
            return joined(_followed(update, html, smaller), smaller)

        return (yield from _through(step(html), with_update))

    return lifted


def _through(asking: Asking, put: Callable[[str], str]) -> Asking:
    """The same questions about a larger text that what is asked about is part of."""
    try:
        one = next(asking)
        while True:
            one = asking.send((yield put(one)))
    except StopIteration as end:
        return put(end.value)


def _followed(update: Update, before: str, after: str) -> list[Operation]:
    """Rules are named by their place in the first sheet: where others have gone, the place is another."""
    if before == after or not any(_by_place(one) for one in update):
        return list(update)
    old, new = _selectors(before), _selectors(after)
    return [one.but(index=_place(one["index"], old, new)) if _by_place(one) else one for one in update]


def _by_place(one: Operation) -> bool:
    return one.op in ("insert-rule", "delete-rule") and one["sheet"] == 0


def _selectors(html: str) -> list[str]:
    """What the rules of the first sheet are for."""
    style = next((node for node in elements(passes.parse(html)) if node.name == "style"), None)
    found = rules(html, style.head, style.tail) if style is not None else ()
    return [html[one.start : one.prelude[1]].strip() for one in found]


def _place(index: int, old: list[str], new: list[str]) -> int:
    """Where a rule is now: after those before it that are still there."""
    if len(old) == len(new):
        return index
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return sum(max(0, min(index - block.a, block.size)) for block in blocks)


def fewer(text: str) -> Asking:
    """Operations, all but some, and one at a time."""
    update, html = parted(text)
    left = list(update)
    size = len(left)
    while size:
        at = 0
        while at < len(left):
            without = [*left[:at], *left[at + size :]]
            if without and (yield joined(without, html)):
                left = without
            else:
                at += size
        size = min(size, len(left)) // 2
    return joined(left, html)


def simpler(text: str) -> Asking:
    """What the operations bring, made smaller."""
    update, html = parted(text)
    now = list(update)
    for n in range(len(now)):

        def put(one: Operation, n: int = n) -> str:
            return joined([*now[:n], one, *now[n + 1 :]], html)

        for name in ("html", "rule"):
            if name in now[n]:
                smaller = yield from _smaller(now[n], name, put)
                now[n] = now[n].but(**{name: smaller})
        # What comes after it is no plainer: each would be taken in turn, for ever.
        for other in _plainer(now[n]):
            if other == now[n]:
                break
            if (yield put(other)):
                now[n] = other
                break
    return joined(now, html)


def _smaller(one: Operation, name: str, put: Callable[[Operation], str]) -> Asking:
    """Markup or a rule by the passes for pages."""
    around = _SHEET if name == "rule" else ("", "")

    def with_part(part: str) -> str:
        inside = part.removeprefix(around[0]).removesuffix(around[1])
        return put(one.but(**{name: inside}))

    asking = passes.BROUGHT(around[0] + one[name] + around[1])
    try:
        part = next(asking)
        while True:
            part = asking.send((yield with_part(part)))
    except StopIteration as end:
        whole: str = end.value
        return whole.removeprefix(around[0]).removesuffix(around[1])


def _plainer(one: Operation) -> Iterator[Operation]:
    match one.op:
        case "scroll":
            yield from (one.but(x=x, y=y) for y in NUMBERS for x in (0, one["x"]))
        case "resize":
            yield from (one.but(width=w, height=h) for w, h in ((400, 600), (800, 300), (400, 300)))
        case "set-text" | "set-value" | "set-attribute":
            yield from (one.but(value=value) for value in _TEXTS if len(value) < len(one["value"]))
        case "set-style":
            yield from (one.but(value=value) for value in passes.simpler_values(one["value"]))
        case "insert-rule":
            yield one.but(index=0)
        case "script":
            lines = one["code"].splitlines()
            yield from (one.but(code="\n".join(lines[:n] + lines[n + 1 :])) for n in range(len(lines)))
