"""What a page is inside the browser, as the browser itself tells it."""

from .dump import take

__all__ = ["take"]
