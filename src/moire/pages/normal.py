"""Pages made so that engines may agree: what depends on a machine's fonts is taken out, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from ..nouns import Case
from .update.script import ended

# Sizes stay: only the family is another. Ahem's letters are squares, the same everywhere unless they are made bold.
_AHEM = (
    "*, *::before, *::after, *::marker, *::placeholder"
    " { font-family: Ahem !important; font-synthesis: none !important }"
)


def in_ahem(case: Case) -> Case:
    """The page with every letter in Ahem."""
    name = case.name.lower()
    space = "2000/svg" if name.endswith(".svg") else "1999/xhtml" if name.endswith((".xht", ".xhtml")) else ""
    style = f'<style xmlns="http://www.w3.org/{space}">' if space else "<style>"
    return replace(case, html=ended(case, f"{style}{_AHEM}</style>"))
