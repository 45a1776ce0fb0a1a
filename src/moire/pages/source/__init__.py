"""A page's source as spans of its text, so that a part can be cut out and all else stays as it was written."""

from .edits import Edit, applied
from .html import Attribute, Node, broken, elements, parse
from .sheet import Declaration, Rule, declarations, rules

__all__ = [
    "Attribute",
    "Declaration",
    "Edit",
    "Node",
    "Rule",
    "applied",
    "broken",
    "declarations",
    "elements",
    "parse",
    "rules",
]
