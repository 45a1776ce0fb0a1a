"""Does a page still fail, and in the same way?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ...nouns import Box, Case


@dataclass(frozen=True, slots=True)
class Never:
    """Why a page cannot be reduced."""

    verdict: Literal["same", "flaky", "untestable"]
    reason: str


@dataclass(frozen=True, slots=True)
class View:
    """A page that fails: pictures by what they show, and where the element is that they differ in. For people to look
    at: where nobody has looked, there is nothing."""

    pictures: Sequence[tuple[str, bytes]] = ()
    boxes: Sequence[Box] = ()


class Judge(Protocol):
    renders: int
    # Of the best page so far.
    view: View

    async def learn(self, case: Case, *, confirmed: bool = False) -> Never | str:
        """Look at the page as it is given: what its failure is, in words. If it is `confirmed`, one look will do."""
        ...

    async def fails(self, case: Case, *, anywhere: bool = False, careful: bool = False, best: bool = False) -> bool:
        """Whether the page still fails in the same way; `anywhere`, whatever its elements are called; `careful`, as
        a browser shows it to anyone, and not by a shorter way. The `best` so far is what others come from: what looks
        the same as it is the same failure."""
        ...

    async def follow(self, case: Case | None) -> None:
        """The page is still the same, but may call its parts by plain names now; by those it began with, if none is
        given."""
        ...

    def suspects(self) -> list[tuple[str, int]]:
        """Elements that the failure shows in, by name and place among those of that name; the likeliest first."""
        ...
