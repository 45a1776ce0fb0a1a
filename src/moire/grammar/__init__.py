"""Weighted grammars: texts out of an EBNF, weights out of texts. Usable on any program under test."""

from . import paths
from .check import check
from .compile import generators, module
from .derive import Source, samples, source
from .ebnf import read, write
from .model import Grammar, GrammarError
from .parse import parse
from .prune import prune
from .reduce import NothingLeft, propagate, reduce, reducer
from .shrink import shrink
from .tree import Tree, counts, flat, merged
from .weights import default, layered

__all__ = [
    "Grammar",
    "GrammarError",
    "NothingLeft",
    "Source",
    "Tree",
    "check",
    "counts",
    "default",
    "flat",
    "generators",
    "layered",
    "merged",
    "module",
    "parse",
    "paths",
    "propagate",
    "prune",
    "read",
    "reduce",
    "reducer",
    "samples",
    "shrink",
    "source",
    "write",
]
