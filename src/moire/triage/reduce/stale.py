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
from .judge import Never
from .signature import PLAIN_NAMES, Signature, described, mask, strength


@dataclass
class Stale:
    lab: Lab
    build: Build
    measure: Measure
    any_difference: bool = False
    remembering: bool = False
    renders: int = 0
    signature: Signature = field(default=Signature("same"), init=False)
    _learned: Signature = field(default=Signature("same"), init=False)
    _suspects: list[tuple[str, int]] = field(default_factory=list, init=False)

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        if not confirmed and (never := await self._confirm(case)) is not None:
            return never
        seen = await self._look(case, careful=True)
        if seen is None:
            return Never("flaky", "what differed before did not differ again")
        self.signature, self._suspects = seen
        self._learned = self.signature
        return self.signature.words

    async def _confirm(self, case: Case) -> Never | None:
        # The closer look is one more confirmation.
        self.renders += 2 * (CONFIRMATIONS - 1)
        judged = await update.judge(
            self.lab, self.build, case, self.measure, CONFIRMATIONS - 1, remembering=self.remembering
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

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False) -> bool:
        found = await self._look(case, careful=careful, wanted=self.signature.strength)
        if found is None or self.any_difference:
            return found is not None
        wanted = self.signature.renamed(found[0]) if anywhere else self.signature
        return wanted.keeps(found[0])

    async def follow(self, case: Case | None) -> None:
        if case is None:
            self.signature = self._learned
        elif self.signature.where:
            seen = await self._look(case, careful=True)
            if seen is not None and seen[0].where in PLAIN_NAMES:
                self.signature = replace(self.signature, where=seen[0].where)

    async def _look(
        self, case: Case, *, careful: bool, wanted: str = ""
    ) -> tuple[Signature, list[tuple[str, int]]] | None:
        """The signature of a difference and the elements it shows in; none where there is no difference. One that is
        not as strong as asked for is not looked at closely."""
        dumps: list[Dump | None] = [None, None]
        self.renders += 2

        def close(a: Rendering, b: Rendering) -> bool:
            if self.any_difference or not self._differ(a, b):
                return False
            return wanted in ("", strength(mask(a.shot.png, b.shot.png)[1]))

        def closer(n: int) -> Closer:
            async def look(tab: Tab) -> None:
                dumps[n] = await inspect.take(tab)

            return look

        pair: tuple[Rendering | Failure, ...] | None = None
        if not careful:
            looks = (closer(0), closer(1))
            pair = await update.screened(self.lab, self.build, case, lambda a, b: looks if close(a, b) else None)
        if pair is None:
            shown = (update.updated, update.fresh)
            pair = tuple(await together(*(s(self.lab, self.build, case, closer(n)) for n, s in enumerate(shown))))
        first, second = pair
        if not isinstance(first, Rendering) or not isinstance(second, Rendering) or not self._differ(first, second):
            return None
        both = (dumps[0], dumps[1]) if dumps[0] is not None and dumps[1] is not None else None
        return described(first.shot, second.shot, both, case.environment.scale)

    def _differ(self, a: Rendering, b: Rendering) -> bool:
        return not apart(a.page, b.page) and differ(a.shot, b.shot, self.measure)
