"""A session of a web application, written down: what happened in which order, what came out of everything that may
come out otherwise another time, and what the network answered."""

from __future__ import annotations

import html
import json
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from ..nouns import Environment, UsageError
from ..serve.archive import Exchange

FORMAT = "moire trace 1"
# Before a click, and on the way there.
_LEADING = frozenset(
    ["pointerdown", "mousedown", "pointerup", "mouseup", "mouseover", "mouseout", "pointermove", "mousemove", "blur",
     "focus", "scroll", "wheel"]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """Something that makes code of the application run. `id` is `page.number`; what else it says depends on its
    `kind`: `act` is what a user does, `come` what a browser tells by itself, and all others are what the application
    has registered before."""

    id: str
    kind: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def page(self) -> int:
        return int(self.id.partition(".")[0])

    @property
    def plain(self) -> dict[str, Any]:
        return {"id": self.id, "kind": self.kind, **self.details}

    @property
    def typed(self) -> bool:
        """Whether it is one of a row of inputs."""
        if self.kind != "act":
            return False
        return self.details.get("action") in ("type", "key") or self.details.get("type") in (
            "keydown", "keypress", "keyup", "input",
        )  # fmt: skip

    @property
    def leads(self) -> bool:
        """Whether it is a part of what a person does, and not the end of it."""
        return self.kind == "act" and self.details.get("type") in _LEADING

    @property
    def words(self) -> str:
        """For people."""
        return printable(self._words)

    @property
    def _words(self) -> str:
        if self.kind == "act":
            value = self.details.get("value") or self.details.get("type") or self.details.get("to") or ""
            return " ".join(filter(None, [self.details["action"], self.details.get("target", ""), str(value)[:60]]))
        return self.details.get("key", "") if self.kind == "come" else f"{self.kind} of {self.details['of'][0]}"


def printable(text: str) -> str:
    """What a page says may be meant for a terminal."""
    return (
        text
        if text.isprintable()
        else "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    )


def event(row: Mapping[str, Any]) -> Event:
    """ValueError, KeyError or TypeError if it is none."""
    return _checked(Event(str(row["id"]), str(row["kind"]), {k: v for k, v in row.items() if k not in ("id", "kind")}))


@dataclass(frozen=True, slots=True)
class Trace:
    """`locals` has, for each event, what it drew and what it registered; `build` is where it was recorded."""

    url: str
    origins: tuple[str, ...]
    build: str
    environment: Environment
    events: tuple[Event, ...]
    locals: Mapping[str, Mapping[str, Any]]
    exchanges: tuple[Exchange, ...]
    # The last of them may have been a page in which nothing happened.
    pages: int = 1
    # Whether the last event led where nothing is written down.
    astray: bool = False

    def on(self, page: int) -> list[Event]:
        return [one for one in self.events if one.page == page]

    def local(self, page: int) -> dict[str, Mapping[str, Any]]:
        return {of: own for of, own in self.locals.items() if of.startswith(f"{page}.")}

    def came_as(self, page: int) -> dict[str, list[str]]:
        """Of each kind of thing that comes by itself, the events that it was."""
        found: dict[str, list[str]] = {}
        for one in self.on(page):
            if one.kind == "come":
                found.setdefault(str(one.details["key"]), []).append(one.id)
        return found

    def code(self, one: Event) -> str:
        """What the event runs, as far as it is known."""
        if "of" not in one.details:
            return f"{one.kind} {one.details.get('key', '')}"
        of, n = one.details["of"]
        registered = self.locals.get(of, {}).get("registered", {}).get(one.kind, ())
        return f"{one.kind} {registered[n] if n < len(registered) else ''}"

    def told(self, one: Event) -> str:
        """For people: what a user did, or what was run."""
        return one.words if one.kind in ("act", "come") else printable(self.code(one)[:200])


# What different ways of writing a word in an address leave as it is: a whole address, its parts, and forms.
_LEFT = (";,/?:@&=+$-_.!~*'()#", "-_.!~*'()", "/", "*-._", "")


def _forms(word: str) -> Iterator[str]:
    """A word in every way in which an application may send it."""
    yield word
    for ascii in (True, False):
        yield json.dumps(word, ensure_ascii=ascii)[1:-1]
    for quotes in (True, False):
        yield html.escape(word, quotes)
    for left in _LEFT:
        written = quote(word, safe=left)
        # Which leaves more than it is told to.
        written = written if "~" in left else written.replace("~", "%7E")
        for one in (written, written.replace("%20", "+")):
            yield one
            yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), one)


# What of an event tells what was typed.
_LETTERS = frozenset(["key", "code", "keyCode", "which", "charCode", "data"])


def _part(one: Event, name: str) -> Mapping[str, Any]:
    """Of what an event says; nothing, if that makes no sense."""
    found: Any = one.details.get(name)
    return found if isinstance(found, Mapping) else {}


