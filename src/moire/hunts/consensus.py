"""Consensus hunt: runs of growing pages until the builds of a pool disagree; then the next run looks elsewhere."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..browsers.lab import Lab
from ..grammar.reduce import Pick, Propagation, Reducer
from ..nouns import Build, Case, Environment, Shot
from ..oracles.change import CONFIRMATIONS
from ..oracles.consensus import Consensus, Pool, begins, clearest, judge
from ..pages import steer
from ..store import Finding
from ..store.blobs import Blobs
from ..triage.bisect import Visits
from ..triage.reduce import Disagrees, Signature, Witness
from ..triage.reduce.differs import PLAIN
from ..triage.stage import stage
from .finding import MOST_NAMED, Enough, Judged, Looking, Prospect, at_stage, crashed, named, placed
from .run import nothing_more
from .source import Source

# Questions of a reduction at once: each keeps a tab of two engines busy.
AHEAD = 2
# Bytes that one more of size is: the largest pages of 50 are some 5 KB, as most that people write by hand.
LEAST_BYTES, BYTES_A_SIZE = 250, 100


@dataclass(frozen=True)
class Trials:
    """A run is so many pages at the most, of sizes from 1 to the largest; 0 runs are without end. The more is known,
    the less is left for a page to fail by: each run that finds nothing lets all that follow be larger by half of
    `max_size`, up to `grow` times of it."""

    runs: int = 10
    iterations: int = 25
    max_size: int = 50
    grow: int = 1

    def bytes(self, iteration: int, in_vain: int = 0) -> int:
        largest = min(self.max_size * self.grow, self.max_size + self.max_size * in_vain // 2)
        size = 1 + (largest - 1) * iteration // max(1, self.iterations - 1)
        return LEAST_BYTES + BYTES_A_SIZE * size


@dataclass(frozen=True)
class Steering:
    """How weights are lowered after a finding; `edges` of 0 leaves them as they are."""

    edges: int
    pick: Pick
    propagation: Propagation
    by: Reducer
    never: Collection[str]


@dataclass
class ConsensusHunt:
    pool: Pool
    source: Source
    blobs: Blobs
    trials: Trials
    steering: Steering
    environment: Environment
    # Signatures that are known for no bugs; `*` stands for anything.
    benign: Sequence[str] = ()
    # What is shown after a finding depends on it.
    renews: ClassVar[bool] = True
    # The run that is going on, and its first page; how many before it found nothing.
    _run: int = field(default=0, init=False)
    _in_vain: int = field(default=0, init=False)
    _first: int = field(default=0, init=False)
    _weights: dict[str, int] = field(default_factory=dict, init=False)

    @property
    def builds(self) -> Sequence[Build]:
        return self.pool.builds

    def at(self, number: int) -> tuple[int, int]:
        """The run and the iteration of a page, if nothing is found before it."""
        run, iteration = divmod(number - self._first, self.trials.iterations)
        return self._run + run, iteration

    def more(self, number: int) -> bool:
        return not self.trials.runs or self.at(number)[0] < self.trials.runs

    def case(self, number: int) -> Case:
        run, iteration = self.at(number)
        case = self.source.case(number, self.trials.bytes(iteration, self._in_vain + run - self._run))
        return replace(case, environment=self.environment)

    def learn(self, known: Sequence[Finding], number: int) -> None:
        """A finding ends its run, and lowers weights for all that come."""
        self._run = self._first = self._in_vain = 0
        self._weights = dict(self.source.pages.weights)
        for finding in sorted((one for one in known if one.number < number), key=lambda one: one.number):
            run = self.at(finding.number)[0]
            self._in_vain += run - self._run
            self._run = run + 1
            self._first = finding.number + 1
            for edge, (_, after) in finding.details.get("lowered", {}).items():
                self._weights[edge] = after
        if self.steering.edges and not self.source.own:
            self.source.pages.reweigh(self._weights)

    def settle(self, known: Sequence[Finding], told: Visits) -> AsyncIterator[Finding]:
        return nothing_more()

    async def judge(self, lab: Lab, case: Case) -> list[Judged]:
        return [(await self._judge(lab, case, CONFIRMATIONS, screen=True))[0]]

    async def _judge(self, lab: Lab, case: Case, repeats: int, *, screen: bool) -> tuple[Judged, Consensus | None]:
        looked = await judge(lab, self.pool, case, repeats, screen=screen)
        first = [(name, own[0]) for name, own in zip(self.pool.names, looked.taken, strict=True) if own]
        pictures = [(name, shot.png) for name, shot in first if isinstance(shot, Shot)]
        return Judged(case, " | ".join(self.pool.names), looked.verdict, pictures), looked.consensus

    async def look_into(self, lab: Lab, judged: Judged, enough: Enough, witness: Witness) -> Prospect:
        disagrees = Disagrees(lab, self.pool)
        reduced: list[Consensus] = []

        async def again(case: Case) -> Judged:
            shown, consensus = await self._judge(lab, case, 1, screen=False)
            reduced[:] = [consensus] if consensus is not None else []
            return shown

        async def more(case: Case) -> Mapping[str, object]:
            (consensus,) = reduced
            first, second = clearest(self.pool, consensus)
            shown, plain = self.pool.shown(case), self.pool.shown(replace(PLAIN, environment=case.environment))
            part = await stage(lab, self.builds[first], self.builds[second], shown, plain)
            told = at_stage(part, self.pool.names[first], self.pool.names[second])
            return {
                "at_fault": [self.pool.names[n] for n in consensus.at_fault], "category": consensus.category,
                "apart": [[self.pool.names[n] for n in pair] for pair in sorted(consensus.apart)],
                "begins": begins(self.pool, consensus),
                "stage": told["differs_at"], **told,
            }  # fmt: skip

        def name(signature: Signature, case: Case) -> str:
            return self._words(reduced[0] if reduced else disagrees.consensus, signature, case)

        def failing(judged: Judged) -> str:
            return next((n for n in self.pool.names if judged.verdict.reason.startswith(f"{n}: ")), judged.build)

        async def crashes(judged: Judged, case: Case) -> bool:
            build = self.builds[self.pool.names.index(failing(judged))]
            return crashed(await lab.shoot(build, self.pool.shown(case)))

        return await Looking(name, again, more, crashes, witness, AHEAD, failing).into(disagrees, judged, enough)

    def place(self, prospect: Prospect, number: int, known: Sequence[Finding]) -> Finding:
        """The finding with its run, and the weights that it lowers."""
        finding = placed(self.blobs, prospect, number, known)
        run, iteration = self.at(number)
        # Of a page that was not reduced, nobody knows what it is about, unless it is one more of what is known.
        whole = [one for one in (finding, *known) if {"page", "before"} <= one.details.keys()]
        told = [one for one in whole if {"category", "needs"} & one.details.keys()]
        alike = [one for one in told if one.signature == finding.signature]
        lowered = self._lowered(alike[0], run) if alike else {}
        benign = next((one for one in self.benign if _like(finding.signature, one)), "")
        details = {
            **finding.details, "run": run, "iteration": iteration, "lowered": lowered,
            "away": sorted({steer.words(edge) for edge in lowered}), **({"benign": benign} if benign else {}),
        }  # fmt: skip
        return replace(finding, state="duplicate" if benign else finding.state, details=details)

    def _lowered(self, finding: Finding, run: int) -> dict[str, tuple[int, int]]:
        how = self.steering
        if not how.edges or self.source.own:
            return {}
        html, before = (self.blobs.read(blob) for blob in (finding.details["page"], finding.details["before"]["page"]))
        after = steer.away(
            self._weights, html, before, seed=self.source.seed + run, edges=how.edges, pick=how.pick,
            propagation=how.propagation, by=how.by, never=how.never,
        )  # fmt: skip
        return {edge: (before, after[edge]) for edge, before in self._weights.items() if after[edge] != before}

    def _words(self, consensus: Consensus, signature: Signature, case: Case) -> str:
        """Who, and what in the page: how strongly and in which element it shows, one bug has in many ways."""
        told = consensus.words(self.pool.names).rpartition(": ")[2]
        return " ".join([told, *(named(case.html)[:MOST_NAMED] or [signature.where])])


def _like(signature: str, known: str) -> bool:
    """`*` stands for anything, and nothing else for anything but itself."""
    return re.fullmatch(".*".join(map(re.escape, known.split("*"))), signature) is not None
