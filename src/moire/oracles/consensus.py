"""Consensus: the builds of a pool must agree about a page, each with every other.

`decide` is pure: it concludes from one picture of each build. `judge` takes the pictures, the fast way first and by
navigation where the pool does not agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, get_args

from ..browsers.lab import Lab
from ..nouns import Build, Case, Failure, Outcome, Shot, UsageError, Verdict
from ..pages.normal import SENTINEL, normalised
from ..pixels import Measure
from .change import CONFIRMATIONS, FAILURES, differ, image, photograph, together

# What fails: any two that disagree; one that disagrees with every other; a target that does, while all others agree.
Rule = Literal["any", "every", "target"]
Category = Literal["all agree", "one at fault", "some at fault", "all at fault", "nobody at fault"]
# What browsers show where they show nothing.
_NOTHING = ((255, 255, 255), (0, 0, 0))


@dataclass(frozen=True, slots=True)
class Consensus:
    """How a pool sees one page. Builds are places in the pool: one build may be in it twice.

    A build is at fault if it disagrees with every other; of a pool of two, both are or none.
    """

    size: int
    # Pairs that disagree, each in order.
    apart: frozenset[tuple[int, int]]

    @property
    def at_fault(self) -> tuple[int, ...]:
        def disagrees(one: int, other: int) -> bool:
            return (min(one, other), max(one, other)) in self.apart

        pool = range(self.size)
        return tuple(one for one in pool if all(disagrees(one, other) for other in pool if other != one))

    @property
    def category(self) -> Category:
        if not self.apart:
            return "all agree"
        faulty = len(self.at_fault)
        if faulty == self.size:
            return "all at fault"
        return "nobody at fault" if not faulty else "one at fault" if faulty == 1 else "some at fault"

    def fails(self, rule: Rule, target: int | None = None) -> bool:
        if rule == "any":
            return bool(self.apart)
        if rule == "every":
            return bool(self.at_fault)
        others_agree = all(target in pair for pair in self.apart)
        return bool(self.apart) if self.size == 2 else self.at_fault == (target,) and others_agree

    def words(self, names: Sequence[str]) -> str:
        """The category, and who is at fault where that tells them from the others."""
        faulty = ", ".join(names[n] for n in self.at_fault)
        return f"{self.category}: {faulty}" if 0 < len(self.at_fault) < self.size else self.category


@dataclass(frozen=True)
class Pool:
    """Builds that are to agree, and what counts as disagreement."""

    builds: tuple[Build, ...]
    measure: Measure
    rule: Rule = "any"
    target: int | None = None
    # Whether pages are shown over a reset and in Ahem.
    normal: bool = True

    def __post_init__(self) -> None:
        if len(self.builds) < 2:
            raise UsageError(f"{len(self.builds)} builds are given.", "A consensus takes two at least.")
        if self.rule not in get_args(Rule) or (self.rule == "target") != (self.target is not None):
            raise UsageError(
                f"The rule {self.rule!r} does not fit.", "Name a target for `target`, and none for others."
            )

    @property
    def names(self) -> list[str]:
        """One build may be there twice, and then its second self has a number."""
        found: list[str] = []
        for build in self.builds:
            again = sum(one.split("#")[0] == build.name for one in found)
            found.append(f"{build.name}#{again + 1}" if again else build.name)
        return found

    def shown(self, case: Case) -> Case:
        """What the browsers get to see."""
        return normalised(case) if self.normal else case

    def twins(self) -> Iterator[tuple[int, int]]:
        """Places of one and the same program."""
        for (n, a), (m, b) in combinations(enumerate(self.builds), 2):
            if a.same_program(b):
                yield n, m


def decide(pool: Pool, shots: Sequence[Shot]) -> Consensus:
    pairs = combinations(range(len(shots)), 2)
    return Consensus(len(shots), frozenset((a, b) for a, b in pairs if differ(shots[a], shots[b], pool.measure)))


def but_blank(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """One picture of each build, without those that show no page: where others see the colour behind the page, nobody
    sees nothing at all."""
    pictures = [image(one.png) for one in outcomes if isinstance(one, Shot)]
    if not any((picture == SENTINEL).all(axis=2).any() for picture in pictures):
        return list(outcomes)
    return [Failure("untestable", "the picture is blank") if _nothing(one) else one for one in outcomes]


def _nothing(outcome: Outcome) -> bool:
    if not isinstance(outcome, Shot):
        return False
    picture = image(outcome.png)
    return tuple(int(n) for n in picture[0, 0]) in _NOTHING and bool((picture == picture[0, 0]).all())


@dataclass(frozen=True, slots=True)
class Looked:
    """What a pool came to: every build's pictures, in the pool's order, and the consensus where all have one."""

    verdict: Verdict
    taken: Sequence[Sequence[Outcome]]
    consensus: Consensus | None = None


async def judge(lab: Lab, pool: Pool, case: Case, repeats: int = CONFIRMATIONS, *, screen: bool = True) -> Looked:
    shown = pool.shown(case)
    if screen:
        quick = but_blank(await together(*(lab.shoot(build, shown, "fast") for build in pool.builds)))
        shots = [one for one in quick if isinstance(one, Shot)]
        if len(shots) == len(quick):
            found = decide(pool, shots)
            if not found.fails(pool.rule, pool.target) and not _torn(pool, found):
                return Looked(_told(pool, found, shots), [[shot] for shot in shots], found)
    taken = await together(*(photograph(lab, build, shown, repeats) for build in pool.builds))
    return conclude(pool, taken)


def conclude(pool: Pool, taken: Sequence[Sequence[Outcome]]) -> Looked:
    """From several pictures of each build: they must tell the same each time. A failure is told once."""
    if all(len(own) == len(taken[0]) for own in taken):
        taken = list(zip(*(but_blank(one) for one in zip(*taken, strict=True)), strict=True))
    failures = [o for own in taken for o in own if isinstance(o, Failure)]
    if failures:
        worst = min(failures, key=lambda one: FAILURES.index(one.kind))
        names = [name for name, own in zip(pool.names, taken, strict=True) if worst in own]
        return Looked(Verdict(worst.kind, f"{names[0]}: {worst.reason}"), taken)
    rounds = [[o for o in own if isinstance(o, Shot)] for own in zip(*taken, strict=True)]
    seen = [decide(pool, shots) for shots in rounds]
    unlike = [
        name
        for n, name in enumerate(pool.names)
        if any(differ(a[n], b[n], pool.measure) for a, b in combinations(rounds, 2))
    ]
    off = sum(one != seen[0] for one in seen)
    if unlike or off:
        rate = max(off, 1) / len(seen)
        words = f"{', '.join(unlike)} changed from look to look" if unlike else "the pool was not of one mind twice"
        return Looked(Verdict("flaky", words, {}, rate), taken)
    if torn := _torn(pool, seen[0]):
        words = f"{pool.names[torn[0]]} does not agree with itself: what it shows is passing"
        return Looked(Verdict("flaky", words, {}, 1.0), taken)
    return Looked(_told(pool, seen[0], rounds[0]), taken, seen[0])


def _torn(pool: Pool, consensus: Consensus) -> tuple[int, int] | None:
    """A build that disagrees with itself."""
    return next((pair for pair in pool.twins() if pair in consensus.apart), None)


def _told(pool: Pool, consensus: Consensus, shots: Sequence[Shot]) -> Verdict:
    fails = consensus.fails(pool.rule, pool.target)
    told = consensus.words(pool.names)
    return Verdict("different" if fails else "same", told, distances(pool, shots) if fails else {})


def distances(pool: Pool, shots: Sequence[Shot]) -> Mapping[str, float]:
    """How far apart each two are."""
    return {
        f"{pool.names[a]} | {pool.names[b]}": pool.measure.distance(image(shots[a].png), image(shots[b].png))
        for a, b in combinations(range(len(shots)), 2)
    }


def clearest(pool: Pool, consensus: Consensus) -> tuple[int, int]:
    """Of all pairs that disagree, the one whose parts are most easily told apart: two versions of one engine, or who is
    at fault and another."""

    def doubt(pair: tuple[int, int]) -> tuple[bool, bool, tuple[int, int]]:
        a, b = (pool.builds[n].engine for n in pair)
        return a != b, not set(pair) & set(consensus.at_fault), pair

    return min(consensus.apart, key=doubt)


def begins(pool: Pool, consensus: Consensus) -> dict[str, tuple[str, str]]:
    """For each engine that is in the pool in several versions: the last two in a row between which the picture
    changes, as the older and the newer."""
    found: dict[str, tuple[str, str]] = {}
    for engine in dict.fromkeys(build.engine for build in pool.builds):
        own = [n for n, build in enumerate(pool.builds) if build.engine == engine and build.position]
        own.sort(key=lambda n: pool.builds[n].position)
        for a, b in pairwise(own):
            if (min(a, b), max(a, b)) in consensus.apart:
                found[engine] = pool.names[a], pool.names[b]
    return found
