"""The web's grammar: pages as the specifications describe them, with weights that say which parts."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from ... import home
from ...grammar import Grammar, default, read
from ...grammar.model import Alt, Cat, Literal, Node, Reference, bare, children, choices
from ...grammar.weights import height, heights
from . import markup, vds
from .snapshot import Attribute, Element, Feature, Status, Web, load
from .values import Unknown, Values

WIDE = ("initial", "inherit", "unset", "revert", "revert-layer")
ALL: Collection[Status] = ("standard", "experimental", "legacy")
USUAL: Collection[Status] = ("standard", "legacy")
_OLD_ELEMENTS = (":before", ":after", ":first-line", ":first-letter")
# What loads an image makes a page that only a navigation can show, and what moves is not for pages at rest.
_SELDOM = {"t-url", "t-url-token", "f-url", "f-src", "f-image", "f-image-set", "f-cross-fade", "f-element"}
_SELDOM_PROPERTIES = re.compile(r"(-webkit-)?(animation|transition|view-transition)\b")
_SELDOM_WEIGHT = 5
# The version of Safari that a version of WebKitGTK is nearest to: the data knows no other WebKit.
SAFARI = {
    "2.36": 15.4, "2.38": 16.0, "2.40": 16.4, "2.42": 17.0, "2.44": 17.4, "2.46": 18.0, "2.48": 18.4, "2.50": 26.0,
}  # fmt: skip
# Of a hundred declarations, so many say no more than `inherit` or the like.
WIDE_PER_CENT = 3
# Selectors in functional notation, and what goes between their brackets.
_ARGUMENTS = {
    ":is()": "selectors", ":where()": "selectors", ":not()": "selectors", ":has()": "selector",
    ":dir()": "( 'ltr' | 'rtl' )", ":lang()": "( 'en' | 'ar' )", ":state()": "name", ":heading()": "'1'",
    "::highlight()": "name", "::part()": "name",
    ":nth-child()": "nth", ":nth-last-child()": "nth", ":nth-of-type()": "nth", ":nth-last-of-type()": "nth",
}  # fmt: skip


@cache
def grammar() -> Grammar:
    """Everything, whatever its status: paths are the same for every choice of weights."""
    web = load()
    primitives = read(_data("primitives.ebnf"))
    values = Values(web, dict(primitives.rules))
    values.type(vds.Type("color"))
    properties = {}
    for name in web.properties:
        try:
            properties[name] = values.property(name)
        except Unknown:
            continue
    frame = "\n".join([
        _data("page.ebnf"), markup.ebnf(web, properties), _selectors(web),
        f"wide = {' | '.join(map(repr, WIDE))} ;",
    ])  # fmt: skip
    # References to the values' rules are resolved when all are together.
    names = {*values.rules, "declaration"}
    stubs = "\n".join(f"{name} = 'x' ;" for name in sorted(names))
    page = read(f"{frame}\n{stubs}")
    own = {name: node for name, node in page.rules.items() if name not in names}
    weights = {p: w for p, w in page.comment_weights.items() if p.split("/")[0] in own}
    declared, declared_weights = _declaration(properties)
    rules = {**own, "declaration": declared, **values.rules}
    weights = {**weights, **primitives.comment_weights, **declared_weights}
    whole = Grammar(rules, "page", weights)
    usual = default(whole)
    known = heights(whole, usual, _SELDOM)
    for path, choice in choices(whole):
        for edge, child in children(path, choice):
            if height(edge, child, usual, known) == math.inf:
                weights[edge] = min(usual[edge], _SELDOM_WEIGHT)
    return Grammar(rules, "page", weights)


def _data(name: str) -> str:
    return (resources.files("moire.pages.spec") / "data" / name).read_text("utf-8")


def _declaration(properties: Mapping[str, str]) -> tuple[Node, dict[str, int]]:
    options = [
        Cat((Literal(f"{name}:"), Alt((Reference(rule), Reference("wide"))))) for name, rule in properties.items()
    ]
    weights: dict[str, int] = {}
    for n, name in enumerate(properties):
        if _SELDOM_PROPERTIES.match(name):
            weights[f"declaration/alt/{n}"] = _SELDOM_WEIGHT
        weights |= {
            f"declaration/alt/{n}/cat/1/alt/0": 100 - WIDE_PER_CENT,
            f"declaration/alt/{n}/cat/1/alt/1": WIDE_PER_CENT,
        }
    return Alt(tuple(options)), weights


def _selectors(web: Web) -> str:
    classes: list[str] = []
    elements: list[str] = []
    for name in web.selectors:
        kind = elements if name.startswith("::") or name in _OLD_ELEMENTS else classes
        seldom = " (* {:weight 1} *)" if "view-transition" in name else ""
        if not name.endswith("()"):
            kind.append(f"'{name}'{seldom}")
        elif name in _ARGUMENTS:
            kind.append(f"'{name[:-1]}' {_ARGUMENTS[name]} ')'")
    tags = [f"'{e.name}'" for e in web.elements["html"].values() if e.name]
    return (
        f"pseudo-class = {' | '.join(classes)} ;\npseudo-element = {' | '.join(elements)} ;\n"
        f"tag = {' | '.join(tags)} ;\n"
    )


def weights(kinds: Collection[Status] = USUAL, engines: Mapping[str, float] | None = None) -> dict[str, int]:
    """Weights under which only what is of these kinds is generated and, where engines are given with their
    versions, only markup that all of them have. What styles they take, builds say themselves."""

    def refused(feature: Feature) -> bool:
        if feature.status not in kinds:
            return True
        told = isinstance(feature, Element | Attribute) and feature.since
        return bool(told) and any(feature.since.get(e, math.inf) > version for e, version in (engines or {}).items())

    key = repr((origin(), sorted(kinds), sorted((engines or {}).items())))
    return home.remembered("weights", key, lambda: without(refused))


def remembered(kind: str, given: Mapping[str, int], told: object, make: Callable[[], dict[str, int]]) -> dict[str, int]:
    """Weights worked out from others by what was told, once: without the whole grammar, a hunt begins much sooner."""
    return home.remembered("weights", repr((origin(), kind, sorted(given.items()), told)), make)


@cache
def origin() -> str:
    """A digest of all that the grammar is made by: what was worked out from it is stale when that changes."""
    package = Path(__file__).parents[2]
    h = hashlib.sha256()
    for file in sorted([*(package / "grammar").glob("*.py"), *Path(__file__).parent.rglob("*.*")]):
        if file.suffix in (".py", ".json", ".ebnf", ".toml"):
            h.update(file.read_bytes())
    return h.hexdigest()


def without(refused: Callable[[Feature], bool]) -> dict[str, int]:
    """Weights that keep out every refused feature, and whatever cannot do without one."""
    whole, web = grammar(), load()
    found = default(whole)
    features: dict[str, Feature] = {
        **{f"declaration {p.name}:": p for p in web.properties.values()},
        **{f"pseudo {s.name}": s for s in web.selectors.values()},
    }
    blocked = set()
    for space in web.elements.values():
        for element in space.values():
            rule = markup.rule(element)
            if element.name and refused(element):
                blocked.add(rule)
            shared = space[""].attributes
            features |= {f"{rule}.attribute {n}": a for n, a in {**shared, **element.attributes}.items()}
    for path, choice in choices(whole):
        name, _, _ = path.partition("/")
        kind = "pseudo" if name.startswith("pseudo-") else name
        if kind in ("declaration", "pseudo") or name.endswith(".attribute"):
            for edge, child in children(path, choice):
                feature = features.get(f"{kind} {re.sub(r'[=(].*', '', first_text(child))}")
                feature = feature or features.get(f"{kind} {first_text(child)})")
                if feature is not None and refused(feature):
                    found[edge] = 0
    return pinched(whole, found, blocked)


def first_text(node: Node) -> str:
    """The text a node begins with."""
    node = bare(node)
    if isinstance(node, Cat):
        node = bare(node.parts[0])
    return node.text if isinstance(node, Literal) else ""


def pinched(whole: Grammar, found: dict[str, int], blocked: Collection[str] = ()) -> dict[str, int]:
    """Weights without the edges that lead to nowhere but a blocked rule or a choice with nothing left."""
    known = heights(whole, found, blocked)
    for path, choice in choices(whole):
        for edge, child in children(path, choice):
            if found[edge] and height(edge, child, found, known) == math.inf:
                found[edge] = 0
    return found
