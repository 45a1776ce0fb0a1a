"""What hostile and odd pages do to the lab: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from conftest import build
from moire import inspect
from moire.browsers.lab import Lab, LabOptions, Visit
from moire.nouns import Build, Case, Environment, Failure, Outcome, Shot
from moire.pages.simple import page
from moire.pixels import decode

ENGINES = ["chromium@156", "chromium@108", "firefox@153", "webkit@2.50"]
CONTROL = Case(b"<!DOCTYPE html><body style='margin:0'><div style='width:100px;height:100px;background:#008000'>")
QUICK = LabOptions(deadline=4, processes=1)
PATIENT = LabOptions(deadline=60, processes=1)


def html(text: str) -> Case:
    return Case(f"<!DOCTYPE html><body style='background:#00f'>{text}".encode())


def colour(outcome: Outcome, x: int = 700, y: int = 500) -> tuple[int, int, int]:
    assert isinstance(outcome, Shot), outcome
    blue, green, red = (int(v) for v in decode(outcome.png)[y, x])
    return red, green, blue


async def shoot_and_check(build: Build, case: Case, options: LabOptions = QUICK) -> Outcome:
    (outcome,) = await shown_and_checked(build, [case], options)
    return outcome


async def shown_and_checked(build: Build, cases: Iterable[Case], options: LabOptions = QUICK) -> list[Outcome]:
    """Show each case, and see that the lab shows the next page as if nothing had been."""
    outcomes = []
    async with Lab([build], options) as lab:
        before = await lab.shoot(build, CONTROL)
        assert isinstance(before, Shot)
        for case in cases:
            outcomes.append(await lab.shoot(build, case))
            after = await lab.shoot(build, CONTROL)
            assert isinstance(after, Shot) and before.png == after.png, case.html[:80]
    return outcomes


STILL_SHOWN = {
    "alert": "<script>alert(1); confirm(2); prompt(3)</script>",
    "alerts for ever": "<script>setInterval(() => alert(1), 0)</script>",
    "beforeunload": "<script>onbeforeunload = e => { e.preventDefault(); return 'stay' }</script>",
    "window.open": "<script>for (let i = 0; i < 50; i++) window.open('about:blank')</script>",
    "window.open for ever": "<script>setInterval(() => window.open('/'), 1)</script>",
    "download": "<a download=x href='data:application/zip,abc'>x</a><script>document.links[0].click()</script>",
    "missing image": "<img src=nothing.png>",
    "print": "<script>window.print()</script>",
    "fullscreen": "<script>document.documentElement.requestFullscreen().catch(() => 0)</script>",
    "redefined": "<script>requestAnimationFrame = () => 0; document.getAnimations = () => { throw 1 }</script>",
}

# Classic WebDriver shares the page's world, is stopped by its dialogs, and WebKit's browser makes room
# for a download bar: such pages are called hung or untestable there, which is what they are.
BEYOND_WEBDRIVER = {"redefined", "alerts for ever", "download"}


@pytest.mark.parametrize("engine", ["webkit@2.50"], indirect=True)
@pytest.mark.parametrize("name", sorted(BEYOND_WEBDRIVER))
async def test_pages_beyond_webdriver_are_called_so(engine: Build, name: str) -> None:
    outcome = await shoot_and_check(engine, html(STILL_SHOWN[name]), LabOptions(deadline=3, processes=1))
    assert isinstance(outcome, Failure) and outcome.kind in ("hung", "untestable")


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_pages_that_pester_are_shown_all_the_same(engine: Build) -> None:
    async with Lab([engine], LabOptions(deadline=8, processes=1)) as lab:
        for name, trick in STILL_SHOWN.items():
            if engine.engine == "webkit" and name in BEYOND_WEBDRIVER:
                continue
            assert colour(await lab.shoot(engine, html(trick))) == (0, 0, 255), name
        assert colour(await lab.shoot(engine, CONTROL), 50, 50) == (0, 128, 0)


@pytest.mark.parametrize("engine", ["chromium@156", "firefox@153", "webkit@2.50"], indirect=True)
async def test_an_endless_loop_is_hung_three_times_of_three(engine: Build) -> None:
    options = LabOptions(deadline=2, processes=1)
    outcome = await shoot_and_check(engine, html("<script>for (;;);</script>"), options)
    assert outcome == Failure("hung", "not done before the deadline", 3)


LEAVES = (
    "<script>location = 'elsewhere.html'</script>",
    "<meta http-equiv=refresh content='0; url=other.html'>",
    "<script>location.reload()</script>",
    "<script>location.replace(location.href)</script>",
    "<script>location = 'https://elsewhere.invalid/'</script>",
    "<script>location = 'http://127.0.0.1:9/'</script>",
)


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_page_that_leaves_is_untestable(engine: Build) -> None:
    # WebKit's driver does not tell a reload from a load.
    blind = ("reload", "replace") if engine.engine == "webkit" else ()
    pages = [html(text) for text in LEAVES if not any(word in text for word in blind)]
    for outcome in await shown_and_checked(engine, pages, LabOptions(deadline=5, processes=1)):
        assert isinstance(outcome, Failure) and outcome.kind == "untestable", outcome


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_download_is_no_picture(engine: Build) -> None:
    outcome = await shoot_and_check(engine, Case(b"PK\3\4" + bytes(100), "x.zip"), LabOptions(deadline=5, processes=1))
    assert isinstance(outcome, Failure) and outcome.kind == "untestable", outcome


async def test_a_page_that_answers_does_not_hang(chromium: Build) -> None:
    page = html("<script>location = 'javascript:document.write(1)'</script>")
    outcome = await shoot_and_check(chromium, page, LabOptions(deadline=3, processes=1))
    assert isinstance(outcome, Failure) and outcome.kind == "untestable", outcome


async def test_a_page_that_closes_its_window_did_not_crash(firefox: Build) -> None:
    outcome = await shoot_and_check(firefox, html("<script>window.close()</script>"))
    assert isinstance(outcome, Failure) and outcome.kind == "untestable", outcome


ODD = (b"", b"\0\0\0", b"\xff\xfe\xfa broken \xc3", b"<p>a\0b\xffc", b"<div>" * 20_000, b"<b><i></b><table><div>")


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_odd_bytes_are_shown(engine: Build) -> None:
    for body, outcome in zip(ODD, await shown_and_checked(engine, map(Case, ODD), PATIENT), strict=True):
        assert isinstance(outcome, Shot), (body[:20], outcome)


async def test_fifty_megabytes_are_shown(chromium: Build) -> None:
    case = html("<div hidden>" + "<p>a paragraph of some length that goes on for a while" * 1_000_000 + "</div>x")
    assert len(case.html) > 50_000_000
    outcome = await shoot_and_check(chromium, case, LabOptions(deadline=60, processes=1))
    assert colour(outcome, 790, 590) == (0, 0, 255)


async def test_a_gigabyte_of_allocation_harms_nobody(chromium: Build) -> None:
    hog = "<script>x = []; for (let i = 0; i < 64; i++) x.push(new Uint8Array(1 << 24).fill(i))</script>"
    outcome = await shoot_and_check(chromium, html(hog), PATIENT)
    assert isinstance(outcome, Shot) or outcome.kind == "crashed"


ELSEWHERE = """<script>
  fetch('http://example.com/f').catch(() => 0);
  new WebSocket('ws://example.com/w');
  new Image().src = 'http://10.0.0.1/i';
  fetch('http://127.0.0.1:48123/l').catch(() => 0);
  fetch('http://localhost:48123/l').catch(() => 0);
