"""The reducer: passes over the source until none finds anything to take out."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ...nouns import Case
from ...pages.source import broken, elements, parse
from . import operations, passes
from .judge import Judge, Never, View
from .search import Search

# Questions under way at once: each is a render in two builds, which fills two cores.
AHEAD = max(1, (os.cpu_count() or 2) // 2)
# A pass that went by wrong answers is gone through again, so often.
MOST_TRIES = 4
# Rounds of all passes; each is at least one cut further, so this is for pages that no round leaves alone.
MOST_ROUNDS = 8
# What shows in fewer looks than one of two is no ground to stand on.
MOST_FLAKES = 0.5
LOOKS_AT_FIRST, MORE_LOOKS = 2, 6
# A page that failed before is looked at so many times before it is said not to fail any more.
LOOKS = 3
# How likely a failure is to be seen among several looks.
SURE = 0.95
# Of the elements that a difference shows in, so many are tried as the whole page.
SUSPECTS = 2


# The name of the step back to where the shorter way led astray.
BACK = "back"
# The name of the pass that calls elements otherwise.
TAGS = "tags"


@dataclass(frozen=True, slots=True)
class Step:
    """One cut that was kept."""

    name: str
    text: str
    coding: str = "utf-8"


# Who is shown a step, and how the page then looks.
Shown = Callable[[Step, View], None]


@dataclass(frozen=True, slots=True)
class Witness:
    """Who follows a reduction: is shown its steps, is told each answer by the digest of its question, and has `known`
    some since before it was broken off."""

    shown: Shown = lambda step, view: None
    told: Callable[[str, bool], None] = lambda digest, answer: None
    known: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """`steady` is a page that was seen to fail several times in a row; `known` are answers of an earlier run by digest
    of the page; `told` hears every new one; `kept` hears every step that stays, `shown` the last of each pass with
    how the page then looks, and `asked` of every question the pass and the size."""

    ahead: int = AHEAD
    steady: bool = False
    known: Mapping[str, bool] = field(default_factory=dict)
    told: Callable[[str, bool], None] = lambda digest, answer: None
    kept: Callable[[Step], None] = lambda step: None
    asked: Callable[[str, int], None] = lambda name, size: None
    shown: Shown = lambda step, view: None


@dataclass(frozen=True, slots=True)
class Reduced:
    case: Case
    words: str
    flake_rate: float
    renders: int
    seconds: float
    questions: int
    steps: tuple[Step, ...]


async def reduce(case: Case, judge: Judge, settings: Settings | None = None, learned: str = "") -> Reduced | Never:
    """`learned` is what the judge said of another page that fails, if this one is to fail as that did."""
    return await _Reduction(case, judge, settings or Settings()).run(learned)


class _Flaky(Exception):
    pass


class _Reduction:
    def __init__(self, case: Case, judge: Judge, settings: Settings) -> None:
        self._case = case
        self._judge = judge
        self._settings = settings
        self._steps: list[Step] = []
        self._questions = 0
        self._looks = self._misses = 0
        self._coding = "utf-8" if _is_utf8(case.html) else "latin-1"
        self._search = Search(self._ask, settings.ahead, self._digest, self._told)
        self._name = ""
        # While elements get other names.
        self._anywhere = False
        # Once the shorter way to an answer has led astray.
        self._careful = False

    async def run(self, learned: str) -> Reduced | Never:
        begun = time.monotonic()
        found = learned or await self._judge.learn(self._case)
        if isinstance(found, Never):
            return found
        text = operations.whole(self._case, self._coding)
        try:
            smallest = await self._checked(text)
        except _Flaky:
            return Never("flaky", f"it fails {1 - self._flakes:.0%} of the time")
        if smallest is None:
            return Never("flaky", "what failed before does not fail any more")
        return Reduced(
            self._at(smallest), found, self._flakes, self._judge.renders, time.monotonic() - begun, self._questions,
            tuple(self._steps),
        )  # fmt: skip

    async def _checked(self, text: str) -> str | None:
        """The smallest page, which a browser shows to anyone as it was seen here."""
        if not self._settings.steady:
            await self._steady(text)
        self._careful = not await self._again(text)
        smallest = await self._reduced(text)
        if not self._careful and not await self._again(smallest, careful=True):
            # The shorter way has led astray.
            self._careful = True
            sound = await self._sound(text)
            self._keep(BACK, sound)
            smallest = await self._reduced(sound)
        if self._careful and not await self._again(smallest):
            return None
        await self._judge.follow(self._at(smallest))
        return smallest

    async def _sound(self, text: str) -> str:
        """Of the page and all steps since, one that a navigation confirms where it does not confirm the next."""
        await self._judge.follow(None)
        texts = [text, *(step.text for step in self._steps)]
        # From then on, elements have other names.
        renamed = next((n for n, step in enumerate(self._steps, 1) if step.name == TAGS), len(texts))
        sound, astray = 0, len(texts) - 1
        while astray - sound > 1:
            middle = (sound + astray) // 2
            self._anywhere = middle >= renamed
            if await self._again(texts[middle]):
                sound = middle
            else:
                astray = middle
        self._anywhere = False
        if sound >= renamed:
            await self._judge.follow(self._at(texts[sound]))
        return texts[sound]

    async def _steady(self, text: str) -> None:
        """How often does it fail? Twice in a row is enough; if it does not, more looks tell."""
        for looks in (LOOKS_AT_FIRST, MORE_LOOKS):
            answers = [await self._judge.fails(self._at(text), careful=True) for _ in range(looks)]
            self._looks += looks
            self._misses += answers.count(False)
            if all(answers):
                return
        if self._flakes > MOST_FLAKES:
            raise _Flaky

    async def _reduced(self, text: str) -> str:
        html = self._html(text)
        shapeless = broken(html, parse(html)) or self._coding != "utf-8"
        text = await self._on_page("inline", passes.inlined(self._case.beside, self._coding), text)
        text = await self._on_update("operations", operations.fewer, text)
        text = await self._focus(text)
        before = None
        rounds = 0
        while text != before and rounds < MOST_ROUNDS:
            before = text
            chosen = passes.FINE if rounds else {**passes.COARSE, **passes.FINE}
            if shapeless:
                chosen = {**chosen, **passes.SHAPELESS}
            for name, one in chosen.items():
                text = await self._on_page(name, one, text)
            text = await self._on_update("operations", operations.fewer, text)
            text = await self._on_update("what operations bring", operations.simpler, text)
            self._anywhere = True
            if (renamed := await self._on_page(TAGS, passes.tags, text)) != text:
                text = renamed
                await self._judge.follow(self._at(text))
            self._anywhere = False
            rounds += 1
        return text

    @property
    def _flakes(self) -> float:
        """Of the looks at pages that had failed before, the share that did not show it."""
        return self._misses / self._looks if self._looks else 0.0

    @property
    def _repeats(self) -> int:
        """As many tries as make it likely that a failure is seen."""
        flakes = min(self._flakes, MOST_FLAKES)
        return math.ceil(math.log(1 - SURE) / math.log(flakes)) if flakes else 1

    async def _again(self, text: str, *, careful: bool = False) -> bool:
        """Whether what has failed before fails still."""
        for missed in range(max(self._repeats, LOOKS)):
            careful = careful or self._careful
            if await self._judge.fails(self._at(text), anywhere=self._anywhere, careful=careful, best=True):
                self._looks += missed + 1
                self._misses += missed
                if self._flakes > MOST_FLAKES:
                    raise _Flaky
                return True
        return False

    async def _focus(self, text: str) -> str:
        """The elements that the failure shows in may be all it takes."""
        html = self._html(text)
        every = [node.name for node in elements(parse(html))]
        for name, nth in self._judge.suspects()[:SUSPECTS]:
            places = [n for n, one in enumerate(every) if one == name]
            if nth >= len(places):
                continue
            smaller = passes.only(html, [places[nth]])

            def one(_: str, smaller: str = smaller) -> passes.Asking:
                return smaller if (yield smaller) else html

            if (found := await self._on_page("focus", one, text)) != text:
                return found
        return text

    async def _on_page(self, name: str, one: passes.Pass, text: str) -> str:
        return await self._pass(name, operations.on_page(one) if self._case.update else one, text)

    async def _on_update(self, name: str, one: passes.Pass, text: str) -> str:
        return await self._pass(name, one, text) if self._case.update else text

    async def _pass(self, name: str, one: passes.Pass, text: str) -> str:
        self._name = name
        for _ in range(MOST_TRIES):
            trail = await self._search.run(one, text)
            length = len(trail)
            while len(trail) > 1 and not await self._again(trail[-1]):
                # It was seen by chance, or only looked like it.
                self._search.correct(trail.pop(), False)
            for step in trail[1:]:
                self._keep(name, step)
            if len(trail) > 1:
                self._settings.shown(self._steps[-1], self._judge.view)
            text = trail[-1]
            if len(trail) == length:
                break
        return text

    def _keep(self, name: str, text: str) -> None:
        self._steps.append(Step(name, text, self._coding))
        self._settings.kept(self._steps[-1])

    async def _ask(self, text: str) -> bool:
        known = self._settings.known.get(self._digest(text))
        if known is not None:
            return known
        for _ in range(self._repeats):
            if await self._judge.fails(self._at(text), anywhere=self._anywhere, careful=self._careful):
                return True
        return False

    def _digest(self, text: str) -> str:
        question = f"{self._careful} {self._anywhere} {text}"
        return hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    def _told(self, text: str, answer: bool) -> None:
        self._questions += 1
        self._settings.told(self._digest(text), answer)
        self._settings.asked(self._name, len(text))

    def _html(self, text: str) -> str:
        return operations.parted(text)[1] if self._case.update else text

    def _at(self, text: str) -> Case:
        if not self._case.update:
            return replace(self._case, html=text.encode(self._coding))
        update, html = operations.parted(text)
        return replace(self._case, html=html.encode(self._coding), update=update)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
