"""From a page that fails to the smallest page that fails in the same way."""

from .command import Asked, Command
from .differs import Differs
from .disagrees import Disagrees
from .judge import Judge, Never, View
from .reduce import Reduced, Settings, Shown, Step, reduce
from .signature import Signature
from .stale import Stale

__all__ = [
    "Asked",
    "Command",
    "Differs",
    "Disagrees",
    "Judge",
    "Never",
    "Reduced",
    "Settings",
    "Shown",
    "Signature",
    "Stale",
    "Step",
    "View",
    "reduce",
]
