"""Ordinary ways of applications: recorded, they come again in the same browser without a difference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from book_manager import running
from moire.apps.check import compared
from moire.apps.crawl import Limits, crawl
from moire.apps.record import recording
from moire.apps.replay import Replayed, replay
from moire.apps.trace import masked, read, written
from moire.browsers import names
from moire.nouns import Build
from test_apps_replay import SIZE, application, page, recorded, wrong


def told(found: Replayed) -> str:
    return " ".join(node.text for node in found.steps[-1].data.nodes)


WAYS = """<!DOCTYPE html><title>a</title><link rel=icon href=data:,>
<script async src=/async.js></script><script type=module src=/module.js></script>
<p id=p></p><iframe src=/sub/frame.html></iframe><button id=b>b</button><form id=f><input name=q></form><script>
const say = text => document.getElementById('p').append(document.createElement('br'), text);
const numbered = name => say(`${name} ${Math.random()}`);
setTimeout(() => numbered('timer'), 150);
crypto.subtle.digest('SHA-256', new Uint8Array(9)).then(() => numbered('digested'));
new Blob(['blob']).text().then(text => numbered(text));
say('zone ' + new Intl.DateTimeFormat('en', { timeStyle: 'full' }).format());
fetch('/cookie').then(() => { say(document.cookie); setTimeout(() => numbered('after cookie'), 10); });
fetch('/away', { redirect: 'manual' }).then(answer => say(`manual ${answer.type} ${answer.status}`));
const stop = new AbortController();
fetch('/slow', { signal: stop.signal }).catch(why => say(`stopped ${why}`));
setTimeout(() => stop.abort('for a reason'), 30);
const latin = new XMLHttpRequest();
latin.open('GET', '/latin');
latin.onload = () => say(latin.responseText + (latin.response === latin.response));
latin.send();
const reader = new FileReader();
reader.onload = () => numbered('read ' + reader.result);
reader.readAsText(new Blob(['file']));
document.getElementById('b').addEventListener('click', event => {
  say(event.timeStamp <= performance.now() ? 'in time' : 'too early');
  const image = new Image();
  image.src = URL.createObjectURL(new Blob(['<svg xmlns="http://www.w3.org/2000/svg"/>'], { type: 'image/svg+xml' }));
  document.body.append(image);
  const open = indexedDB.open('store', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('all');
  open.onsuccess = () => {
    const of = open.result.transaction('all', 'readwrite').objectStore('all');
    of.put(1, 'a').onsuccess = () => { of.get('a').onsuccess = got => numbered('stored ' + got.target.result); };
  };
});
</script>"""
FILES: Mapping[str, tuple[str, str]] = {
    "": (WAYS, "text/html"),
    "async.js": ("numbered('async'); setTimeout(() => numbered('async later'), 20)", "text/javascript"),
    "module.js": ("numbered('module'); setTimeout(() => numbered('module later'), 20)", "text/javascript"),
    "sub/frame.html": ("<p id=q></p><script>fetch('d.txt').then(a => a.text()).then(t => "
                       "document.getElementById('q').append(t, Math.random()))</script>", "text/html"),
    "sub/d.txt": ("framed", "text/plain"),
}  # fmt: skip


async def ways(request: web.Request) -> web.StreamResponse:
    name = request.match_info["name"]
    if name == "cookie":
        answer = web.Response(text="")
        answer.set_cookie("in", "1")
        return answer
    if name == "away":
        raise web.HTTPFound("/cookie")
    if name == "slow":
        await asyncio.sleep(2)
        return web.Response()
    if name == "latin":
        return web.Response(
            body="caf\xe9".encode("latin-1"), headers={"Content-Type": "text/plain; charset=iso-8859-1"}
        )
    text, kind = FILES[name]
    if name == "async.js":
        # When it is recorded it comes late.
        await asyncio.sleep(0.2)
    return web.Response(text=text, content_type=kind)


@pytest.mark.parametrize("engine", ["chromium", "firefox", "webkit"])
async def test_what_modern_pages_do_comes_again(engine: str, request: pytest.FixtureRequest) -> None:
    build: Build = request.getfixturevalue(engine)
    async with running(application(ways)) as url:
        one = await recorded(build, url, {"action": "click", "target": "#b"}, patience=1.0)
    (same,) = await compared(one, build, [build])
    assert not wrong(same.reference), wrong(same.reference)
    assert not same.issues and not same.passing and not same.reference.ended
    text = told(same.reference)
    for words in (
        "digested", "blob", "zone", "in=1", "after cookie", "manual opaqueredirect 0", "stopped for a reason",
        "café", "true", "read file", "async later", "module later", "in time", "stored 1",
    ):  # fmt: skip
        assert words in text, words


async def test_streams_are_heard_again(chromium: Build, firefox: Build) -> None:
    html = """<!DOCTYPE html><p id=p></p><script>
    const say = text => document.getElementById('p').append(text, ' ');
    const source = new EventSource('/stream');
    source.onmessage = event => { say('source ' + event.data); if (event.data === '2') source.close(); };
    fetch('/stream').then(async answer => {
      const reader = answer.body.getReader(), parts = [];
      for (let part; !(part = await reader.read()).done;) parts.push(new TextDecoder().decode(part.value));
      say('fetched ' + parts.join('').match(/\\d/g).join(''));
    });
    </script>"""

    async def serve(request: web.Request) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(text=html, content_type="text/html")
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        for n in range(3):
            await answer.write(f"data: {n}\n\n".encode())
        return answer

    async with running(application(serve)) as url, recording(chromium, f"{url}/", (url,), SIZE, 0.5) as own:
        async with asyncio.timeout(30):
            while sum(one.kind in ("part", "source") for one in own.events) < 6:
                await own.rest()
        one = own.trace
    here, there = await asyncio.gather(replay(one, chromium), replay(one, firefox))
    for found in (here, there):
        assert not wrong(found) and "source 2" in told(found) and "fetched 012" in told(found)


async def test_a_page_that_is_busy_until_it_is_left_is_left_again(chromium: Build) -> None:
    """Frames go on while the next page is on its way, and draw more than a browser takes of a page that goes."""
    html = """<!DOCTYPE html><a href=/next>next</a><p id=p></p><script>
    const frame = () => { for (let n = 0; n < 200; n++) Math.random(); requestAnimationFrame(frame); };
    frame();
    </script>"""

    async def serve(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.Response(text=html, content_type="text/html")
        await asyncio.sleep(0.4)
        return web.Response(text="<!DOCTYPE html><p>here", content_type="text/html")

    async with running(application(serve)) as url:
        one = await recorded(chromium, url, {"action": "click", "target": "a"})
    assert one.pages == 2 and any(event.kind == "act" for event in one.events)
    found = await replay(one, chromium)
    assert not found.ended and not wrong(found) and told(found).strip() == "here"


LEADING: Mapping[str, str] = {
    "/": "<!DOCTYPE html><a href=/on>on</a>",
    # It goes to one page, and at once to another.
    "/on": "<!DOCTYPE html><p>on<script>location.href = '/slow'; location.href = '/at-once'</script>",
    "/at-once": "<!DOCTYPE html><script>location.replace('/soon')</script><p>at once",
    "/soon": "<!DOCTYPE html><p>soon<script>setTimeout(() => { location.href = '/end'; }, 50)</script>",
    "/end": "<!DOCTYPE html><p>end<button onclick='stops()'>stop</button><script>"
    "function stops() { location.href = '/slow'; setTimeout(() => { stop(); document.body.append('stopped'); }, 600); }"
    "</script>",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["chromium", "firefox", "webkit"])
async def test_pages_that_lead_on_by_themselves_and_pages_that_never_come(
    engine: str, request: pytest.FixtureRequest
) -> None:
    build: Build = request.getfixturevalue(engine)
    let_go = asyncio.Event()

    async def serve(asked: web.Request) -> web.Response:
        if asked.path == "/slow":
            await let_go.wait()
        return web.Response(text=LEADING.get(asked.path, ""), content_type="text/html")

    async with running(application(serve)) as url:
        one = await recorded(build, url, {"action": "click", "target": "a"}, patience=1.0)
        assert not one.astray and one.pages in (4, 5)
        seen = await replay(one, build)
        assert not seen.ended and not wrong(seen) and told(seen).split()[0] == "end", (seen.ended, wrong(seen))
        # Pages that lead on are never looked at.
        assert {step.page for step in seen.steps} == {0, one.pages - 1}
        async with recording(build, f"{url}/end", (url,), SIZE, 1.0) as own:
            assert await own.act({"action": "click", "target": "button"})
            stopped = own.trace
        let_go.set()
    assert stopped.pages == 1
    seen = await replay(stopped, build)
    assert not seen.ended and "stopped" in told(seen), seen.ended


@pytest.mark.parametrize("engine", ["chromium", "firefox", "webkit"])
async def test_one_goes_back_to_a_page(engine: str, request: pytest.FixtureRequest) -> None:
    build: Build = request.getfixturevalue(engine)
    pages = {
        "/": "<!DOCTYPE html><a href=/next>next</a><p id=p></p><script>p.append(Math.random())</script>",
        "/next": "<!DOCTYPE html><button onclick='history.back()'>back</button>",
    }

    async def serve(asked: web.Request) -> web.Response:
        return web.Response(text=pages.get(asked.path, ""), content_type="text/html")

    async with running(application(serve)) as url:
        one = await recorded(
            build, url, {"action": "click", "target": "a"}, {"action": "click", "target": "button"},
            {"action": "click", "target": "a"},
        )  # fmt: skip
    assert one.pages == 4 and not one.astray
    seen = await replay(one, build)
    assert not seen.ended and not wrong(seen), (seen.ended, wrong(seen))


async def test_a_window_that_is_led_away_elsewhere_only_is_told(chromium: Build) -> None:
    html = """<!DOCTYPE html><button onclick="if (navigator.userAgent.includes('Chrome')) location.href = 'https://example.org/'">
    away</button>"""
    async with page(html) as url:
        one = await recorded(chromium, url, {"action": "click", "target": "button"})
    assert one.astray
    there = await replay(one, names.resolve("chromium?flags=--user-agent=none"))
    assert "stayed" in there.ended and not (await replay(one, chromium)).ended


async def test_files_downloads_and_other_origins_end_nothing(chromium: Build) -> None:
    html = """<!DOCTYPE html><a href=/data.json>data</a><a href=/save>save</a><a href=/gone>gone</a>
    <button onclick="location.href = 'https://example.org/'">away</button><p>"""

    async def serve(request: web.Request) -> web.Response:
        match request.path:
            case "/":
                return web.Response(text=html, content_type="text/html")
            case "/data.json":
                return web.json_response({"a": "<b>"})
            case "/save":
                return web.Response(text="x", headers={"Content-Disposition": "attachment; filename=a.txt"})
        return web.Response(status=404, text="no such thing")

    async with running(application(serve)) as url:
        limits = Limits(depth=1, sessions=4)
        found = [one async for one in crawl(chromium, f"{url}/", (url,), SIZE, limits, patience=0.3)]
    assert len(found) == 4
    by_end = {}
    for one in found:
        seen = await replay(one, chromium)
        assert not seen.ended and not wrong(seen), (seen.ended, wrong(seen))
        by_end[one.events[-1].words] = told(seen)
    assert any('{"a": "<b>"}' in text for text in by_end.values())
    assert any("no such thing" in text for text in by_end.values())
    assert [one.astray for one in found].count(True) == 1


async def test_who_only_looks_changes_nothing(chromium: Build) -> None:
    asked = []

    async def serve(request: web.Request) -> web.Response:
        asked.append(request.method)
        html = "<!DOCTYPE html><button onclick=\"fetch('/', {method: 'DELETE'}).catch(() => {})\">Clear</button>"
        return web.Response(text=html, content_type="text/html")

    async with running(application(serve)) as url:
        limits = Limits(depth=1, sessions=1)
        found = [one async for one in crawl(chromium, f"{url}/", (url,), SIZE, limits, read_only=True, patience=0.3)]
    assert any(event.kind == "act" for event in found[0].events) and set(asked) == {"GET"}


async def test_what_a_page_says_that_is_not_ours_is_not_believed(chromium: Build) -> None:
    html = (
        """<!DOCTYPE html><p id=p>a</p><script>
    const event = { id: "x", kind: "act" };
    for (const words of ['{"events": [{}], "locals": {}}', JSON.stringify({ events: [event], locals: {} }), '[', '3'])
      navigator.sendBeacon('/.moire/page/guessed', words);
    setTimeout(function f() { /*"""
        + "x" * 66
        + """\U0001f600*/ document.getElementById('p').append('\\ud83d'); }, 10);
    </script>"""
    )
    async with page(html) as url:
        one = await recorded(chromium, url)
    assert [event.kind for event in one.events] == ["timer"]
    assert not wrong(await replay(one, chromium))
    written(one).encode()


async def test_secrets_are_taken_out_and_forms_are_sent_all_the_same(chromium: Build, tmp_path: Any) -> None:
    html = """<!DOCTYPE html><form method=post action=/in enctype=multipart/form-data><input name=word type=password>
    <button>go</button></form>"""

    async def serve(request: web.Request) -> web.Response:
        text = html if request.path == "/" else f"<!DOCTYPE html><p>{(await request.post())['word']} is in"
        return web.Response(text=text, content_type="text/html")

    async with running(application(serve)) as url:
        acts = [{"action": "type", "target": "input", "value": "s e&cret"}, {"action": "click", "target": "button"}]
        one = await recorded(chromium, url, *acts)
    file = tmp_path / "trace.json"
    file.write_text(written(masked(one, ["s e&cret"])))
    text = file.read_text()
    plain = "".join(text.split())
    for form in ("s e&cret", "s+e%26cret", "s%20e%26cret"):
        assert form not in text and form not in plain
    assert all(b"s e&cret" not in each.body for each in read(file).exchanges)
    found = await replay(read(file), chromium)
    assert not found.ended and not wrong(found) and "is in" in told(found)


async def test_focus_moves_as_people_move_it(chromium: Build, firefox: Build) -> None:
    html = """<!DOCTYPE html><input id=a><p id=p>words</p><button id=b><span>go</span></button><script>
    const say = text => document.getElementById('p').append(' ', text);
    document.getElementById('a').onblur = () => say('checked');
    document.getElementById('b').onclick = () => say(document.activeElement.id);
    </script>"""
    async with page(html) as url:
        one = await recorded(
            chromium, url, {"action": "type", "target": "#a", "value": "x"}, {"action": "click", "target": "#p"},
            {"action": "click", "target": "span"},
        )  # fmt: skip
    (there,) = await compared(one, chromium, [firefox])
    assert not there.issues and told(there.other).split()[1:3] == ["checked", "b"], told(there.other)


PERSON = """<!DOCTYPE html><style>body { margin: 0; height: 3000px } * { display: block }</style>
<label id=l><input type=checkbox id=c>box</label><input id=t><div id=e contenteditable></div><button id=b>b</button>
<p id=p><script>
const say = text => document.getElementById('p').append(' ', text);
document.getElementById('c').onchange = event => say(`ticked ${event.target.checked}`);
document.getElementById('t').onfocus = () => say(`focused ${Math.random()}`);
document.getElementById('t').onkeydown = event => say(`key ${event.keyCode} ${Math.random()}`);
document.getElementById('b').onclick = () => { document.getElementById('t').focus(); say(Math.random()); };
</script>"""


async def click(tab: Any, selector: str) -> None:
    """As a person does."""
    box = json.loads(
        await tab.evaluate(f"JSON.stringify(document.querySelector({selector!r}).getBoundingClientRect())")
    )
    at = {"x": box["x"] + min(box["width"] - 2, 40), "y": box["y"] + box["height"] / 2}
    for kind in ("mousePressed", "mouseReleased"):
        await tab._send("Input.dispatchMouseEvent", {"type": kind, **at, "button": "left", "clickCount": 1})


async def test_what_a_person_does_comes_again(chromium: Build, firefox: Build) -> None:
    """By events that a browser believes to be a person's."""
    async with page(PERSON) as url, recording(chromium, f"{url}/", (url,), SIZE, 0.5, person=True) as own:
        tab: Any = own.session.tab
        await click(tab, "#l")
        await click(tab, "#t")
        await tab._send("Input.insertText", {"text": "ab"})
        for kind in ("rawKeyDown", "keyUp"):
            await tab._send("Input.dispatchKeyEvent", {"type": kind, "key": "ArrowLeft", "windowsVirtualKeyCode": 37})
        await click(tab, "#e")
        await tab._send("Input.insertText", {"text": "edited"})
        await click(tab, "#b")
        await tab._send("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": 9, "y": 9, "deltaX": 0, "deltaY": 300})
        async with asyncio.timeout(20):
            while not await tab.evaluate("scrollY"):
                await tab.frame()
        await own.rest()
        one = own.trace
    here, there = await asyncio.gather(replay(one, chromium), replay(one, firefox))
    for found in (here, there):
        assert not wrong(found), (wrong(found), [event.plain for event in one.events][-12:])
        text = told(found)
        assert text.count("ticked true") == 1 and "ticked false" not in text and "key 37" in text and "edited" in text
        values = [node.attributes.get(":value") for node in found.steps[-1].data.nodes]
        assert "ab" in values and found.steps[-1].views[0].scroll[1] == one.events[-1].details["state"]["y"] > 0


