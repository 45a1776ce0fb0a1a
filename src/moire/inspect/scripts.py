"""The questions of this room, as expressions."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def script(name: str, given: str = "") -> str:
    """One of the files beside this one, with what all of them ask by, and what is `given` to it."""
    own, shared = (files(__package__).joinpath(file).read_text("utf-8").strip() for file in (name, "ask.js"))
    return f"(() => {{\n{shared}\n{given}\nconst found =\n{own};\nreturn found;\n}})()"
