"""From a page that fails to a finding: reduced, named, and told from those that are known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..nouns import Case, Failure, Outcome
from ..pages import steer
from ..pages.read import features, styled
from ..store import Finding, FindingState
from ..store.blobs import Blobs
from ..triage.reduce import Asked, Judge, Never, Reduced, Settings, Shown, Signature, reduce
from .run import Judged, facts

# Examples of one signature; any more are counted.
EXAMPLES = 3
# Elements, attributes and properties that a signature names.
MOST_NAMED = 6


class Signed(Judge, Protocol):
    """A judge that knows what the failure is."""

    signature: Signature


@dataclass(frozen=True)
class Looking:
    """What one kind of hunt has to say: `name` gives a signature its words, `again` looks at the reduced page once
    more, `more` tells what else is worth knowing of it, `crashes` whether a page still does what another did, `shown`
    sees its page get smaller; `ahead` are questions of the reduction at once."""

    blobs: Blobs
    name: Callable[[Signature, Case], str]
    again: Callable[[Case], Awaitable[Judged]]
    more: Callable[[Case], Awaitable[Mapping[str, object]]]
    crashes: Callable[[Judged, Case], Awaitable[bool]]
    shown: Shown
    ahead: int
    # Who could not show the page.
    failing: Callable[[Judged], str] = lambda judged: judged.build

    async def into(self, judge: Signed, judged: Judged, number: int, known: Sequence[Finding]) -> Finding:
        details: dict[str, object]
        if judged.verdict.kind == "crashed":
            return await self._crash(judged, number, known)
        if judged.verdict.kind != "different":
            return self._kept(number, judged, judged.case, f"{self.failing(judged)} {judged.verdict.kind}", known, {})
        learned = await judge.learn(judged.case, confirmed=True)
        if isinstance(learned, Never):
            # Nobody knows what it is: it is one of its own kind.
            name = f"{judged.build} {learned.verdict}, page {number}"
            return self._kept(number, judged, judged.case, name, known, _not(learned))
        name = self.name(judge.signature, judged.case)
        rough = f"{name}: {judge.signature.words}"
        alike = [one for one in known if one.details.get("rough") == rough]
        if len(alike) >= EXAMPLES and len({one.signature for one in alike}) == 1:
            # Those before it all came to the same: so would this one.
            details = {**facts(self.blobs, judged, judged.case), "rough": rough, "unreduced": "one more of many"}
            same = ("operations", "declared", "element", "stage", "properties")
            details |= {name: alike[0].details[name] for name in same if name in alike[0].details}
            return Finding(number, judged.build, "duplicate", "different", alike[0].signature, details)
        reduced = await reduce(judged.case, judge, Settings(self.ahead, steady=True, shown=self.shown), learned)
        shown = await self.again(reduced.case) if isinstance(reduced, Reduced) else judged
        if not isinstance(reduced, Reduced) or shown.verdict.kind != "different":
            never = reduced if isinstance(reduced, Never) else Never("flaky", "its smallest page did not fail again")
            return self._kept(number, judged, judged.case, name, known, {"rough": rough, **_not(never)})
        details = {
            "rough": rough, "stage": judge.signature.stage, "properties": sorted(judge.signature.properties),
            "element": judge.signature.where, "boxes": judge.view.boxes,
            "questions": reduced.questions, "flake_rate": reduced.flake_rate,
            **await self.more(reduced.case),
        }  # fmt: skip
        return self._kept(number, shown, judged.case, self.name(judge.signature, reduced.case), known, details)

    async def _crash(self, judged: Judged, number: int, known: Sequence[Finding]) -> Finding:
        """What crashes is reduced while it does; what has in it all that a known one needs is one more of that."""
        who = f"{self.failing(judged)} crashed"
        has = set(named(judged.case.html))
        for one in known:
            needs = one.details.get("needs")
            if one.signature.startswith(who) and needs and has.issuperset(needs):
                details = {**facts(self.blobs, judged, judged.case), "unreduced": "one more of many"}
                return Finding(number, judged.build, "duplicate", "crashed", one.signature, details)

        async def still(case: Case) -> bool:
            return await self.crashes(judged, case)

        reduced = await reduce(
            judged.case, Asked(still), Settings(self.ahead, steady=True, shown=self.shown), "crashed"
        )
        if isinstance(reduced, Never):
            return self._kept(number, judged, judged.case, who, known, _not(reduced))
        needs = named(reduced.case.html)
        name = " ".join([who, *needs[:MOST_NAMED]])
        shown = replace(judged, case=reduced.case)
        return self._kept(number, shown, judged.case, name, known, {"needs": needs, "questions": reduced.questions})

    def _kept(
        self, number: int, shown: Judged, before: Case, signature: str, known: Sequence[Finding],
        details: Mapping[str, object],
    ) -> Finding:  # fmt: skip
        alike = [one for one in known if one.signature == signature]
        enough = sum(one.state == "example" for one in alike) >= EXAMPLES
        state: FindingState = "duplicate" if enough else "example"
        whole = {**facts(self.blobs, shown, before), **details, "features": _features(shown.case.html)}
        whole["first"] = not alike
        return Finding(number, shown.build, state, shown.verdict.kind, signature, whole)


# What every page has, or may as well not have.
_USUAL_TAGS = steer.PLAIN | {"html", "head", "body", "meta", "title", "style", "div", "span"}
_USUAL_ATTRIBUTES = frozenset(["id", "class", "style", "charset"])


def named(html: bytes) -> list[str]:
    """The properties, attributes and elements that make a small page what it is."""
    found = features(html)
    # What says most comes first: there may be more than are named.
    return [
        *sorted(f"{name}:" for name in found.properties),
        *sorted({f"@{name}" for _, name in found.attributes if name not in _USUAL_ATTRIBUTES}),
        *sorted(set(found.tags) - _USUAL_TAGS),
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
