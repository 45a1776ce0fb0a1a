"""What a store holds, as records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..nouns import Case, Environment
from ..nouns.update import read
from .blobs import Blobs
from .database import StoreError

State = Literal["running", "paused", "stopped", "done"]
FindingState = Literal["confirmed", "example", "duplicate"]
TriageState = Literal["new", "confirmed", "benign", "known", "reported"]
# What people say of findings that need not be told again.
SEEN_TO: Collection[TriageState] = ("benign", "known", "reported")


@dataclass(frozen=True, slots=True)
class Run:
    """`settings` are all that decides what the run does; `notes` what it tells about itself."""

    id: int
    name: str
    kind: str
    settings: Mapping[str, Any]
    begun: str
    seconds: float
    state: State
    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page in one build."""

    number: int
    build: str
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """`confirmed` is what was found and not looked into yet; `example` is shown; `duplicate` is one more of what
    there are enough examples of. `details` hold the names of what is kept by content."""

    number: int
    build: str
    state: FindingState
    kind: str
    signature: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def found_as(self) -> str:
        """Its signature when it was found: once its culprit is known, it is called after that."""
        return str(self.details.get("found_as", self.signature))


@dataclass(frozen=True, slots=True)
class Row:
    """A finding as lists have it; `brief` is in JSON. `changed` is larger than that of whatever changed before."""

    id: int
    run: str
    number: int
    build: str
    state: FindingState
    kind: str
    signature: str
    brief: str
    changed: int


@dataclass(frozen=True, slots=True)
class Triage:
    """What people say of all findings of one name, in all runs of one kind."""

    kind: str
    signature: str
    state: TriageState
    note: str = ""
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """A step of a finding's reduction, with small pictures of how the page then looked."""

    name: str
    bytes: int
    page: str
    pictures: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Trial:
    """A page that was shown a moment ago, with small pictures of it. There are so many `slots` for them."""

    slot: int
    number: int
    build: str
    verdict: str
    pictures: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Check:
    """A finding, looked at again in other builds."""

    builds: Sequence[str]
    verdict: str
    reason: str
    pictures: Mapping[str, str]
    made: str = ""


def case_of(blobs: Blobs, finding: Finding) -> Case:
    """The reduced page of a finding, with its operations and what it takes from beside it."""
    details = finding.details
    if "page" not in details:
        raise StoreError(f"The page of finding {finding.signature!r} is lost.", "Hunt again with the same seed.")
    return Case(
        blobs.read(details["page"]), details.get("name", "page.html"),
        {path: blobs.read(blob) for path, blob in details.get("resources", {}).items()},
        environment=Environment(**details.get("environment", {})), update=read(details.get("update", "[]")),
    )  # fmt: skip
