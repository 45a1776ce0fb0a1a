"""What a web application was answered, and how it is answered again."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `asked` is the digest of the request's body, empty if it had none."""

    method: str
    url: str
    asked: str
    status: int
    headers: Headers
    body: bytes

    @property
    def key(self) -> tuple[str, str, str]:
        return self.method, self.url, self.asked


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16] if body else ""


class Archive:
    """Exchanges, to be given out again in the order in which they were had; the last of its kind again and again."""

    def __init__(self, exchanges: Iterable[Exchange] = ()) -> None:
        self.exchanges: list[Exchange] = list(exchanges)
        self._given: defaultdict[tuple[str, str, str], int] = defaultdict(int)

    def add(self, one: Exchange) -> None:
        self.exchanges.append(one)

    def rewind(self) -> None:
        self._given.clear()

    def answer(self, method: str, url: str, body: bytes) -> Exchange | None:
        key = (method, url, digest(body))
        known: Sequence[Exchange] = [one for one in self.exchanges if one.key == key]
        if not known:
            return None
        place = min(self._given[key], len(known) - 1)
        self._given[key] += 1
        return known[place]
