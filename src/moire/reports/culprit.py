"""What a regression hunt says of a finding, as a part of its report: the step, the verdicts, the stage."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

_esc = html.escape


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


def tables(one: Mapping[str, Any]) -> str:
    """What the references and the tests say, and what differs at the stage."""
    if "step" not in one:
        return ""
    found = ""
    if one.get("link"):
        found += f"<p>Commits: <code>{_esc(one['link'])}</code></p>"
    if one.get("interop"):
        rows = [[name, said["case"], said["reason"]] for name, said in one["interop"].items()]
        found += _table("References", ("reference", "case", "reason"), rows)
    if one.get("tests"):
        rows = [[test[key] for key in ("test", "before", "after", "reference", "case")] for test in one["tests"]]
        found += _table("Tests that the step made pass", ("test", "before", "after", "reference", "case"), rows)
    elif one.get("tests_run"):
        found += f"<p>Of {one['tests_run']} tests that were tried, none began to pass with the step.</p>"
    if one.get("differences"):
        rows = [[each[key] for key in ("node", "property", "a", "b")] for each in one["differences"]]
        found += _table(f"What differs at the stage of {one['stage']}", ("node", "property", "before", "after"), rows)
    return found


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    heads = "".join(f"<th>{_esc(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_esc(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h3>{_esc(title)}</h3><table><tr>{heads}</tr>{body}</table>"
