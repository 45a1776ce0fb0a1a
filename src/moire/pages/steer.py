"""Away from what is known: the weights of a page's own features, lowered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from ..grammar import NothingLeft, reduce
from ..grammar.model import NIL, Reference, bare, children, choices
from ..grammar.reduce import Pick, Propagation, Reducer
from . import read
from .spec import web

# Rules that say how a page is put together, not what it has in it.
_FRAME = frozenset(
    ["page", "sheet", "body", "text", "words", "style", "rule", "plain-rule", "selectors", "selector", "combinator",
     "compound", "subject", "attribute-test", "nth", "name", "dashed", "some-id", "some-class", "new-id", "size",
     "html-style", "html-meta", "html-title"]
)  # fmt: skip
# Without these, there would be nothing left for a property to be set on.
_ALWAYS = frozenset(["html-div", "html-span", "text"])


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


def away(
    weights: Mapping[str, int], html: bytes, *, seed: int, edges: int, pick: Pick, propagation: Propagation,
    by: Reducer, never: Collection[str] = (),
) -> dict[str, int]:  # fmt: skip
    """Weights by which some features of a page come less often: so many edges that it takes, one after the other.
    Those that say how pages are put together, and those of `never`, are left alone."""
    used = read.weights([html])
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
        made = lower
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
