"""A case written to disk, for renderers that read files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..nouns import Case
from .processes import discard, scratch


@contextmanager
def written(case: Case) -> Iterator[Path]:
    """The page as a file among its resources, in a folder of its own.

    What the page's own folder holds is linked, not copied; the page itself is always written, since
    a reducer's page is no longer the one on disk.
    """
    folder = scratch("case")
    try:
        if case.root is not None:
            for entry in case.root.iterdir():
                if entry.name != case.name:
                    (folder / entry.name).symlink_to(entry)
        for path, body in case.resources.items():
            target = (folder / path).resolve()
            if target.is_relative_to(folder.resolve()):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(body)
        page = folder / case.name
        page.write_bytes(case.html)
        yield page
    finally:
        discard(folder)
