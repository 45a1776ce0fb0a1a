"""`moire serve`: the live page."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from ..browsers import shelf
from ..nouns import Exit
from ..store import Store
from ..web.server import Monitor
from . import options
from .root import cli, run

PORT = 8642


@cli.command()
@options.store_option
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 for any that is free.")
def serve(store: Path, port: int) -> int:
    """Show runs as they go and as they went, on this machine only, until Ctrl-C.

    The address that it prints has a token: whoever opens it may begin, pause and stop hunts and take notes.

    \b
    Example:
      moire serve --store runs
    """
    with Store(store):
        # A folder that is none is told of now.
        pass
    run(_serve(Monitor(store, [build.name for build in shelf.installed()]), port))
    return Exit.DONE


async def _serve(monitor: Monitor, port: int) -> None:
    stop = asyncio.Event()
    for which in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(which, stop.set)
    async with monitor.running(port):
        click.echo(f"Open {monitor.url}")
        await stop.wait()
