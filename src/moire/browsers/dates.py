"""When a build was released, near enough to say which of another engine were its contemporaries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import date

from ..nouns import Build

# Releases whose dates are known; between them, and after the last, engines keep to a rhythm.
_KNOWN: dict[str, list[tuple[float, date]]] = {
    "chromium": [
        (60, date(2017, 7, 25)), (70, date(2018, 10, 16)), (83, date(2020, 5, 19)), (94, date(2021, 9, 21)),
        (108, date(2022, 11, 29)), (116, date(2023, 8, 15)), (126, date(2024, 6, 11)), (140, date(2025, 9, 2)),
    ],
    "firefox": [
        (60, date(2018, 5, 9)), (78, date(2020, 6, 30)), (91, date(2021, 8, 10)), (102, date(2022, 6, 28)),
        (115, date(2023, 7, 4)), (128, date(2024, 7, 9)), (140, date(2025, 6, 24)),
    ],
    "webkit": [
        (2.28, date(2020, 3, 9)), (2.36, date(2022, 3, 22)), (2.44, date(2024, 3, 15)), (2.50, date(2025, 9, 17)),
    ],
}  # fmt: skip


def released(build: Build) -> date | None:
    """None where nobody knows."""
    known = _KNOWN.get(build.engine)
    if known is None or not build.position or build.version.startswith("r"):
        return None
    major = build.position[0] + (build.position[1] / 100 if build.engine == "webkit" and len(build.position) > 1 else 0)
    at = min(max(1, bisect_right([version for version, _ in known], major)), len(known) - 1)
    (first, begun), (last, ended) = known[at - 1], known[at]
    return date.fromordinal(round(begun.toordinal() + (major - first) / (last - first) * (ended - begun).days))


def nearest(build: Build, others: Iterable[Build]) -> Build | None:
    """Of others, the one released nearest in time; the last of those if there is no telling."""
    able = list(others)
    when = released(build)
    if when is None or not able:
        return able[-1] if able else None
    return min(able, key=lambda other: abs((found - when).days) if (found := released(other)) else 10**6)
