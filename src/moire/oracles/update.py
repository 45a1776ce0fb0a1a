"""Render update: a page changed by script must look like the same page loaded fresh.

The updated page is shown, and then changed, each operation in a frame of its own. The fresh page is the same page,
changed before anything of it is drawn. They must be the same page in the end; if they are and do not look the same,
the browser has updated wrongly.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ..browsers.drivers.base import Tab, Untestable
from ..browsers.lab import Lab, Visit
from ..inspect.page import Page, apart, at_rest, moves, page, still_loads
from ..nouns import Build, Case, Failure, Operation, Outcome, Shot, Verdict
from ..pages.update import script, still
from ..pixels import Measure
from .change import CONFIRMATIONS, decide, differ, together

# Of a page that may still load, until two in a row are the same.
MOST_PICTURES = 5
_MOVES = "something in the page moves by itself"
_TWO_WAYS = "the fresh page itself looks different when it is loaded in another way"
# A closer look at a page while it is shown.
Closer = Callable[[Tab], Awaitable[None]]
Show = Callable[[Tab, Case], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Rendering:
    """A page's picture, and what the page is."""

    shot: Shot
    page: Page


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and the pictures of the updated and the fresh page that it rests on."""

    verdict: Verdict
    same_page: bool
    updated: Sequence[Outcome]
    fresh: Sequence[Outcome]


async def nothing(tab: Tab) -> None:
    return None


async def judge(
    lab: Lab, build: Build, case: Case, measure: Measure, repeats: int = CONFIRMATIONS, *, remembering: bool = False,
    screen: bool = True,
) -> Judged:  # fmt: skip
    """The fast path to *same*, unless nobody is to `screen`, and the sure path to anything else. Pages that may
    remember how they were, by specification, are not judged unless asked for."""
    if not remembering and (feature := still.remembers(case)):
        return Judged(Verdict("untestable", f"the page may remember how it was: {feature}"), False, [], [])
    quick = await screened(lab, build, case) if screen else None
    if isinstance(quick, Failure):
        return Judged(Verdict("untestable", quick.reason), False, [], [])
    if quick is not None:
        once = conclude(quick[:1], quick[1:], measure)
        if once.verdict.kind == "same":
            return once
    # Where nothing can be shown by content, a tab that others have used may be the short way to *same*.
    if screen and quick is None and shares(lab, build, case):
        tried = await together(*(show(lab, build, case, warm=True) for show in (updated, fresh)))
        once = conclude(tried[:1], tried[1:], measure)
        if once.verdict.kind == "same":
            return once
    seen: list[list[Rendering | Failure]] = [[], []]
    for _ in range(repeats):
        for known, one in zip(seen, await together(updated(lab, build, case), fresh(lab, build, case)), strict=True):
            known.append(one)
        once = conclude(seen[0], seen[1], measure)
        if once.verdict.kind != "different":
            return once
        first = seen[1][0]
        if quick is not None and isinstance(first, Rendering) and differ(quick[1].shot, first.shot, measure):
            # What is shown in two ways is no measure of anything.
            return replace(once, verdict=replace(once.verdict, kind="flaky", reason=_TWO_WAYS, flake_rate=0.5))
    return once


def conclude(updated: Sequence[Rendering | Failure], fresh: Sequence[Rendering | Failure], measure: Measure) -> Judged:
    """A verdict from what was seen; no browser needed."""
    outcomes = [[one if isinstance(one, Failure) else one.shot for one in seen] for seen in (updated, fresh)]
    seen = [one for one in (*updated, *fresh) if isinstance(one, Rendering)]
    parted = next((words for one in seen if (words := apart(seen[0].page, one.page))), "")
    if len(seen) < len(updated) + len(fresh):
        verdict = decide(outcomes[0], outcomes[1], measure)
    elif any(still_loads(one.page) for one in seen):
        verdict = Verdict("untestable", "something still loads after the update")
    elif any(moves(one.page) for one in seen):
        verdict = Verdict("untestable", _MOVES)
    elif parted:
        verdict = Verdict("untestable", f"updated and fresh page are not the same page: {parted}")
    elif len({one.shot.png for one in seen}) == 1:
        verdict = Verdict("same")
    else:
        verdict = decide(outcomes[0], outcomes[1], measure)
    return Judged(verdict, not parted, outcomes[0], outcomes[1])


async def screened(
    lab: Lab, build: Build, case: Case, closer: tuple[Closer, Closer] | None = None
) -> tuple[Rendering, Rendering] | Failure | None:
    """Both renderings by the fast path, if there is one for this page and build: to be confirmed before anyone is
    told. Operations that cannot be done are a failure at once. A `closer` look at them is taken in a tab that has shown
    nothing else: what a page says of its boxes may hang on that, where its picture does not."""
    looks = closer or (nothing, nothing)
    if not _by_content(case):
        return None

    async def both(tab: Tab) -> tuple[Rendering, Rendering] | Failure | None:
        try:
            first = await _shown(tab, case, _update, looks[0])
            second = first and await _shown(tab, case, _load, looks[1])
        except _Unfit as error:
            await tab.resize(case.environment.width, case.environment.height)
            return Failure("untestable", str(error))
        if first is None or second is None:
            return None
        # A tab in which anything goes wrong is not used again: only what went well is put back.
        await tab.resize(case.environment.width, case.environment.height)
        return first, second

    return await lab.warm(build, case, both, afresh=closer is not None)


async def _shown(tab: Tab, case: Case, show: Show, closer: Closer) -> Rendering | None:
    """None for a page that is not at rest: here, nobody waits for it."""
    await show(tab, case)
    shot = Shot(await tab.screenshot(), "fast")
    await closer(tab)
    found = await page(tab)
    if moves(found):
        raise _Unfit(_MOVES)
    return Rendering(shot, found) if at_rest(found) else None


async def _update(tab: Tab, case: Case) -> None:
    await tab.resize(case.environment.width, case.environment.height)
    await tab.show(case, script.prepared(case.update))
    await tab.frame()
    await _operate(tab, case.update)


async def _load(tab: Tab, case: Case) -> None:
    environment = script.final(case.environment, case.update)
    await tab.resize(environment.width, environment.height)
    _check(await tab.show(case, script.at_once(case.update)))


async def _operate(tab: Tab, update: Sequence[Operation]) -> None:
    """Each operation in its own frame."""
    for one in update:
        if one.op == "resize":
            await tab.resize(one["width"], one["height"])
        else:
            _check(await tab.evaluate(script.applied([one])))
        if one.op == "script":
            await tab.inspect(script.DONE)
        await tab.frame()


def _check(said: object) -> None:
    if not isinstance(said, list):
        raise Untestable("the page meddles with the answers of scripts")
    for words in filter(None, said):
        raise _Unfit(f"an operation could not be done: {words}")


class _Unfit(Untestable):
    pass


async def updated(
    lab: Lab, build: Build, case: Case, closer: Closer = nothing, *, sure: bool = True, warm: bool = False
) -> Rendering | Failure:
    """Load, settle, operate, settle, shoot: by navigation, in a fresh tab unless a warm one will do."""

    async def job(tab: Tab) -> Rendering:
        await _operate(tab, case.update)
        return await _pictured(tab, closer, once=warm)

    page = script.loading(case, changed=False)
    return _rendering(await lab.visit(build, page, job, sure=sure, afresh=False, warm=warm, calm=_by_content(case)))


async def fresh(
    lab: Lab, build: Build, case: Case, closer: Closer = nothing, *, sure: bool = True, warm: bool = False
) -> Rendering | Failure:
    """The same with the operations done before the page is drawn."""

    async def job(tab: Tab) -> Rendering:
        kept = await tab.evaluate(script.KEPT)
        if not isinstance(kept, dict):
            raise Untestable("the page does not let a script run at its end")
        _check(kept.get("said"))
        if not kept.get("whole"):
            raise Untestable("the page was drawn before it was complete")
        if any(one.op == "script" for one in case.update):
            await tab.inspect(script.DONE)
        return await _pictured(tab, closer, once=warm)

    page = script.loading(case, changed=True)
    return _rendering(await lab.visit(build, page, job, sure=sure, afresh=False, warm=warm, calm=_by_content(case)))


def shares(lab: Lab, build: Build, case: Case) -> bool:
    """Whether the page may be shown in a tab that others use, and that is worth it. A tab whose size was changed is of
    no use to the next page."""
    return lab.shares_tabs(build) and _by_content(case) and all(one.op != "resize" for one in case.update)


async def _pictured(tab: Tab, closer: Closer, *, once: bool) -> Rendering:
    """What an update loads comes in its own time, and not everything that moves says so: unless `once` will do, it is
    only at rest when it looks the same twice."""
    await tab.settle()
    png, before = await tab.screenshot(), b""
    for _ in range(0 if once else MOST_PICTURES):
        before = png
        await tab.settle()
        png = await tab.screenshot()
        if png == before:
            break
    if not once and png != before:
        raise Untestable(_MOVES)
    await closer(tab)
    return Rendering(Shot(png, "navigation"), await page(tab))


def _rendering(seen: Visit[Rendering] | Failure) -> Rendering | Failure:
    if isinstance(seen, Failure):
        return seen
    return replace(seen.value, shot=replace(seen.value.shot, blocked=seen.blocked, trouble=seen.trouble))


def _by_content(case: Case) -> bool:
    """Whether neither the page nor what its operations bring can run, load or leave."""
    if any(one.op == "script" for one in case.update) or case.environment.direction != "ltr":
        return False
    brought = [value for one in case.update for _, value in one.arguments if isinstance(value, str)]
    return replace(case, html=b"\n".join([case.html, *(value.encode() for value in brought)])).inert