def masked(trace: Trace, secrets: Sequence[str]) -> Trace:
    """Without some words, wherever they are and however they are written; those who were asked for them are asked for
    bullets. What a request had in it is no longer told by a digest, from which a short word could be guessed."""
    hide: dict[str, str] = {}
    for word in filter(None, secrets):
        bullets = "•" * len(word)
        for written, instead in zip(_forms(word), _forms(bullets), strict=True):
            hide.setdefault(written, instead)
    if not hide:
        return trace
    # Of words that are parts of others, the longer go first.
    every_form = re.compile("|".join(map(re.escape, sorted(hide, key=len, reverse=True))))
    in_bytes = {written.encode(): instead.encode() for written, instead in hide.items()}
    every_byte = re.compile(b"|".join(map(re.escape, sorted(in_bytes, key=len, reverse=True))))

    def text(value: str) -> str:
        return every_form.sub(lambda found: hide[found[0]], value)

    def body(data: bytes) -> bytes:
        return every_byte.sub(lambda found: in_bytes[found[0]], data)

    def every(value: Any) -> Any:
        if isinstance(value, str):
            with suppress(Error, ValueError):
                # Bodies and messages are written in this way; of anything else it makes nothing that has a word in it.
                data = b64decode(value, validate=True)
                if every_byte.search(data):
                    return b64encode(body(data)).decode()
            return text(value)
        if isinstance(value, Mapping):
            return {text(key): every(inner) for key, inner in value.items()}
        return [every(inner) for inner in value] if isinstance(value, list | tuple) else value

    # Where a person typed it, letter by letter.
    targets = {
        (one.page, one.details.get("target")) for one in trace.events
        if one.details.get("action") == BY_PERSON and every_form.search("".join(map(str, _part(one, "state").values())))
    }  # fmt: skip

    def event(one: Event) -> Event:
        if (one.page, one.details.get("target")) not in targets or one.details.get("action") != BY_PERSON:
            return replace(one, details=every(one.details))
        init = {key: value for key, value in _part(one, "init").items() if key not in _LETTERS}
        typed = _part(one, "state")
        state = {key: "•" * len(value) if isinstance(value, str) else value for key, value in typed.items()}
        return replace(one, details=every({**one.details, "init": init, **({"state": state} if state else {})}))

    def exchange(one: Exchange) -> Exchange:
        headers = tuple((name, text(value)) for name, value in one.headers)
        return replace(one, url=text(one.url), asked="", headers=headers, body=body(one.body))

    return replace(
        trace, url=text(trace.url), locals=every(trace.locals), exchanges=tuple(map(exchange, trace.exchanges)),
        events=tuple(map(event, trace.events)),
    )  # fmt: skip


def written(trace: Trace) -> str:
    plain = {
        "format": FORMAT, "url": trace.url, "origins": list(trace.origins), "build": trace.build,
        "environment": asdict(trace.environment), "events": [one.plain for one in trace.events],
        "locals": trace.locals,
        "exchanges": [{**asdict(one), "body": b64encode(one.body).decode()} for one in trace.exchanges],
        "pages": trace.pages, "astray": trace.astray,
    }  # fmt: skip
    return json.dumps(plain, ensure_ascii=False, indent=1)


def read(file: Path) -> Trace:
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Give a trace of `moire app record`.") from None
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise UsageError(f"{file} is no JSON.", "Give a trace of `moire app record`.") from None
    try:
        if found["format"] != FORMAT:
            raise UsageError(f"{file} is a {found['format']!r}.", f"This Moire reads {FORMAT!r}.")
        for address in map(urlsplit, (found["url"], *found["origins"])):
            # Which is no number, or too large a one, for some.
            if not (address.scheme in ("http", "https") and address.hostname and address.port != 0):
                raise ValueError("an address is none of a web application")
        return Trace(
            str(found["url"]), tuple(map(str, found["origins"])), str(found["build"]),
            Environment(**found["environment"]), tuple(event(row) for row in found["events"]),
            checked(found["locals"]), tuple(_exchange(row) for row in found["exchanges"]),
            int(found["pages"]), bool(found["astray"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise UsageError(f"{file} is no trace.", "Give a trace of `moire app record`.") from None


# What a user does; what a person did event for event is another.
ACTIONS = ("click", "type", "select", "key", "hover", "leave", "submit", "scroll", "drag")
BY_PERSON = "dom"
_ID = re.compile(r"[0-9]{1,6}\.[0-9]{1,9}")
# What is a text wherever it is said at all.
_TEXTS = ("action", "target", "type", "value", "to", "key")


def _checked(one: Event) -> Event:
    """ValueError if it says too little."""
    needed: Sequence[str] = {"act": ("action",), "come": ("key",)}.get(one.kind, ("of",))
    if not _ID.fullmatch(one.id) or any(key not in one.details for key in needed):
        raise ValueError("an event says too little")
    if one.kind == "act" and one.details["action"] not in (*ACTIONS, BY_PERSON):
        raise ValueError("nobody can do that")
    if any(not isinstance(one.details.get(key) or "", str) for key in _TEXTS):
        raise ValueError("an event says something else than words")
    if needed == ("of",):
        of, n = one.details["of"]
        if not (isinstance(of, str) and isinstance(n, int) and n >= 0):
            raise ValueError("an event does not say where it is from")
    return one


def checked(found: Any) -> dict[str, Mapping[str, Any]]:
    """What events drew and registered; ValueError, KeyError or TypeError if it is something else."""
    for own in found.values():
        lists = [*own["drawn"].values(), *own["registered"].values(), own["errors"]]
        if not all(isinstance(one, list) for one in lists):
            raise ValueError("an event has no lists")
        if not all(isinstance(one, str) for words in own["registered"].values() for one in words):
            raise ValueError("an event has registered something else than words")
    return dict(found)


def _exchange(row: Mapping[str, Any]) -> Exchange:
    headers = tuple((str(name), str(value)) for name, value in row["headers"])
    body = b64decode(row["body"])
    return Exchange(str(row["method"]), str(row["url"]), str(row["asked"]), int(row["status"]), headers, body)
