"""What every source can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...nouns import Engine
from ..download import Progress


@dataclass(frozen=True, slots=True)
class Offer:
    """A build that a source could install. `detail` is the source's own name for it."""

    engine: Engine
    version: str
    source: str
    detail: str

    @property
    def name(self) -> str:
        return f"{self.engine}@{self.version}"


class Source(Protocol):
    name: str

    def offers(self, engine: str, version: str) -> Iterator[Offer]:
        """Builds whose version begins with `version` ("" for all), in any order."""

    def install(self, offer: Offer, folder: Path, progress: Progress) -> Path:
        """Unpack into the empty `folder`; the program's path below it."""


def matches(version: str, wanted: str) -> bool:
    """`108` means any 108, `108.0.53` no 108.0.5359."""
    return not wanted or version == wanted or version.startswith(wanted + ".")
