"""Fonts that the lab brings along: Ahem, whose letters are squares, so that text looks the same everywhere."""

from __future__ import annotations

import hashlib
import subprocess
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from xml.sax.saxutils import escape

_SETTINGS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir>{fonts}</dir>
</fontconfig>
"""

FOLDER = Path(str(resources.files("moire.browsers") / "data" / "fonts"))


@cache
def digest() -> str:
    """Of all fonts that are installed: pages look otherwise with others. Empty where nobody can tell."""
    listing = ["fc-list", "--format", "%{family}|%{style}|%{fontversion}\n"]
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(listing, capture_output=True, check=True, timeout=20).stdout
        return hashlib.sha256(b"\n".join(sorted({*said.splitlines()}))).hexdigest()[:16]
    return ""


def offered(folder: Path) -> dict[str, str]:
    """The environment of a browser that finds these beside the system's own; its settings are in `folder`."""
    settings = folder / "fonts.conf"
    settings.write_text(_SETTINGS.format(fonts=escape(str(FOLDER))))
    return {"FONTCONFIG_FILE": str(settings)}
