"""Runs and what they found: SQLite, and pages and pictures by content beside it. One writer a run."""

from .runs import BLOBS, Finding, FindingState, PageRow, Run, Store, case_of

__all__ = ["BLOBS", "Finding", "FindingState", "PageRow", "Run", "Store", "case_of"]
