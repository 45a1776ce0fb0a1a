"""Update hunt: pages changed by script that do not look like the same pages loaded fresh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ..browsers.lab import Lab
from ..nouns import Build, Case, Failure, Shot
from ..nouns.update import written
from ..oracles import update
from ..oracles.change import differ, together
from ..oracles.reload import reloaded
from ..pages.make import Pages
from ..pages.update.draw import USUAL, Updates
from ..pixels import Measure
from ..store import Finding
from ..store.blobs import Blobs
from ..triage.reduce import Never, Reduced, Settings, Signature, Stale, reduce
from .run import Judged

# Examples of one signature; any more are counted.
EXAMPLES = 3
# Questions of a reduction at once: each keeps one tab busy.
AHEAD = 2
# A kind of operation is never drawn less than this, of its usual weight.
LEAST_SHARE = 0.25


@dataclass(frozen=True)
class Source:
    """Pages and operations by number: generated, or the user's own pages in turn."""

    pages: Pages
    seed: int
    size: int
    operations: int
    own: Sequence[Path] = ()

    def case(self, number: int, weights: Mapping[str, int]) -> Case:
        seed = self.seed * 1_000_000 + number
        if self.own:
            case = replace(Case.from_file(self.own[number % len(self.own)]), seed=seed)
        else:
            case = self.pages.page(seed, self.size)
        return Updates(self.pages, weights).updated(case, seed, 1 + number % self.operations)


@dataclass
class UpdateHunt:
    builds: Sequence[Build]
    source: Source
    measure: Measure
    blobs: Blobs
    guided: bool = True
    # Others that a finding is tried in, to grade it.
    references: Sequence[Build] = ()
    _weights: Mapping[str, int] = field(default_factory=lambda: USUAL, init=False)

    def case(self, number: int) -> Case:
        return self.source.case(number, self._weights)

    def learn(self, known: Sequence[Finding], number: int) -> None:
        """Towards operations that bring something new, away from those that bring what is known."""
        if not self.guided:
            return
        new, old = Counter[str](), Counter[str]()
        for finding in known:
            if finding.number < number:
                (new if finding.details.get("first") else old).update(finding.details.get("operations", ()))
        most = max((new[kind] / (1 + old[kind]) for kind in USUAL), default=0.0)
        self._weights = {
            kind: max(1, round(weight * (LEAST_SHARE + (1 - LEAST_SHARE) * (1 + new[kind]) / (1 + old[kind] + most))))
            for kind, weight in USUAL.items()
        }

    async def judge(self, lab: Lab, case: Case) -> list[Judged]:
        seen = await together(*(update.judge(lab, build, case, self.measure) for build in self.builds))
        return [_judged(case, build, one) for build, one in zip(self.builds, seen, strict=True)]

    async def look_into(self, lab: Lab, judged: Judged, number: int, known: Sequence[Finding]) -> Finding:
        build = next(one for one in self.builds if one.name == judged.build)
        if judged.verdict.kind != "different":
            return self._kept(number, judged, judged.case, f"{build.name} {judged.verdict.kind}", known, {})
        stale = Stale(lab, build, self.measure)
        learned = await stale.learn(judged.case)
        details: dict[str, object]
        if isinstance(learned, Never):
            details = {"unreduced": f"{learned.verdict}: {learned.reason}"}
            return self._kept(number, judged, judged.case, f"{build.name} {learned.verdict}", known, details)
        rough = _signature(build, stale.signature, judged.case)
        alike = [one for one in known if one.details.get("rough") == rough]
        if len(alike) >= EXAMPLES:
            details = {"rough": rough, "operations": [one.op for one in judged.case.update]}
            return Finding(number, build.name, "duplicate", "different", alike[0].signature, details)
        reduced = await reduce(judged.case, stale, Settings(ahead=AHEAD), learned)
        if not isinstance(reduced, Reduced):
            details = {"rough": rough, "unreduced": f"{reduced.verdict}: {reduced.reason}"}
            return self._kept(number, judged, judged.case, rough, known, details)
        again = await update.judge(lab, build, reduced.case, self.measure)
        details = {
            "rough": rough, "stage": stale.signature.stage, "properties": sorted(stale.signature.properties),
            "element": stale.signature.where, "bytes": [len(judged.case.html), len(reduced.case.html)],
            "renders": reduced.renders, "seconds": round(reduced.seconds, 1), "flake_rate": reduced.flake_rate,
            "references": await self._references(lab, build, reduced.case),
        }  # fmt: skip
        signature = _signature(build, stale.signature, reduced.case)
        shown = replace(_judged(reduced.case, build, again), verdict=judged.verdict)
        return self._kept(number, shown, judged.case, signature, known, details)

    def _kept(
        self, number: int, shown: Judged, before: Case, signature: str, known: Sequence[Finding],
        details: Mapping[str, object],
    ) -> Finding:  # fmt: skip
        alike = [one for one in known if one.signature == signature]
        whole = {
            **details, "first": not alike, "operations": [one.op for one in shown.case.update],
            "page": self.blobs.add(shown.case.html), "update": written(shown.case.update),
            "before": {"page": self.blobs.add(before.html), "update": written(before.update)},
            "name": before.name, "seed": before.seed, "environment": asdict(before.environment),
            "figures": dict(shown.verdict.figures), "reason": shown.verdict.reason,
            "pictures": {name: self.blobs.add(png) for name, png in shown.pictures},
        }  # fmt: skip
        enough = sum(one.state == "example" for one in alike) >= EXAMPLES
        return Finding(number, shown.build, "duplicate" if enough else "example", shown.verdict.kind, signature, whole)

    async def _references(self, lab: Lab, build: Build, case: Case) -> dict[str, str]:
        """What other references say of it: the tree loaded anew, other engines, other versions."""
        found: dict[str, str] = {}
        shown, again = await reloaded(lab, build, case)
        fresh = await update.fresh(lab, build, case)
        if isinstance(shown, Failure) or isinstance(fresh, Failure) or not isinstance(again, Shot):
            found["reload"] = "untestable"
        elif not differ(again, fresh.shot, self.measure):
            found["reload"] = "like the fresh page"
        else:
            found["reload"] = "like neither" if differ(again, shown.shot, self.measure) else "like the updated page"
        for other in [*self.builds, *self.references]:
            if other != build:
                found[other.name] = (await update.judge(lab, other, case, self.measure)).verdict.kind
        return found


def _judged(case: Case, build: Build, one: update.Judged) -> Judged:
    pictures = [
        (name, seen[0].png)
        for name, seen in (("updated", one.updated), ("fresh", one.fresh))
        if seen and isinstance(seen[0], Shot)
    ]
    return Judged(case, build.name, one.verdict, pictures)


def _signature(build: Build, signature: Signature, case: Case) -> str:
    """By build, operations, stage, element and property."""
    operations = "+".join(sorted({one.op for one in case.update}))
    properties = ",".join(sorted(signature.properties)[:3])
    words = [build.name, operations, signature.strength, signature.stage, properties, signature.where]
    return " ".join(filter(None, words))
