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
    """`known` are answers from before; `told` hears of each new one that a pass waited for."""

    def __init__(self, ask: Ask, ahead: int, known: dict[str, bool], told: Callable[[str, bool], None]) -> None:
        self._ask = ask
        self._ahead = ahead
        self.known = known
        self._told = told
        self._asked: dict[str, asyncio.Task[bool]] = {}

    async def run(self, step: Pass, text: str) -> list[str]:
        """The texts that failed on the way, from the one given to the smallest."""
        try:
            while True:
                trail, wanted = self._look(step, text)
                if not wanted:
                    return trail
                for old in set(self._asked) - set(wanted):
                    self._asked.pop(old).cancel()
                for one in wanted:
                    if one not in self._asked:
                        self._asked[one] = asyncio.ensure_future(self._ask(one))
                first = wanted[0]
                answer = await self._asked[first]
                del self._asked[first]
                self.known[first] = answer
                self._told(first, answer)
        finally:
            for task in self._asked.values():
                task.cancel()
            await asyncio.gather(*self._asked.values(), return_exceptions=True)
            self._asked.clear()

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
                elif one in self.known:
                    answer = likely = self.known[one]
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
