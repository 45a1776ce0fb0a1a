"""Any page, read by a real parser: its features, and the weights that would make pages like it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import tinycss2
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from ..grammar import Grammar
from ..grammar.model import NIL, Alt, Choice, Literal, Node, Opt, Reference, Star, bare, children, choices, edges
from ..nouns import Case
from .spec import web
from .spec.match import Matcher
from .spec.snapshot import load

# What stands between elements' rules: kinds of content, which are seen through.
_KINDS = frozenset(["flow", "phrasing", "drawing", "effect", "light", "formula"])
# Brackets within brackets.
MOST_NESTED = 50
# Names of elements that begin a namespace, and SVG's names as SVG writes them.
_SPACES = {"svg": "svg", "math": "mathml"}
_CASES = {name.lower(): name for name in load().elements["svg"]}
# Elements that every page has, and those that hold nothing that anyone reads as text.
_FIXED = frozenset(["body", "html-html", "html-head"])
_UNREAD = frozenset(["style", "script", "title"])
# Blocks whose rules are like those outside, and the edge of `rule` that each is.
_NESTING = ("media", "supports", "layer", "container", "scope")


@dataclass(frozen=True, slots=True)
class Found:
    """What is in a page, each thing as often as it occurs."""

    tags: Mapping[str, int]
    attributes: Mapping[tuple[str, str], int]
    properties: Mapping[str, int]
    values: Mapping[tuple[str, str], int]
    styled: Mapping[tuple[str, str], int]

    def names(self) -> list[str]:
        """Every feature and pair of features, as words: `div`, `div dir`, `color:red`, `div color`."""
        return sorted(
            [
                *self.tags,
                *(f"{tag} {name}" for tag, name in self.attributes),
                *(f"{name}:" for name in self.properties),
                *(f"{name}:{value}" for name, value in self.values),
                *(f"{tag} {name}:" for tag, name in self.styled),
            ]
        )


def features(html: bytes) -> Found:
    """The features of a page, whoever wrote it."""
    page = _Page(html)
    tags: Counter[str] = Counter()
    attributes: Counter[tuple[str, str]] = Counter()
    properties: Counter[str] = Counter()
    values: Counter[tuple[str, str]] = Counter()
    styled: Counter[tuple[str, str]] = Counter()
    for node in page.elements():
        tag = node.tag or ""
        tags[tag] += 1
        attributes.update((tag, name) for name in node.attributes)
        for name, value in declarations(node.attributes.get("style") or ""):
            properties[name] += 1
            values[name, value] += 1
            styled[tag, name] += 1
    for sheet in page.sheets():
        for name, value in _sheet_declarations(sheet):
            properties[name] += 1
            values[name, value] += 1
    return Found(tags, attributes, properties, values, styled)


def styled(html: bytes) -> frozenset[tuple[str, str]]:
    """Tags and the properties that are set on them, by attributes and by sheets."""
    page = _Page(html)
    found = set(features(html).styled)
    for sheet in page.sheets():
        for rule in _plain_rules(tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)):
            names = [name for name, _ in _declared(tinycss2.parse_blocks_contents(rule.content, skip_comments=True))]
            for tag in page.selected(tinycss2.serialize(rule.prelude)):
                found.update((tag, name) for name in names)
    return frozenset(found)


def _plain_rules(content: Iterable[Any]) -> Iterator[Any]:
    """The rules of a sheet, those within others too."""
    for one in content:
        if one.type == "qualified-rule":
            yield one
        elif one.type == "at-rule" and one.content is not None and one.lower_at_keyword in _NESTING:
            yield from _plain_rules(tinycss2.parse_rule_list(one.content, skip_comments=True, skip_whitespace=True))


def declared(case: Case) -> frozenset[str]:
    """The properties that a page and its operations set."""
    found = set(features(case.html).properties)
    for one in case.update:
        words = one.plain
        if one.op == "set-style":
            found.add(str(words["name"]).lower())
        elif one.op == "insert-rule":
            found.update(name for name, _ in _sheet_declarations(_flat_enough(str(words["rule"]))))
        elif one.op == "set-attribute" and str(words["name"]).lower() == "style":
            found.update(name for name, _ in declarations(str(words["value"])))
        elif one.op == "insert-node":
            found.update(features(str(words["html"]).encode()).properties)
    return frozenset(found)


def _flat_enough(css: str) -> str:
    """Styles whose brackets nest deeper than anyone writes them are no styles."""
    stack: list[str] = []
    for bracket in re.findall(r"[({\[\]})]", css):
        if bracket in "({[":
            stack.append({"(": ")", "{": "}", "[": "]"}[bracket])
        elif stack and stack[-1] == bracket:
            stack.pop()
        if len(stack) > MOST_NESTED:
            return ""
    return css


def declarations(style: str) -> Iterator[tuple[str, str]]:
    """Names and values, in order; what is no declaration is passed over."""
    yield from _declared(tinycss2.parse_blocks_contents(_flat_enough(style), skip_comments=True, skip_whitespace=True))


def _declared(content: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for one in content:
        if one.type == "declaration":
            yield one.lower_name, tinycss2.serialize(one.value).strip()
        elif one.type in ("qualified-rule", "at-rule") and one.content is not None:
            inner = tinycss2.parse_blocks_contents(one.content, skip_comments=True, skip_whitespace=True)
            yield from _declared(inner)


def _sheet_declarations(sheet: str) -> Iterator[tuple[str, str]]:
    yield from _declared(tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True))


@lru_cache(10_000)
def _rule_of(tag: str, space: str) -> tuple[str, str]:
    """An element's rule, and the namespace of what it holds."""
    space = _SPACES.get(tag, space)
    rule = "body" if tag == "body" else f"{space}-{_CASES.get(tag, tag) if space == 'svg' else tag}"
    return rule, "html" if rule == "svg-foreignObject" else space


