"""Who may ask for what: nobody from another page, and nobody without the token for anything that changes things."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

LOOPBACK = ("127.0.0.1", "localhost")


def guarded(port: Callable[[], int], headers: Callable[[], dict[str, str]], token: str = "") -> Middleware:
    """Requests must be for this very server: a name that was bent to point here is another host. Whoever sends
    something must be a page of this server, and know the token."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        hosts = [f"{name}:{port()}" for name in LOOPBACK]
        if port() == 80:
            # What everybody means by no port at all.
            hosts += LOOPBACK
        refused = ""
        if request.headers.get("Host") not in hosts:
            refused = "This server is for its own machine only."
        elif request.method not in ("GET", "HEAD"):
            if request.headers.get("Origin") not in [f"http://{host}" for host in hosts]:
                refused = "This was asked by another page."
            elif not token or not hmac.compare_digest(_bytes(request.headers.get("X-Moire-Token", "")), _bytes(token)):
                refused = "Open the address that `moire serve` printed: it has the token for this."
        if refused:
            answer: web.StreamResponse = web.Response(status=403, text=refused)
        else:
            try:
                answer = await handler(request)
            except web.HTTPException as error:
                answer = web.Response(status=error.status, text=error.text)
            except Exception as error:
                # A mistake of ours must not tell more than that, nor do without the headers.
                answer = web.Response(status=500, text=f"This is a mistake of Moire's own ({type(error).__name__}).")
        if not answer.prepared:
            answer.headers.update(headers())
        return answer

    return guard


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
