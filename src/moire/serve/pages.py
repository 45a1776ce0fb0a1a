"""The page server: each case at an address of its own, and nothing but what the case holds."""

from __future__ import annotations

import mimetypes
import os
from pathlib import PurePosixPath
from urllib.parse import quote

from aiohttp import web
from yarl import URL

from ..nouns import Case, UsageError

# A page's encoding is the page's own business: no charset is sent.
_HTML = {".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml", ".xht": "application/xhtml+xml"}
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
# For browsers whose tabs share what pages store: each page finds it as if none had been before.
_FORGET = {"Clear-Site-Data": '"cookies", "storage"'}
FORGETFUL = "fresh-"


class PageServer:
    """Serves on loopback, and on `host` too when remote browsers must reach it."""

    def __init__(self, host: str = "") -> None:
        self._extra_host = host
        self._cases: dict[str, tuple[Case, int]] = {}
        self._runner: web.AppRunner | None = None
        self.address = ""
        self.remote_address = ""

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get(r"/{case}/{path:[\s\S]*}", self._serve)
        app.router.add_get("/{path}", self._serve)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._runner = runner
        port = runner.addresses[0][1]
        self.address = f"127.0.0.1:{port}"
        if self._extra_host in ("0.0.0.0", "::"):
            raise UsageError(
                f"--serve-host {self._extra_host} is every address at once.",
                "Give the one that the browsers can reach.",
            )
        if self._extra_host and self._extra_host != "127.0.0.1":
            try:
                await web.TCPSite(runner, self._extra_host, port).start()
            except OSError as error:
                raise UsageError(
                    f"The page server cannot listen on {self._extra_host}: {error.strerror}.",
                    "Give --serve-host an address of this machine.",
                ) from None
            self.remote_address = f"{self._extra_host}:{port}"

    def add(self, case: Case, *, remote: bool = False, forget: bool = False) -> str:
        """The case's address. Every `add` wants one `remove`. With `forget`, the browser is told to forget
        all that earlier pages stored."""
        _, users = self._cases.get(case.digest, (case, 0))
        self._cases[case.digest] = (case, users + 1)
        host = self.remote_address if remote and self.remote_address else self.address
        return f"http://{host}/{FORGETFUL if forget else ''}{case.digest}/{quote(os.fsencode(case.name))}"

    def remove(self, case: Case) -> None:
        kept, users = self._cases.get(case.digest, (case, 0))
        if users > 1:
            self._cases[case.digest] = (kept, users - 1)
        else:
            self._cases.pop(case.digest, None)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        key = request.match_info.get("case", "")
        case, _ = self._cases.get(key.removeprefix(FORGETFUL), (None, 0))
        path = request.match_info["path"]
        body = case.beside(path) if case is not None else None
        if body is None:
            elsewhere = self._from_the_root(request) if case is None else None
            if elsewhere is not None:
                return web.Response(status=302, headers={**_HEADERS, "Location": elsewhere})
            return web.Response(status=404, headers=_HEADERS)
        suffix = PurePosixPath(path).suffix.lower()
        kind = _HTML.get(suffix) or mimetypes.guess_type(path)[0]
        if kind is None:
            kind = "text/html" if case is not None and path == case.name else "application/octet-stream"
        forget = _FORGET if key.startswith(FORGETFUL) and case is not None and path == case.name else {}
        return web.Response(body=body, headers={**_HEADERS, **forget, "Content-Type": kind})

    def _from_the_root(self, request: web.Request) -> str | None:
        """A page that asks for a path from the root means the root of its own files; who asks tells the case."""
        try:
            asking = URL(request.headers.get("Referer", "")).path.split("/")[1:2]
        except ValueError:
            return None
        if not asking or asking[0].removeprefix(FORGETFUL) not in self._cases:
            return None
        return f"/{asking[0]}{request.rel_url.raw_path}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
