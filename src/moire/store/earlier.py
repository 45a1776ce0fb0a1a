"""What earlier runs found, as a run knows it from its beginning on: the same whenever it goes on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .records import Finding, Run
from .runs import Store

# Examples of one signature; any more are counted.
EXAMPLES = 3
# Of a finding's details, what it takes to know it again and to tell what it is about.
_TELLING = ("rough", "needs", "page", "before", "category", "operations", "about", "element", "stage", "properties")


def note(store: Store, kind: str) -> str:
    """Write down what all runs of one kind have found by now; the name of that."""
    query = (
        "SELECT runs.name, number, build, findings.state, findings.kind, signature, details FROM findings"
        " JOIN runs ON runs.id = run WHERE runs.kind = ? AND findings.state != 'confirmed' ORDER BY findings.id"
    )
    counts: Counter[tuple[str, str]] = Counter()
    noted = []
    for *row, words in store.query(query, kind):
        details: Mapping[str, Any] = store.parsed(words)
        row[-1] = details.get("found_as", row[-1])
        alike = (row[-1], details.get("rough", ""))
        counts[alike] += 1
        if counts[alike] <= EXAMPLES:
            noted.append([*row, {name: details[name] for name in _TELLING if name in details}])
    return store.blobs.add(json.dumps(noted).encode()) if noted else ""


def noted(store: Store, run: Run) -> list[tuple[str, Finding]]:
    """What a run was begun with the knowledge of, each with the name of its run; the first first."""
    name = run.settings.get("earlier", "")
    found = json.loads(store.blobs.read(name)) if name else []
    return [(of, Finding(*row)) for of, *row in found]
