"""The guilty stage: a page in two builds, looked at from the tree to the paint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..browsers.drivers.base import Tab
from ..browsers.lab import Lab
from ..inspect import take
from ..inspect.compare import Mask, on_page, parting, usual_noise
from ..inspect.scripts import script
from ..inspect.stage import Look, Staged, painted, staged
from ..nouns import Build, Case, Dump, Failure
from ..oracles import update
from ..oracles.change import together
from .reduce.differs import PLAIN
from .reduce.signature import in_css_pixels, mask


@dataclass(frozen=True, slots=True)
class Seen:
    png: bytes
    look: Look


async def see(lab: Lab, build: Build, case: Case, *, every: bool = True) -> Seen | Failure:
    """All of it in one visit."""

    async def job(tab: Tab) -> Seen:
        return await _seen(tab, every=every)

    visit = await lab.visit(build, case, job)
    return visit if isinstance(visit, Failure) else visit.value


async def _seen(tab: Tab, *, every: bool = True) -> Seen:
    png, dump = await tab.screenshot(), await take(tab, every=every)
    declared = await tab.inspect(script("matched.js"))
    layers = await tab.layers()
    return Seen(png, Look(dump, _names(declared, dump), None if layers is None else painted(layers)))


async def stale(lab: Lab, build: Build, case: Case) -> Staged | Failure:
    """The first stage at which a page that was updated parts from the same page loaded fresh."""
    seen: list[Seen] = []

    async def closer(tab: Tab) -> None:
        seen.append(await _seen(tab))

    for show in (update.updated, update.fresh):
        shown = await show(lab, build, case, closer)
        if isinstance(shown, Failure):
            return shown
    # A page that was tried again was looked at again.
    first, second = seen[0], seen[-1]
    return staged(first.look, second.look, _where(first, second, case))


def _names(declared: object, dump: Dump) -> Sequence[frozenset[str]]:
    """A page that meddles with the answers of scripts has nothing declared."""
    if not isinstance(declared, list) or len(declared) != len(dump.nodes):
        return ()
    return [frozenset(map(str, names)) if isinstance(names, list) else frozenset() for names in declared]


async def stage(lab: Lab, a: Build, b: Build, case: Case, plain: Case = PLAIN) -> Staged | Failure:
    """The first stage at which two builds part over a page. What they part over on a `plain` one is nobody's doing."""
    alike = a.engine == b.engine
    # What engines say of the style of a marker that is not there is their own affair.
    looks = [see(lab, build, page, every=alike) for page in (case, plain) for build in (a, b)]
    seen = await together(*looks)
    for one in seen[:2]:
        if isinstance(one, Failure):
            return one
    first, second, *usual = seen
    assert isinstance(first, Seen) and isinstance(second, Seen)
    dumps = [one.look.dump for one in usual if isinstance(one, Seen)]
    noise: frozenset[str] = frozenset()
    if len(dumps) == 2:
        # Two engines lay any text out in their own ways.
        noise = usual_noise(dumps[0], dumps[1]) if alike else parting(dumps[0], dumps[1]).styles
    return staged(first.look, second.look, _where(first, second, case), noise)


def _where(first: Seen, second: Seen, case: Case) -> Mask | None:
    """The pixels that differ, if any do."""
    differing, most = mask(first.png, second.png)
    return on_page(in_css_pixels(differing, case.environment.scale), second.look.dump) if most else None
