"""A build shows an updated page otherwise than the same page loaded fresh."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ... import inspect
from ...browsers.drivers.base import Tab
from ...browsers.lab import Lab
from ...inspect.page import apart
from ...nouns import Build, Case, Dump, Failure
from ...oracles import update
from ...oracles.change import CONFIRMATIONS, differ, together
from ...oracles.update import Closer, Rendering
from ...pixels import Measure
from .judge import Never, View
from .signature import Described, Signature, described


@dataclass
class Stale:
    lab: Lab
    build: Build
    measure: Measure
    any_difference: bool = False
    remembering: bool = False
    renders: int = 0
    signature: Signature = field(default=Signature("same"), init=False)
    view: View = field(default=View(), init=False)
    _learned: Signature = field(default=Signature("same"), init=False)
    _suspects: list[tuple[str, int]] = field(default_factory=list, init=False)
    # The best page so far as a glance shows it: where both pictures are the same, so is the difference.
    _best: tuple[bytes, bytes, Described] | None = field(default=None, init=False)
    _looks_tell: bool = field(default=True, init=False)

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        if not confirmed and (never := await self._confirm(case)) is not None:
            return never
        seen = await self._look(case, careful=True)
        if seen is None:
            return Never("flaky", "what differed before did not differ again")
        self.signature = self._learned = seen.signature
        self._suspects = seen.suspects
        return self.signature.words

    async def _confirm(self, case: Case) -> Never | None:
        # The closer look is one more confirmation.
        self.renders += 2 * (CONFIRMATIONS - 1)
        judged = await update.judge(
            self.lab, self.build, case, self.measure, CONFIRMATIONS - 1, remembering=self.remembering, screen=False
        )
        match judged.verdict.kind:
            case "different":
                return None
            case "same":
                return Never("same", "the updated page looks like the fresh one")
            case "flaky":
                return Never("flaky", judged.verdict.reason)
        return Never("untestable", judged.verdict.reason)

    def suspects(self) -> list[tuple[str, int]]:
        return self._suspects

    @property
    def _pictures_tell(self) -> bool:
        """What is stale in layout or in paint is so in the pictures. Boxes say it, too, and not reliably: where they
        are stale, they hang on what was asked of them before."""
        return self._learned.stage in ("layout", "paint")

    def _keeps(self, other: Signature) -> bool:
        """Whether the other is the same failure, or part of it, whatever its elements are called."""
        if self._pictures_tell:
            return other.strength == self._learned.strength
        return replace(self._learned, where="").keeps(other)

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False, best: bool = False) -> bool:
        if best:
            self._best = None
        found = await self._look(case, careful=careful, closely=best or not self._pictures_tell, best=best)
        if found is None or self.any_difference:
            return found is not None
        kept = self._keeps(found.signature)
        if best and not kept:
            # Two differences in one place look the same: from now on, all are looked at closely.
            self._best, self._looks_tell = None, False
        return kept

    async def follow(self, case: Case | None) -> None:
        self._best = None
        seen = await self._look(case, careful=True) if case is not None else None
        if case is None:
            self.signature = self._learned
        elif seen is not None and self._keeps(seen.signature):
            self.signature = seen.signature

    async def _look(self, case: Case, *, careful: bool, closely: bool = True, best: bool = False) -> Described | None:
        """The difference and, if it is looked at `closely`, the elements it shows in; none where there is none. Unless
        one is `careful`, a glance comes first, and is enough where there is no difference, or not one as strong as
        that which was learnt."""
        scale = case.environment.scale
        dumps: list[Dump | None] = [None, None]

        def closer(n: int) -> Closer:
            async def look(tab: Tab) -> None:
                dumps[n] = await inspect.take(tab)

            return look if closely else update.nothing

        looks = closer(0), closer(1)
        glance = None if careful else await self._glance(case)
        if isinstance(glance, Failure):
            return None
        pair: tuple[Rendering | Failure, ...] | Failure | None = None
        if glance is not None:
            if not self._differ(*glance):
                return None
            rough = described(glance[0].shot, glance[1].shot, None, scale)
            if self.any_difference or not closely or rough.signature.strength != self._learned.strength:
                return rough
            if known := self._known(*glance):
                return known
            self.renders += 2
            pair = await update.screened(self.lab, self.build, case, looks)
        if pair is None:
            self.renders += 2
            warm = not careful and update.shares(self.lab, self.build, case)
            # A page that cannot be shown is not stale, and why not is another story.
            work = (
                show(self.lab, self.build, case, look, sure=False, warm=warm)
                for show, look in zip((update.updated, update.fresh), looks, strict=True)
            )
            pair = tuple(await together(*work))
        if isinstance(pair, Failure):
            return None
        first, second = pair
        if not isinstance(first, Rendering) or not isinstance(second, Rendering) or not self._differ(first, second):
            return None
        both = (dumps[0], dumps[1]) if dumps[0] is not None and dumps[1] is not None else None
        found = described(first.shot, second.shot, both, scale)
        if best:
            self.view = View((("updated", first.shot.png), ("fresh", second.shot.png)), found.boxes)
            if glance is not None:
                self._best = glance[0].shot.png, glance[1].shot.png, found
        return found

    async def _glance(self, case: Case) -> tuple[Rendering, Rendering] | Failure | None:
        """Both renderings by the fast path, if there is one."""
        pair = await update.screened(self.lab, self.build, case)
        self.renders += 0 if pair is None else 2
        return pair

    def _known(self, a: Rendering, b: Rendering) -> Described | None:
        best = self._best if self._looks_tell else None
        return best[2] if best is not None and best[:2] == (a.shot.png, b.shot.png) else None

    def _differ(self, a: Rendering, b: Rendering) -> bool:
        return not apart(a.page, b.page) and differ(a.shot, b.shot, self.measure)
