"""What a git repository says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from ..nouns import MoireError, UsageError


def git(folder: Path, *words: str) -> str:
    program = shutil.which("git")
    if program is None:
        raise MoireError("git is not installed.", "Run `apt-get install git`.")
    done = subprocess.run(
        [program, "-C", str(folder), *words], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise UsageError(f"git cannot tell: {said[-1] if said else 'no answer'}.", "Check the folder and the commits.")
    return done.stdout.strip()
