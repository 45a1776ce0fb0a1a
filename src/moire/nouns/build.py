"""One runnable renderer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

Engine = Literal["chromium", "firefox", "webkit", "webdriver", "command"]


@dataclass(frozen=True)
class Build:
    """`name` is what users write and read; everything else is what it takes to run it.

    `position` orders builds of one engine's history: commit position, else the dotted version.
    """

    name: str
    engine: Engine
    version: str
    source: str
    path: Path | None = None
    address: str = ""
    command: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    prefs: Mapping[str, str] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    position: tuple[int, ...] = ()
    folder: Path | None = None

    def named(self, name: str) -> Build:
        return replace(self, name=name)

    def same_program(self, other: Build) -> bool:
        """Whether the two are one renderer under two names."""
        return replace(self, name="", source="", position=()) == replace(other, name="", source="", position=())

    def __hash__(self) -> int:
        return hash((self.name, self.path, self.address, self.command, self.flags))
