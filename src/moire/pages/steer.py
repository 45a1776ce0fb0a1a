"""Away from what is known: the weights of a page's own features, lowered."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from ..grammar import NothingLeft, reduce
from ..grammar.model import NIL, Literal, Reference, bare, children, choices
from ..grammar.reduce import Pick, Propagation, Reducer
from . import read
from .spec import web
from .spec.snapshot import load

# Rules that say how a page is put together, not what it has in it.
_FRAME = frozenset(
    ["page", "sheet", "body", "text", "words", "style", "rule", "plain-rule", "selectors", "selector", "combinator",
     "compound", "subject", "attribute-test", "nth", "name", "dashed", "some-id", "some-class", "new-id", "size",
     "html-style", "html-meta", "html-title"]
)  # fmt: skip
# Without these, there would be nothing left for a property to be set on.
_ALWAYS = frozenset(["html-div", "html-span", "text"])
# What a difference often needs to be seen and is seldom about: boxes, their place, sizes and colours.
_GROUND = re.compile(
    r"(min-|max-)?(width|height|inline-size|block-size)|display|position|top|right|bottom|left|float|writing-mode"
    r"|direction|overflow(-.*)?|(margin|padding|border|inset)(-.*)?|background(-color)?|color|all"
)
# Boxes and lines that only their defaults tell from others, and what else pages are mostly made of.
PLAIN = frozenset(
    ["h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "dir", "menu", "center", "section", "article", "aside",
     "header", "footer", "main", "b", "i", "u", "s", "em", "strong", "br", "thead", "tbody", "tfoot", "tr", "td", "th"]
)  # fmt: skip
# What every page has, or may as well not have.
USUAL_ATTRIBUTES = frozenset(["id", "class", "style", "charset"])
USUAL_TAGS = PLAIN | {"html", "head", "body", "meta", "title", "style", "div", "span"}
_GROUND_TAGS = PLAIN | {"dl", "hr", "table", "caption", "colgroup", "col", "svg-svg"}
# Rules of values, but for those that have a word for every colour; words that values of every kind have.
_VALUES = re.compile(r"(css|t|f)-(?!(named|system|deprecated)-color)")
_GROUND_WORDS = frozenset(["auto", "none", "normal", "solid", "thin", "medium", "thick"])


@cache
def frame() -> frozenset[str]:
    """Edges that no finding is about."""
    found: set[str] = set()
    for path, choice in choices(web.grammar()):
        rule, *inner = path.split("/")
        whole = rule in _FRAME or (rule.startswith("html-") and not rule.endswith(".attribute"))
        for edge, child in children(path, choice):
            node = bare(child)
            if whole or (isinstance(node, Reference) and node.rule in _ALWAYS) or (rule == "declaration" and inner):
                found.add(edge)
        found.add(f"{path}/opt/{NIL}")
        found.add(f"{path}/star/{NIL}")
    return frozenset(found)


@cache
def features() -> Mapping[str, bool]:
    """Edges that a finding may be about: properties and their words, attributes, elements. Whether it more likely is
    about something else, if there is anything else."""
    found: dict[str, bool] = {}
    for path, choice in choices(web.grammar()):
        rule, *inner = path.split("/")
        for edge, child in children(path, choice):
            node = bare(child)
            text = web.first_text(node)
            if rule == "declaration" and not inner:
                found[edge] = bool(_GROUND.fullmatch(text.removesuffix(":")))
            elif rule.endswith(".attribute"):
                if not inner:
                    found[edge] = False
            elif isinstance(node, Reference) and node.rule.startswith(("html-", "svg-", "mathml-")):
                found[edge] = node.rule.removeprefix("html-") in _GROUND_TAGS
            elif isinstance(node, Literal) and _VALUES.match(rule) and re.fullmatch("[a-z][a-z-]+", text):
                found[edge] = text in _GROUND_WORDS
    return {edge: ground for edge, ground in found.items() if edge not in frame()}


def shorthands(small: Collection[str], large: Collection[str]) -> set[str]:
    """Shorthands in the large page of what is declared in the small one."""
    return {name for name in large if name not in small and {*small} & {*_longhands(name)}}


def _declaring(names: Collection[str]) -> set[str]:
    """The edges of properties."""
    edges = children("declaration", web.grammar().rules["declaration"])
    return {edge for edge, node in edges if web.first_text(node).removesuffix(":") in names}


def _longhands(name: str) -> Iterator[str]:
    """All that a property stands for: the longhands of a shorthand may be shorthands again."""
    for one in load().properties[name].longhands if name in load().properties else ():
        yield one
        yield from _longhands(one)


def away(
    weights: Mapping[str, int], html: bytes, before: bytes = b"", *, seed: int, edges: int, pick: Pick,
    propagation: Propagation, by: Reducer, never: Collection[str] = (),
) -> dict[str, int]:  # fmt: skip
    """Weights by which some features of a page come less often: so many edges that it takes, one after the other. Those
    that say how pages are put together, and those of `never`, are left alone. What the page was reduced from may have
    said by a shorthand what it now says by a longhand: then that shorthand is a feature, too."""
    used = {edge: count for edge, count in read.weights([html]).items() if edge in features() and edge not in never}
    said = shorthands(read.features(html).properties, read.features(before).properties)
    used |= dict.fromkeys(_declaring(said) - {*never}, 1)
    # The rest is lowered only in a page that has nothing else.
    used = {edge: count for edge, count in used.items() if count and not features()[edge]} or used
    left = frame() | frozenset(never)
    made = dict(weights)
    for n in range(edges):
        try:
            lower = reduce(
                web.grammar(), made, used, seed=seed * edges + n, pick=pick, propagation=propagation, by=by, never=left
            )
        except NothingLeft:
            break
        used = {edge: 0 if lower[edge] != made[edge] else count for edge, count in used.items()}
        made = _everywhere(made, lower, by, left)
    return made


@cache
def _places() -> Mapping[str, frozenset[str]]:
    """For each element's rule, the edges that lead to it: one element has many places."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, choice in choices(web.grammar()):
        for edge, child in children(path, choice):
            node = bare(child)
            if isinstance(node, Reference) and edge in features():
                found[node.rule].add(edge)
    return {rule: frozenset(edges) for rule, edges in found.items()}


def _everywhere(
    before: Mapping[str, int], lower: dict[str, int], by: Reducer, never: Collection[str]
) -> dict[str, int]:
    """An element that comes less often in one place comes less often in all of them, as long as each has another."""
    made = dict(lower)
    for edges in _places().values():
        if any(lower[edge] < before[edge] for edge in edges):
            for edge in edges:
                own = children(web.grammar().owners[edge], web.grammar().choices_by_path[web.grammar().owners[edge]])
                less = by(before[edge])
                others = sum(made[other] for other, _ in own if other != edge)
                if edge not in never and made[edge] == before[edge] and (less or others):
                    made[edge] = less
    return made


def words(edge: str) -> str:
    """What an edge stands for, as people call it: `zoom:`, `table`, `frame=`, or its path."""
    owner = web.grammar().owners[edge]
    for path, child in children(owner, web.grammar().choices_by_path[owner]):
        if path == edge:
            node = bare(child)
            named = node.rule.removeprefix("html-") if isinstance(node, Reference) else web.first_text(node)
            return named.rstrip('"') or edge
    return edge