class _Page:
    def __init__(self, html: bytes) -> None:
        self._tree = LexborHTMLParser(html)
        self.root = self._tree.root

    def elements(self) -> Iterator[LexborNode]:
        if self.root is not None:
            yield from (
                node for node in self.root.traverse(include_text=False) if node.tag and not node.tag.startswith("-")
            )

    def selected(self, selectors: str) -> set[str]:
        """The tags of what some selectors name; pseudo-elements are on the elements they belong to."""
        try:
            return {
                node.tag or "" for node in self._tree.css(re.sub(r"::?(before|after|first-l\w+|marker)", "", selectors))
            }
        except (SelectolaxError, ValueError):
            # A selector that the parser does not know.
            return set()

    def sheets(self) -> Iterator[str]:
        for node in self._tree.css("style"):
            yield _flat_enough(node.text() or "")


def weights(pages: Iterable[bytes]) -> dict[str, int]:
    """How often each edge of the web's grammar is taken by some pages: weights for pages like them.

    Choices that no page came to are left out, and keep the weights they have.
    """
    count = _Count(_ways())
    for page in pages:
        count.page(_Page(page))
    return count.weights()


@dataclass(frozen=True, slots=True)
class _Ways:
    """The grammar, and for each element's rule which edges lead from it to what it may hold."""

    grammar: Grammar
    matcher: Matcher
    choices: Mapping[str, Choice]
    inside: Mapping[str, Mapping[str, tuple[str, ...]]]
    properties: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, tuple[str, Node]]]
    # What a start tag may have or not: the choice, the attribute (none for any other), and its two edges.
    options: Mapping[str, list[tuple[str, str, str, str]]]
    # What it may hold any number of.
    contents: Mapping[str, list[str]]
    # Edges by the text they stand for, of choices that are mere lists of words.
    words: Mapping[str, Mapping[str, str]]


