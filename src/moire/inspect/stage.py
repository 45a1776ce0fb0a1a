"""Two looks at one page: the first stage of the pipeline at which they differ, in which elements, and by what."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..nouns import Dump, DumpNode
from .compare import Mask, box_words, outline, parting, same_boxes, touches, within

Stage = Literal["dom", "style", "layout", "paint", "undecided"]
# `direct` was seen in what the engine tells of that stage; `exclusion` is what is left.
Evidence = Literal["direct", "exclusion", ""]
# Of one stage, so many differences are told.
MOST = 50
# Elements that are named on the way to one.
MOST_DEEP = 20


@dataclass(frozen=True, slots=True)
class Look:
    """A page in one build: the dump, the longhands that are declared for each node, and the layers that are painted,
    where the engine can tell."""

    dump: Dump
    declared: Sequence[Collection[str]] = ()
    layers: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    node: str
    property: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Staged:
    stage: Stage
    evidence: Evidence
    differences: tuple[Difference, ...]


def staged(a: Look, b: Look, seen: Mask | None, noise: Collection[str] = ()) -> Staged:
    """`seen` are the pixels that differ; None if none do, and then no stage is to blame for paint."""
    first = parting(a.dump, b.dump, seen, noise)
    if first.stage == "dom":
        return Staged("dom", "direct", _trees(a.dump, b.dump))
    if first.stage == "style":
        return Staged("style", "direct", _styles(a.dump, b.dump, first.nodes, first.styles))
    if declared := _declared(a, b, seen):
        return Staged("style", "direct", declared)
    if first.stage == "layout":
        return Staged("layout", "direct", _boxes(a.dump, b.dump, first.nodes))
    if seen is None:
        return Staged("undecided", "", ())
    # What is drawn outside of all boxes of its own (shadows, gradients) comes from elsewhere on the page.
    wider = parting(a.dump, b.dump, None, noise)
    if wider.stage == "style" and (nodes := [n for n in wider.nodes if _draws(a.dump.nodes[n])]):
        return Staged("style", "direct", _styles(a.dump, b.dump, nodes, wider.styles))
    if wider.stage == "layout" and (nodes := [n for n in wider.nodes if _draws_outside(a.dump, n)]):
        return Staged("layout", "direct", _boxes(a.dump, b.dump, nodes))
    if _within_others(b.dump, seen):
        return Staged("undecided", "", ())
    painted = _layers(a.layers, b.layers)
    return Staged("paint", "direct" if painted else "exclusion", painted)


# Elements of SVG that have no boxes and say how others are drawn.
_SERVERS = re.compile(r"stop|linearGradient|radialGradient|pattern|mask|clipPath|filter|fe[A-Z]\w+|marker")


def _draws(node: DumpNode) -> bool:
    return bool(node.boxes) or node.style.get("display") == "contents" or bool(_SERVERS.fullmatch(node.name))


# What an element draws outside its own box, where its computed style is other than this.
_OUTSIDE = {"box-shadow": "none", "text-shadow": "none", "outline-style": "none", "filter": "none"}


def _draws_outside(dump: Dump, at: int) -> bool:
    node = dump.nodes[at]
    style = node.style or (dump.nodes[node.parent].style if node.parent >= 0 else {})
    return any(style.get(name, usual) != usual for name, usual in _OUTSIDE.items())


# Elements that show another document, which no dump looks into.
_OTHERS = frozenset(["iframe", "frame", "object", "embed"])


def _within_others(dump: Dump, seen: Mask) -> bool:
    left = seen.copy()
    for node in dump.nodes:
        if node.name in _OTHERS:
            left &= ~within(seen, node)
    return bool(seen.any() and not left.any())


def path(dump: Dump, at: int) -> str:
    """A node as one would write a selector for it."""
    words, end = list[str](), ""
    while at >= 0:
        node = dump.nodes[at]
        name = dict(node.attributes).get("id", "")
        if node.kind != "element":
            end = f" {node.kind}" if not words else end
        elif name.isascii() and name.replace("-", "").isalnum():
            words.append(f"{node.name}#{name}")
            break
        else:
            siblings = [n for n, other in enumerate(dump.nodes) if other.parent == node.parent]
            alike = [n for n in siblings if (dump.nodes[n].kind, dump.nodes[n].name) == ("element", node.name)]
            words.append(node.name if len(alike) < 2 else f"{node.name}:nth-of-type({alike.index(at) + 1})")
            if node.name in ("html", "head", "body"):
                break
        at = node.parent
    return f"{' > '.join(reversed(words[:MOST_DEEP]))}{end}".strip()


def _trees(a: Dump, b: Dump) -> tuple[Difference, ...]:
    """What is only in one of them, by its line."""
    lines = outline(a), outline(b)
    found: list[Difference] = []
    if a.quirks != b.quirks:
        found.append(Difference("document", "quirks", str(a.quirks), str(b.quirks)))
    for kind, i, j, k, m in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        if kind != "equal":
            for n in range(max(j - i, m - k)):
                one = lines[0][i + n] if i + n < j else ""
                other = lines[1][k + n] if k + n < m else ""
                where = path(a, i + n) if one else path(b, k + n)
                found.append(Difference(where, "node", one.strip(), other.strip()))
    return tuple(found[:MOST])


def _styles(a: Dump, b: Dump, nodes: Sequence[int], names: Collection[str]) -> tuple[Difference, ...]:
    found: list[Difference] = []
    for n in nodes:
        for pseudo, one, other in _sides(a.nodes[n], b.nodes[n]):
            where = f"{path(a, n)}{pseudo}"
            if one is None or other is None:
                words = ("there" if side is not None else "not there" for side in (one, other))
                found.append(Difference(where, pseudo, *words))
                continue
            found += [
                Difference(where, name, one[name], other[name])
                for name in sorted(one.keys() & other.keys())
                if f"{pseudo} {name}".strip() in names and one[name] != other[name]
            ]
    return tuple(found[:MOST])


Styles = Mapping[str, str]


def _sides(a: DumpNode, b: DumpNode) -> list[tuple[str, Styles | None, Styles | None]]:
    pseudos = sorted(a.pseudo.keys() | b.pseudo.keys())
    return [("", a.style, b.style), *((name, a.pseudo.get(name), b.pseudo.get(name)) for name in pseudos)]


def _declared(a: Look, b: Look, seen: Mask | None) -> tuple[Difference, ...]:
    """Declarations of properties that both engines know and that only one of them took."""
    found: list[Difference] = []
    for n, (one, other) in enumerate(zip(a.declared, b.declared, strict=False)):
        nodes = a.dump.nodes[n], b.dump.nodes[n]
        if set(one) == set(other) or (seen is not None and not any(touches(node, seen) for node in nodes)):
            continue
        both = nodes[0].style.keys() & nodes[1].style.keys()
        for name in sorted(set(one) ^ set(other)):
            if name in both:
                words = ("declared" if name in side else "not declared" for side in (one, other))
                found.append(Difference(path(a.dump, n), name, *words))
    return tuple(found[:MOST])


def _boxes(a: Dump, b: Dump, nodes: Sequence[int]) -> tuple[Difference, ...]:
    moved = [n for n in nodes if not same_boxes(a.nodes[n].boxes, b.nodes[n].boxes)]
    return tuple(
        Difference(path(a, n), "boxes", box_words(a.nodes[n].boxes), box_words(b.nodes[n].boxes)) for n in moved[:MOST]
    )


def _layers(a: Sequence[str] | None, b: Sequence[str] | None) -> tuple[Difference, ...]:
    if a is None or b is None:
        return ()
    found = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, list(a), list(b), autojunk=False).get_opcodes():
        if kind != "equal":
            found.append(Difference("", "painted", "; ".join(a[i:j]), "; ".join(b[k:m])))
    return tuple(found[:MOST])


def painted(layers: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is painted, layer by layer, one line a thing: without marks of the engine's own, and in words that versions
    of it have in common."""
    lines: list[str] = []
    for layer in layers:
        if not layer.get("commands"):
            continue
        place = [round(value, 2) for value in layer.get("transform", ())] or [layer["offsetX"], layer["offsetY"]]
        reasons = sorted(name[:1].lower() + name[1:] for name in layer.get("reasons", ()))
        lines.append(f"layer {layer['width']}×{layer['height']} at {place} {' '.join(reasons)}".strip())
        lines += [f"  {_command(one)}" for one in layer["commands"]]
    return lines


# Of what a command is told, only what shows.
_SHOWS = ("rect", "rrect", "oval", "path", "x", "y", "x0", "y0", "x1", "y1", "matrix", "clipRect", "op", "alpha")
_PAINT = ("color", "styleName", "strokeWidth", "blendMode", "shader", "maskFilter", "colorFilter", "imageFilter")


def _command(one: Mapping[str, Any]) -> str:
    told = one.get("params", {})
    shown = {name: _rounded(told[name]) for name in _SHOWS if name in told}
    paint = told.get("paint", {})
    shown |= {name: _rounded(paint[name]) for name in _PAINT if paint.get(name)}
    return f"{one.get('method', '')} {json.dumps(shown, sort_keys=True)}"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
