"""Fonts that the lab brings along: Ahem, whose letters are squares, so that text looks the same everywhere."""

from __future__ import annotations

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


def offered(folder: Path) -> dict[str, str]:
    """The environment of a browser that finds these beside the system's own; its settings are in `folder`."""
    settings = folder / "fonts.conf"
    settings.write_text(_SETTINGS.format(fonts=escape(str(FOLDER))))
    return {"FONTCONFIG_FILE": str(settings)}
