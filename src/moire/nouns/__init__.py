"""The records that every other room speaks in."""

from .build import Build, Engine
from .case import Case, Environment
from .errors import (
    CheckExit,
    Exit,
    LaunchError,
    MoireError,
    UnknownBuild,
    UsageError,
)
from .outcome import Failure, FailureKind, How, Outcome, Shot, Verdict, VerdictKind

__all__ = [
    "Build",
    "Case",
    "CheckExit",
    "Engine",
    "Environment",
    "Exit",
    "Failure",
    "FailureKind",
    "How",
    "LaunchError",
    "MoireError",
    "Outcome",
    "Shot",
    "UnknownBuild",
    "UsageError",
    "Verdict",
    "VerdictKind",
]
