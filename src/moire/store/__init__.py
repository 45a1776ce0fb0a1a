"""Runs and what they found: SQLite, and pages and pictures by content beside it. One writer a run."""

from .runs import Finding, PageRow, Run, Store

__all__ = ["Finding", "PageRow", "Run", "Store"]
