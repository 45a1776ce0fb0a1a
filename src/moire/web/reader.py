"""What is asked of the store, off the loop that answers; what it has to say against it becomes an answer, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from ..nouns import MoireError, UsageError
from ..store import Store

T = TypeVar("T")
READERS = 2


class Reader:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Every thread keeps what it once needed: few do, and memory stays as it is.
        self._threads = ThreadPoolExecutor(READERS, "reader")

    async def __call__(self, work: Callable[[Store], T]) -> T:
        def whole() -> T:
            with Store(self._folder) as store:
                return work(store)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, whole)
        except UsageError as error:
            raise web.HTTPNotFound(text=str(error)) from None
        except MoireError as error:
            raise web.HTTPServiceUnavailable(text=str(error)) from None
