"""The records that every other room speaks in."""

from .build import Build, Engine
from .case import Case, Environment
from .dump import Box, Dump, DumpNode, NodeKind
from .errors import (
    CheckExit,
    Exit,
    HarnessError,
    LaunchError,
    MoireError,
    UnknownBuild,
    UsageError,
)
from .outcome import Failure, FailureKind, How, Outcome, Shot, Verdict, VerdictKind
from .update import Operation, Update, operation

__all__ = [
    "Box",
    "Build",
    "Case",
    "CheckExit",
    "Dump",
    "DumpNode",
    "Engine",
    "Environment",
    "Exit",
    "Failure",
    "FailureKind",
    "HarnessError",
    "How",
    "LaunchError",
    "MoireError",
    "NodeKind",
    "Operation",
    "Outcome",
    "Shot",
    "UnknownBuild",
    "Update",
    "UsageError",
    "Verdict",
    "VerdictKind",
    "operation",
]
