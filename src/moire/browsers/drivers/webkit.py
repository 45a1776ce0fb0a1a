"""WebKitGTK: WebKitWebDriver and MiniBrowser on a screen of their own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from ...nouns import Build, LaunchError
from .. import fonts
from ..network import Network
from ..processes import Child, discard, scratch
from .base import DriverError, would_not_start
from .webdriver import Session, WebDriverBrowser

LAUNCH_SECONDS = 20.0
# The port is chosen by us and may be taken between choosing and using.
PORT_TRIES = 5


async def start_xvfb() -> tuple[Child, str]:
    """A screen without a display, on a number that the X server itself found free."""
    program = shutil.which("Xvfb")
    if program is None:
        raise LaunchError("Xvfb is not installed.", "Run `apt-get install xvfb`.")
    read, write = os.pipe()
    os.set_blocking(read, False)
    try:
        child = Child(
            [program, "-displayfd", "3", "-screen", "0", "4096x4096x24", "-nolisten", "tcp", "-noreset"],
            fds={3: write},
        )
    except LaunchError:
        os.close(read)
        raise
    finally:
        os.close(write)
    loop = asyncio.get_running_loop()
    number: asyncio.Future[str] = loop.create_future()

    said = bytearray()

    def on_read() -> None:
        """The number and its line end come apart, and a server that cannot write the second dies."""
        part = os.read(read, 64)
        said.extend(part)
        if (not part or said.endswith(b"\n")) and not number.done():
            loop.remove_reader(read)
            number.set_result(said.decode().strip())

    loop.add_reader(read, on_read)
    try:
        await asyncio.wait((number,), timeout=LAUNCH_SECONDS)
        if not number.done() or not number.result():
            raise LaunchError(f"Xvfb would not start: {child.tail() or 'no answer'}.")
    except BaseException:
        await child.kill()
        raise
    finally:
        loop.remove_reader(read)
        os.close(read)
    return child, f":{number.result()}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class WebKitBrowser(WebDriverBrowser):
    def __init__(self, build: Build, session: Session, children: list[Child], folder: Path) -> None:
        super().__init__(build, session)
        self._children = children
        self._folder = folder

    @classmethod
    async def launch_local(cls, build: Build, network: Network) -> WebKitBrowser:
        assert build.path is not None
        folder = scratch("webkit")
        children: list[Child] = []
        try:
            screen, display = await start_xvfb()
            children.append(screen)
            port = await _start_driver(build, display, folder, children)
            session = await Session.open(f"http://127.0.0.1:{port}", _capabilities(build, network), LAUNCH_SECONDS)
            return cls(build, session, children, folder)
        except BaseException as error:
            if not isinstance(error, DriverError | TimeoutError):
                await _end(children, folder)
                raise
            words = children[-1].tail().splitlines() if children else []
            said = str(error) or (words[-1] if words else "")
            try:
                raise await would_not_start(build, error, said, children) from None
            finally:
                await _end(children, folder)

    @property
    def alive(self) -> bool:
        return super().alive and all(child.alive for child in self._children)

    @property
    def children(self) -> Sequence[Child]:
        return self._children

    async def close(self) -> None:
        self.lost()
        await self.session.end(politely=False)
        await _end(self._children, self._folder)


async def _end(children: list[Child], folder: Path) -> None:
    for child in reversed(children):
        # The X server takes its lock and socket away with it, if it is asked to go.
        await child.kill(gently=child is children[0])
    await asyncio.to_thread(discard, folder)


def _capabilities(build: Build, network: Network) -> dict[str, object]:
    browser = build.environ.get("MOIRE_MINIBROWSER") or _minibrowser()
    return {
        "acceptInsecureCerts": network.stands_in,
        "webkitgtk:browserOptions": {
            "binary": browser,
            "args": [
                "--automation",
                f"--proxy=http://{network.proxy}",
                f"--ignore-host={network.pages}",
                # Who goes back to a page loads it again.
                "--enable-page-cache=false",
                *build.flags,
            ],
        },
    }


def _minibrowser() -> str:
    for lib in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/libexec", "/usr/lib"):
        for found in sorted(Path(lib).glob("webkit*gtk-*/MiniBrowser"), reverse=True):
            return str(found)
    raise LaunchError("WebKitGTK's MiniBrowser is not installed.", "Run `apt-get install webkit2gtk-driver`.")


async def _start_driver(build: Build, display: str, folder: Path, children: list[Child]) -> int:
    """Its port; the process joins the `children`."""
    environ = {
        "DISPLAY": display, "HOME": str(folder), "TMPDIR": str(folder), "XDG_RUNTIME_DIR": str(folder),
        "XDG_CACHE_HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder),
        "GDK_BACKEND": "x11", "GTK_THEME": "Adwaita", "GTK_OVERLAY_SCROLLING": "1",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        # Drawn by several threads, the same page comes out in several ways.
        "WEBKIT_SKIA_ENABLE_CPU_RENDERING": "1", "LP_NUM_THREADS": "1",
        "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1" if os.geteuid() == 0 else "0",
        "NO_AT_BRIDGE": "1", "GIO_USE_VFS": "local", "GSETTINGS_BACKEND": "memory",
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        **fonts.offered(folder), **build.environ,
    }  # fmt: skip
    for _ in range(PORT_TRIES):
        port = _free_port()
        child = Child([str(build.path), f"--port={port}", "--host=127.0.0.1"], environ=environ)
        children.append(child)
        if await _answers(child, port):
            return port
        children.remove(child)
        await child.kill()
    raise LaunchError(f"{build.name} found no free port: {child.tail() or 'no answer'}.")


async def _answers(child: Child, port: int) -> bool:
    """WebKitWebDriver says nothing when it is up; a connection that is taken says it."""
    loop = asyncio.get_running_loop()
    end = loop.time() + LAUNCH_SECONDS
    while child.alive and loop.time() < end:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return child.alive
        # Refused at once until the port is open: wait a moment, or for the process to end.
        await asyncio.wait((child.exited,), timeout=0.02)
    return False
