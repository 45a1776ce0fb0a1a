"""An application explored as a user would: what can be clicked is clicked, forms are filled in, and every way back
leads through the first page. Each way from there is a session of its own, and its trace."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..browsers.drivers.base import DriverError
from ..nouns import Build, Environment
from .page import Page
from .record import PATIENCE, Recording, recording
from .session import Astray, Left
from .trace import Trace

Action = Mapping[str, Any]
# A page that goes on and on is looked at so often; then it is no state, and nothing is to be done in it.
TRIES, NOWHERE = 3, ""
# What a user does to get from one state to the next: one thing, or a form that is filled in and sent.
Move = tuple[Action, ...]

# What to type, by what a field is called or what kind it is.
_SENSIBLE = (
    ("email|mail", "ann@example.org"), ("password", "Secret-123"), ("tel|phone", "030 1234567"),
    ("number|amount|count|age|qty|quantity", "7"), ("date", "2020-02-02"), ("time", "12:30"), ("month", "2020-02"),
    ("week", "2020-W06"), ("url|website|link", "https://example.org/"), ("zip|postal", "10115"), ("search|query", "a"),
    ("name|user|login", "Ann Example"), ("", "Something to do"),
)  # fmt: skip
# In a session that only looks, what a click says it does.
_CHANGES = re.compile(
    r"(?:\b|_)(delete|remove|log.?out|sign.?out|buy|order|pay|send|save|submit|post|upload)(?:\b|_)", re.I
)
_SAYS = ("words", "name", "href", "title")


@dataclass(frozen=True, slots=True)
class Limits:
    """`depth` are moves from the first page on; 0 seconds are without end."""

    depth: int = 4
    states: int = 30
    sessions: int = 10
    seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Crawled:
    """`stuck` says after what a session could not go on, and why."""

    states: int
    sessions: int
    stuck: tuple[str, ...] = ()


@dataclass
class _Frontier:
    """States that are known, and what was not tried in them yet, by the way that leads there."""

    states: dict[str, tuple[Move, ...]] = field(default_factory=dict)
    untried: dict[str, list[Move]] = field(default_factory=dict)
    # One and the same thing in many states is done once.
    done: set[str] = field(default_factory=set)
    # After which nothing went on.
    hangs: set[str] = field(default_factory=set)

    def add(self, state: str, way: tuple[Move, ...], moves: Sequence[Move]) -> None:
        self.states[state] = way
        self.untried[state] = [*moves]

    def next_in(self, state: str, *, new: bool) -> Move | None:
        """In a state that is `new`, what was done in others is worth doing again, once there is nothing else: what goes
        on to the next step looks the same in each."""
        left = [move for move in self.untried.get(state, ()) if _words(move) not in self.hangs]
        fresh = [move for move in left if _words(move) not in self.done]
        chosen = next(iter(fresh or (left if new else ())), None)
        if chosen is not None:
            self.untried[state].remove(chosen)
            self.done.add(_words(chosen))
        return chosen

    def nearest(self, depth: int) -> str | None:
        """Of the states in which there is something to be done that was not done anywhere."""
        open_ones = [
            state for state, left in self.untried.items()
            if len(self.states[state]) < depth and any(_words(move) not in self.done for move in left)
            and self.hangs.isdisjoint(map(_words, self.states[state]))
        ]  # fmt: skip
        return min(open_ones, key=lambda state: len(self.states[state]), default=None)


async def crawl(
    build: Build, url: str, origins: tuple[str, ...], environment: Environment, limits: Limits, *,
    read_only: bool = False, patience: float = PATIENCE, told: Callable[[Crawled], None] = lambda crawled: None,
) -> AsyncIterator[Trace]:  # fmt: skip
    end = time.monotonic() + limits.seconds if limits.seconds else float("inf")
    known = _Frontier()
    stuck: list[str] = []
    for session in range(limits.sessions):
        goal = known.nearest(limits.depth)
        if (session and goal is None) or time.monotonic() > end:
            return
        async with recording(build, url, origins, environment, patience, read_only=read_only) as own:
            way: tuple[Move, ...] = ()
            before = frozenset(known.states)
            state = await _arrived(known, own, way, origins, read_only)
            for move in known.states[goal] if goal is not None else ():
                if own.over:
                    break
                await _do(own, move)
                way += (move,)
                state = await _arrived(known, own, way, origins, read_only)
            while len(way) < limits.depth and len(known.states) < limits.states and time.monotonic() < end:
                next_move = None if own.over else known.next_in(state, new=state not in before)
                if next_move is None:
                    break
                if not await _do(own, next_move) and not own.over:
                    continue
                way += (next_move,)
                state = await _arrived(known, own, way, origins, read_only)
                told(Crawled(len(known.states), session + 1, tuple(stuck)))
            if own.stuck:
                stuck.append(f"{_last(way)}: {own.stuck}")
                known.hangs.update(map(_words, way[-1:]))
            told(Crawled(len(known.states), session + 1, tuple(stuck)))
            trace = own.trace
        if way or not session:
            yield trace
        if len(known.states) >= limits.states:
            return


def _last(way: Sequence[Move]) -> str:
    return " ".join(str(way[-1][-1][key]) for key in ("action", "target")) if way else "the first page"


async def _do(own: Recording, move: Move) -> bool:
    """Whether all of it could be done."""
    done = True
    for action in move:
        done = await own.act(action) and done
        if own.over:
            return False
    return done


async def _arrived(
    known: _Frontier, own: Recording, way: tuple[Move, ...], origins: Collection[str], read_only: bool
) -> str:
    for _ in range(0 if own.over else TRIES):
        try:
            data, _ = await own.session.page()
            candidates = await own.session.rows("candidates()")
        except Left:
            # It went on by itself.
            await own.settle()
        except Astray:
            own.astray = True
        except (DriverError, TimeoutError) as error:
            own.stuck = str(error) or "no answer in time"
        else:
            state = identity(data)
            if state not in known.states:
                plain = [
                    one for one in candidates if all(isinstance(one.get(key), str) for key in ("action", "target"))
                ]
                known.add(state, way, list(moves(plain, origins, read_only)))
            return state
        if own.over:
            break
    return NOWHERE


def identity(page: Page) -> str:
    """What makes a state: the tree of what is to be seen, and not what numbers are in it."""
    told = ("id", "class", "role", "type", ":checked")
    rows = [
        (node.path, *(node.attributes.get(name) for name in told)) if node.path
        else re.sub(r"\d+", "0", " ".join(node.text.split()))[:40]
        for node in page.nodes if node.visible or not node.path
    ]  # fmt: skip
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def moves(candidates: Sequence[Mapping[str, Any]], origins: Collection[str], read_only: bool) -> Iterator[Move]:
    """Forms first, with all of their fields; then what can be chosen, and then what can be clicked."""
    fields: list[Action] = []
    for one in candidates:
        if one["action"] == "type":
            fields.append({"action": "type", "target": one["target"], "value": sensible(one)})
    sends = [one for one in candidates if one["action"] == "click" and one.get("sends")]
    if not read_only:
        for one in sends:
            form = one["target"].rpartition("/form[")[0]
            own = [each for each in fields if str(each["target"]).rpartition("/form[")[0] == form and form]
            yield (*own, {"action": "click", "target": one["target"]})
        if fields and not sends:
            # Those that nothing else sends are sent by the key for that.
            yield from ((each, {"action": "key", "target": each["target"], "value": "Enter"}) for each in fields)
    for one in candidates:
        # Scripts may send a form as soon as something else is chosen.
        if one["action"] == "select" and len(one.get("values", ())) > 1 and not read_only:
            yield ({"action": "select", "target": one["target"], "value": one["values"][1]},)
    for one in candidates:
        if one["action"] == "click" and not one.get("sends") and _stays(one, origins):
            if read_only and _CHANGES.search(" ".join(str(one.get(key, "")) for key in _SAYS)):
                continue
            yield ({"action": "click", "target": one["target"]},)


def _stays(one: Mapping[str, Any], origins: Collection[str]) -> bool:
    href = str(one.get("href", ""))
    return not href or href.startswith("javascript:") or any(href.startswith(f"{origin}/") for origin in origins)


def sensible(one: Mapping[str, Any]) -> str:
    told = " ".join(str(one.get(key, "")) for key in ("kind", "name", "pattern")).lower()
    return next(value for words, value in _SENSIBLE if re.search(words, told))


def _words(move: Move) -> str:
    return repr([sorted(action.items()) for action in move])
