"""Applications that are not as one would have them: they hang, frame others, meddle with what is built in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from book_manager import running
from moire.apps import check, record
from moire.apps.check import compared
from moire.apps.crawl import Crawled, Limits, crawl, moves
from moire.apps.detect import Detector
from moire.apps.record import recording
from moire.apps.replay import Replayed, replay
from moire.apps.trace import Event, Trace, masked
from moire.nouns import Build
from test_apps_replay import SIZE, application, page, recorded, wrong
from test_apps_ways import told

CLICK = {"action": "click", "target": "button"}


async def test_what_an_event_does_for_the_first_time_elsewhere_is_told(chromium: Build, firefox: Build) -> None:
    """Nothing that it drew or registered was written down: there was nothing."""
    html = "<!DOCTYPE html><button onclick='if (!navigator.userAgentData) { setTimeout(() => 1, 9); nowhere(); }'>b"
    async with page(html) as url:
        one = await recorded(chromium, url, CLICK)
    here, there = await asyncio.gather(replay(one, chromium), replay(one, firefox))
    assert not wrong(here)
    assert sorted(words.partition(":")[0] for words in wrong(there)) == ["error", "registered"]


async def test_frames_of_other_origins_are_refused_and_no_more(chromium: Build, firefox: Build) -> None:
    html = "<!DOCTYPE html><iframe src='http://192.0.2.2:8123/frame'></iframe><button>b</button>"
    async with page(html) as url:
        one = await recorded(firefox, url, CLICK)
        for seen in await asyncio.gather(*(replay(one, build) for build in (chromium, firefox))):
            assert not wrong(seen) and any("192.0.2.2" in what for what in seen.refused or ())


FRAMES = """<!DOCTYPE html><p id=given><p id=set><p id=told><p id=object></p>
<script>window.say = (kind, n) => document.getElementById(kind).append(kind, ' ', n, ' ');</script>
<iframe srcdoc="<script>parent.say('given', Math.random())</script>"></iframe>
<object data=/inner type=text/html></object><script>
const inner = kind => `<script>parent.say('${kind}', Math.random())</` + 'script>';
const set = document.createElement('iframe');
set.srcdoc = inner('set');
const told = document.createElement('iframe');
told.setAttribute('srcdoc', inner('told'));
document.body.append(set, told);
</script>"""


async def test_frames_without_an_address_draw_the_same(chromium: Build, firefox: Build) -> None:
    async def serve(request: web.Request) -> web.Response:
        inner = "<!DOCTYPE html><script>parent.say('object', Math.random())</script>"
        return web.Response(text=inner if request.path == "/inner" else FRAMES, content_type="text/html")

    for build in (chromium, firefox):
        async with running(application(serve)) as url:
            one = await recorded(build, url)
        seen = [await replay(one, build) for _ in range(2)]
        assert not [issue for other in seen for issue in Detector().issues(seen[0], other)]
        words = told(seen[0])
        assert sorted(words.split()[::2]) == ["given", "object", "set", "told"]
        assert told(seen[1]) == words and not wrong(seen[0])


async def test_steps_that_look_alike_are_gone_through(chromium: Build) -> None:
    html = """<!DOCTYPE html><div><button>Next</button></div><p id=p>step one</p><script>
    const words = ['one', 'two', 'three', 'four', 'five'];
    let n = 0;
    document.querySelector('button').onclick = () => { p.textContent = `step ${words[n = Math.min(n + 1, 4)]}`; };
    </script>"""
    so_far: list[Crawled] = []
    async with page(html) as url:
        limits = Limits(depth=6, sessions=4)
        every = [
            one async for one in crawl(chromium, f"{url}/", (url,), SIZE, limits, patience=0.3, told=so_far.append)
        ]
    assert so_far[-1].states == 5 and len(every) == 1


async def test_states_that_are_too_deep_are_no_goals(chromium: Build) -> None:
    html = "<!DOCTYPE html><button onclick='this.insertAdjacentHTML(`afterend`, `<button>new</button>`)'>b</button>"
    async with page(html) as url:
        limits = Limits(depth=1, sessions=4)
        assert len([one async for one in crawl(chromium, f"{url}/", (url,), SIZE, limits, patience=0.3)]) == 1


async def test_what_hangs_ends_its_session_and_no_more(chromium: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moire.apps.session.ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(record, "ANSWER_SECONDS", 2.0)
    ask = record.Session.ask

    async def impatient(self: Any, words: str, seconds: float = 2.0) -> Any:
        return await ask(self, words, min(seconds, 2.0))

    monkeypatch.setattr(record.Session, "ask", impatient)
    buttons = "<button onclick='for (;;);'>a</button><button onclick='p.textContent = `done`'>b</button>"
    html = f"<!DOCTYPE html>{buttons}<p id=p>"
    so_far: list[Crawled] = []
    async with page(html) as url:
        found = crawl(chromium, f"{url}/", (url,), SIZE, Limits(depth=2, sessions=3), patience=0.3, told=so_far.append)
        every = [one async for one in found]
    assert any("button[2]" in event.details["target"] for one in every for event in one.events if event.kind == "act")
    assert [words.partition(":")[0] for words in so_far[-1].stuck] == ["click /html[1]/body[1]/button[1]"]


def test_read_only_leaves_what_changes_something_alone() -> None:
    def one(**more: object) -> dict[str, object]:
        return {"action": "click", "target": "/a", "words": "x", **more}

    harmless = [one(), one(words="Next"), one(href="http://a/posts/1"), one(name="sender")]
    harmful = [
        one(words="Delete"), one(href="http://a/items/1/delete"), one(title="Remove it"), one(name="do_save"),
        {"action": "select", "target": "/s", "values": ["a", "b"]},
    ]  # fmt: skip
    assert len([*moves([*harmless, *harmful], ["http://a"], True)]) == len(harmless)
    assert len([*moves([*harmless, *harmful], ["http://a"], False)]) == len(harmless) + len(harmful)


MEDDLES = (
    "Array.prototype.splice = () => [{}]",
    "JSON.stringify = () => 7",
    "Array.prototype.toJSON = () => '[]'",
)


@pytest.mark.parametrize("how", MEDDLES)
async def test_pages_that_meddle_are_told_of(how: str, chromium: Build, firefox: Build) -> None:
    """Or are recorded all the same: what they are not is another page of theirs, or a mistake of ours."""
    async with page("<!DOCTYPE html><p>x<script>onload = () => setTimeout(() => 1, 9)</script>") as url:
        one = await recorded(chromium, url)
    html = f"<!DOCTYPE html><script>{how}</script><button onclick='p.textContent = 1'>b</button><p id=p>"
    exchanges = tuple(
        type(each)(each.method, each.url, each.asked, each.status, each.headers, html.encode())
        for each in one.exchanges
    )
    meddling = Trace(one.url, one.origins, one.build, one.environment, one.events, one.locals, exchanges)
    # Only one of them is asked in the page's own world.
    for found in await asyncio.gather(*(replay(meddling, build) for build in (chromium, firefox))):
        assert found.ended or wrong(found), found


async def test_forms_may_be_named_as_they_like(chromium: Build) -> None:
    forms = "<form name=children></form><form name=documentElement></form>"
    html = f"<!DOCTYPE html>{forms}<button onclick='p.textContent=1'>b</button><p id=p>"
    async with page(html) as url:
        one = await recorded(chromium, url, {"action": "click", "target": "/html[1]/body[1]/button[1]"})
        seen = await replay(one, chromium)
    assert not wrong(seen) and told(seen).split()[-1] == "1"


async def test_a_session_that_leaves_keeps_what_came_before(chromium: Build) -> None:
    html = "<!DOCTYPE html><a href='https://192.0.2.2:8123/'>away</a>"
    async with page(html) as url, recording(chromium, f"{url}/", (url,), SIZE, 0.5) as own:
        await own.act({"action": "click", "target": "a"})
        assert own.over and own.trace.astray
        assert [event.details["action"] for event in own.trace.events if event.kind == "act"] == ["click"]


def test_not_one_letter_of_a_secret_that_a_person_types() -> None:
    def typed(n: int, **details: object) -> Event:
        return Event(f"0.{n}", "act", {"action": "dom", "target": "#a", **details})

    events = [typed(98, type="keydown", init=["no", "object"])]
    for n, letter in enumerate("s3cret", 1):
        events.append(typed(2 * n, type="keydown", init={"key": letter, "code": f"Key{letter}", "ctrlKey": False}))
        events.append(typed(2 * n + 1, type="input", init={"data": letter}, state={"value": "s3cret"[:n]}))
    other = Event("0.99", "act", {"action": "dom", "target": "#b", "type": "keydown", "init": {"key": "s"}})
    hidden = masked(Trace("http://a/", (), "b", SIZE, (*events, other), {}, ()), ["s3cret"])
    _, *those, last = hidden.events
    assert last == other
    for one in those:
        assert set(one.details["init"]) <= {"ctrlKey"} and set("".join((one.details.get("state") or {}).values())) <= {
            "•"
        }


async def test_what_could_not_be_looked_at_again_is_not_said_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    from test_apps_trace import _replayed

    a, b, bad = _replayed("a", 2), _replayed("b", 2), _replayed("b", 1, "the page did not answer in time", "stuck")
    answers = {"a": [a, a], "b": [b, bad, bad, bad]}

    async def again(trace: Trace, build: Build) -> Replayed:
        return answers[build.name].pop(0)

    monkeypatch.setattr(check, "replay", again)
    one, other = (Build(name, "chromium", "1", "test") for name in "ab")
    (found,) = await compared(Trace("http://a/", (), "a", SIZE, (), {}, ()), one, [other])
    assert not found.issues and len(found.passing) == 1 and found.trouble == "b: the page did not answer in time"
