"""Child processes that never outlive Moire.

Every child is the leader of its own process group, is killed as a group, and is known to a warden
(see `warden.py`) that ends it when Moire is killed.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ..nouns import LaunchError, MoireError
from . import warden as warden_script

# What is kept of a browser's own words, for error messages; a chatty one must not cost memory.
TAIL_BYTES = 64 * 1024
# How long a process that was asked to go may take.
GENTLE_SECONDS = 2.0
# How much later than the end of its connection that of a process may come to light.
REAP_SECONDS = 0.5
# Signals that end a process which does not send them to itself.
BLOWS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# The name under which a child carries the mark of the Moire process that started it.
MARKER = "MOIRE_WARDEN"


class Warden:
    """This process's temp folder, and the watcher that clears up after it."""

    def __init__(self) -> None:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="moire-"))
        except OSError as error:
            raise MoireError(
                f"No temporary folder can be made: {error.strerror}.",
                "Free some disk space, or point TMPDIR to a folder with room.",
            ) from None
        self.marker = secrets.token_hex(16)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", warden_script.__file__, str(self.folder), self.marker],
            stdin=subprocess.PIPE,
            start_new_session=True,
            # Whoever ends this process by its marker leaves the watcher to clear up.
            env={name: value for name, value in os.environ.items() if name != MARKER},
        )

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """Clear up now: the end of file does it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()


_warden: Warden | None = None


def warden() -> Warden:
    """The one warden of this process (of each process, if Moire was forked)."""
    global _warden
    if _warden is None:
        _warden = Warden()
        atexit.register(_close_warden, os.getpid())
    return _warden


def _close_warden(owner: int) -> None:
    global _warden
    if _warden is not None and os.getpid() == owner:
        _warden.close()
        _warden = None


def scratch(prefix: str) -> Path:
    """A new folder that is gone when Moire is."""
    try:
        return Path(tempfile.mkdtemp(prefix=prefix + "-", dir=warden().folder))
    except OSError as error:
        raise MoireError(
            f"No temporary folder can be made: {error.strerror}.",
            "Free some disk space, or point TMPDIR to a folder with room.",
        ) from None


async def struck(children: Sequence[Child], gone: bool) -> str:
    """What somebody else did to them, in words; how one ended may come to light a little after its connection is
    `gone`."""
    if gone and children:
        ends = [child.exited for child in children]
        await asyncio.wait(ends, timeout=REAP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    return next((words for child in children if (words := child.struck())), "")


def everyone() -> Iterator[tuple[int, str, int]]:
    """All processes of the machine: number, state, group."""
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            # It may be gone by now.
            with contextlib.suppress(OSError, ValueError, IndexError):
                state, _, group, *_ = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()
                yield int(entry), state.decode(), int(group)


def discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


class Child:
    """One running process. Must be made inside a running event loop."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str] | None = None,
        fds: Mapping[int, int] | None = None,
        on_line: Callable[[bytes], None] | None = None,
    ) -> None:
        """`fds` maps the child's descriptor numbers to ours; `on_line` hears its stderr and stdout."""
        guard = warden()
        env = {**os.environ, **(environ or {}), MARKER: guard.marker}
        read, write = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        actions = [
            (os.POSIX_SPAWN_DUP2, null, 0),
            (os.POSIX_SPAWN_DUP2, write, 1),
            (os.POSIX_SPAWN_DUP2, write, 2),
        ]
        actions += [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in (fds or {}).items()]
        try:
            self.pid = os.posix_spawn(
                argv[0],
                list(argv),
                env,
                file_actions=actions,
                setpgroup=0,
                setsigmask=(),
                setsigdef=(signal.SIGINT, signal.SIGPIPE),
            )
        except OSError as error:
            os.close(read)
            raise LaunchError(f"{argv[0]} cannot be run: {error.strerror}.") from None
        finally:
            os.close(write)
            os.close(null)
        guard.tell(f"+{self.pid}")
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = loop.create_future()
        # By us.
        self._ending = False
        self._pidfd = os.pidfd_open(self.pid)
        loop.add_reader(self._pidfd, self._reap)
        self._log = bytearray()
        self._log_fd = read
        self._on_line = on_line
        self._partial = b""
        os.set_blocking(read, False)
        loop.add_reader(read, self._listen)

    def _listen(self) -> None:
        try:
            data = os.read(self._log_fd, 65536)
        except BlockingIOError:
            return
        if not data:
            self._deafen()
            return
        self._log += data
        del self._log[:-TAIL_BYTES]
        if self._on_line is not None:
            *lines, self._partial = (self._partial + data).split(b"\n")
            self._partial = self._partial[-TAIL_BYTES:]
            for line in lines:
                self._on_line(line)

    def _deafen(self) -> None:
        if self._log_fd >= 0:
            asyncio.get_running_loop().remove_reader(self._log_fd)
            os.close(self._log_fd)
            self._log_fd = -1

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        # What else lived in the group (renderers, helpers) has no reason to live on. This comes
        # before the leader is reaped: until then its number cannot be given to anyone else.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        warden().tell(f"-{self.pid}")
        if not self.exited.done():
            self.exited.set_result(os.waitstatus_to_exitcode(status))

    @property
    def alive(self) -> bool:
        return not self.exited.done()

    def struck(self) -> str:
        """What somebody else did to it, or to who is in its group, in words."""
        if not self.alive:
            return "the browser was killed" if not self._ending and -self.exited.result() in BLOWS else ""
        stopped = any(state == "T" for _, state, group in everyone() if group == self.pid)
        return "a process of the browser was stopped" if stopped else ""

    def tail(self) -> str:
        """The last words of the process, for an error message."""
        return bytes(self._log[-2000:]).decode("utf-8", "replace").strip()

    async def kill(self, *, gently: bool = False) -> None:
        """End the whole group and wait until it is gone; `gently` asks first."""
        self._ending = True
        if self.alive and gently:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            await asyncio.wait((self.exited,), timeout=GENTLE_SECONDS)
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            await asyncio.shield(self.exited)
        self._deafen()
