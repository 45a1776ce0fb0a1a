"""The `moire` command."""

from __future__ import annotations

import sys


def main() -> None:
    """The verbs and what they need take a moment to load; Ctrl-C during it is no error of anyone's."""
    try:
        from .root import main as run

        run()
    except KeyboardInterrupt:
        print("moire: Stopped.", file=sys.stderr)
        # As CheckExit.TROUBLE and Exit.INTERRUPTED, which may not have been loaded yet.
        sys.exit(129 if sys.argv[1:2] == ["check"] else 130)


__all__ = ["main"]
