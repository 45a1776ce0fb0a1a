"""A small seeded source of pages: static HTML and CSS, no script, no resources.

It stands in for the grammar-made pages until those come, and stays as the lab's own test traffic:
the same seed and size give the same bytes for good.
"""

from __future__ import annotations

import random

from ..nouns import Case, Environment

_VALUES: dict[str, tuple[str, ...]] = {
    "width": ("#px", "#%", "auto", "max-content"),
    "height": ("#px", "auto"),
    "margin": ("#px", "0 auto", "-#px 0 0 #px"),
    "padding": ("#px", "#px 0"),
    "border": ("1px solid red", "#px dashed blue", "thick double green"),
    "border-radius": ("#px", "50%"),
    "outline": ("2px solid orange", "#px dotted teal"),
    "float": ("left", "right", "none"),
    "clear": ("left", "both"),
    "position": ("relative", "absolute", "static", "sticky"),
    "top": ("#px", "auto"),
    "left": ("#px", "#%"),
    "display": ("block", "inline", "inline-block", "flex", "grid", "table", "inline-flex", "list-item", "contents"),
    "flex-direction": ("row", "column", "row-reverse"),
    "justify-content": ("center", "space-between", "end"),
    "align-items": ("center", "baseline", "stretch"),
    "grid-template-columns": ("1fr 2fr", "#px auto", "repeat(3, 1fr)"),
    "gap": ("#px",),
    "overflow": ("hidden", "visible", "clip"),
    "background": ("red", "lime", "linear-gradient(red, blue)", "#123456", "radial-gradient(white, navy)"),
    "color": ("red", "green", "#abc", "rgb(10 20 200 / 60%)"),
    "opacity": ("0.5", "0.9"),
    "transform": ("rotate(#deg)", "scale(1.2)", "translate(#px, 5px)", "skewX(#deg)"),
    "font-size": ("#px", "larger"),
    "font-weight": ("bold", "300"),
    "line-height": ("1", "2", "#px"),
    "letter-spacing": ("2px", "-1px"),
    "text-align": ("center", "right", "justify"),
    "text-decoration": ("underline", "line-through wavy red"),
    "text-indent": ("#px",),
    "text-shadow": ("1px 1px 2px red",),
    "vertical-align": ("top", "middle", "-#px"),
    "white-space": ("pre", "nowrap", "pre-wrap"),
    "writing-mode": ("vertical-rl", "horizontal-tb"),
    "direction": ("rtl", "ltr"),
    "box-shadow": ("2px 2px 3px red", "inset 0 0 #px blue"),
    "box-sizing": ("border-box",),
    "z-index": ("1", "-1", "10"),
    "clip-path": ("circle(#px)", "inset(#px)"),
    "list-style": ("square", "lower-roman inside"),
    "object-fit": ("cover", "contain"),
    "visibility": ("hidden", "visible"),
    "aspect-ratio": ("2 / 1", "1"),
    "mix-blend-mode": ("multiply", "difference"),
}
_INLINE = ("span", "b", "i", "a", "code", "sub", "sup", "mark", "q")
_BLOCK = ("div", "p", "ul", "ol", "section", "article", "h1", "h3", "pre", "blockquote", "fieldset", "details", "dl")
_INSIDE = {"ul": "li", "ol": "li", "dl": "dd", "details": "summary", "fieldset": "legend"}
_WORDS = [
    "moire",
    "overlays",
    "two",
    "renderings",
    "of",
    "one",
    "page",
    "and",
    "shows",
    "where",
    "the",
    "lines",
    "cross",
]
# Deeper than this, layout time grows faster than what there is to find.
_DEEPEST = 7


class _Writer:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._pick = self._random.choice
        self.ids = 0

    def declarations(self, count: int) -> str:
        names = self._random.sample(list(_VALUES), count)
        return "; ".join(f"{name}: {self._value(name)}" for name in names)

    def _value(self, name: str) -> str:
        value = self._pick(_VALUES[name])
        # The # of a colour is followed by a hex digit, that of a number by its unit.
        while (at := _number_mark(value)) >= 0:
            value = value[:at] + str(self._random.randint(1, 99)) + value[at + 1 :]
        return value

    def rule(self) -> str:
        ident = self._random.randint(1, 40)
        selector = self._pick(
            (f"#e{ident}", f".c{ident % 9}", self._pick(_BLOCK), self._pick(_INLINE), 
             f"div > :nth-child({ident % 5 + 1})", f".c{ident % 9}::before", "p + *", f"#e{ident} ~ div")
        )  # fmt: skip
        extra = "content: 'x'; " if "::" in selector else ""
        return f"{selector} {{ {extra}{self.declarations(self._random.randint(1, 4))} }}\n"

    def element(self, depth: int) -> str:
        self.ids += 1
        tag = self._pick(_BLOCK if depth < _DEEPEST and self._random.random() < 0.6 else _INLINE)
        style = f' style="{self.declarations(self._random.randint(1, 2))}"' if self._random.random() < 0.4 else ""
        head = f'<{tag} id="e{self.ids}" class="c{self._random.randint(1, 8)}"{style}>'
        children = self._random.randint(0, 3) if depth < _DEEPEST else 0
        inner = "".join(self.element(depth + 1) for _ in range(children))
        if tag in _INSIDE:
            inner = f"<{_INSIDE[tag]}>{self.text()}</{_INSIDE[tag]}>{inner}"
        return f"{head}{self.text()}{inner}</{tag}>\n"

    def text(self) -> str:
        return " ".join(self._pick(_WORDS) for _ in range(self._random.randint(0, 6)))


def _number_mark(value: str) -> int:
    at = value.find("#")
    while at >= 0 and value[at + 1 : at + 2] in set("0123456789abc"):
        at = value.find("#", at + 1)
    return at


def page(seed: int, size: int = 2000, environment: Environment | None = None) -> Case:
    """A page of about `size` bytes, four parts style to six parts elements."""
    writer = _Writer(seed)
    style, body = "", ""
    while len(style) < size * 0.4:
        style += writer.rule()
    while len(style) + len(body) < size:
        body += writer.element(0)
    html = f"<!DOCTYPE html>\n<meta charset=utf-8>\n<style>\n{style}</style>\n<body>\n{body}"
    return Case(html.encode(), f"page-{seed}.html", environment=environment or Environment(), seed=seed)
