"""The files that a page takes from beside it."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from ...nouns import Case

_NAMED = re.compile(
    r"""(?:src|href|poster|data|background)\s*=\s*["']?([^"'\s>]+)|url\(\s*["']?([^"')\s]+)|@import\s+["']([^"']+)""",
    re.IGNORECASE,
)
# What may name others in turn.
_TEXTS = (".css", ".htm", ".html", ".svg", ".xht", ".xhtml", ".js")


def needed(case: Case) -> dict[str, bytes]:
    """By path relative to the page: those that its source and its operations name, and those that these name. Paths
    made by scripts are not seen."""
    found: dict[str, bytes] = {}
    brought = [str(value).encode() for one in case.update for _, value in one.arguments]
    waiting = [("", data) for data in (case.html, *brought)]
    while waiting:
        folder, data = waiting.pop()
        for match in _NAMED.finditer(data.decode("utf-8", "replace")):
            name = unquote(re.split(r"[?#]", next(filter(None, match.groups())))[0])
            path = posixpath.normpath(posixpath.join(folder, name))
            # Addresses are none of ours, nor is what lies outside the page's folder.
            if ":" in path or path.startswith(("/", "..")) or path in found or path in (".", case.name):
                continue
            content = case.beside(path)
            if content is not None:
                found[path] = content
                if path.lower().endswith(_TEXTS):
                    waiting.append((posixpath.dirname(path), content))
    return found
