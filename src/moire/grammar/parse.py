"""Reading a text by a grammar: any grammar, left-recursive and ambiguous ones too.

Earley's algorithm, straight on characters. A text that can be read in several ways is read in one of
them, always the same: earlier alternatives first, and each part of a sequence as short as may be.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from .model import (
    Alt,
    Cat,
    Grammar,
    GrammarError,
    Literal,
    Node,
    Not,
    Opt,
    Pattern,
    Plus,
    Reference,
    Star,
    bare,
    children,
    deep,
)
from .tree import Tree

# How much of the text an error message shows.
SHOWN = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Symbol:
    """A node at its place in the grammar, which says all. Rules share one symbol with all references to them."""

    path: str
    node: Node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Symbol) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)


_Production = tuple[_Symbol, ...]
# A production of a symbol, how much of it is read, and where it began.
_Item = tuple[_Symbol, int, int, int]


class Parser:
    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._productions: dict[_Symbol, list[_Production]] = {}
        self._rule = cache(self._rule_symbol)

    def parse(self, text: str, rule: str = "") -> Tree:
        """The derivation of a text; GrammarError says how far it could be read and what was expected."""
        name = rule or self._grammar.start
        if name not in self._grammar.rules:
            raise GrammarError(f"There is no rule {name!r}.")
        start = self._rule(name)
        chart = _Chart(self, text)
        chart.read(start, 0)
        if len(text) not in chart.ends[start, 0]:
            raise GrammarError(chart.complaint())
        with deep():
            return _Extraction(self, chart).tree(start, 0, len(text))

    def _rule_symbol(self, name: str) -> _Symbol:
        return _Symbol(name, bare(self._grammar.rules[name]))

    def resolve(self, symbol: _Symbol) -> _Symbol:
        """What a reference stands for."""
        while isinstance(symbol.node, Reference):
            symbol = self._rule(symbol.node.rule)
        return symbol

    def inner(self, symbol: _Symbol) -> list[_Symbol]:
        return [_Symbol(path, bare(node)) for path, node in children(symbol.path, symbol.node)]

    def productions(self, symbol: _Symbol) -> list[_Production]:
        """What a symbol may consist of. Repetitions are written left-recursive, which Earley likes best."""
        if symbol not in self._productions:
            below = [self.resolve(child) for child in self.inner(symbol)]
            match symbol.node:
                case Cat():
                    found: list[_Production] = [tuple(below)]
                case Alt():
                    found = [(child,) for child in below]
                case Opt():
                    found = [(), (below[0],)]
                case Star():
                    found = [(), (symbol, below[0])]
                case Plus():
                    found = [(below[0],), (symbol, below[0])]
                case _:
                    found = []
            self._productions[symbol] = found
        return self._productions[symbol]


@dataclass
class _Chart:
    """What was found at each place of a text."""

    parser: Parser
    text: str
    # For a symbol and where it begins, where it may end.
    ends: dict[tuple[_Symbol, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    # The same turned round: for a symbol and where it ends, where it may have begun.
    begins: dict[_Symbol, dict[int, list[int]]] = field(default_factory=lambda: defaultdict(dict))
    furthest: int = 0
    expected: set[str] = field(default_factory=set)
    # Lookaheads that this one is part of.
    looking: frozenset[tuple[str, int]] = frozenset()

    def read(self, start: _Symbol, begin: int) -> None:
        start = self.parser.resolve(start)
        agenda: dict[int, list[_Item]] = defaultdict(list)
        seen: dict[int, set[_Item]] = defaultdict(set)
        # Items that wait at a place for a symbol that begins there.
        waiting: dict[tuple[int, _Symbol], list[_Item]] = defaultdict(list)
        predicted: set[tuple[int, _Symbol]] = set()

        def add(at: int, item: _Item) -> None:
            if item not in seen[at]:
                seen[at].add(item)
                agenda[at].append(item)

        def predict(at: int, symbol: _Symbol) -> None:
            if (at, symbol) in predicted:
                return
            predicted.add((at, symbol))
            if isinstance(symbol.node, Literal | Pattern | Not):
                end = self._terminal(symbol, at)
                if end is not None:
                    complete(at, end, symbol)
                return
            for number in range(len(self.parser.productions(symbol))):
                add(at, (symbol, number, 0, at))

        def complete(begin_at: int, end: int, symbol: _Symbol) -> None:
            ends = self.ends[symbol, begin_at]
            if end in ends:
                return
            ends.add(end)
            self.begins[symbol].setdefault(end, []).append(begin_at)
            for item in list(waiting[begin_at, symbol]):
                owner, number, done, origin = item
                add(end, (owner, number, done + 1, origin))

        predict(begin, start)
        at = begin
        while at <= len(self.text):
            queue = agenda[at]
            while queue:
                item = queue.pop()
                owner, number, done, origin = item
                production = self.parser.productions(owner)[number]
                if done == len(production):
                    complete(origin, at, owner)
                    continue
                wanted = production[done]
                waiting[at, wanted].append(item)
                # What is known already of the wanted symbol from here helps this item at once.
                for end in list(self.ends.get((wanted, at), ())):
                    add(end, (owner, number, done + 1, origin))
                predict(at, wanted)
            following = [place for place, items in agenda.items() if items and place > at]
            if not following:
                return
            at = min(following)

    def _terminal(self, symbol: _Symbol, at: int) -> int | None:
        match symbol.node:
            case Literal(text):
                if self.text.startswith(text, at):
                    return self._matched(at + len(text))
                self._missed(at, repr(text))
            case Pattern(source):
                if found := _compiled(source).match(self.text, at):
                    return self._matched(found.end())
                self._missed(at, f"#{source!r}")
            case Not():
                if (symbol.path, at) in self.looking:
                    raise GrammarError(f"What must not follow at {symbol.path} depends on itself.")
                (body,) = self.parser.inner(symbol)
                ahead = _Chart(self.parser, self.text, looking=self.looking | {(symbol.path, at)})
                ahead.read(body, at)
                if not ahead.ends[self.parser.resolve(body), at]:
                    return at
            case _:
                raise AssertionError(symbol)
        return None

    def _matched(self, end: int) -> int:
        if end > self.furthest:
            self.furthest = end
            self.expected.clear()
        return end

    def _missed(self, at: int, what: str) -> None:
        if at > self.furthest:
            self.furthest = at
            self.expected.clear()
        if at == self.furthest:
            self.expected.add(what)

    def complaint(self) -> str:
        at = self.furthest
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        found = repr(self.text[at : at + SHOWN]) if at < len(self.text) else "the end"
        wanted = sorted(self.expected)
        more = f" or {len(wanted) - 5} others" if len(wanted) > 5 else ""
        what = ", ".join(wanted[:5]) or "the end"
        return f"The text does not fit: line {line}, column {column}: expected {what}{more}, found {found}."


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


class _Extraction:
    """From a chart to one tree."""

    def __init__(self, parser: Parser, chart: _Chart) -> None:
        self._parser = parser
        self._chart = chart
        # Spans under way: a span inside itself would go on for ever.
        self._open: set[tuple[_Symbol, int, int]] = set()

    def tree(self, symbol: _Symbol, begin: int, end: int) -> Tree:
        found = self._try(symbol, begin, end)
        assert found is not None, "the chart promised a reading"
        return found

    def _ends(self, symbol: _Symbol, begin: int) -> list[int]:
        return sorted(self._chart.ends.get((self._parser.resolve(symbol), begin), ()))

    def _try(self, symbol: _Symbol, begin: int, end: int) -> Tree | None:
        if isinstance(symbol.node, Reference):
            below = self._try(self._parser.resolve(symbol), begin, end)
            return None if below is None else Tree(symbol.path, symbol.node, (below,))
        if end not in self._chart.ends.get((symbol, begin), ()):
            return None
        if isinstance(symbol.node, Literal | Pattern | Not):
            return Tree(symbol.path, symbol.node, text=self._chart.text[begin:end])
        span = (symbol, begin, end)
        if span in self._open:
            return None
        self._open.add(span)
        try:
            return self._composed(symbol, begin, end)
        finally:
            self._open.discard(span)

    def _composed(self, symbol: _Symbol, begin: int, end: int) -> Tree | None:
        path, node = symbol.path, symbol.node
        inner = self._parser.inner(symbol)
        if isinstance(node, Alt):
            for edge, option in enumerate(inner):
                if (below := self._try(option, begin, end)) is not None:
                    return Tree(path, node, (below,), edge=edge)
            return None
        if isinstance(node, Cat):
            parts = self._sequence(inner, begin, end)
            return None if parts is None else Tree(path, node, tuple(parts))
        if begin == end and isinstance(node, Opt | Star):
            return Tree(path, node)
        if isinstance(node, Opt):
            below = self._try(inner[0], begin, end)
            return None if below is None else Tree(path, node, (below,))
        times = self._repeated(inner[0], begin, end)
        return None if times is None else Tree(path, node, tuple(times))

    def _sequence(self, parts: list[_Symbol], begin: int, end: int) -> list[Tree] | None:
        """Each part as short as may be, going back where that leads nowhere."""
        # From the end backwards: where each part may stop so that the rest still fits.
        stops = [{end}]
        for part in reversed(parts[1:]):
            known = self._chart.begins[self._parser.resolve(part)]
            stops.append({at for stop in stops[-1] for at in known.get(stop, ())})
        stops.reverse()

        def rest(number: int, at: int) -> list[Tree] | None:
            if number == len(parts):
                return []
            known = self._chart.ends.get((self._parser.resolve(parts[number]), at), set())
            for stop in sorted(known & stops[number]):
                following = rest(number + 1, stop)
                if following is not None and (below := self._try(parts[number], at, stop)) is not None:
                    return [below, *following]
            return None

        return rest(0, begin)

    def _repeated(self, body: _Symbol, begin: int, end: int) -> list[Tree] | None:
        """A row of bodies from begin to end, each as short as may be and, but for a lone one, not empty."""
        if begin == end:
            below = self._try(body, begin, end)
            return None if below is None else [below]
        # Depth first, the shortest step first; a place that was left once leads nowhere.
        left: set[int] = {begin}
        row = [begin]
        steps = [iter(self._steps(body, begin, end))]
        while steps:
            stop = next((place for place in steps[-1] if place not in left), None)
            if stop is None:
                steps.pop()
                row.pop()
                continue
            row.append(stop)
            if stop < end:
                left.add(stop)
                steps.append(iter(self._steps(body, stop, end)))
                continue
            trees = [self._try(body, a, b) for a, b in pairwise(row)]
            if all(tree is not None for tree in trees):
                return [tree for tree in trees if tree is not None]
            row.pop()
        return None

    def _steps(self, body: _Symbol, at: int, end: int) -> list[int]:
        return [stop for stop in self._ends(body, at) if at < stop <= end]


def parse(grammar: Grammar, text: str, rule: str = "") -> Tree:
    return Parser(grammar).parse(text, rule)