@cache
def _ways() -> _Ways:
    grammar = web.grammar()
    elements = {f"{space}-{name}" for space, known in load().elements.items() for name in known if name}
    properties = {
        web.first_text(node).rstrip(":"): edge for edge, node in children("declaration", grammar.rules["declaration"])
    }
    attributes: dict[str, dict[str, tuple[str, Node]]] = {}
    words: dict[str, dict[str, str]] = {}
    for name, node in grammar.rules.items():
        if name.endswith(".attribute"):
            below = list(children(name, node)) if isinstance(node, Alt) else [(name, node)]
            attributes[name.removesuffix(".attribute")] = {
                web.first_text(child).split("=")[0].lower(): (edge, child) for edge, child in below
            }
        elif name in ("tag", "pseudo-class", "pseudo-element", "combinator", "subject"):
            words[name] = {web.first_text(child): edge for edge, child in children(name, node)}
    at_rules = {web.first_text(node): edge for edge, node in children("rule", grammar.rules["rule"])}
    words["@"] = {text[1:].split(" ")[0]: edge for text, edge in at_rules.items() if text.startswith("@")}
    inside = {rule: _inside(grammar, rule, elements) for rule in (*elements, "body")}
    found = dict(choices(grammar))
    options: dict[str, list[tuple[str, str, str, str]]] = {}
    contents: dict[str, list[str]] = {}
    for path, choice in found.items():
        rule, *steps = path.split("/")
        if rule in elements and len(steps) == 2 and isinstance(choice, Opt):
            ((_, child),) = children(path, choice)
            there, missing = edges(path, choice)
            options.setdefault(rule, []).append((path, web.first_text(child).strip(' ="'), there, missing))
        elif rule in elements and len(steps) == 2 and isinstance(choice, Star):
            contents.setdefault(rule, []).append(path)
    return _Ways(grammar, Matcher(grammar), found, inside, properties, attributes, options, contents, words)


def _inside(grammar: Grammar, rule: str, elements: set[str]) -> dict[str, tuple[str, ...]]:
    """The edges on the shortest way from an element's rule to each rule it may directly hold."""
    found: dict[str, tuple[str, ...]] = {}
    waiting: list[tuple[str, Node, tuple[str, ...]]] = [(rule, grammar.rules[rule], ())]
    seen = {rule}
    while waiting:
        path, node, way = waiting.pop(0)
        node = bare(node)
        if isinstance(node, Reference):
            if node.rule in elements or node.rule == "text":
                found.setdefault(node.rule, way)
            elif node.rule in _KINDS and node.rule not in seen:
                seen.add(node.rule)
                waiting.append((node.rule, grammar.rules[node.rule], way))
            continue
        weighted = isinstance(node, Alt | Opt | Star)
        waiting += [(p, n, (*way, p) if weighted else way) for p, n in children(path, node)]
    return found


