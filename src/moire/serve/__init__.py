"""What pages are served from, and what keeps them from going anywhere else."""

from .blocker import Blocker
from .pages import PageServer

__all__ = ["Blocker", "PageServer"]
