"""`moire serve`: the live page."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from ..browsers import shelf
from ..browsers.names import short
from ..nouns import Exit
from ..store import DATABASE, Store
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
    if not (store / DATABASE).exists():
        click.echo(f"Nothing was hunted for in {store} yet: it is made now.", err=True)
    with Store(store):
        # A folder that is none is told of now.
        pass
    installed = shelf.installed()
    run(_serve(Monitor(store, [short(build, installed).name for build in installed]), port))
    return Exit.DONE


async def _serve(monitor: Monitor, port: int) -> None:
    stop = asyncio.Event()
    for which in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(which, stop.set)
    async with monitor.running(port):
        click.echo(f"Open {monitor.url}")
        await stop.wait()
