"""What a regression hunt says of a finding, as a part of its report: the step, the verdicts, the stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def facts(one: Mapping[str, Any]) -> dict[str, Any]:
    """Lines for the finding's table; none if it was never bisected."""
    if "step" not in one:
        return {"not bisected yet": one["unsettled"]} if "unsettled" in one else {}
    step = one["step"]
    earlier = [" to ".join(change) for change in one.get("changes", ())[1:]]
    return {
        "verdict of the oracles": f"{'bug' if one['bug'] else 'no bug'}: {one['why']}",
        "culprit": f"{step[1]}, after {step[0]}" if step else "",
        "changed before": ", ".join(earlier),
        "skipped": ", ".join(f"{name} ({reason})" for name, reason in one.get("skipped", {}).items()),
        "evidence": one.get("evidence", ""),
    }


def tables(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the references and the tests say, and what differs at the stage; each with its title, head and rows."""
    found = []
    if one.get("link"):
        found.append(table("Commits", (), [[one["link"]]]))
    if one.get("interop"):
        rows = [[name, said["case"], said["reason"]] for name, said in one["interop"].items()]
        found.append(table("References", ("reference", "case", "reason"), rows))
    if one.get("tests"):
        head = ("test", "before", "after", "reference", "case")
        found.append(
            table("Tests that the step made pass", head, [[test[key] for key in head] for test in one["tests"]])
        )
    elif one.get("tests_run"):
        tried = f"Of {one['tests_run']} tests that were tried, none began to pass with the step."
        found.append(table("Tests", (), [[tried]]))
    if one.get("differences"):
        rows = [[each[key] for key in ("node", "property", "a", "b")] for each in one["differences"]]
        title = f"What differs at the stage of {one.get('differs_at') or one['stage']}"
        # Findings of earlier versions do not say whose sides they are.
        sides = one.get("sides") or (("before", "after") if "step" in one else ("updated", "fresh"))
        found.append(table(title, ("node", "property", *sides), rows))
    return found


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    return {"title": title, "head": list(head), "rows": [[str(cell) for cell in row] for row in rows]}
