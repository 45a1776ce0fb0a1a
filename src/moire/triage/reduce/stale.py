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
    _learned: tuple[Signature, Signature] = field(default=(Signature("same"), Signature("same")), init=False)
    _suspects: list[tuple[str, int]] = field(default_factory=list, init=False)
    # The same difference as the fast path shows it: what a page is asked for after its picture may differ there.
    _quick: Signature = field(default=Signature("same"), init=False)
    # The best page so far as the fast path shows it: where both pictures are the same, so is the difference.
    _best: tuple[bytes, bytes, Described] | None = field(default=None, init=False)
    _looks_tell: bool = field(default=True, init=False)

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        if not confirmed and (never := await self._confirm(case)) is not None:
            return never
        seen = await self._look(case, careful=True)
        if seen is None:
            return Never("flaky", "what differed before did not differ again")
        self.signature, self._suspects = seen.signature, seen.suspects
        quick = await self._look(case, careful=False)
        self._quick = quick.signature if quick is not None else self.signature
        self._learned = self.signature, self._quick
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
        signature = self.signature if careful else self._quick
        kept = (signature.renamed(found.signature) if anywhere else signature).keeps(found.signature)
        if best and not kept:
            # Two differences in one place look the same: from now on, all are looked at closely.
            self._best, self._looks_tell = None, False
        return kept

    async def follow(self, case: Case | None) -> None:
        self._best = None
        if case is None:
            self.signature, self._quick = self._learned
        else:
            self.signature = await self._followed(case, self.signature, careful=True)
            self._quick = await self._followed(case, self._quick, careful=False)

    async def _followed(self, case: Case, signature: Signature, *, careful: bool) -> Signature:
        seen = await self._look(case, careful=careful) if signature.where else None
        if seen is None or seen.signature.where not in PLAIN_NAMES:
            return signature
        return replace(signature, where=seen.signature.where)

    async def _look(self, case: Case, *, careful: bool, wanted: str = "", best: bool = False) -> Described | None:
        """The signature of a difference and the elements it shows in; none where there is no difference. One that is
        not as strong as asked for is not looked at closely."""
        dumps: list[Dump | None] = [None, None]
        self.renders += 2

        def close(a: Rendering, b: Rendering) -> bool:
            if self.any_difference or self._known(a, b) or not self._differ(a, b):
                return False
            return wanted in ("", strength(mask(a.shot.png, b.shot.png)[1]))

        def closer(n: int) -> Closer:
            async def look(tab: Tab) -> None:
                dumps[n] = await inspect.take(tab)

            return look

        pair: tuple[Rendering | Failure, ...] | Failure | None = None
        if not careful:
            looks = (closer(0), closer(1))
            pair = await update.screened(self.lab, self.build, case, lambda a, b: looks if close(a, b) else None)
        if pair is None:
            warm = not careful and update.shares(self.lab, self.build, case)
            # A page that cannot be shown is not stale, and why not is another story.
            work = (
                show(self.lab, self.build, case, closer(n), sure=False, warm=warm)
                for n, show in enumerate((update.updated, update.fresh))
            )
            pair = tuple(await together(*work))
        if isinstance(pair, Failure):
            return None
        first, second = pair
        if not isinstance(first, Rendering) or not isinstance(second, Rendering) or not self._differ(first, second):
            return None
        scale = case.environment.scale
        if dumps[0] is None or dumps[1] is None:
            return self._known(first, second) or described(first.shot, second.shot, None, scale)
        found = described(first.shot, second.shot, (dumps[0], dumps[1]), scale)
        if best:
            self.view = View((("updated", first.shot.png), ("fresh", second.shot.png)), found.boxes)
        if best and not careful:
            self._best = first.shot.png, second.shot.png, found
        return found

    def _known(self, a: Rendering, b: Rendering) -> Described | None:
        best = self._best if self._looks_tell else None
        return best[2] if best is not None and best[:2] == (a.shot.png, b.shot.png) else None

    def _differ(self, a: Rendering, b: Rendering) -> bool:
        return not apart(a.page, b.page) and differ(a.shot, b.shot, self.measure)
