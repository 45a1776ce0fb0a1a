"""The public archives, for machines with the internet: each takes a base URL of the same layout."""

from __future__ import annotations

import json
import lzma
import platform
import re
import stat
import tarfile
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from ...nouns import MoireError
from ..download import Progress, Remote, fetch, read
from .base import Offer, matches

CHROME_FOR_TESTING = "https://googlechromelabs.github.io/chrome-for-testing"
SNAPSHOTS = "https://commondatastorage.googleapis.com/chromium-browser-snapshots"
MOZILLA = "https://archive.mozilla.org/pub/firefox/releases"


class ChromeForTesting:
    """Release builds of Chrome since 113, by version."""

    name = "chrome-for-testing"

    def __init__(self, base: str = CHROME_FOR_TESTING) -> None:
        self._base = base.rstrip("/")

    def offers(self, engine: str, version: str) -> Iterator[Offer]:
        if engine != "chromium" or version.startswith("r"):
            return
        text = read(f"{self._base}/known-good-versions-with-downloads.json", "The list of Chrome for Testing")
        try:
            for known in json.loads(text)["versions"]:
                # The headless shell is the smaller one and the one that draws the same everywhere.
                for product in ("chrome-headless-shell", "chrome"):
                    urls = [d["url"] for d in known["downloads"].get(product, []) if d["platform"] == "linux64"]
                    if urls and matches(known["version"], version):
                        yield Offer("chromium", known["version"], self.name, urls[0])
                        break
        except (ValueError, KeyError, TypeError):
            raise MoireError(f"{self._base} holds no list of Chrome for Testing.", "Check the base URL.") from None

    def install(self, offer: Offer, folder: Path, progress: Progress) -> Path:
        file = fetch(Remote(offer.detail, f"cft-{offer.version}.zip"), progress)
        unzip(file, folder)
        return program_in(folder, ("chrome-headless-shell", "chrome"))


class Snapshots:
    """A build for nearly every commit position: `chromium@r1234567`."""

    name = "snapshots"
    _platform = "Linux_x64"

    def __init__(self, base: str = SNAPSHOTS) -> None:
        self._base = base.rstrip("/")

    def offers(self, engine: str, version: str) -> Iterator[Offer]:
        if engine != "chromium" or not re.fullmatch(r"r\d*", version):
            return
        if version != "r":
            prefix = f"{self._platform}/{version[1:]}/"
            if any(key.endswith("chrome-linux.zip") for key in self._list(prefix)[0]):
                yield Offer("chromium", version, self.name, f"{self._base}/{prefix}chrome-linux.zip")
            return
        for position in self.positions():
            detail = f"{self._base}/{self._platform}/{position}/chrome-linux.zip"
            yield Offer("chromium", f"r{position}", self.name, detail)

    def positions(self) -> Iterator[int]:
        """Commit positions that have a build, in the archive's own (textual) order."""
        marker = ""
        while True:
            _, prefixes, marker = self._list(f"{self._platform}/", "/", marker)
            for prefix in prefixes:
                number = prefix.rstrip("/").rpartition("/")[2]
                if number.isdigit():
                    yield int(number)
            if not marker:
                return

    def _list(self, prefix: str, delimiter: str = "", marker: str = "") -> tuple[list[str], list[str], str]:
        url = f"{self._base}/?prefix={quote(prefix)}&delimiter={quote(delimiter)}&marker={quote(marker)}"
        try:
            root = ET.fromstring(read(url, "The snapshot archive"))
        except ET.ParseError:
            raise MoireError(f"{self._base} is no snapshot archive.", "Check the base URL.") from None
        space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
        keys = [e.findtext(f"{space}Key") or "" for e in root.iter(f"{space}Contents")]
        prefixes = [e.findtext(f"{space}Prefix") or "" for e in root.iter(f"{space}CommonPrefixes")]
        return keys, prefixes, root.findtext(f"{space}NextMarker") or ""

    def install(self, offer: Offer, folder: Path, progress: Progress) -> Path:
        file = fetch(Remote(offer.detail, f"snapshot-{offer.version}.zip"), progress)
        unzip(file, folder)
        return program_in(folder, ("chrome", "chrome-headless-shell", "headless_shell"))


class Mozilla:
    """Mozilla's releases of Firefox, by version."""

    name = "mozilla"

    def __init__(self, base: str = MOZILLA) -> None:
        self._base = base.rstrip("/")

    @property
    def _platform(self) -> str:
        return "linux-aarch64" if platform.machine() == "aarch64" else "linux-x86_64"

    def offers(self, engine: str, version: str) -> Iterator[Offer]:
        if engine != "firefox":
            return
        index = read(f"{self._base}/", "Mozilla's release archive").decode("utf-8", "replace")
        for found in dict.fromkeys(re.findall(r'href="[^"]*?(\d+\.[\w.]+)/"', index)):
            if matches(re.sub(r"esr$", "", found), version):
                yield Offer("firefox", re.sub(r"esr$", "", found), self.name, found)

    def install(self, offer: Offer, folder: Path, progress: Progress) -> Path:
        release = f"{self._base}/{offer.detail}"
        sums = read(f"{release}/SHA256SUMS", f"The checksums of Firefox {offer.detail}").decode("utf-8", "replace")
        # tar.bz2 until 134, tar.xz since.
        wanted = rf"^([0-9a-f]{{64}})\s+({self._platform}/en-US/firefox-{re.escape(offer.detail)}\.tar\.\w+)$"
        match = re.search(wanted, sums, re.MULTILINE)
        if match is None:
            raise MoireError(
                f"Firefox {offer.detail} was not released for {self._platform}.", "Choose another version."
            )
        name = match[2].rpartition("/")[2]
        untar(fetch(Remote(f"{release}/{match[2]}", name, f"sha256:{match[1]}"), progress), folder)
        return program_in(folder, ("firefox",))


def unzip(file: Path, folder: Path) -> None:
    """As `unzip` does: with modes and links, and nothing outside the folder."""
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                out = Path(archive.extract(info, folder))
                mode = info.external_attr >> 16
                if stat.S_ISLNK(mode):
                    to = out.read_text()
                    out.unlink()
                    if (out.parent / to).resolve().is_relative_to(folder.resolve()):
                        out.symlink_to(to)
                elif mode and not out.is_dir():
                    out.chmod(stat.S_IMODE(mode) | 0o600)
    except (zipfile.BadZipFile, zlib.error, EOFError):
        file.unlink(missing_ok=True)
        raise MoireError(f"{file.name} is no zip file.", "Run the command again, or check the base URL.") from None


def untar(file: Path, folder: Path) -> None:
    try:
        with tarfile.open(file) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", tarfile.TarFile.extraction_filter)
            archive.extractall(folder)
    except (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError):
        file.unlink(missing_ok=True)
        raise MoireError(f"{file.name} is no tar file.", "Run the command again, or check the base URL.") from None


def program_in(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        for found in sorted(folder.rglob(name)):
            if found.is_file():
                return found
    raise MoireError(f"The archive holds none of {', '.join(names)}.", "Check the base URL.")
