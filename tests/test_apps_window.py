"""Browsers with a window that a person sees, and those that others have started."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import descendants
from moire.apps.replay import replay
from moire.apps.trace import read
from moire.browsers import window
from moire.browsers.drivers.webkit import start_xvfb
from moire.nouns import Build, UsageError
from test_apps_replay import page, wrong

MOIRE = [sys.executable, "-m", "moire.cli"]
HTML = """<!DOCTYPE html><title>t</title><p id=p></p><button id=b>b</button><script>
const p = document.getElementById('p');
document.getElementById('b').onclick = () => {
  fetch('/more').then(said => said.text()).then(text => p.append(text, Math.random()));
};
</script>"""


def words_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


async def test_a_session_of_ones_own_is_in_a_window(tmp_path: Path) -> None:
    screen, display = await start_xvfb()
    try:
        async with page(HTML) as url:
            environ = {**os.environ, "DISPLAY": display}
            words = [*MOIRE, "app", "record", f"{url}/", "-b", "firefox", "-o", str(tmp_path / "t.json")]
            recording = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.PIPE, env=environ)
            assert recording.stderr is not None
            said = (await recording.stderr.readline()).decode()
            assert said.startswith("firefox@153 is yours"), said
            (browser,) = [words for one in descendants(recording.pid) if "--profile" in (words := words_of(one))]
            assert "--headless" not in browser
            recording.send_signal(signal.SIGINT)
            assert await recording.wait() == 0
            assert json.loads((tmp_path / "t.json").read_text())["pages"] == 1
    finally:
        await screen.kill(gently=True)


def test_a_build_without_windows_is_told_of(
    tmp_path: Path, chromium: Build, firefox: Build, webkit: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    shell, whole = tmp_path / "chromium-headless-shell", tmp_path / "chromium"
    shell.touch()
    build = replace(chromium, path=shell)
    with pytest.raises(UsageError, match="without windows"):
        window.shown(build)
    whole.touch()
    assert window.shown(build).path == whole and window.SHOWN in window.shown(build).flags
    with pytest.raises(UsageError, match="shows no window"):
        window.shown(webkit)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="no screen"):
        window.shown(firefox)


def test_a_shell_that_is_asked_for_a_window_says_so(tmp_path: Path) -> None:
    words = [*MOIRE, "app", "record", "http://127.0.0.1:9/", "-b", "chromium@108", "-o", str(tmp_path / "t.json")]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "DISPLAY": ":0"}, timeout=60)
    assert done.returncode == 2 and "is a Chromium without windows" in done.stderr, done.stderr


async def test_a_browser_at_an_address_reaches_no_other_origins(
    chromedriver: str, firefox: Build, tmp_path: Path
) -> None:
    options = {"args": ["--headless=new", "--no-sandbox"]}
    capabilities = json.dumps({"browserName": "chrome", "goog:chromeOptions": options})
    asked = []

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(other, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    script = tmp_path / "script.json"
    script.write_text('[{"action": "click", "target": "#b"}]')
    async with page(f"{HTML}<img src=http://127.0.0.1:{port}/>", more="answered ") as url, server:
        words = ["-b", f"{chromedriver}?capabilities={capabilities}", "--script", script, "-o", tmp_path / "t.json"]
        recording = await asyncio.create_subprocess_exec(*MOIRE, "app", "record", f"{url}/", *map(str, words))
        assert await recording.wait() == 0
    assert not asked
    found = await replay(read(tmp_path / "t.json"), firefox)
    assert not found.ended and not wrong(found)
