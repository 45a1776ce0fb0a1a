"""Where Moire keeps what it need not fetch or work out twice, and how it stays out of its own way there."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from .nouns import MoireError

T = TypeVar("T")


def home() -> Path:
    """`MOIRE_HOME`, else the user's cache folder."""
    if named := os.environ.get("MOIRE_HOME"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "moire"


def folder(name: str) -> Path:
    path = home() / name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MoireError(
            f"{path} cannot be made: {error.strerror}.", "Point MOIRE_HOME to a folder you may write to."
        ) from None
    return path


def lock(name: str, *, shared: bool = False, wait: bool = True) -> contextlib.AbstractContextManager[bool]:
    """Hold a named lock between processes; False when it is taken and `wait` is off."""
    return locked(folder("locks") / f"{name}.lock", shared=shared, wait=wait)


@contextlib.contextmanager
def locked(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[bool]:
    """The same by a file. A lock ends with the process that holds it, so nothing is ever left locked."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)
        held = True
    except BlockingIOError:
        held = False
    try:
        yield held
    finally:
        os.close(handle)


def keep(file: Path, data: bytes) -> None:
    """Write a file whole or not at all; what cannot be kept is no reason to fail."""
    fresh = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        fresh.write_bytes(data)
        fresh.replace(file)
    except OSError:
        fresh.unlink(missing_ok=True)


def remembered(kind: str, key: str, make: Callable[[], T]) -> T:
    """What was made for this key before, or is made now: anything that `marshal` can hold."""
    digest = hashlib.sha256(f"{sys.version}\0{key}".encode()).hexdigest()[:32]
    file = folder(kind) / f"{digest}.marshal"
    try:
        known: T = marshal.loads(file.read_bytes())
        return known
    except (OSError, ValueError, EOFError, TypeError):
        made = make()
        keep(file, marshal.dumps(made))  # type: ignore[arg-type]
        return made
