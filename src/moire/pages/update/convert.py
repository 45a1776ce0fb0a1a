"""Pages that change themselves by script, as WPT's dynamic reftests do, as a page and an operation."""

from __future__ import annotations

import html
import posixpath
from dataclasses import replace

from ...nouns import Case, operation
from ..source import Edit, Node, applied, elements, parse

_CODE = frozenset(["", "text/javascript", "application/javascript", "text/ecmascript"])


def converted(case: Case) -> Case:
    """The page without its scripts, and all their code as one operation; the page itself, if it has no code.

    Scripts that a page loads from elsewhere than its own folder, and modules, stay where they are.
    """
    text = case.html.decode("utf-8", "replace")
    codes: list[str] = []
    edits: list[Edit] = []
    for node in elements(parse(text)):
        if node.name == "script":
            code = _code(case, text, node)
            if code is not None:
                codes.append(code)
                edits.append(Edit(node.start, node.end))
        elif node.name in ("body", "svg") and (handler := node.attribute("onload")) and handler.value:
            codes.append(f"addEventListener('load', () => {{ {html.unescape(text[slice(*handler.value)])} }});")
            edits.append(Edit(handler.start, handler.end))
    if not codes:
        return case
    update = (operation("script", code="\n;".join(codes)),)
    return replace(case, html=applied(text, edits).encode(), update=update)


def _code(case: Case, text: str, node: Node) -> str | None:
    """A script's code; None if it is none, or cannot be had."""
    values = {a.name: html.unescape(text[slice(*a.value)]) if a.value else "" for a in node.attributes}
    if values.get("type", "").strip().lower() not in _CODE:
        return None
    source = values.get("src", values.get("href", values.get("xlink:href")))
    if source is None:
        return text[node.head : node.tail].replace("<![CDATA[", "").replace("]]>", "")
    inside = source.lstrip("/") if source.startswith("/") else posixpath.join(posixpath.dirname(case.name), source)
    found = case.beside(posixpath.normpath(inside))
    return None if found is None else found.decode("utf-8", "replace")
