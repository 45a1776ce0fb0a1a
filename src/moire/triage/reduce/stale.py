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
from .signature import PLAIN_NAMES, Described, Signature, described, mask, strength


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
        self.signature, self._suspects = seen.signature, seen.suspects
        self._learned = self.signature
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

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False, best: bool = False) -> bool:
        if best:
            self._best = None
        found = await self._look(case, careful=careful, wanted=self.signature.strength, best=best)
        if found is None or self.any_difference:
            return found is not None
        wanted = self.signature.renamed(found.signature) if anywhere else self.signature
        kept = wanted.keeps(found.signature)
        if best and not kept:
            # Two differences in one place look the same: from now on, all are looked at closely.
            self._best, self._looks_tell = None, False
        return kept

    async def follow(self, case: Case | None) -> None:
        self._best = None
        if case is None:
            self.signature = self._learned
        elif self.signature.where:
            seen = await self._look(case, careful=True)
            if seen is not None and seen.signature.where in PLAIN_NAMES:
                self.signature = replace(self.signature, where=seen.signature.where)

    async def _look(self, case: Case, *, careful: bool, wanted: str = "", best: bool = False) -> Described | None:
        """The signature of a difference and the elements it shows in; none where there is no difference. Unless one is
        `careful`, a glance by a shorter way is enough where there is none, or not one as strong as wanted. Where there
        is one, only a navigation tells which: what a page says of itself may hang on what its tab has shown before."""
        glance = None if careful else await self._glance(case)
        if isinstance(glance, Failure):
            return None
        if glance is not None:
            first, second = glance
            if not self._differ(first, second):
                return None
            if self.any_difference or (known := self._known(first, second)):
                return (
                    described(first.shot, second.shot, None, case.environment.scale) if self.any_difference else known
                )
            if wanted not in ("", strength(mask(first.shot.png, second.shot.png)[1])):
                return None
        dumps: list[Dump | None] = [None, None]

        def closer(n: int) -> Closer:
            async def look(tab: Tab) -> None:
                dumps[n] = await inspect.take(tab)

            return look

        self.renders += 2
        # A page that cannot be shown is not stale, and why not is another story.
        work = (
            show(self.lab, self.build, case, closer(n), sure=False)
            for n, show in enumerate((update.updated, update.fresh))
        )
        updated, fresh = await together(*work)
        if isinstance(updated, Failure) or isinstance(fresh, Failure) or not self._differ(updated, fresh):
            return None
        assert dumps[0] is not None and dumps[1] is not None
        found = described(updated.shot, fresh.shot, (dumps[0], dumps[1]), case.environment.scale)
        if best:
            self.view = View((("updated", updated.shot.png), ("fresh", fresh.shot.png)), found.boxes)
            if glance is not None:
                self._best = glance[0].shot.png, glance[1].shot.png, found
        return found

    async def _glance(self, case: Case) -> tuple[Rendering, Rendering] | Failure | None:
        """Both renderings by a shorter way, if there is one."""
        pair = await update.screened(self.lab, self.build, case)
        self.renders += 2 if pair is not None else 0
        if pair is not None or not update.shares(self.lab, self.build, case):
            return pair
        self.renders += 2
        work = (show(self.lab, self.build, case, sure=False, warm=True) for show in (update.updated, update.fresh))
        first, second = await together(*work)
        if isinstance(first, Failure):
            return first
        return second if isinstance(second, Failure) else (first, second)

    def _known(self, a: Rendering, b: Rendering) -> Described | None:
        best = self._best if self._looks_tell else None
        return best[2] if best is not None and best[:2] == (a.shot.png, b.shot.png) else None

    def _differ(self, a: Rendering, b: Rendering) -> bool:
        return not apart(a.page, b.page) and differ(a.shot, b.shot, self.measure)
