"""Options from a file: one TOML table a verb, every key a long flag or the name of an argument."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..nouns import UsageError

# Where things go, as opposed to what is done.
_PLACES = frozenset(["store", "output", "name"])


def read(context: click.Context, _option: click.Parameter, file: Path | None) -> Path | None:
    """Make what the file says the default of every verb's options; what is said on the command line goes before it."""
    if file is None:
        return None
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Give --config a TOML file.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is no text.", "Give --config a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is no TOML: {error}.") from None
    context.default_map = _defaults(context, context.command, tables, file, ())
    return file


def _defaults(
    context: click.Context, command: click.Command, table: dict[str, Any], file: Path, verb: tuple[str, ...]
) -> dict[str, Any]:
    """A table with the names that parameters have in Python, and all tables below it."""
    known = {flag: one for one in command.params for flag in _flags(one)}
    found: dict[str, Any] = {}
    for key, value in table.items():
        below = command.get_command(context, key) if isinstance(command, click.Group) else None
        if below is not None and isinstance(value, dict):
            found[key] = _defaults(context, below, value, file, (*verb, key))
        elif key in known and verb:
            if not _fits(known[key], value):
                raise UsageError(f"{file}: {key!r} cannot be {value!r}.", f"Run `moire {' '.join([*verb, '--help'])}`.")
            # The command line has words only, and so have those who read it.
            words = [str(one) for one in value] if isinstance(value, list) else str(value)
            found[known[key].name or ""] = value if isinstance(value, bool) else words
        else:
            whose = f"`moire {' '.join(verb)}`" if verb else "Moire"
            raise UsageError(f"{file}: {whose} has no {key!r}.", f"Run `moire {' '.join([*verb, '--help'])}`.")
    return found


def _fits(one: click.Parameter, value: object) -> bool:
    """Whether a value is of the parameter's kind: yes or no, several, or one."""
    if getattr(one, "is_flag", False):
        return isinstance(value, bool)
    several = getattr(one, "multiple", False) or one.nargs != 1
    values = value if isinstance(value, list) else [value]
    return isinstance(value, list) == several and all(
        isinstance(each, str | int | float) and not isinstance(each, bool) for each in values
    )


def _flags(one: click.Parameter) -> list[str]:
    """What users write: `max-size`, `pages`, `builds`."""
    return [flag[2:] for flag in one.opts if flag.startswith("--")] or [(one.name or "").replace("_", "-")]


def written() -> str:
    """The options of this very call, as a file that makes the same call."""
    context = click.get_current_context()
    verb: list[str] = []
    above = context
    while above.parent is not None:
        verb, above = [above.info_name or "", *verb], above.parent
    lines = [f"[{'.'.join(verb)}]"]
    for one in context.command.params:
        name = one.name or ""
        if name not in _PLACES and context.get_parameter_source(name) != ParameterSource.DEFAULT:
            lines.append(f"{_flags(one)[0]} = {_toml(context.params.get(name))}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
