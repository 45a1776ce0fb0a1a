"""Web applications recorded, replayed and compared in real browsers."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from book_manager import running, served
from moire.apps import scripted
from moire.apps.check import compared
from moire.apps.crawl import Limits, crawl, moves, sensible
from moire.apps.record import recording
from moire.apps.replay import Replayed, replay, rows
from moire.apps.trace import Event, Trace, masked, read, written
from moire.nouns import Build, Environment, UsageError
from moire.serve import certificate
from test_cli import moire

FORM = "/html[1]/body[1]/form[1]"
SIZE = Environment(800, 600)


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(serve: Handler) -> web.Application:
    app = web.Application()
    app.router.add_route("*", "/{name:.*}", serve)
    return app


@asynccontextmanager
async def page(html: str, **answers: str) -> AsyncIterator[str]:
    """An application of one page, and what it may ask for."""

    async def serve(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        text, kind = (html, "text/html") if not name else (answers[name], "text/plain")
        return web.Response(text=text, content_type=kind)

    async with running(application(serve)) as url:
        yield url


async def recorded(build: Build, url: str, *actions: dict[str, object], patience: float = 0.5) -> Trace:
    async with recording(build, f"{url}/", (url,), SIZE, patience) as own:
        for action in actions:
            assert await own.act(action)
        return own.trace


def wrong(found: Replayed) -> list[str]:
    return [f"{one.kind}: {one.words}" for one in (*(b for s in found.steps for b in s.behaviour), *found.behaviour)]


async def test_only_what_is_really_different_is_told(chromium: Build, firefox: Build, webkit: Build) -> None:
    """Logins, random numbers, times and answers are other ones each time; the reminder is wrong elsewhere."""
    async with served() as url:
        limits = Limits(depth=4, sessions=2)
        found = [one async for one in crawl(chromium, f"{url}/", (url,), SIZE, limits, patience=0.8)]
    (one,) = found
    kinds = {event.kind for event in one.events}
    assert {"act", "timer", "interval", "frame", "xhr", "fetch", "come"} <= kinds and one.pages == 2
    itself, *others = await compared(one, chromium, [chromium, firefox, webkit])
    assert not itself.issues and not itself.passing and not itself.other.ended
    for each in others:
        assert [(issue.kind, issue.words) for issue in each.issues] == [
            ("text", "'You can still borrow 5 books' and 'You can still borrow NaN books'")
        ], each.other.build
        assert not each.passing


async def test_a_trace_is_a_file(chromium: Build, tmp_path: Path) -> None:
    async with page("<!DOCTYPE html><input id=a type=password><p id=p>") as url:
        one = await recorded(chromium, url, {"action": "type", "target": "#a", "value": "hunter2"})
    file = tmp_path / "trace.json"
    file.write_text(written(one))
    assert read(file) == one
    hidden = written(masked(one, ["hunter2"]))
    assert "hunter2" in written(one) and "hunter2" not in hidden and "•••••••" in hidden


# What an engine lacks: `userAgentData` is Chromium's own.
LACKS = """<!DOCTYPE html><button id=a>a</button><button id=b>b</button><p id=p>
<script>
const say = text => document.getElementById('p').append(text);
document.getElementById('a').onclick = () => {
  const brand = navigator.userAgentData.brands.length;
  setTimeout(function first() { say('first ' + Math.random() + brand); }, 20);
};
document.getElementById('b').onclick = () => setTimeout(function second() { say('second ' + Math.random()); }, 20);
</script>"""


async def test_one_call_that_fails_elsewhere_does_not_derail_the_rest(chromium: Build, firefox: Build) -> None:
    """As in the paper's Figures 5 to 8: the timer of the second button runs with its own random number."""
    click = [{"action": "click", "target": f"#{name}"} for name in "ab"]
    async with page(LACKS) as url:
        one = await recorded(chromium, url, *click)
    here, there = await asyncio.gather(replay(one, chromium), replay(one, firefox))
    assert not wrong(here)
    told = wrong(there)
    assert any("function first" in words and "was never asked for" in words for words in told)
    assert any(words.startswith("error: ") for words in told)
    assert not any("second" in words for words in told)
    last = [[node.text for node in found.steps[-1].data.nodes if "second" in node.text] for found in (here, there)]
    assert last[0] == last[1] != []