GOING = """<!DOCTYPE html><style>* { display: block }</style><p id=p></p>
<div><button id=a>a</button></div><button id=b>b</button><input id=t><h1>beside</h1><script>
const at = id => document.getElementById(id), say = text => at('p').append(' ', text);
for (const type of ['blur', 'change'])
  document.addEventListener(type, event => say(`${type} of ${event.target.id}`), true);
at('b').onmouseout = () => say('left');
at('a').onclick = () => { at('b').disabled = true; setTimeout(() => { at('a').remove(); say('gone'); }, 10); };
</script>"""


async def test_focus_that_goes_with_its_element_is_nobodys_act(chromium: Build) -> None:
    """But it is somebody's where one presses beside what has it."""
    async with page(GOING) as url, recording(chromium, f"{url}/", (url,), SIZE, 0.5, person=True) as own:
        tab: Any = own.session.tab
        await click(tab, "#a")
        async with asyncio.timeout(20):
            while await tab.evaluate("document.getElementById('a') !== null"):
                await tab.frame()
        # Onto what can no longer be pressed, and off it.
        await click(tab, "#b")
        await click(tab, "#t")
        await tab._send("Input.insertText", {"text": "ab"})
        await click(tab, "h1")
        await own.rest()
        one, there = own.trace, await tab.evaluate("document.getElementById('p').textContent")
    assert there.endswith("change of t blur of t"), there
    found = await replay(one, chromium)
    assert not wrong(found), wrong(found)
    assert told(found).split()[: len(there.split())] == there.split()


