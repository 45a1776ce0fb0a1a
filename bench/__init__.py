"""Measurements behind every figure that a document states: `make bench`, or `python -m bench NAME…`."""
