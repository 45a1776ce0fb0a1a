"""A session of a web application, written down: what happened in which order, what came out of everything that may
come out otherwise another time, and what the network answered."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..nouns import Environment, UsageError
from ..serve.archive import Exchange

FORMAT = "moire trace 1"


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
    def words(self) -> str:
        """For people."""
        if self.kind == "act":
            value = self.details.get("value") or self.details.get("type") or self.details.get("to") or ""
            return " ".join(filter(None, [self.details["action"], self.details.get("target", ""), str(value)[:60]]))
        return self.details.get("key", "") if self.kind == "come" else f"{self.kind} of {self.details['of'][0]}"


def event(row: Mapping[str, Any]) -> Event:
    return Event(str(row["id"]), str(row["kind"]), {k: v for k, v in row.items() if k not in ("id", "kind")})


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

    @property
    def pages(self) -> int:
        return 1 + max((one.page for one in self.events), default=0)

    def on(self, page: int) -> list[Event]:
        return [one for one in self.events if one.page == page]

    def local(self, page: int) -> dict[str, Mapping[str, Any]]:
        return {of: own for of, own in self.locals.items() if of.startswith(f"{page}.")}

    def code(self, one: Event) -> str:
        """What the event runs, as far as it is known."""
        if "of" not in one.details:
            return f"{one.kind} {one.details.get('key', '')}"
        of, n = one.details["of"]
        registered = self.locals.get(of, {}).get("registered", {}).get(one.kind, ())
        return f"{one.kind} {registered[n] if n < len(registered) else ''}"

    def told(self, one: Event) -> str:
        """For people: what a user did, or what was run."""
        return one.words if one.kind in ("act", "come") else self.code(one)[:200]


def masked(trace: Trace, secrets: Sequence[str]) -> Trace:
    """Without some words, wherever they are; those who were asked for them are asked for bullets."""
    hide = [word for word in secrets if word]
    if not hide:
        return trace

    def text(value: Any) -> Any:
        if isinstance(value, str):
            for word in hide:
                value = value.replace(word, "•" * len(word))
            return value
        if isinstance(value, dict):
            return {key: text(inner) for key, inner in value.items()}
        return [text(inner) for inner in value] if isinstance(value, list | tuple) else value

    def body(data: bytes) -> bytes:
        for word in hide:
            data = data.replace(word.encode(), ("•" * len(word)).encode())
        return data

    def exchange(one: Exchange) -> Exchange:
        headers = tuple((name, text(value)) for name, value in one.headers)
        return replace(one, url=text(one.url), headers=headers, body=body(one.body))

    events = tuple(replace(one, details=text(dict(one.details))) for one in trace.events)
    return replace(
        trace, events=events, locals=text(dict(trace.locals)), exchanges=tuple(map(exchange, trace.exchanges))
    )


def written(trace: Trace) -> str:
    plain = {
        "format": FORMAT, "url": trace.url, "origins": list(trace.origins), "build": trace.build,
        "environment": asdict(trace.environment), "events": [one.plain for one in trace.events],
        "locals": trace.locals,
        "exchanges": [{**asdict(one), "body": b64encode(one.body).decode()} for one in trace.exchanges],
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
        return Trace(
            str(found["url"]), tuple(map(str, found["origins"])), str(found["build"]),
            Environment(**found["environment"]), tuple(_checked(event(row)) for row in found["events"]),
            dict(found["locals"]), tuple(_exchange(row) for row in found["exchanges"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(f"{file} is no trace.", "Give a trace of `moire app record`.") from None


def _checked(one: Event) -> Event:
    needed: Sequence[str] = {"act": ("action",), "come": ("key",)}.get(one.kind, ("of",))
    if one.page < 0 or any(key not in one.details for key in needed):
        raise ValueError("an event says too little")
    return one


def _exchange(row: Mapping[str, Any]) -> Exchange:
    headers = tuple((str(name), str(value)) for name, value in row["headers"])
    body = b64decode(row["body"])
    return Exchange(str(row["method"]), str(row["url"]), str(row["asked"]), int(row["status"]), headers, body)
