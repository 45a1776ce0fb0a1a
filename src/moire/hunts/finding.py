"""From a page that fails to a finding: reduced, named, and told from those that are known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..nouns import Case
from ..store import Finding, FindingState
from ..store.blobs import Blobs
from ..triage.reduce import Judge, Never, Reduced, Settings, Signature, reduce
from .run import Judged, facts

# Examples of one signature; any more are counted.
EXAMPLES = 3


class Signed(Judge, Protocol):
    """A judge that knows what the failure is."""

    signature: Signature


@dataclass(frozen=True)
class Looking:
    """What one kind of hunt has to say: `name` gives a signature its words, `again` looks at the reduced page once
    more, `more` tells what else is worth knowing of it; `ahead` are questions of the reduction at once."""

    blobs: Blobs
    name: Callable[[Signature, Case], str]
    again: Callable[[Case], Awaitable[Judged]]
    more: Callable[[Case], Awaitable[Mapping[str, object]]]
    ahead: int
    # Who could not show the page.
    failing: Callable[[Judged], str] = lambda judged: judged.build

    async def into(self, judge: Signed, judged: Judged, number: int, known: Sequence[Finding]) -> Finding:
        details: dict[str, object]
        if judged.verdict.kind != "different":
            return self._kept(number, judged, judged.case, f"{self.failing(judged)} {judged.verdict.kind}", known, {})
        learned = await judge.learn(judged.case, confirmed=True)
        if isinstance(learned, Never):
            # Nobody knows what it is: it is one of its own kind.
            name = f"{judged.build} {learned.verdict}, page {number}"
            return self._kept(number, judged, judged.case, name, known, _not(learned))
        rough = self.name(judge.signature, judged.case)
        alike = [one for one in known if one.details.get("rough") == rough]
        if len(alike) >= EXAMPLES and len({one.signature for one in alike}) == 1:
            # Those before it all came to the same: so would this one.
            details = {**facts(self.blobs, judged, judged.case), "rough": rough, "unreduced": "one more of many"}
            same = ("operations", "declared", "element", "stage", "properties")
            details |= {name: alike[0].details[name] for name in same if name in alike[0].details}
            return Finding(number, judged.build, "duplicate", "different", alike[0].signature, details)
        reduced = await reduce(judged.case, judge, Settings(self.ahead, steady=True), learned)
        shown = await self.again(reduced.case) if isinstance(reduced, Reduced) else judged
        if not isinstance(reduced, Reduced) or shown.verdict.kind != "different":
            never = reduced if isinstance(reduced, Never) else Never("flaky", "its smallest page did not fail again")
            return self._kept(number, judged, judged.case, rough, known, {"rough": rough, **_not(never)})
        details = {
            "rough": rough, "stage": judge.signature.stage, "properties": sorted(judge.signature.properties),
            "element": judge.signature.where, "questions": reduced.questions, "flake_rate": reduced.flake_rate,
            **await self.more(reduced.case),
        }  # fmt: skip
        return self._kept(number, shown, judged.case, self.name(judge.signature, reduced.case), known, details)

    def _kept(
        self, number: int, shown: Judged, before: Case, signature: str, known: Sequence[Finding],
        details: Mapping[str, object],
    ) -> Finding:  # fmt: skip
        alike = [one for one in known if one.signature == signature]
        enough = sum(one.state == "example" for one in alike) >= EXAMPLES
        state: FindingState = "duplicate" if enough else "example"
        whole = {**facts(self.blobs, shown, before), **details, "first": not alike}
        return Finding(number, shown.build, state, shown.verdict.kind, signature, whole)


def _not(never: Never) -> dict[str, object]:
    return {"unreduced": f"{never.verdict}: {never.reason}"}
