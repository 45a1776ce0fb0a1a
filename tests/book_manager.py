"""The paper's Book Manager: books by category in tabs, a count of logins, and a reminder that comes by a timer and
rests on a property that not every engine has. Whatever may come out otherwise another time is in it."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from ssl import SSLContext

from aiohttp import web

PAGES = Path(__file__).with_name("book_manager_pages")
POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'"


@asynccontextmanager
async def running(app: web.Application, context: SSLContext | None = None) -> AsyncIterator[str]:
    """An application's address, for as long as the block lasts."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """Its address, for as long as the block lasts."""
    logins = itertools.count(1)
    chance = random.Random()

    async def login(request: web.Request) -> web.FileResponse:
        return web.FileResponse(PAGES / "login.html")

    async def enter(request: web.Request) -> web.Response:
        raise web.HTTPSeeOther("/main")

    async def main(request: web.Request) -> web.Response:
        text = (PAGES / "main.html").read_text().replace("TIMES", str(next(logins)))
        return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": POLICY})

    async def books(request: web.Request) -> web.Response:
        return web.json_response(
            [{"title": f"{request.query['of']} {n}", "left": chance.randrange(99)} for n in range(3)]
        )

    async def offer(request: web.Request) -> web.Response:
        return web.json_response({"colour": f"#{chance.randrange(1 << 24):06x}"})

    app = web.Application()
    app.add_routes([web.get("/", login), web.post("/login", enter), web.get("/main", main), web.get("/books", books),
                    web.get("/offer", offer)])  # fmt: skip
    async with running(app) as url:
        yield url