NAMED = """<!DOCTYPE html><title>t</title>
<form id=f><input name=children value=1><input name=attributes><input name=type><input name=id><input name=nodeType>
<input name=localName><input name=getBoundingClientRect><input name=disabled><button type=button>go</button></form>
<svg><filter><feColorMatrix type=matrix /></filter><a target=_blank href=/away><text y=20>away</text></a></svg><p id=p>
<script>document.querySelector('button').onclick = () => document.getElementById('p').append('gone')</script>"""


async def test_controls_may_be_named_as_they_like(chromium: Build) -> None:
    """A form answers for them where it is asked for something else of that name."""
    async with page(NAMED) as url:
        path = "/html[1]/body[1]/form[1]"
        one = await recorded(
            chromium, url, {"action": "type", "target": f"{path}/input[2]", "value": "x"},
            {"action": "click", "target": f"{path}/button[1]"}, {"action": "click", "target": "text"},
        )  # fmt: skip
        crawled = [found async for found in crawl(chromium, f"{url}/", (url,), SIZE, Limits(depth=1, sessions=1))]
    assert crawled[0].events and not any(own["errors"] for own in one.locals.values())
    found = await replay(one, chromium)
    assert not found.ended and not wrong(found) and "gone" in told(found)
    assert any(
        node.path == f"{path}/input[1]" and node.attributes["name"] == "children" for node in found.steps[0].data.nodes
    )


