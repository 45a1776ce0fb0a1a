"""Searching by questions, several at once, with one and the same answer however many.

A *pass* is a generator: it yields a text, hears whether that text still fails, and returns the smallest one
it came to. It is asked again from its beginning with the answers that are known, and, where one is not known
yet, with a guess, which tells what it would ask next. Guesses only decide what is looked at ahead of time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator

Pass = Callable[[str], Generator[str, bool, str]]
Ask = Callable[[str], Awaitable[bool]]


class Search:
    """`key` says under what name the answer to a text is kept; `told` hears of each new one that a pass waited for."""

    def __init__(self, ask: Ask, ahead: int, key: Callable[[str], str], told: Callable[[str, bool], None]) -> None:
        self._ask = ask
        self._ahead = ahead
        self._key = key
        self._told = told
        self._known: dict[str, bool] = {}
        self._asked: dict[str, asyncio.Task[bool]] = {}
        self._dropped: list[asyncio.Task[bool]] = []

    def correct(self, text: str, answer: bool) -> None:
        """What was told of a text before was wrong."""
        self._known[self._key(text)] = answer

    async def run(self, step: Pass, text: str) -> list[str]:
        """The texts that failed on the way, from the one given to the smallest."""
        if self._ahead == 1:
            return await self._one_by_one(step, text)
        try:
            while True:
                trail, wanted = self._look(step, text)
                if not wanted:
                    return trail
                # One that has ended keeps all that it saw.
                self._dropped = [task for task in self._dropped if not task.done()]
                for old in set(self._asked) - set(wanted):
                    self._dropped.append(self._asked.pop(old))
                    self._dropped[-1].cancel()
                for one in wanted:
                    if one not in self._asked:
                        self._asked[one] = asyncio.ensure_future(self._ask(one))
                first = wanted[0]
                answer = await self._asked[first]
                del self._asked[first]
                self._known[self._key(first)] = answer
                self._told(first, answer)
        finally:
            for task in self._asked.values():
                task.cancel()
            await asyncio.gather(*self._asked.values(), *self._dropped, return_exceptions=True)
            self._asked.clear()
            self._dropped.clear()

    async def _one_by_one(self, step: Pass, text: str) -> list[str]:
        """The same without looking ahead: nothing is gone through again."""
        trail = [text]
        asking = step(text)
        try:
            one = next(asking)
            while True:
                answer = one == text or self._known.get(self._key(one))
                if answer is None:
                    answer = self._known[self._key(one)] = await self._ask(one)
                    self._told(one, answer)
                if answer and one != text:
                    trail.append(one)
                one = asking.send(answer)
        except StopIteration:
            return trail

    def _look(self, step: Pass, text: str) -> tuple[list[str], list[str]]:
        """How far known answers lead, and the questions that come next as far as one can guess."""
        trail, wanted = [text], list[str]()
        likely = False
        asking = step(text)
        try:
            one = next(asking)
            while True:
                if one == text:
                    answer = True
                elif (known := self._known.get(self._key(one))) is not None:
                    answer = likely = known
                    if answer and not wanted:
                        trail.append(one)
                else:
                    if one not in wanted:
                        wanted.append(one)
                    if len(wanted) >= self._ahead:
                        break
                    answer = likely
                one = asking.send(answer)
        except StopIteration:
            pass
        return trail, wanted
