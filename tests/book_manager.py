"""The paper's Book Manager: books by category in tabs, a count of logins, and a reminder that comes by a timer and
rests on a property that not every engine has. Whatever may come out otherwise another time is in it."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

LOGIN = """<!DOCTYPE html><title>Log in</title>
<style>body { font: 16px/1.4 Ahem, monospace; margin: 20px } STYLED</style>
<h1>Books</h1>
<form method=post action=/login><input name=user id=user placeholder=name><button id=go>Log in</button></form>"""

MAIN = """<!DOCTYPE html><title>Book Manager</title>
<style>
body { font: 16px/1.4 Ahem, monospace; margin: 20px } nav { float: left; width: 160px } STYLED
#tabs { margin-left: 180px } .tab { display: none } .tab.on { display: block } #hint { background: #fe9; height: 24px }
#ad { width: 60px; height: 20px } .fading { opacity: 0; transition: opacity .2s }
</style>
<p>You have logged in <b id=times>TIMES</b> times.</p><p id=hint></p>
<nav><ul><li><button data-of=novels>novels</button><li><button data-of=maps>maps</button></ul></nav>
<div id=tabs><div class="tab on"><ul id=borrowed><li>One<li>Two</ul></div></div>
<div id=ad></div><p id=clock></p><p id=news></p><canvas id=dice width=30 height=30></canvas>
<script>
const $ = id => document.getElementById(id);
document.querySelector('nav').addEventListener('click', async event => {
  const of = event.target.dataset.of;
  if (!of) return;
  const books = await (await fetch('/books?of=' + of)).json();
  const tab = document.createElement('div');
  tab.className = 'tab on';
  tab.innerHTML = '<table>' + books.map(book => `<tr><td>${book.title}<td>${book.left}</tr>`).join('') + '</table>';
  for (const other of document.querySelectorAll('.tab')) other.classList.remove('on');
  $('tabs').append(tab);
  $('news').textContent = 'order ' + Math.floor(Math.random() * 1e6) + ' ' + crypto.getRandomValues(new Uint32Array(1))[0];
});
function remind() {
  const most = navigator.deviceMemory ? 7 : undefined;
  $('hint').textContent = 'You can still borrow ' + (most - $('borrowed').childElementCount) + ' books';
  setTimeout(() => { $('hint').classList.add('fading'); $('hint').ontransitionend = () => $('hint').textContent = ''; }, 300);
}
setTimeout(remind, 200);
let ticks = 0;
const ticking = setInterval(() => { $('clock').textContent = new Date().toISOString() + ' ' + ++ticks; if (ticks > 3) clearInterval(ticking); }, 40);
const dice = $('dice').getContext('2d');
(function roll(n) { dice.fillStyle = `hsl(${Math.random() * 360} 80% 50%)`; dice.fillRect(0, 0, 30, 30); if (n) requestAnimationFrame(() => roll(n - 1)); })(5);
const request = new XMLHttpRequest();
request.open('GET', '/offer');
request.onload = () => { $('ad').style.background = JSON.parse(request.responseText).colour; };
request.send();
const channel = new MessageChannel();
channel.port1.onmessage = event => { document.title = 'Book Manager, ' + event.data; };
channel.port2.postMessage('open');
localStorage.visits = Number(localStorage.visits || 0) + 1;
</script>"""

# Engines draw controls in their own ways, as long as nobody tells them how.
STYLED = """input, button { font: inherit; color: #000; appearance: none; border: 1px solid; padding: 2px; margin: 0;
background: #eee } ::placeholder { color: #777; opacity: 1 }"""
LOGIN, MAIN = (page.replace("STYLED", STYLED) for page in (LOGIN, MAIN))


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """Its address, for as long as the block lasts."""
    logins = itertools.count(1)
    chance = random.Random()

    async def login(request: web.Request) -> web.Response:
        return web.Response(text=LOGIN, content_type="text/html")

    async def enter(request: web.Request) -> web.Response:
        raise web.HTTPSeeOther("/main")

    async def main(request: web.Request) -> web.Response:
        policy = {"Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'"}
        return web.Response(text=MAIN.replace("TIMES", str(next(logins))), content_type="text/html", headers=policy)

    async def books(request: web.Request) -> web.Response:
        return web.json_response([{"title": f"{request.query['of']} {n}", "left": chance.randrange(99)} for n in range(3)])

    async def offer(request: web.Request) -> web.Response:
        return web.json_response({"colour": f"#{chance.randrange(1 << 24):06x}"})

    app = web.Application()
    app.add_routes([web.get("/", login), web.post("/login", enter), web.get("/main", main), web.get("/books", books),
                    web.get("/offer", offer)])  # fmt: skip
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
