"""Weighted grammars: texts out of an EBNF, weights out of texts. Usable on any program under test."""

from .derive import Source, source
from .ebnf import read, write
from .model import Grammar, GrammarError
from .parse import parse
from .reduce import NothingLeft, propagate, reduce, reducer
from .tree import Tree, counts, flat
from .weights import default, layered

__all__ = [
    "Grammar",
    "GrammarError",
    "NothingLeft",
    "Source",
    "Tree",
    "counts",
    "default",
    "flat",
    "layered",
    "parse",
    "propagate",
    "read",
    "reduce",
    "reducer",
    "source",
    "write",
]
