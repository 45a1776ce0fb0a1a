"""Pages made so that engines may agree: what depends on a machine's fonts is taken out, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from ..nouns import Case
from .update.script import ended

# Sizes stay: only the family is another. Ahem's letters are squares, the same everywhere unless they are made bold.
_AHEM = "*, *::before, *::after, *::marker, *::placeholder { font-family: Ahem !important; font-synthesis: none !important }"


def in_ahem(case: Case) -> Case:
    """The page with every letter in Ahem."""
    style = (
        '<style xmlns="http://www.w3.org/1999/xhtml">' if case.name.lower().endswith((".xht", ".xhtml")) else "<style>"
    )
    if case.name.lower().endswith(".svg"):
        style = '<style xmlns="http://www.w3.org/2000/svg">'
    return replace(case, html=ended(case, f"{style}{_AHEM}</style>"))
