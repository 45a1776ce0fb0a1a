"""What a script does to a page once it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .errors import UsageError

Scalar = str | int | bool
POSITIONS = ("beforebegin", "afterbegin", "beforeend", "afterend")
# A page that scrolls, or a window of a size, further than this shows nothing that a smaller one does not.
_MOST = 16384

# Every operation, what it takes, and of which type; those with a default may be left out.
_TAKES: dict[str, dict[str, type[Scalar]]] = {
    "insert-node": {"target": str, "position": str, "html": str},
    "delete-node": {"target": str},
    "move-node": {"target": str, "to": str, "position": str},
    "set-attribute": {"target": str, "name": str, "value": str},
    "remove-attribute": {"target": str, "name": str},
    "toggle-class": {"target": str, "name": str},
    "set-style": {"target": str, "name": str, "value": str},
    "set-text": {"target": str, "value": str},
    "insert-rule": {"sheet": int, "index": int, "rule": str},
    "delete-rule": {"sheet": int, "index": int},
    "focus": {"target": str},
    "scroll": {"target": str, "x": int, "y": int},
    "resize": {"width": int, "height": int},
    "open": {"target": str, "modal": bool},
    "close": {"target": str},
    "set-value": {"target": str, "value": str},
    "set-checked": {"target": str, "value": bool},
    "script": {"code": str},
}
_DEFAULTS: dict[tuple[str, str], Scalar] = {
    ("scroll", "target"): "",
    ("open", "modal"): False,
    ("insert-rule", "sheet"): 0,
    ("delete-rule", "sheet"): 0,
    ("set-attribute", "value"): "",
}
OPERATIONS = tuple(_TAKES)
# Those that may give an element the focus.
FOCUSING = frozenset(["focus", "open", "script"])


@dataclass(frozen=True, slots=True)
class Operation:
    """One render-update operation. Targets are selectors; an empty one of `scroll` is the window."""

    op: str
    arguments: tuple[tuple[str, Scalar], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.arguments)[name]

    def __contains__(self, name: str) -> bool:
        return any(own == name for own, _ in self.arguments)

    def but(self, **changed: Scalar) -> Operation:
        return Operation(self.op, tuple((name, changed.get(name, value)) for name, value in self.arguments))

    @property
    def plain(self) -> dict[str, Scalar]:
        return {"op": self.op, **dict(self.arguments)}


Update = tuple[Operation, ...]


def operation(op: str, **given: Scalar) -> Operation:
    """One that is known to be right."""
    return Operation(op, tuple((name, given.get(name, _DEFAULTS.get((op, name), ""))) for name in _TAKES[op]))


def written(update: Iterable[Operation]) -> str:
    return json.dumps([one.plain for one in update], ensure_ascii=False)


def read(text: str) -> Update:
    """Operations as people write them: a JSON list of objects."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The operations are not JSON: {error}.", 'Write [{"op": "focus", "target": "#a"}].') from None
    if not isinstance(found, list):
        raise UsageError("The operations are not a list.", 'Write [{"op": "focus", "target": "#a"}].')
    return tuple(_checked(n, one) for n, one in enumerate(found, 1))


def _checked(n: int, one: object) -> Operation:
    if not isinstance(one, dict) or not isinstance(one.get("op"), str):
        raise UsageError(f"Operation {n} does not say what to do.", 'Write {"op": "focus", "target": "#a"}.')
    op = one["op"]
    if op not in _TAKES:
        raise UsageError(f"Operation {n}: there is no {op!r}.", f"There are {', '.join(OPERATIONS)}.")
    takes = _TAKES[op]
    words = f"Operation {n}, {op}: "
    if unknown := sorted(one.keys() - takes.keys() - {"op"}):
        raise UsageError(f"{words}it takes no {unknown[0]!r}.", f"It takes {', '.join(takes)}.")
    values: dict[str, Scalar] = {}
    for name, kind in takes.items():
        value = one.get(name, _DEFAULTS.get((op, name)))
        if value is None:
            raise UsageError(f"{words}{name!r} is missing.", f"It takes {', '.join(takes)}.")
        if type(value) is not kind:
            wanted = {str: "a text", int: "a whole number", bool: "true or false"}[kind]
            raise UsageError(f"{words}{name!r} is not {wanted}.", "Mend the operations.")
        if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            raise UsageError(f"{words}{name!r} holds half a character.", "Mend the operations.")
        values[name] = value
    if "position" in values and values["position"] not in POSITIONS:
        raise UsageError(f"{words}there is no position {values['position']!r}.", f"There are {', '.join(POSITIONS)}.")
    if op != "scroll" and any(values.get(name) == "" for name in ("target", "to")):
        raise UsageError(f"{words}it has no target.", "Give a selector.")
    if op == "resize" and not all(1 <= int(values[side]) <= _MOST for side in ("width", "height")):
        raise UsageError(f"{words}such a window cannot be shown.", f"Give sides from 1 to {_MOST}.")
    return Operation(op, tuple(values.items()))