TASKS = """<!DOCTYPE html><p id=p></p><script>
const say = text => document.getElementById('p').append(' ', text);
if (window.scheduler) scheduler.postTask(() => say(`task ${Math.random()}`), { delay: 40 });
for (const ms of [45, 5000]) setTimeout(() => say('timer'), ms);
AbortSignal.timeout(50).onabort = event => say(`${event.target.reason.name} ${document.timeline.currentTime}`);
const blob = URL.createObjectURL(new Blob(['b']));
say(blob);
crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign'])
  .then(async key => {
    say((await crypto.subtle.exportKey('jwk', key.publicKey)).x);
    const signed = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key.privateKey, new Uint8Array(2));
    say(new Uint8Array(signed));
  });
(async () => {
  const answer = await fetch('/slowly'), reader = answer.body.getReader(), letters = new TextDecoder();
  for (let part; !(part = await reader.read()).done;) say(`${letters.decode(part.value).trim()} ${Math.random()}`);
})();
</script>"""


async def test_what_takes_long_comes_part_by_part_and_all_else_in_its_turn(chromium: Build) -> None:
    async def serve(request: web.Request) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(text=TASKS, content_type="text/html")
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson", "X-Name": "caf\udce9"})
        await response.prepare(request)
        await response.write(b"first\n")
        # Longer than anyone waits for all of it.
        await asyncio.sleep(4)
        await response.write(b"second\n")
        return response

    async with running(application(serve)) as url:
        one = await recorded(chromium, url, patience=8)
    written(one).encode()
    found = await replay(one, chromium)
    text = told(found)
    assert not found.ended and not wrong(found), wrong(found)
    for words in ("task", "timer", "TimeoutError", "blob:0", "first", "second"):
        assert words in text, text
    assert text.index("first") < text.index("second")
    (same,) = await compared(one, chromium, [chromium])
    assert not same.issues, same.issues
