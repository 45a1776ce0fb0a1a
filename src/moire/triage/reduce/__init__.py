"""From a page that fails to the smallest page that fails in the same way."""

from .command import Asked, Command
from .differs import Differs
from .disagrees import Disagrees
from .judge import Judge, Never, View
from .reduce import Reduced, Settings, Step, Witness, reduce
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
    "Signature",
    "Stale",
    "Step",
    "View",
    "Witness",
    "reduce",
]