CHANCE = """<!DOCTYPE html><p id=p></p><script>
const say = text => document.getElementById('p').append(document.createElement('br'), text);
say(crypto.randomUUID() + ' ' + new Date().getTime() + ' ' + Date() + performance.now());
requestIdleCallback(deadline => say('idle ' + deadline.timeRemaining()));
const worker = new Worker(URL.createObjectURL(new Blob(['postMessage(1 + 1)'])));
worker.onmessage = event => say('worker ' + event.data);
addEventListener('message', event => say('message ' + event.data));
postMessage('self', '*');
fetch('/gone').then(answer => answer.text()).then(text => say('fetched ' + text + Math.random()));
const sync = new XMLHttpRequest();
sync.open('GET', '/sync', false);
sync.send();
say('sync ' + sync.responseText);
queueMicrotask(() => say('micro ' + Math.random()));
(async () => { await null; say('awaited ' + Math.random()); })();
new IntersectionObserver(entries => say('seen ' + entries.length)).observe(document.getElementById('p'));
say(confirm('sure?') + ' ' + prompt('name?', 'Ann'));
</script>"""


@pytest.mark.parametrize("engine", ["chromium", "firefox", "webkit"])
async def test_whatever_chance_brings_comes_again(engine: str, request: pytest.FixtureRequest) -> None:
    build: Build = request.getfixturevalue(engine)
    async with page(CHANCE, gone="here", sync="at once") as url:
        one = await recorded(build, url)
    (same,) = await compared(one, build, [build])
    assert not same.issues and not same.passing and not same.reference.ended
    text = " ".join(node.text for node in same.reference.steps[-1].data.nodes)
    for words in ("idle", "worker 2", "message self", "fetched here", "sync at once", "true Ann", "micro", "awaited"):
        assert words in text, words


@pytest.mark.parametrize(
    ("engine", "scheme"), [("chromium", "http"), ("chromium", "https"), ("firefox", "https"), ("webkit", "https")]
)
async def test_sockets_are_heard_again_also_behind_a_certificate(
    engine: str, scheme: str, firefox: Build, request: pytest.FixtureRequest
) -> None:
    build: Build = request.getfixturevalue(engine)
    html = """<!DOCTYPE html><p id=p></p><script>
    const line = new WebSocket(`${location.protocol.replace('http', 'ws')}//${location.host}/line`, 'greetings');
    line.onopen = () => line.send('hello');
    line.addEventListener('message', event => document.getElementById('p').append(event.data, ' '));
    </script>"""

    async def serve(request: web.Request) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(text=html, content_type="text/html")
        line = web.WebSocketResponse(protocols=["greetings"])
        await line.prepare(request)
        said = await line.receive_str()
        for n in range(3):
            await line.send_str(f"{said} {n}")
        await line.close()
        return line

    context = certificate.context(["127.0.0.1"]) if scheme == "https" else None
    async with (
        running(application(serve), context) as url,
        asyncio.timeout(30),
        recording(build, f"{url}/", (url,), SIZE, 0.5) as own,
    ):
        # What comes in by itself is waited for by those who know that it comes.
        while not any(event.details.get("data", {}).get("type") == "close" for event in own.events):
            await own.rest()
        one = own.trace
    (there,) = await compared(one, build, [firefox])
    assert not there.issues
    assert "hello 2" in " ".join(node.text for node in there.other.steps[-1].data.nodes)


async def test_dragging_works_by_either_way(chromium: Build, webkit: Build) -> None:
    html = """<!DOCTYPE html><style>div { width: 80px; height: 40px; background: #ccc; margin: 9px }</style>
    <div id=a draggable=true>a</div><div id=b>b</div><script>
    const [a, b] = document.querySelectorAll('div');
    a.ondragstart = event => event.dataTransfer.setData('text/plain', 'carried');
    b.ondragover = event => event.preventDefault();
    b.ondrop = event => { b.textContent = event.dataTransfer.getData('text/plain'); };
    </script>"""
    async with page(html) as url:
        one = await recorded(chromium, url, {"action": "drag", "target": "#a", "to": "#b"})
    (there,) = await compared(one, chromium, [webkit])
    assert not there.issues and any(node.text == "carried" for node in there.other.steps[-1].data.nodes)


