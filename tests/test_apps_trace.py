"""Traces as files: bad ones, those with secrets, and what two replays of one tell."""

from __future__ import annotations

import html
import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import numpy as np
import pytest

from moire.apps import trace
from moire.apps.check import Compared
from moire.apps.detect import Detector
from moire.apps.keep import rows
from moire.apps.page import Node, Page
from moire.apps.replay import Behaviour, Replayed, Step, View
from moire.apps.trace import Trace, masked, read
from moire.nouns import Environment, UsageError
from moire.pixels import encode
from moire.serve.archive import Exchange, digest

SIZE = Environment(800, 600)
PLAIN = {
    "format": trace.FORMAT, "url": "http://a/", "origins": [], "build": "", "environment": {}, "events": [],
    "locals": {}, "exchanges": [], "pages": 1, "astray": False,
}  # fmt: skip
LOCAL: dict[str, object] = {"drawn": {}, "registered": {}, "errors": []}


def test_a_trace_of_nothing_is_one(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({**PLAIN, "locals": {"0.0": LOCAL}}))
    assert read(file).locals == {"0.0": LOCAL}


@pytest.mark.parametrize("word", ["S3cret&Pass!", "a~b c", 'Ü"x', "p&ss<"])
def test_no_way_of_writing_a_secret_is_left(word: str) -> None:
    ways = [
        word, quote(word), quote(word, safe="-_.!~*'()"), quote_plus(word), json.dumps(word)[1:-1],
        json.dumps(word, ensure_ascii=False)[1:-1], html.escape(word), urlencode({"w": word}),
    ]  # fmt: skip
    data = b64encode(f"\0{word}\0".encode()).decode()
    own = {"0.0": {**LOCAL, "drawn": {"answer": [{"bytes": data}, *ways]}}}
    body = "\n".join(ways).encode()
    exchange = Exchange("POST", "http://a/", digest(word.encode()), 200, (("x", word),), body)
    one = Trace("http://a/", ("http://a",), "b", SIZE, (), own, (exchange,))
    hidden = masked(one, [word[:2], word])
    (seen,) = hidden.exchanges
    assert not any(way in str(hidden) or way.encode() in seen.body for way in ways) and not seen.asked
    kept = hidden.locals["0.0"]["drawn"]["answer"][0]["bytes"]
    assert b64decode(kept).decode() == f"\0{'•' * len(word)}\0"


def _replayed(build: str, steps: int, ended: str = "", trouble: Any = "") -> Replayed:
    png = encode(np.zeros((4, 4, 3), np.uint8))
    step = Step(0, (), (), Page([Node(1, -1, "/html[1]", (0, 0, 4, 4), True)]), (View(png),))
    return Replayed(build, (step,) * steps, (Behaviour("0.1", "timer", f"of {build}"),), ended, trouble)


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        (_replayed("a", 2), _replayed("b", 2), ["timer"]),
        (_replayed("a", 2), _replayed("b", 1, "the page was left"), ["ended", "timer"]),
        # Of what is nobody's fault but the harness's, nobody is accused.
        (_replayed("a", 2), _replayed("b", 1, "the page did not answer in time", "stuck"), []),
        (_replayed("a", 1, "the page did not answer in time", "stuck"), _replayed("b", 2), []),
        (_replayed("a", 0, "page 1 did not come"), _replayed("b", 0, "page 1 did not come"), []),
    ],
)
def test_trouble_is_no_difference(first: Replayed, second: Replayed, kinds: list[str]) -> None:
    assert [issue.what for issue in Detector().issues(first, second)] == kinds
    one = Compared(Trace("", (), "", SIZE, (), {}, ()), first, second, (), ())
    assert bool(one.trouble) == (not kinds)
    assert [row.verdict for row in rows(7, one)][-1] == ("untestable" if not kinds else "same")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[", "no JSON"),
        ("{}", "is no trace"),
        ('{"format": "moire trace 9"}', "moire trace 9"),
        (json.dumps({"format": trace.FORMAT, "url": "", "events": [{"id": "x", "kind": "act"}]}), "is no trace"),
        (json.dumps({**PLAIN, "events": [{"id": "0.1", "kind": "timer", "of": 5}]}), "is no trace"),
        (json.dumps({**PLAIN, "events": [{"id": "0.1", "kind": "timer", "of": ["0.0", -1]}]}), "is no trace"),
        (
            json.dumps({**PLAIN, "events": [{"id": "0.1", "kind": "act", "action": "dom", "type": ["a"]}]}),
            "is no trace",
        ),
        (json.dumps({**PLAIN, "locals": {"0.0": 3}}), "is no trace"),
        (json.dumps({**PLAIN, "locals": {"0.0": {**LOCAL, "registered": {"timer": 5}}}}), "is no trace"),
        (json.dumps({**PLAIN, "locals": {"0.0": {**LOCAL, "registered": {"timer": [5]}}}}), "is no trace"),
        (json.dumps({**PLAIN, "pages": 1e999}), "is no trace"),
        (json.dumps({**PLAIN, "origins": ["https://["]}), "is no trace"),
        (json.dumps({**PLAIN, "url": "file:///etc/passwd"}), "is no trace"),
    ],
)
def test_traces_that_are_none_get_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        read(file)
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "none.json")
