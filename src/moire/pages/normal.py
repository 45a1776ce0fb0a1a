"""Pages made so that engines may agree.

`in_ahem` takes out what depends on a machine's fonts, and nothing else. `normalised` also takes out what engines do
each in their own way before a page says anything, and lays a colour behind the page that no browser shows by itself.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import resources

from ..nouns import Case

# Sizes stay. Ahem's letters are squares, the same everywhere unless they are made bold or slanted, which WebKitGTK does
# whatever `font-synthesis` says.
# No rule of a page is more particular, but for one with several ids.
_AHEM = (
    "{0}, {0}::before, {0}::after, {0}::marker, {0}::placeholder"
    " {{ font-family: Ahem !important; font-weight: 400 !important; font-style: normal !important }}"
).format(":not(#moire#moire)")
# What may stand before a page's root.
_BEFORE = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s+|<!--.*?-->|<\?.*?\?>|<!doctype[^>\[]*(?:\[.*?\]\s*)?>)*", re.IGNORECASE | re.DOTALL
)
# The start tag of an XML page's root.
_ROOT = re.compile(rb"<[a-z_:](?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)
# Behind that, so much is looked through for the beginning of its head.
_FIRST = 2000
# A sheet in front of the charset would push it out of what browsers look through for it.
_HEAD = re.compile(rb"<head(?:\s[^>]*)?>|<meta charset[^>]*>", re.IGNORECASE)


# What is behind a page of no content, in the order of a decoded picture. A picture without a spot of it, and of one
# colour only, shows no page.
SENTINEL = (0xE9, 0xF0, 0xE6)


@cache
def _reset() -> str:
    """The sheet without its comment: what is said to people need not be shown to browsers with every page."""
    text = (resources.files("moire.pages") / "data" / "reset.css").read_text("utf-8")
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)).strip()


def normalised(case: Case) -> Case:
    """The page over a reset of what engines have by default, every letter in Ahem."""
    # Rules of a layer are weaker than those of none: then the reset has one, too, which is weaker than any later one.
    reset = f"@layer moire {{ {_reset()} }}" if b"@layer" in case.html else _reset()
    return _with(case, f"{reset} {_AHEM}")


def in_ahem(case: Case) -> Case:
    """The page with every letter in Ahem."""
    return _with(case, _AHEM)


def _with(case: Case, sheet: str) -> Case:
    """The sheet comes first: a page may end in the middle of anything."""
    found = _BEFORE.match(case.html)
    at = found.end() if found is not None else 0
    name = case.name.lower()
    if name.endswith((".html", ".htm")):
        places = [match.end() for match in _HEAD.finditer(case.html, at, at + _FIRST)]
        at, space = (places[-1] if places else at), ""
    elif name.endswith((".xht", ".xhtml", ".svg")):
        root = _ROOT.match(case.html, at)
        if root is None or root[0].endswith(b"/>"):
            # There is nothing in it, or it is no page.
            return case
        at, space = root.end(), f' xmlns="http://www.w3.org/{"2000/svg" if name.endswith(".svg") else "1999/xhtml"}"'
    else:
        return case
    # What XML would read as markup.
    text = sheet.replace("&", "&amp;").replace("<", "&lt;") if space else sheet
    return replace(case, html=case.html[:at] + f"<style{space}>{text}</style>".encode() + case.html[at:])
