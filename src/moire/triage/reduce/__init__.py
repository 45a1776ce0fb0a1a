"""From a page that fails to the smallest page that fails in the same way."""

from .judges import Asked, Command, Differs, Judge, Never, Signature
from .reduce import Reduced, Settings, Step, reduce

__all__ = [
    "Asked",
    "Command",
    "Differs",
    "Judge",
    "Never",
    "Reduced",
    "Settings",
    "Signature",
    "Step",
    "reduce",
]
