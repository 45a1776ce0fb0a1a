"""The command's root: one place where errors become sentences and exit codes."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from .. import __version__
from ..nouns import CheckExit, Exit, LaunchError, MoireError
from . import config

T = TypeVar("T")


# Each verb, and the file here that hangs it on `cli`: only what is called is loaded.
_VERBS = {
    "app": "app",
    "bisect": "bisect", "browsers": "browsers", "check": "shoot", "check-update": "update", "compare": "shoot",
    "export": "export", "generate": "pages", "grammar": "grammar", "hunt": "hunt", "pages": "pages",
    "recheck": "recheck", "reduce": "reduce", "report": "runs", "runs": "upkeep", "serve": "serve", "shot": "shoot",
    "stage": "stage", "wpt": "wpt",
}  # fmt: skip


class _Verbs(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(_VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in _VERBS:
            import_module(f".{_VERBS[name]}", __package__)
        return super().get_command(context, name)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="moire")
@click.option(
    "--config", type=click.Path(path_type=Path), callback=config.read, is_eager=True, expose_value=False,
    metavar="FILE", help="Options of any verb, TOML: a table a verb, a key a flag.",
)  # fmt: skip
def cli() -> None:
    """Find rendering bugs by overlaying renderings that should be identical.

    \b
    Examples:
      moire browsers doctor
      moire compare page.html --build chromium@150 --build chromium@156
      moire hunt update chromium@156 --time 30m
      moire hunt change --base chromium@150 --new chromium@156 --pages 500
      moire --config moire.toml hunt consensus
    """


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a verb's work; Ctrl-C ends it in order."""
    return asyncio.run(work)


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot write is shown as well as it can.
            stream.reconfigure(errors="replace")
    # Asked to end, a run ends in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Verbs for bisect scripts speak another language of exit codes, also when they are misused.
    check = _verb(sys.argv[1:]) in ("check", "check-update")
    if sys.stdout is None:
        _say("Standard output is closed: there is nowhere to put the result.")
        sys.exit(CheckExit.TROUBLE if check else Exit.ERROR)
    try:
        code = cli.main(standalone_mode=False)
    except SystemExit:
        # Our own verbs return their codes: this is click, whose listener on the other side has gone.
        code = CheckExit.TROUBLE if check else Exit.ERROR
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _say("Stopped.")
        sys.exit(CheckExit.TROUBLE if check else Exit.INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(CheckExit.TROUBLE if check else Exit.USAGE)
    except click.ClickException as error:
        _say(error.format_message() + _hint(error))
        sys.exit(CheckExit.TROUBLE if check else Exit.USAGE)
    except LaunchError as error:
        _say(str(error))
        sys.exit(CheckExit.CANNOT_TEST if check else error.exit_code)
    except MoireError as error:
        _say(str(error))
        sys.exit(CheckExit.TROUBLE if check else error.exit_code)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else (error.strerror or str(error))
        _say(f"The system refused: {what}. Check the path, its permissions and the free space.")
        sys.exit(CheckExit.TROUBLE if check else Exit.ERROR)
    except Exception as error:
        if "MOIRE_DEBUG" in os.environ:
            raise
        _say(f"This is a mistake of Moire's own ({type(error).__name__}: {error}). MOIRE_DEBUG=1 shows where.")
        sys.exit(CheckExit.TROUBLE if check else Exit.ERROR)
    sys.exit(code if isinstance(code, int) else Exit.DONE)


def _verb(words: Sequence[str]) -> str:
    """The first word that is no option of the root's own."""
    rest = iter(words)
    for word in rest:
        if word == "--config":
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""


def _hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f" Run `{context.command_path} --help`." if context is not None else ""


def _say(sentence: str) -> None:
    click.echo(f"moire: {sentence}", err=True)