class _Count:
    def __init__(self, ways: _Ways) -> None:
        self._ways = ways
        self._ways_taken: Counter[tuple[str, ...]] = Counter()
        # Big pages say the same things over and over: what they come to is worked out once for each.
        self._held: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._tags: defaultdict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
        self._values: defaultdict[tuple[str, str, str | None], int] = defaultdict(int)

    def page(self, page: _Page) -> None:
        """One loop, and as little in it as can be: pages have hundreds of thousands of elements and texts."""
        held, tags, values = self._held, self._tags, self._values
        # First children, each with its namespace and the rule of what holds it.
        waiting: list[tuple[LexborNode | None, str, str]] = [(page.root, "html", "")]
        while waiting:
            node, space, holder = waiting.pop()
            while node is not None:
                tag = node.tag
                if tag == "-text":
                    if (text := node.text_content) and not text.isspace():
                        held[holder, "text"] += 1
                elif tag and tag[0] != "-":
                    rule, below = _rule_of(tag, space)
                    held[holder, rule] += 1
                    if rule not in _FIXED:
                        given = node.attributes
                        tags[rule, tuple(given)] += 1
                        for name, value in given.items():
                            values[rule, name, value] += 1
                    if tag not in _UNREAD:
                        waiting.append((node.child, below, rule))
                node = node.next
        for sheet in page.sheets():
            for rule in tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True):
                self._rule(rule)

    def weights(self) -> dict[str, int]:
        inside = self._ways.inside
        for (holder, rule), count in self._held.items():
            if holder in inside:
                # Pages hold what they should not: it counts as what it is, wherever it is.
                self._take(*(inside[holder].get(rule) or inside["body"].get(rule) or ()), count=count)
        met: Counter[str] = Counter()
        for (rule, names), count in self._tags.items():
            met.update(dict.fromkeys(self._tag(rule, names, count), count))
        for (rule, name, value), count in self._values.items():
            self._attribute(rule, name, value or "", count)
        taken: Counter[str] = Counter()
        for way, count in self._ways_taken.items():
            for edge in way:
                taken[edge] += count
        found: dict[str, int] = {}
        for path, choice in self._ways.choices.items():
            own = edges(path, choice)
            if not any(edge in taken for edge in own) and path not in met:
                continue
            for edge in own:
                found[edge] = taken[edge]
                if edge.endswith(f"/{NIL}") and isinstance(choice, Star):
                    # As a parse would count it: how often a repetition was met without being taken. Which elements
                    # were empty is not kept, and some may have been.
                    found[edge] = taken[edge] or max(1, abs(met[path] - taken[own[0]]))
        return found

    def _take(self, *way: str, count: int = 1) -> None:
        self._ways_taken[way] += count

    def _tag(self, rule: str, names: Iterable[str], count: int) -> list[str]:
        """The choices of a start tag, each taken or not."""
        known = self._ways.attributes.get(rule, {})
        others = any(name.lower() in known for name in names)
        options = self._ways.options.get(rule, ())
        for _, name, there, missing in options:
            self._take(there if (name in names if name else others) else missing, count=count)
        return [*(path for path, *_ in options), *self._ways.contents.get(rule, ())]

    def _attribute(self, rule: str, name: str, value: str, count: int) -> None:
        if name == "style":
            for declared in declarations(value):
                self._declaration(*declared, count)
        found = self._ways.attributes.get(rule, {}).get(name.lower())
        if found is None:
            return
        path, node = found
        self._take(path, count=count)
        # Its value, where the grammar lists it or names a rule for it.
        for p, n in children(path, node):
            n = bare(n)
            if isinstance(n, Alt):
                for edge, option in children(p, n):
                    if isinstance(option := bare(option), Literal) and option.text == value:
                        self._take(edge, count=count)
            elif isinstance(n, Reference):
                self._take(*(self._ways.matcher.edges(n.rule, value) or ()), count=count)

    def _declaration(self, name: str, value: str, count: int = 1) -> None:
        edge = self._ways.properties.get(name)
        if edge is None:
            return
        value = re.sub(r"\s*!\s*important$", "", value, flags=re.IGNORECASE)
        wide = value.lower() in web.WIDE
        self._take(edge, f"{edge}/cat/1/alt/{1 if wide else 0}", count=count)
        rule = "wide" if wide else f"css-{name}"
        self._take(*(self._ways.matcher.edges(rule, value.lower() if wide else value) or ()), count=count)

    def _rule(self, rule: Any) -> None:
        if rule.type == "qualified-rule":
            self._take("rule/alt/0")
            self._selectors(tinycss2.serialize(rule.prelude))
            for name, value in _declared(tinycss2.parse_blocks_contents(rule.content, skip_comments=True)):
                self._declaration(name, value)
        elif rule.type == "at-rule" and rule.content is not None and rule.lower_at_keyword in _NESTING:
            self._take(self._ways.words["@"][rule.lower_at_keyword])
            for inner in tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True):
                self._rule(inner)

    def _selectors(self, text: str) -> None:
        """Simple selectors and combinators, each by itself."""
        words = self._ways.words
        for selector in re.sub(r"""\[[^\]]*\]|"[^"]*"|'[^']*'""", "", text).split(","):
            for sign, name in re.findall(r"([#.]|::?|\s*[>+~]\s*|\s+|\[|\*)?([\w-]*)", selector.strip()):
                kind = sign.strip() or " " * bool(sign)
                if kind in (">", "+", "~", " ") and kind in words["combinator"]:
                    self._take(words["combinator"][kind])
                    kind = ""
                if kind in ("#", ".", "*"):
                    self._take(words["subject"][kind])
                elif kind in (":", "::"):
                    for rule in ("pseudo-class", "pseudo-element"):
                        found = words[rule].get(kind + name) or words[rule].get(f"{kind}{name}(")
                        self._take(*([found] if found else []))
                elif not kind and name in words["tag"]:
                    self._take(words["subject"][""], words["tag"][name])


def inverted(found: Mapping[str, int]) -> dict[str, int]:
    """Weights for pages unlike those: the more an edge was used, the less it weighs; none is ruled out."""
    top = max(found.values(), default=0) or 1
    return {edge: max(1, round(100 * (top - count) / top)) for edge, count in found.items()}