async def test_nothing_but_the_given_origins_is_reached(chromium: Build) -> None:
    async with page("<!DOCTYPE html>") as other:
        html = f"<!DOCTYPE html><img src={other}/picture><script>fetch('{other}/').catch(() => {{}})</script>"
        async with page(html) as url, recording(chromium, f"{url}/", (url,), SIZE, 0.5) as own:
            assert set(own.session.proxy.refused) == {f"{other}/picture", f"{other}/"}
            assert all(one.url.startswith(url) for one in own.archive.exchanges)


async def test_policies_of_pages_let_the_script_in(chromium: Build) -> None:
    html = "<!DOCTYPE html><p id=p>a<script src=/code></script>"
    for policy in ("default-src 'none'; script-src 'self'", "script-src 'nonce-a' 'self'", "default-src 'self'"):

        async def serve(request: web.Request, policy: str = policy) -> web.Response:
            if request.path == "/code":
                text = "document.getElementById('p').textContent = Math.random()"
                return web.Response(text=text, content_type="text/javascript")
            headers = {"Content-Security-Policy": policy}
            return web.Response(text=html, content_type="text/html", headers=headers)

        async with running(application(serve)) as url:
            one = await recorded(chromium, url)
        assert [len(own["drawn"]["random"]) for own in one.locals.values() if own["drawn"]] == [1], policy
        assert not wrong(await replay(one, chromium))


def test_pages_are_looked_at_after_inputs_and_after_new_code() -> None:
    registered = {"timer": ["a", "b"], "frame": ["f"]}
    typed = [Event(f"0.{n}", "act", {"action": "type", "target": "x"}) for n in range(1, 4)]
    timers = [Event(f"0.{n + 4}", "timer", {"of": ["0.0", n % 2]}) for n in range(4)]
    frames = [Event(f"0.{n + 8}", "frame", {"of": ["0.0", 0]}) for n in range(45)]
    click = Event("0.60", "act", {"action": "click", "target": "x"})
    events = (*typed, *timers, *frames, click)
    one = Trace("", (), "", SIZE, events, {"0.0": {"registered": registered}}, ())
    assert [len(row) for row in rows(one, events)] == [3, 1, 1, 20, 20, 7, 1]


def test_forms_are_filled_in_and_only_looked_at_if_so_asked() -> None:
    field = {"action": "type", "target": f"{FORM}/input[1]", "kind": "email", "name": "", "sends": True}
    button = {"action": "click", "target": f"{FORM}/button[1]", "sends": True, "words": "Send", "href": ""}
    link = {"action": "click", "target": "/a[1]", "sends": False, "words": "more", "href": "http://a/x"}
    away = {**link, "target": "/a[2]", "href": "http://b/"}
    delete = {**link, "target": "/a[3]", "href": "", "words": "Delete all"}
    found = [*moves([field, button, link, away, delete], ["http://a"], False)]
    assert [[action["target"] for action in move] for move in found] == [
        [f"{FORM}/input[1]", f"{FORM}/button[1]"], ["/a[1]"], ["/a[3]"],
    ]  # fmt: skip
    assert found[0][0]["value"] == sensible(field) == "ann@example.org"
    assert [*moves([field, button, link, away, delete], ["http://a"], True)] == [
        ({"action": "click", "target": "/a[1]"},)
    ]


def test_recordings_of_devtools_are_scripts(tmp_path: Path) -> None:
    file = tmp_path / "steps.json"
    steps = [
        {"type": "setViewport", "width": 9}, {"type": "navigate", "url": "http://a/"},
        {"type": "click", "selectors": [["aria/Go"], ["#go"], ["xpath///*[@id='go']"]]},
        {"type": "change", "value": "Ann", "selectors": [["#name"]]}, {"type": "keyDown", "key": "Enter"},
        {"type": "keyUp", "key": "Enter"},
    ]  # fmt: skip
    file.write_text(json.dumps({"title": "a", "steps": steps}))
    assert scripted.read(file) == [
        {"action": "click", "target": "#go"}, {"action": "type", "target": "#name", "value": "Ann"},
        {"action": "key", "target": ":focus", "value": "Enter"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "no JSON"),
        ("{}", "no list"),
        ('[{"action": "fly"}]', "does not say"),
        ('[{"action": "type", "target": "a"}]', "missing"),
        ('[{"action": "type", "target": "a", "value": 5}]', "'value' is 5"),
        ('[{"action": "scroll", "x": "1", "y": 0}]', "'x' is '1'"),
    ],
)
def test_scripts_that_are_none_get_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        scripted.read(file)


