"""What elements hold and what their attributes say: the part of HTML, SVG and MathML that no data has.

Names of elements and attributes come from the snapshot; what is inside, and which values are worth trying,
from tables of our own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources

from .snapshot import Attribute, Element, Space, Web

# Weights of elements among others of their kind.
_WEIGHTS = {"common": 400, "some": 30, "rare": 3}
_USUAL = 100
_CONTENTS = frozenset(["flow", "phrasing", "text", "drawing", "effect", "light", "formula"])
_ANY_NUMBER = "( '0' | '1' | '2' | '3' | '10' | '50' | '100' )"
_ANYTHING = "( '1' | 'a' | '0.5' )"


class _Known:
    """The tables of `data/markup.toml`."""

    def __init__(self) -> None:
        text = (resources.files("moire.pages.spec") / "data" / "markup.toml").read_text("utf-8")
        data = tomllib.loads(text)
        self.content: dict[Space, dict[str, str]] = data["content"]
        self.values: dict[str, str] = data["values"]
        self._words = {key: frozenset(words.split()) for key, words in data.items() if isinstance(words, str)}

    def __getitem__(self, group: str) -> frozenset[str]:
        return self._words[group]


_known = _Known()


def rule(element: Element) -> str:
    """The name of an element's rule."""
    return f"{element.space}-{element.name}"


def ebnf(web: Web, properties: Iterable[str]) -> str:
    """Rules for every element, and for the kinds of content they are."""
    known = frozenset(properties)
    lines = [
        _kinds("flow", [e for e in _elements(web, "html") if e.name not in _known["inner"]], text=300),
        _kinds(
            "phrasing",
            [e for e in _elements(web, "html") if e.name not in _known["inner"] | _known["blocks"]],
            text=700,
        ),
        _kinds("drawing", [e for e in _elements(web, "svg") if _draws(e.name)]),
        _kinds("effect", [e for e in _elements(web, "svg") if re.match("fe(?!Func|Merge.|.*Light$)", e.name)]),
        _kinds("light", [e for e in _elements(web, "svg") if re.match("fe.*Light$", e.name)]),
        _kinds("formula", [e for e in _elements(web, "mathml") if e.name not in _known["inner-math"]]),
    ]
    lines += [line for space in web.elements for e in _elements(web, space) for line in _element(web, e, known)]
    return "\n".join(lines) + "\n"


def _draws(name: str) -> bool:
    return not name.startswith("fe") and name not in _known["inner-svg"]


def _elements(web: Web, space: Space) -> Iterator[Element]:
    return (e for name, e in web.elements[space].items() if name)


def _kinds(name: str, elements: list[Element], text: int = 0) -> str:
    options = [f"text (* {{:weight {text}}} *)"] if text else []
    for element in elements:
        weight = next((w for group, w in _WEIGHTS.items() if element.name in _known[group]), _USUAL)
        options.append(f"{rule(element)} (* {{:weight {weight}}} *)")
    if name in ("flow", "phrasing"):
        options += ["svg-svg (* {:weight 150} *)", "mathml-math (* {:weight 20} *)"]
    return f"{name} = {' | '.join(options)} ;"


def _element(web: Web, element: Element, properties: frozenset[str]) -> list[str]:
    name, space = element.name, element.space
    lines, attributes = [], ""
    other = [line for a in _attributes(web, element) if (line := _attribute(element, a, properties))]
    if other:
        lines.append(f"{rule(element)}.attribute = {' | '.join(other)} ;")
        attributes = f"( ' ' {rule(element)}.attribute )?"
    fixed = {"marquee": " scrollamount=0", "progress": " value=0.5", "script": " type=text/plain"}.get(name, "")
    head = f"""'<{name}{fixed} id=' new-id ( ' class=' some-class )? {attributes} ( ' style="' style '"' )? '>'"""
    content = _known.content[space].get(name, "phrasing*" if space == "html" else "")
    if name in _known["void"]:
        return [*lines, f"{rule(element)} = {head} ;"]
    return [*lines, f"{rule(element)} = {head} {_content(web, space, content)} '</{name}>' ;"]


def _content(web: Web, space: Space, content: str) -> str:
    """The content model with the names of rules for those of elements."""

    def one(match: re.Match[str]) -> str:
        if match[1]:
            return match[0]
        name = match[0]
        # SVG has an element of the name `text`, which only its own shapes mean.
        return name if name in _CONTENTS or name not in web.elements[space] else f"{space}-{name}"

    return re.sub(r"('[^']*')|[a-zA-Z][\w-]*", one, content)


def _attributes(web: Web, element: Element) -> Iterator[Attribute]:
    shared: Mapping[str, Attribute] = web.elements[element.space][""].attributes
    yield from (a for name, a in {**shared, **element.attributes}.items() if name not in _known["left-out"])


def _attribute(element: Element, attribute: Attribute, properties: frozenset[str]) -> str:
    name = attribute.name
    if name in _known["flags"]:
        return f"'{name}'"
    value = _known.values.get(f"{element.name} {name}") or _known.values.get(name)
    if value is None and attribute.values:
        value = f"( {' | '.join(map(repr, attribute.values))} )"
    if value is None and element.space == "svg" and name in properties:
        value = f"css-{name}"
    if value is None:
        groups = {
            "numbers": _ANY_NUMBER,
            "colors": "t-color",
            "lengths": "t-length.0.inf",
            "truths": "( 'true' | 'false' )",
        }
        value = next((rule for group, rule in groups.items() if name in _known[group]), _ANYTHING)
    return f"""'{name}="' {value} '"'"""
