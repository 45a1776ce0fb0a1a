"""The files that a page takes from beside it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from ..nouns import Case

# What a page loads by itself, as opposed to what a reader may go to.
_LOADED = {
    "link": ("href",), "image": ("href", "xlink:href"), "use": ("href", "xlink:href"), "object": ("data",),
    "feimage": ("href", "xlink:href"),
}  # fmt: skip
_ANYWHERE = ("src", "poster", "background")
_STYLED = re.compile(
    r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]+))|(?:@import|image-set\()\s*(?:"([^"]+)"|'([^']+)')""", re.IGNORECASE
)
_MARKUP = (".htm", ".html", ".svg", ".xht", ".xhtml")
# More than a page can need is a site, and not the page's.
MOST_FILES, MOST_BYTES = 200, 32 * 1024 * 1024


def needed(case: Case) -> dict[str, bytes]:
    """By path relative to the page: what its source and its operations have a browser load from its own folder, and
    what that has it load in turn. Paths made by scripts are not seen."""
    found: dict[str, bytes] = {}
    if case.root is None and not case.resources:
        return found
    room = MOST_BYTES
    brought = [str(value) for one in case.update for _, value in one.arguments if isinstance(value, str)]
    waiting = [("", name) for text in (case.html.decode("utf-8", "replace"), *brought) for name in _markup(text)]
    while waiting and len(found) < MOST_FILES:
        folder, name = waiting.pop(0)
        # A path from the root is one from the page's own folder: so it is served.
        path = posixpath.normpath(posixpath.join(folder, unquote(re.split(r"[?#]", name)[0]).lstrip("/")))
        if ":" in name or name.startswith("//") or path.startswith("..") or path in (".", case.name) or path in found:
            continue
        content = case.beside(path)
        if content is None or len(content) > room:
            continue
        found[path] = content
        room -= len(content)
        kind = path.lower()
        inner = _markup if kind.endswith(_MARKUP) else _styles if kind.endswith(".css") else None
        if inner is not None:
            here = posixpath.dirname(path)
            waiting += [(here, other) for other in inner(content.decode("utf-8", "replace"))]
    return found


def _markup(text: str) -> Iterator[str]:
    root = LexborHTMLParser(text).root
    base = ""
    for node in root.traverse(include_text=False) if root is not None else ():
        values = {name: value or "" for name, value in node.attributes.items()}
        if node.tag == "base" and not base:
            base = posixpath.dirname(f"{values.get('href', '')}.")
        named = [values[name] for name in (*_ANYWHERE, *_LOADED.get(node.tag or "", ())) if values.get(name)]
        named += [one.split()[0] for one in values.get("srcset", "").split(",") if one.split()]
        named += _styles(values.get("style", ""))
        if node.tag == "style":
            named += _styles(node.text() or "")
        yield from (posixpath.join(base, name.strip()) if base else name.strip() for name in named)


def _styles(text: str) -> Iterator[str]:
    for match in _STYLED.finditer(text):
        yield next((group for group in match.groups() if group), "")
