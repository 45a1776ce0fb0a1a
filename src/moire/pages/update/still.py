"""What is left out of pages that are to be updated: what moves, what loads, and what remembers.

What loads comes when it comes, and pages with it must be waited for: that takes much longer than to show the others.

An updated page may look different from a fresh one by specification where something remembers how it was: a scroller
keeps what it shows in place, an element its last size, an anchored box its fallback, a snapped scroller its target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...grammar.model import children
from ...nouns import Case
from ..beside import needed
from ..spec import web

_MOVING = re.compile(
    r"(-webkit-)?(animation|transition)|view-transition|(scroll|view)-timeline|timeline-|offset-animation"
)
_REMEMBERING = {
    "scroll anchoring": re.compile(r"overflow-anchor"),
    "last remembered size": re.compile(r"(contain-intrinsic-[a-z-]+|content-visibility)\s*:[^;}]*\bauto\b"),
    "anchor fallback": re.compile(r"position-try"),
    "scroll snapping": re.compile(r"scroll-snap-(type|align)|scroll-initial-target"),
}  # fmt: skip
_DECLARED = re.compile(
    rf"{_MOVING.pattern}|overflow-anchor|contain-intrinsic|content-visibility|position-try|scroll-snap"
)
_LOADING = frozenset(
    ["f-url", "f-src", "f-image-set", "t-url-token", "image", "address", "html-script", "html-iframe", "html-frame",
     "html-frameset", "html-object", "html-embed", "html-base", "html-basefont", "html-link", "html-audio",
     "html-video", "html-portal", "html-marquee", "html-progress", "svg-animate", "svg-animateMotion",
     "svg-animateTransform", "svg-set", "svg-use", "svg-image", "svg-feImage", "svg-script"]
)  # fmt: skip
# Rules that load something or speak of other documents: pages with them are slow to show, and not by what they test.
_RULES = ("@font-face", "@namespace")


def weights(given: Mapping[str, int]) -> dict[str, int]:
    """The same weights for pages in which nothing moves, loads or remembers."""
    return web.remembered("still", given, (_DECLARED.pattern, _RULES, sorted(_LOADING)), lambda: _still(given))


def _still(given: Mapping[str, int]) -> dict[str, int]:
    grammar = web.grammar()
    made = dict(given)
    for edge, child in children("declaration", grammar.rules["declaration"]):
        if _DECLARED.match(web.first_text(child)):
            made[edge] = 0
    for edge, child in children("rule", grammar.rules["rule"]):
        if web.first_text(child).startswith(_RULES):
            made[edge] = 0
    return web.pinched(grammar, made, _LOADING)


def remembers(case: Case) -> str:
    """Which feature of a page, its own style sheets and its operations remembers by specification, if one does."""
    brought = [value for one in case.update for _, value in one.arguments if isinstance(value, str)]
    declared = [f"{one['name']}:{one['value']}" for one in case.update if one.op == "set-style"]
    sheets = [data for path, data in needed(case).items() if path.lower().endswith(".css")]
    pages = [data.decode("utf-8", "replace") for data in (case.html, *sheets)]
    text = "\n".join([*pages, *brought, *declared]).lower()
    return next((name for name, words in _REMEMBERING.items() if words.search(text)), "")
