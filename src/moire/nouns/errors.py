"""Every error a user can meet, as one tree.

MoireError              exit 1   one sentence and, where there is one, the remedy
├── UsageError          exit 2   the call itself is wrong
│   └── UnknownBuild    exit 2   no build of that name is installed
├── LaunchError         exit 4   a browser would not start
└── HarnessError        exit 4   a command under test could not be run to its end
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of ordinary verbs."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    BROWSER = 4
    NOT_REPRODUCED = 5
    INTERRUPTED = 130


class CheckExit(IntEnum):
    """Exit codes of `check` verbs, as `git bisect run` reads them.

    A bisector takes 1–127 (but 125) for "bad", so trouble of any other kind must lie above.
    """

    SAME = 0
    DIFFERENT = 1
    CANNOT_TEST = 125
    TROUBLE = 129


class MoireError(Exception):
    """Something the user can act on; `remedy` says how."""

    exit_code: Exit = Exit.ERROR

    def __init__(self, sentence: str, remedy: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".rstrip()


class UsageError(MoireError):
    exit_code = Exit.USAGE


class UnknownBuild(UsageError):
    pass


class LaunchError(MoireError):
    exit_code = Exit.BROWSER


class HarnessError(MoireError):
    exit_code = Exit.BROWSER
