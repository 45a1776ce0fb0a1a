"""Downloads that are verified, atomic and resumable.

A file is written beside its final place as `….part`, goes on from there after a break, and is moved
into place only when its checksum is right. Two processes that want one file take turns.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from .. import home
from ..nouns import MoireError

CHUNK_BYTES = 1 << 18
# Breaks in a row, with not one byte between them, after which the network is given up on.
BREAKS = 5
STALL_SECONDS = 60.0

Progress = Callable[[str, int, int | None], None]


def silent(what: str, done: int, total: int | None) -> None:
    """Nobody is watching."""


@dataclass(frozen=True, slots=True)
class Remote:
    """One file elsewhere. `digest` is `algorithm:hex`; empty where the source publishes none, in
    which case the server's own checksum header (`x-goog-hash`) or else the length must do."""

    url: str
    name: str
    digest: str = ""
    size: int | None = None


def sri(integrity: str) -> str:
    """npm's integrity string as `algorithm:hex`."""
    algorithm, _, value = integrity.split()[0].partition("-")
    return f"{algorithm}:{base64.b64decode(value).hex()}"


_fetched: ContextVar[list[Path] | None] = ContextVar("fetched", default=None)


@contextmanager
def downloads_of_one_install() -> Iterator[None]:
    """What is fetched inside is dropped at a good end; a break leaves it for the next try."""
    mine: list[Path] = []
    token = _fetched.set(mine)
    try:
        yield
    finally:
        _fetched.reset(token)
    for file in mine:
        with home.lock(f"download-{file.name}"):
            file.unlink(missing_ok=True)


def fetch(remote: Remote, progress: Progress = silent) -> Path:
    """The file, from the cache or from its place, and never a wrong one."""
    if (mine := _fetched.get()) is not None:
        mine.append(home.folder("downloads") / remote.name)
    target = home.folder("downloads") / remote.name
    with home.lock(f"download-{remote.name}"):
        if target.exists() and _right(target, remote.digest):
            os.utime(target)
            return target
        part = target.with_name(target.name + ".part")
        seen = _receive(remote, part, progress)
        digest = remote.digest or seen
        if not _right(part, digest):
            part.unlink(missing_ok=True)
            raise MoireError(
                f"{remote.name} arrived damaged (its checksum is not {digest or 'known'}).", "Run the command again."
            )
        part.replace(target)
        return target


def _receive(remote: Remote, part: Path, progress: Progress) -> str:
    """Fill `part`; the digest that the server names, if any."""
    breaks = 0
    furthest = 0
    named = ""
    while True:
        have = part.stat().st_size if part.exists() else 0
        if remote.size is not None and have == remote.size:
            return named
        try:
            with _open(remote.url, have) as answer:
                if answer.status != 206:
                    have = 0
                named = _server_digest(answer.headers.get_all("x-goog-hash") or [])
                length = answer.headers.get("Content-Length")
                total = have + int(length) if length else remote.size
                with part.open("ab" if have else "wb") as file:
                    while chunk := answer.read(CHUNK_BYTES):
                        file.write(chunk)
                        have += len(chunk)
                        if have > furthest:
                            furthest, breaks = have, 0
                        progress(remote.name, have, total)
                if total is None or have >= total:
                    return named
                breaks += 1
        except urllib.error.HTTPError as error:
            if error.code == 416:  # the part is longer than the file: it is of another file
                part.unlink(missing_ok=True)
                breaks += 1
            elif error.code < 500:
                raise MoireError(f"{remote.url} cannot be fetched: {error.code} {error.reason}.") from None
            else:
                breaks += 1
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
            breaks += 1
            if breaks >= BREAKS:
                raise MoireError(
                    f"{remote.name} cannot be fetched: {getattr(error, 'reason', error)}.",
                    "Check the network and run the command again: it goes on where it stopped.",
                ) from None
        except OSError as error:
            raise MoireError(f"{part} cannot be written: {error.strerror}.", "Free some disk space.") from None
        if breaks >= BREAKS:
            raise MoireError(
                f"{remote.name} broke off {BREAKS} times.", "Run the command again: it goes on where it stopped."
            )


def _open(url: str, start: int) -> http.client.HTTPResponse:
    if not url.startswith(("http://", "https://", "file://")):
        raise MoireError(f"{url!r} is no address.", "Write it with http:// or https:// in front.")
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=STALL_SECONDS)
    return answer


def read(url: str, what: str) -> bytes:
    """A small file, whole."""
    try:
        with _open(url, 0) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise MoireError(f"{what} cannot be read from {url}: {error.code} {error.reason}.") from None
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise MoireError(f"{what} cannot be read from {url}: {reason}.", "Check the network or the base URL.") from None


def _server_digest(headers: list[str]) -> str:
    for header in headers:
        for part in header.split(","):
            algorithm, _, value = part.strip().partition("=")
            if algorithm == "md5":
                return f"md5:{base64.b64decode(value).hex()}"
    return ""


def _right(path: Path, digest: str) -> bool:
    """True also when there is nothing to check by: the length was checked on the way."""
    if not digest:
        return True
    algorithm, _, wanted = digest.partition(":")
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest() == wanted.lower()
