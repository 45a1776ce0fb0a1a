"""A case written to disk, for renderers that read files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..nouns import Case
from ..nouns.case import inside
from .processes import discard, scratch


@contextmanager
def written(case: Case) -> Iterator[Path]:
    """The page as a file among its resources, in a folder of its own.

    What the page's own folder holds is linked, not copied; the page itself is always written, since
    a reducer's page is no longer the one on disk.
    """
    folder = scratch("case")
    try:
        own = {path: body for path, body in case.resources.items() if inside(path)}
        # Commands may be shells, which part words at spaces.
        page = folder / re.sub(r"\s", "-", Path(case.name).name)
        # What the case itself holds goes before what is on disk, whole folders included.
        taken = {Path(path).parts[0] for path in own} | {page.name}
        if case.root is not None:
            for entry in case.root.iterdir():
                if entry.name not in taken:
                    (folder / entry.name).symlink_to(entry)
        for path, body in own.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(body)
        page.write_bytes(case.html)
        yield page
    finally:
        discard(folder)
