"""Bisection: at which step of a history of builds a page began to look different."""

from .bisect import Bisected, Unsettled, Visits, bisect
from .memory import Memory
from .view import Pictures, Said, Updates, View

__all__ = ["Bisected", "Memory", "Pictures", "Said", "Unsettled", "Updates", "View", "Visits", "bisect"]
