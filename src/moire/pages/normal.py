"""Pages made so that engines may agree: what depends on a machine's fonts is taken out, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

from ..nouns import Case
from .update.script import ended

# Sizes stay: only the family is another. Ahem's letters are squares, the same everywhere unless they are made bold.
# No rule of a page is more particular, but for one with several ids.
_AHEM = (
    "{0}, {0}::before, {0}::after, {0}::marker, {0}::placeholder"
    " {{ font-family: Ahem !important; font-synthesis: none !important }}"
).format(r":not(#\39 #\39 )")
# Of a page, so much is looked through for the beginning of its head.
_FIRST = 2000
_HEAD = re.compile(rb"<head(?:\s[^>]*)?>|<!doctype[^>]*>", re.IGNORECASE)


def in_ahem(case: Case) -> Case:
    """The page with every letter in Ahem. The sheet comes first: a page may end in the middle of anything."""
    if not case.name.lower().endswith((".html", ".htm", ".xht", ".xhtml", ".svg")):
        return case
    if case.name.lower().endswith((".xht", ".xhtml", ".svg")):
        space = "2000/svg" if case.name.lower().endswith(".svg") else "1999/xhtml"
        return replace(case, html=ended(case, f'<style xmlns="http://www.w3.org/{space}">{_AHEM}</style>'))
    places = [match.end() for match in _HEAD.finditer(case.html[:_FIRST])]
    at = places[-1] if places else 0
    return replace(case, html=case.html[:at] + f"<style>{_AHEM}</style>".encode() + case.html[at:])
