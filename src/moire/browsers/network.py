"""Where a browser may go: the page server and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """`pages` is the page server's host and port; everything else is sent to `proxy`, which records and refuses it. Or
    it `carries` the pages themselves, and even `stands_in` for their servers with a certificate that nobody else would
    take for theirs."""

    pages: str
    proxy: str
    stands_in: bool = False
    carries: bool = False

    def blocks(self, url: str) -> bool:
        """Whether a page that asks for this address asks in vain."""
        return not url.startswith((f"http://{self.pages}/", "data:", "about:", "blob:"))
