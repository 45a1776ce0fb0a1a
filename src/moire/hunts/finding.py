"""From a page that fails to a finding: reduced, named, and told from those that are known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from ..nouns import Case
from ..nouns.update import written
from ..store import Finding, FindingState
from ..store.blobs import Blobs
from ..triage.reduce import Judge, Never, Reduced, Settings, Signature, reduce
from .run import Judged

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

    async def into(self, judge: Signed, judged: Judged, number: int, known: Sequence[Finding]) -> Finding:
        details: dict[str, object]
        if judged.verdict.kind != "different":
            return self._kept(number, judged, judged.case, f"{judged.build} {judged.verdict.kind}", known, {})
        learned = await judge.learn(judged.case, confirmed=True)
        if isinstance(learned, Never):
            return self._kept(number, judged, judged.case, f"{judged.build} {learned.verdict}", known, _not(learned))
        rough = self.name(judge.signature, judged.case)
        alike = [one for one in known if one.details.get("rough") == rough]
        if len(alike) >= EXAMPLES:
            details = {"rough": rough, "operations": [one.op for one in judged.case.update]}
            return Finding(number, judged.build, "duplicate", "different", alike[0].signature, details)
        reduced = await reduce(judged.case, judge, Settings(self.ahead, steady=True), learned)
        if not isinstance(reduced, Reduced):
            return self._kept(number, judged, judged.case, rough, known, {"rough": rough, **_not(reduced)})
        shown = replace(await self.again(reduced.case), verdict=judged.verdict)
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
        whole = {
            **details, "first": not alike, "operations": [one.op for one in shown.case.update],
            "bytes": [len(before.html), len(shown.case.html)],
            "page": self.blobs.add(shown.case.html), "update": written(shown.case.update),
            "before": {"page": self.blobs.add(before.html), "update": written(before.update)},
            "name": before.name, "seed": before.seed, "environment": asdict(before.environment),
            "figures": dict(shown.verdict.figures), "reason": shown.verdict.reason,
            "pictures": {name: self.blobs.add(png) for name, png in shown.pictures},
        }  # fmt: skip
        state: FindingState = "duplicate" if enough else "example"
        return Finding(number, shown.build, state, shown.verdict.kind, signature, whole)


def _not(never: Never) -> dict[str, object]:
    return {"unreduced": f"{never.verdict}: {never.reason}"}