@contextmanager
def book_manager() -> Iterator[str]:
    """In a process of its own, as a user's is."""
    code = "import asyncio, book_manager\nasync def main():\n async with book_manager.served() as url:\n"
    code += "  print(url, flush=True)\n  await asyncio.Event().wait()\nasyncio.run(main())"
    with Popen([sys.executable, "-c", code], stdout=PIPE, text=True, cwd=Path(__file__).parent) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def test_from_the_command_line_to_the_report(tmp_path: Path) -> None:
    script, file, out = tmp_path / "script.json", tmp_path / "trace.json", tmp_path / "out"
    script.write_text(json.dumps([
        {"action": "type", "target": "#user", "value": "Ann"}, {"action": "click", "target": "#go"},
        {"action": "click", "target": "[data-of=maps]"},
    ]))  # fmt: skip
    with book_manager() as url:
        done = moire(
            "app", "record", f"{url}/", "--script", script, "-b", "chromium@156", "--patience", 0.8, "-o", file
        )
        assert done.returncode == 0, done.stderr
    # The application is gone, and all of it is in the trace.
    again = moire("app", "replay", file, "-b", "chromium@156", "--json", "-o", tmp_path / "steps")
    assert again.returncode == 0, again.stdout + again.stderr
    told = json.loads(again.stdout)
    assert not told["behaviour"] and len([*(tmp_path / "steps").glob("*.png")]) == told["steps"] > 4
    words = ["app", "check", "--trace", file, "-b", "chromium@156", "-b", "firefox@153"]
    found = moire(*words, "-o", out, "--fail-on-finding", "--json")
    assert found.returncode == 1, found.stderr
    (one,) = json.loads(found.stdout)["differences"]
    assert (one["kind"], one["build"]) == ("text", "firefox@153")
    # Another application, or another browser, may be right to do the same.
    assert one["signature"].endswith(f" in firefox at {urlsplit(url).netloc}")
    report = json.loads((out / "report.json").read_text())
    (finding,) = report["findings"]
    assert finding["boxes"] and set(finding["pictures"]) == {"chromium@156", "firefox@153"}
    assert finding["command"].startswith("moire app replay finding-001/trace.json")
    assert read(out / "finding-001" / "trace.json") == read(file)
    assert moire("export", "app-1", "--format", "junit", "-o", tmp_path / "junit").returncode == 0
    # What is accepted once is accepted for good.
    accepted = moire("app", "accept", "app-1", report["ids"]["finding-001"])
    assert accepted.returncode == 0, accepted.stderr
    assert moire(*words, "-o", tmp_path / "more", "--fail-on-finding").returncode == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["check"], "address, or --trace"),
        (["check", "ftp://a/"], "no address of a web application"),
        (["check", "http://[/"], "no address of a web application"),
        (["check", "https://a:b/"], "no address of a web application"),
        (["check", "http://h\\x/"], "no address of a web application"),
        (["record", "http://a\u00ad/", "-o", "trace.json"], "no address of a web application"),
        (["check", "http://ann:secret@127.0.0.1:9999/"], "a name or a password in it"),
        (["check", "http://127.0.0.1:9999/", "-b", "chromium@156"], "One browser"),
        (["check", "http://127.0.0.1:1/", "-b", "chromium@156", "-b", "firefox@153"], "cannot be opened"),
        (["replay", "none.json"], "cannot be read"),
        (["record", "http://127.0.0.1:9999/", "--script", "none.json", "-o", "trace.json"], "cannot be read"),
        (["accept", "app-9", "1"], "no run"),
    ],
)
def test_wrong_calls_get_a_sentence(words: list[str], sentence: str) -> None:
    done = moire("app", *words)
    assert done.returncode in (1, 2) and sentence in done.stderr and "Traceback" not in done.stderr, done.stderr
