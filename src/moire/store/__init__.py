"""Runs and what they found: SQLite, and pages and pictures by content beside it. One writer a run."""

from .database import DATABASE
from .records import SEEN_TO, Check, Cut, Finding, FindingState, PageRow, Row, Run, Triage, TriageState, Trial, case_of
from .runs import BISECT, BLOBS, Store

__all__ = [
    "BISECT", "BLOBS", "DATABASE", "SEEN_TO", "Check", "Cut", "Finding", "FindingState", "PageRow", "Row", "Run",
    "Store", "Triage", "TriageState", "Trial", "case_of",
]  # fmt: skip
