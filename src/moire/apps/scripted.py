"""Sessions that people write by hand, or bring from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..nouns import UsageError
from .trace import ACTIONS

Action = Mapping[str, Any]
_NEEDS = {"type": ("value",), "select": ("value",), "key": ("value",), "drag": ("to",), "scroll": ("x", "y")}


def read(file: Path) -> list[Action]:
    """A list of actions, or a recording of Chrome's DevTools."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Give a list of actions.") from None
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise UsageError(f"{file} is no JSON.", 'Write [{"action": "click", "target": "#go"}].') from None
    if isinstance(found, dict) and isinstance(found.get("steps"), list):
        steps = [step for step in found["steps"] if isinstance(step, dict)]
        return [action for step in steps if (action := _imported(step)) is not None]
    if not isinstance(found, list):
        raise UsageError(f"{file} is no list of actions.", 'Write [{"action": "click", "target": "#go"}].')
    return [_checked(n, one) for n, one in enumerate(found, 1)]


def _checked(n: int, one: object) -> Action:
    if not isinstance(one, dict) or one.get("action") not in ACTIONS:
        raise UsageError(f"Action {n} does not say what to do.", f"There are {', '.join(ACTIONS)}.")
    missing = [name for name in ("target", *_NEEDS.get(one["action"], ())) if name not in one]
    if missing and not (one["action"] == "scroll" and missing == ["target"]):
        raise UsageError(f"Action {n}, {one['action']}: {missing[0]!r} is missing.", "Mend the script.")
    for name, value in one.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number if name in ("x", "y") else isinstance(value, str)):
            raise UsageError(
                f"Action {n}, {one['action']}: {name!r} is {value!r}.", "Places are numbers, the rest texts."
            )
    return one


def _imported(step: Mapping[str, Any]) -> Action | None:
    """What the window is like and where it begins is told otherwise; a key goes up by itself."""
    selectors = step.get("selectors")
    kind, target = step.get("type"), _target(selectors if isinstance(selectors, list) else ())
    if kind in ("click", "doubleClick") and target:
        return {"action": "click", "target": target}
    if kind == "change" and target:
        return {"action": "type", "target": target, "value": str(step.get("value", ""))}
    if kind == "hover" and target:
        return {"action": "hover", "target": target}
    if kind == "keyDown":
        return {"action": "key", "target": target or ":focus", "value": str(step.get("key", ""))}
    if kind == "scroll":
        return {"action": "scroll", "target": target, "x": step.get("x", 0), "y": step.get("y", 0)}
    return None


def _target(selectors: Sequence[Any]) -> str:
    """The first that is a selector of CSS; others are of DevTools' own making."""
    every = [one[0] if isinstance(one, list) and one else one for one in selectors]
    own = ("aria/", "text/", "xpath/", "pierce/")
    return next((one for one in every if isinstance(one, str) and not one.startswith(own)), "")
