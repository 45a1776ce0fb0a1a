"""Runs and what they found: SQLite, and pages and pictures by content beside it. One writer a run."""

from .runs import BLOBS, Check, Cut, Finding, FindingState, PageRow, Row, Run, Store, Triage, TriageState, case_of

__all__ = [
    "BLOBS", "Check", "Cut", "Finding", "FindingState", "PageRow", "Row", "Run", "Store", "Triage", "TriageState",
    "case_of",
]  # fmt: skip
