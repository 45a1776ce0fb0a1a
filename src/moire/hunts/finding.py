"""From a page that fails to a finding: reduced, named, and told from those that are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Protocol

from ..inspect.stage import Staged
from ..nouns import Case, Failure, Outcome, Verdict
from ..nouns.update import written
from ..pages import steer
from ..pages.beside import needed
from ..pages.read import features, styled
from ..pixels import decode, fuzzy, visible
from ..store import Finding, FindingState
from ..store.blobs import Blobs
from ..store.earlier import EXAMPLES
from ..triage.reduce import Asked, Judge, Never, Reduced, Settings, Signature, Witness, reduce
from .guide import about

# A crash, hang or difference is for people to see; the rest is counted.
WORTH = frozenset(["different", "crashed", "hung"])
# Elements, attributes and properties that a signature names.
MOST_NAMED = 6
# Of a stage, those differences that are kept with a finding.
MOST_DIFFERENCES = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """One page in one build, or pair of builds. `pictures` are what the verdict rests on, by what they show."""

    case: Case
    build: str
    verdict: Verdict
    pictures: Sequence[tuple[str, bytes]] = ()


def confirmed(blobs: Blobs, number: int, one: Judged) -> Finding:
    """All that it takes to look into it later."""
    return Finding(number, one.build, "confirmed", one.verdict.kind, "", facts(blobs, one, one.case))


def facts(blobs: Blobs, shown: Judged, before: Case) -> dict[str, object]:
    """A finding as it is shown, and as it was found."""
    beside = {**needed(before), **needed(shown.case)}
    return {
        "operations": [one.op for one in shown.case.update], "bytes": [len(before.html), len(shown.case.html)],
        "page": blobs.add(shown.case.html), "update": written(shown.case.update),
        "before": {"page": blobs.add(before.html), "update": written(before.update)},
        "name": before.name, "seed": before.seed, "environment": asdict(before.environment),
        "resources": {path: blobs.add(data) for path, data in beside.items()},
        "figures": dict(shown.verdict.figures), "reason": shown.verdict.reason,
        "pictures": {name: blobs.add(png) for name, png in shown.pictures},
    }  # fmt: skip


class Signed(Judge, Protocol):
    """A judge that knows what the failure is."""

    signature: Signature


@dataclass(frozen=True, slots=True)
class Prospect:
    """A page that fails and all that browsers have to say of it, before it is told from what is known. `found` is it as
    it was judged, `shown` as it is to be shown; `rough` is what could be told before anything was taken out of it."""

    found: Judged
    shown: Judged
    signature: str
    rough: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Enough:
    """What there are examples enough of, so that one more need not be reduced. What is in it stays in it, whatever is
    found later: whoever knows less than all reduces too much and never too little. `rough` is by what can be told
    before a reduction; a page that has all that a known crash `needs` is one more of it."""

    rough: Mapping[str, str]
    crashes: Sequence[tuple[str, frozenset[str]]]

    @classmethod
    def of(cls, known: Iterable[Finding]) -> Enough:
        by_rough: defaultdict[str, list[str]] = defaultdict(list)
        crashes = []
        for one in known:
            # What crashes is only told by what it needs.
            if "rough" in one.details and one.kind == "different":
                by_rough[one.details["rough"]].append(one.found_as)
            if one.details.get("needs"):
                crashes.append((one.signature, frozenset(one.details["needs"])))
        # Where those before it all came to the same, so would this one.
        alike = {rough: own[0] for rough, own in by_rough.items() if len(own) >= EXAMPLES and len({*own}) == 1}
        return cls(alike, crashes)

    def signature(self, rough: str, page: bytes) -> str:
        """Of what the page is one more of; empty if it may be something else."""
        if rough in self.rough:
            return self.rough[rough]
        crashes = [(signature, needs) for signature, needs in self.crashes if signature.startswith(rough)]
        has = set(named(page)) if rough and crashes else set()
        return next((signature for signature, needs in crashes if has.issuperset(needs)), "")


@dataclass(frozen=True)
class Looking:
    """What one kind of hunt has to say: `name` gives a signature its words, `again` looks at the reduced page once
    more, `more` tells what else is worth knowing of it, `crashes` whether a page still does what another did, `witness`
    follows how its page gets smaller; `ahead` are questions of the reduction at once."""

    name: Callable[[Signature, Case], str]
    again: Callable[[Case], Awaitable[Judged]]
    more: Callable[[Case], Awaitable[Mapping[str, object]]]
    crashes: Callable[[Judged, Case], Awaitable[bool]]
    witness: Witness
    ahead: int
    # Who could not show the page.
    failing: Callable[[Judged], str] = lambda judged: judged.build

    @property
    def _settings(self) -> Settings:
        one = self.witness
        return Settings(self.ahead, steady=True, known=one.known, told=one.told, shown=one.shown)

    async def into(self, judge: Signed, judged: Judged, enough: Enough) -> Prospect:
        if judged.verdict.kind == "crashed":
            return await self._crash(judged, enough)
        if judged.verdict.kind != "different":
            return Prospect(judged, judged, f"{self.failing(judged)} {judged.verdict.kind}")
        learned = await judge.learn(judged.case, confirmed=True)
        if isinstance(learned, Never):
            # Nobody knows what it is: it is one of its own kind.
            name = f"{judged.build} {learned.verdict}, page {judged.case.seed}"
            return Prospect(judged, judged, name, details=_not(learned))
        name = self.name(judge.signature, judged.case)
        rough = f"{name}: {judge.signature.words}"
        if enough.signature(rough, judged.case.html):
            return Prospect(judged, judged, "", rough)
        reduced = await reduce(judged.case, judge, self._settings, learned)
        shown = await self.again(reduced.case) if isinstance(reduced, Reduced) else judged
        if not isinstance(reduced, Reduced) or shown.verdict.kind != "different":
            never = reduced if isinstance(reduced, Never) else Never("flaky", "its smallest page did not fail again")
            return Prospect(judged, judged, name, rough, {"rough": rough, **_not(never)})
        details = {
            "rough": rough, "stage": judge.signature.stage, "properties": sorted(judge.signature.properties),
            "element": judge.signature.where, "boxes": judge.view.boxes,
            "questions": reduced.questions, "flake_rate": reduced.flake_rate,
            **await self.more(reduced.case),
        }  # fmt: skip
        return Prospect(judged, shown, self.name(judge.signature, reduced.case), rough, details)

    async def _crash(self, judged: Judged, enough: Enough) -> Prospect:
        """What crashes is reduced while it does."""
        who = f"{self.failing(judged)} crashed"
        if enough.signature(who, judged.case.html):
            return Prospect(judged, judged, "", who)

        async def still(case: Case) -> bool:
            return await self.crashes(judged, case)

        reduced = await reduce(judged.case, Asked(still), self._settings, "crashed")
        if isinstance(reduced, Never):
            return Prospect(judged, judged, who, who, _not(reduced))
        needs = named(reduced.case.html)
        shown = replace(judged, case=reduced.case)
        details = {"needs": needs, "questions": reduced.questions}
        return Prospect(judged, shown, " ".join([who, *needs[:MOST_NAMED]]), who, details)


def at_stage(part: Staged | Failure, *sides: str) -> dict[str, object]:
    """What differs at the first stage at which two sides of a finding part; nothing where nobody can tell."""
    if isinstance(part, Failure):
        return {"differs_at": "", "differences": [], "sides": sides}
    kept = [asdict(one) for one in part.differences[:MOST_DIFFERENCES]]
    return {"differs_at": part.stage, "differences": kept, "sides": sides}


def visibility(pictures: Iterable[bytes]) -> dict[str, int]:
    """How visible a finding is, by the two pictures that differ most; and in how many pixels those do."""
    pairs = [*combinations(map(decode, pictures), 2)]
    worst = max(pairs, key=lambda pair: visible(*pair), default=None)
    return {} if worst is None else {"impact": visible(*worst), "pixels": fuzzy(*worst).pixels}


# What one more of a kind is taken to have in common with the first.
_COMMON = ("operations", "about", "element", "stage", "properties")


def placed(blobs: Blobs, one: Prospect, number: int, known: Sequence[Finding]) -> Finding:
    """The finding, told from those that are known."""
    found, shown = one.found, one.shown
    if signature := Enough.of(known).signature(one.rough, found.case.html):
        first = next(other for other in known if other.found_as == signature)
        common = {name: first.details[name] for name in _COMMON if name in first.details}
        details = {**facts(blobs, found, found.case), "rough": one.rough, "unreduced": "one more of many", **common}
        return Finding(number, found.build, "duplicate", found.verdict.kind, signature, details)
    alike = [other for other in known if other.found_as == one.signature]
    enough = sum(other.state == "example" for other in alike) >= EXAMPLES
    state: FindingState = "duplicate" if enough else "example"
    whole = {**facts(blobs, shown, found.case), **one.details, "features": _features(shown.case.html)}
    whole |= {
        "first": not alike,
        "about": about(found.case, shown.case),
        **visibility(png for _, png in shown.pictures),
    }
    return Finding(number, shown.build, state, shown.verdict.kind, one.signature, whole)


def named(html: bytes) -> list[str]:
    """The properties, attributes and elements that make a small page what it is."""
    found = features(html)
    # What says most comes first: there may be more than are named.
    return [
        *sorted(f"{name}:" for name in found.properties),
        *sorted({f"@{name}" for _, name in found.attributes if name not in steer.USUAL_ATTRIBUTES}),
        *sorted(set(found.tags) - steer.USUAL_TAGS),
    ]


def crashed(outcome: Outcome) -> bool:
    return isinstance(outcome, Failure) and outcome.kind == "crashed"


def _not(never: Never) -> dict[str, object]:
    return {"unreduced": f"{never.verdict}: {never.reason}"}


def _features(html: bytes) -> dict[str, list[list[str]]]:
    """What a page has in it: tags, attributes and properties, each of the latter two with the tag it is on."""
    found = features(html)
    return {
        "tags": [[tag] for tag in sorted(found.tags)],
        "attributes": [[tag, name] for tag, name in sorted(found.attributes)],
        "properties": [[name] for name in sorted(found.properties)],
        "styled": [list(pair) for pair in sorted(styled(html))],
    }
