"""Debian's packages, unpacked into folders of their own so that several versions live side by side."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from ...nouns import Engine, MoireError
from ..download import Progress, Remote, fetch
from .base import Offer, matches

# Package by engine, the packages it cannot run without (same version), and its program.
_PACKAGES: dict[Engine, tuple[str, tuple[str, ...], str]] = {
    "chromium": ("chromium-headless-shell", ("chromium-common",), "usr/lib/chromium/chromium-headless-shell"),
    "firefox": ("firefox-esr", (), "usr/lib/firefox-esr/firefox-esr"),
}
_URI = re.compile(r"'(?P<url>[^']+)' (?P<file>\S+) (?P<size>\d+) (?P<digest>\S*)")


class Debian:
    name = "debian"

    def offers(self, engine: str, version: str) -> Iterator[Offer]:
        if shutil.which("apt-cache") is None:
            return
        for kind, (package, _, _) in _PACKAGES.items():
            if engine != kind:
                continue
            for line in _run(["apt-cache", "madison", package]).splitlines():
                detail = line.split("|")[1].strip() if line.count("|") >= 2 else ""
                upstream = re.split(r"esr|-", detail)[0]
                if detail and matches(upstream, version):
                    yield Offer(kind, upstream, self.name, detail)

    def install(self, offer: Offer, folder: Path, progress: Progress) -> Path:
        package, needs, program = _PACKAGES[offer.engine]
        wanted = [f"{name}={offer.detail}" for name in (package, *needs)]
        printed = _run(["apt-get", "--print-uris", "download", *wanted])
        files = [
            fetch(Remote(m["url"], unquote(m["file"]), _digest(m["digest"]), int(m["size"])), progress)
            for m in _URI.finditer(printed)
        ]
        if len(files) != len(wanted):
            raise MoireError(f"apt no longer offers {offer.detail} of {package}.", "Run `apt-get update`.")
        for file in files:
            _run(["dpkg-deb", "--extract", str(file), str(folder)])
        return folder / program


def _digest(words: str) -> str:
    algorithm, _, value = words.partition(":")
    return f"{algorithm.lower()}:{value}" if value else ""


def _run(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=600).stdout
    except FileNotFoundError:
        raise MoireError(f"{argv[0]} is not on this machine.", "Debian builds need a Debian system.") from None
    except subprocess.TimeoutExpired:
        raise MoireError(f"{argv[0]} gave no answer within ten minutes.") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines()
        raise MoireError(
            f"{argv[0]} failed: {said[-1] if said else error.returncode}.", "Run `apt-get update`."
        ) from None
