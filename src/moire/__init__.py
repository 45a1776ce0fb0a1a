"""Moire finds rendering bugs by overlaying renderings that should be identical."""

__version__ = "0.1.0"