</script>"""


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_the_network_ends_at_the_page_server(engine: Build) -> None:
    async with Lab([engine], QUICK) as lab:
        outcome = await lab.shoot(engine, html(ELSEWHERE))
        assert isinstance(outcome, Shot)
        asked = " ".join(lab.outside.asked)
        assert "example.com" in asked and "10.0.0.1" in asked
        assert "localhost:48123" in asked and "127.0.0.1:48123" in asked
        if engine.engine != "webkit":
            assert any("example.com/f" in address for address in outcome.blocked)
            assert "http://127.0.0.1:48123/l" in outcome.blocked
        if engine.engine == "chromium":
            assert any(address.startswith("ws://example.com/w") for address in outcome.blocked)


REMEMBERS = """<!DOCTYPE html><script>
  const seen = document.cookie + localStorage.length;
  document.cookie = 'a=1'; localStorage.a = 1;
  document.documentElement.style.background = seen === '0' ? '#00f' : '#f00';
</script>"""


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_page_finds_nothing_that_another_stored(engine: Build) -> None:
    async with Lab([engine], QUICK) as lab:
        for n in range(3):
            assert colour(await lab.shoot(engine, Case(f"{REMEMBERS}{n}".encode()))) == (0, 0, 255)


# Fields and forms whose names hide what a script would ask the document.
CLOBBERED = """<form name=readyState></form><form name=getAnimations></form><form name=fonts></form>
<form name=activeElement></form><form id=f><input name=lastChild><input name=nodeType><input name=attributes></form>
<fieldset name=previousSibling form=f></fieldset>"""


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_names_in_a_page_hide_nothing(engine: Build) -> None:
    async with Lab([engine], QUICK) as lab:
        assert colour(await lab.shoot(engine, html(CLOBBERED))) == (0, 0, 255)
        seen = await lab.visit(engine, html(CLOBBERED), inspect.take)
    assert isinstance(seen, Visit)
    assert [node.name for node in seen.value.nodes].count("input") == 3


async def test_a_dark_page_leaves_the_light_ones_light(firefox: Build) -> None:
    sheet = "<style>@media (prefers-color-scheme: dark) { body { background: #f00 !important } }</style>"
    dark = replace(html(sheet), environment=Environment(color_scheme="dark"))
    async with Lab([firefox], LabOptions(processes=1, deadline=10)) as lab:
        light = await asyncio.gather(*(lab.shoot(firefox, html(f"{sheet}{n}"), "fast") for n in range(2)))
        both = await asyncio.gather(lab.shoot(firefox, dark), *(lab.shoot(firefox, html(sheet)) for _ in range(3)))
        again = await lab.shoot(firefox, html(sheet), "fast")
    assert colour(both[0]) == (255, 0, 0)
    assert {colour(shot) for shot in (*light, *both[1:], again)} == {(0, 0, 255)}


async def test_a_page_reads_no_file_beyond_its_folder(chromium: Build, tmp_path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    inside = tmp_path / "site"
    inside.mkdir()
    (inside / "ok.txt").write_text("fine")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    tries = ["ok.txt", "../secret.txt", "..%2fsecret.txt", "link.txt", "file:///etc/passwd", "/etc/passwd"]
    (inside / "page.html").write_text("<!DOCTYPE html><title>x</title>")
    case = Case.from_file(inside / "page.html")
    script = f"""(async () => {{ const out = []; for (const t of {tries!r}) {{
        try {{ const r = await fetch(t); out.push(r.ok ? await r.text() : r.status) }} catch (e) {{ out.push('no') }}
    }} return out }})()"""
    async with Lab([chromium], QUICK) as lab, lab.tab(chromium) as tab, lab.published(chromium, case) as address:
        await tab.load(address)
        assert await tab.evaluate(script) == ["fine", 404, 404, 404, "no", 404]


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_the_environment_is_what_the_page_sees(engine: Build) -> None:
    body = b"<!DOCTYPE html><style>body{background:#00f}@media(width:500px){body{background:#f00}}</style>x"
    async with Lab([engine], QUICK) as lab:
        small = await lab.shoot(engine, Case(body, environment=Environment(500, 400)))
        assert colour(small, 490, 390) == (255, 0, 0)
        turned = Case(
            b"<!DOCTYPE html><body><i style='background:#f00'>xxxxx", environment=Environment(direction="rtl")
        )
        assert colour(await lab.shoot(engine, turned), 785, 12)[0] > 200


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_scheme_scale_and_print_are_shown_or_declined(engine: Build) -> None:
    body = (
        b"<!DOCTYPE html><style>:root{color-scheme:light dark}body{background:#00f}"
        b"@media(prefers-color-scheme:dark){body{background:#f00}}@media print{body{background:#0f0}}</style>x"
    )
    async with Lab([engine], QUICK) as lab:
        dark = await lab.shoot(engine, Case(body, environment=Environment(color_scheme="dark")))
        paper = await lab.shoot(engine, Case(body, environment=Environment(medium="print")))
        if engine.engine == "webkit":
            assert isinstance(dark, Failure) and isinstance(paper, Failure)
            assert (dark.kind, paper.kind) == ("untestable", "untestable")
            return
        assert colour(dark) == (255, 0, 0)
        assert colour(paper) == (0, 255, 0)
        double = await lab.shoot(engine, Case(body, environment=Environment(400, 300, scale=2)))
        assert isinstance(double, Shot) and decode(double.png).shape == (600, 800, 3)


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_animations_and_carets_are_stilled(engine: Build) -> None:
    moving = html(
        "<style>@keyframes m { to { margin-left: 500px } } div { width: 50px; height: 50px; background: red }"
        "#a { animation: m 3s infinite } #b { animation: m 100s forwards }</style>"
        "<div id=a></div><div id=b></div><input autofocus value=caret>"
    )
    async with Lab([engine], QUICK) as lab:
        shots = [await lab.shoot(engine, moving) for _ in range(3)]
    assert all(isinstance(s, Shot) for s in shots)
    assert len({s.png for s in shots if isinstance(s, Shot)}) == 1


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_tab_can_be_driven(engine: Build) -> None:
    page = html("<style>body{height:3000px}</style><input id=i><p id=p>text")
    async with Lab([engine], QUICK) as lab, lab.published(engine, page) as address, lab.tab(engine) as tab:
        await tab.load(address)
        assert await tab.evaluate("document.querySelector('#p').textContent") == "text"
        assert await tab.evaluate("new Promise(r => setTimeout(() => r({a: [1, null, 'x']}), 10))") == {
            "a": [1, None, "x"]
        }
        await tab.scroll(0, 700)
        await tab.focus("#i")
        await tab.settle()
        assert await tab.evaluate("document.activeElement.id") == "i"
        await tab.scroll(0, 700)
        assert await tab.evaluate("scrollY") == 700
        await tab.resize(640, 480)
        await tab.settle()
        assert await tab.evaluate("[innerWidth, innerHeight]") == [640, 480]
        await tab.set_content("<!DOCTYPE html><title>other</title>")
        assert await tab.evaluate("document.title") == "other"


async def fast_and_sure(lab: Lab, build: Build, case: Case) -> tuple[Shot, Shot]:
    fast, sure = await asyncio.gather(lab.shoot(build, case, "fast"), lab.shoot(build, case))
    assert isinstance(fast, Shot) and isinstance(sure, Shot), (fast, sure)
    return fast, sure


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_the_fast_path_shows_what_a_navigation_shows(engine: Build) -> None:
    seeds = range(40 if engine.engine == "chromium" else 10)
    async with Lab([engine]) as lab:
        both = await asyncio.gather(*(fast_and_sure(lab, engine, page(seed, 1500)) for seed in seeds))
    # A page whose frame shows nothing new is shown by navigation after all.
    assert sum(fast.how == "fast" for fast, _ in both) > 0.9 * len(seeds)
    assert all(sure.how == "navigation" for _, sure in both)
    assert [seed for seed, (fast, sure) in zip(seeds, both, strict=True) if fast.png != sure.png] == []


@pytest.mark.parametrize("engine", ["chromium@156", "chromium@108", "/usr/bin/chromium"], indirect=True)
async def test_the_fast_path_in_every_environment(engine: Build) -> None:
    """Also in builds that cannot draw frames on demand: /usr/bin/chromium is the browser, not the shell."""
    environments = [Environment(), Environment(400, 300, 2.0), Environment(color_scheme="dark", direction="rtl")]
    coloured = b"<!DOCTYPE html><style>@media (prefers-color-scheme: dark) { body { background: #123 } }</style><p>x"
    async with Lab([engine], LabOptions(processes=1)) as lab:
        for environment in [*environments, *environments]:
            fast, sure = await fast_and_sure(lab, engine, Case(coloured, environment=environment))
            assert fast.png == sure.png


def test_active_pages_are_never_shown_by_content() -> None:
    for active in STILL_SHOWN.values():
        assert not html(active).inert
    assert not html(ELSEWHERE).inert
    assert not Case(b"\xff").inert
    assert html("<p>plain").inert


def test_every_engine_here_is_installed() -> None:
    assert [build(name).engine for name in ENGINES] == ["chromium", "chromium", "firefox", "webkit"]


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_the_lab_brings_ahem(engine: Build) -> None:
    """A square of the letter's size, down to a fifth below the line, and nothing beside it."""
    style = "position:absolute;left:100px;top:100px;font:100px/1 Ahem;color:#0f0"
    async with Lab([engine], QUICK) as lab:
        shown = decode((await lab.shoot(engine, html(f"<div style='{style}'>X p</div>"))).png)  # type: ignore[union-attr]
    ink = shown[:, :, 1] > 200
    assert ink[102:198, 102:198].all() and not ink[:, 202:298].any()
    assert ink[182:198, 302:398].all() and not ink[102:178, 302:398].any()
