"""What can be taken out of a page or made simpler, from the large to the small.

All of them cut in the source itself: what they do not touch stays as it was written, whatever a browser's
parser makes of it, and whether a cut was right only the question shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from ...pages import source
from ...pages.source import Attribute, Declaration, Edit, Node, Rule, applied, declarations, elements, rules
from ...pages.spec.snapshot import load

# Passes are gone through again and again, over the same texts.
parse = lru_cache(maxsize=256)(source.parse)
Unit = tuple[Edit, ...]
Asking = Generator[str, bool, str]
Pass = Callable[[str], Asking]

# What a page cannot do without, or loses nothing by keeping.
FRAME = frozenset(["html", "head", "body"])
FEW_CHARACTERS = 200
# A shorthand of more longhands and values than this is left as it is.
MOST_LONGHANDS = 12
_TOKENS = re.compile(r"<[^<>]*>|[^<>\s]+|\s+|.", re.DOTALL)
_PSEUDO_ELEMENT = re.compile(r"::[-\w]+(?:\([^)]*\))?|:(?:before|after|first-line|first-letter)\b")
_WIDE = frozenset(["inherit", "initial", "unset", "revert", "revert-layer"])
_PLAIN = frozenset(["div", "span", "style", "script", "link", "meta", "title", *FRAME])


def fewer(text: str, units: Sequence[Unit], *, fine: bool = False) -> Asking:
    """As many of the units as can be: all, halves, quarters and so on to one at a time."""
    done: list[Edit] = []
    left = list(units)
    size = 1 if fine else len(left)
    while size:
        at = 0
        while at < len(left):
            chunk = [edit for unit in left[at : at + size] for edit in unit]
            if (yield applied(text, [*done, *chunk])):
                done += chunk
                del left[at : at + size]
            else:
                at += size
        size = min(size, len(left)) // 2
    return applied(text, done)


def first_of(text: str, places: Sequence[Sequence[Unit]]) -> Asking:
    """At each place the first of its alternatives that will do; the first of all at once before anything else."""
    wishes = [place[0] for place in places if place]
    whole = applied(text, [edit for unit in wishes for edit in unit])
    if len(wishes) > 1 and (yield whole):
        return whole
    done: list[Edit] = []
    for place in places:
        for unit in place:
            if (yield applied(text, [*done, *unit])):
                done += unit
                break
    return applied(text, done)


def _shown(root: Node) -> list[Node]:
    """What stands directly in the page's frame."""
    found: list[Node] = []
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        if node.name in FRAME:
            waiting += reversed(node.children)
        else:
            found.append(node)
    return found


def _cut(nodes: Iterable[Node | Attribute | Declaration | Rule]) -> list[Unit]:
    return [(Edit(node.start, node.end),) for node in nodes]


def subtrees(text: str) -> Asking:
    """Level by level; a level's survivors are known when the next one's turn comes."""
    depth = 0
    while True:
        level = _shown(parse(text))
        for _ in range(depth):
            level = [child for node in level for child in node.children]
        units = [
            n for n in level
            if (n.kind == "element" and not _needed(text, n)) or n.kind == "comment" or (n.kind == "other" and depth)
        ]  # fmt: skip
        if not level:
            return text
        text = yield from fewer(text, _cut(units))
        depth += 1


def each_element(text: str) -> Asking:
    """One at a time, the innermost first."""
    found = [n for n in elements(parse(text)) if n.name not in FRAME and not _needed(text, n)]
    return (yield from fewer(text, _cut(reversed(found)), fine=True))


def _needed(text: str, node: Node) -> bool:
    """What says how other letters than plain ones are written stays as long as there are any."""
    return node.name == "meta" and node.attribute("charset") is not None and not text.isascii()


def only(text: str, kept: Sequence[int]) -> str:
    """The page with no other elements than those, by their place among all; what holds them and what they
    hold stays, and so do styles and whatever else the head says."""
    every = list(elements(parse(text)))
    wanted = [every[n] for n in kept]

    def stays(node: Node) -> bool:
        if node.name in FRAME or node.name in ("style", "link", "meta"):
            return True
        return any(
            (node.start <= one.start and one.end <= node.end) or (one.start <= node.start and node.end <= one.end)
            for one in wanted
        )

    return applied(text, [Edit(node.start, node.end) for node in every if not stays(node)])


def frame(text: str) -> Asking:
    """Tags that a parser puts there by itself, all at once."""
    found = [n for n in elements(parse(text)) if n.name in FRAME and not n.attributes]
    units = [tuple(Edit(*span) for span in ((n.start, n.head), (n.tail, n.end)) if span[0] < span[1]) for n in found]
    return (yield from fewer(text, [tuple(edit for unit in units for edit in unit)] if units else []))


def inlined(beside: Callable[[str], bytes | None], coding: str) -> Pass:
    """Style sheets from files beside the page are written into it, where their rules can be cut out."""

    def read(path: str) -> str:
        try:
            return (beside(unquote(path)) or b"").decode(coding)
        except UnicodeDecodeError:
            return ""

    def step(text: str) -> Asking:
        units: list[Unit] = []
        for node in elements(parse(text)):
            if node.name == "link" and "stylesheet" in _value(text, node, "rel").lower().split():
                path = _value(text, node, "href").split("?")[0].split("#")[0]
                sheet = read(path)
                # Addresses in a sheet are relative to the sheet.
                moved = "/" in path and ("url(" in sheet or "@import" in sheet)
                if sheet and not moved and "</style" not in sheet.lower():
                    media = _value(text, node, "media")
                    start = f'<style media="{media}">' if media and '"' not in media else "<style>"
                    units.append((Edit(node.start, node.end, f"{start}{sheet}</style>"),))
        return (yield from fewer(text, units))

    return step


def _value(text: str, node: Node, name: str) -> str:
    found = node.attribute(name)
    return text[slice(*found.value)].strip() if found is not None and found.value is not None else ""


def script_lines(text: str) -> Asking:
    units: list[Unit] = []
    for node in elements(parse(text)):
        if node.name == "script":
            lines = re.finditer(r"[^\n]*\S[^\n]*\n?", text[node.head : node.tail])
            units += [(Edit(node.head + line.start(), node.head + line.end()),) for line in lines]
    return (yield from fewer(text, units))


def unwrapped(text: str) -> Asking:
    found = [n for n in elements(parse(text)) if n.name not in FRAME and n.children and n.name != "style"]
    units = [(Edit(n.start, n.head), Edit(n.tail, n.end)) for n in found]
    return (yield from fewer(text, units))


def attributes(text: str) -> Asking:
    return (yield from fewer(text, _cut(_attributes(text))))


def each_attribute(text: str) -> Asking:
    return (yield from fewer(text, _cut(_attributes(text)), fine=True))


def _attributes(text: str) -> list[Attribute]:
    return [a for n in elements(parse(text)) if not _needed(text, n) for a in n.attributes]


def classes(text: str) -> Asking:
    """Each of several."""
    units: list[Unit] = []
    for node in elements(parse(text)):
        found = node.attribute("class")
        if found is not None and found.value is not None:
            names = list(re.finditer(r"\S+\s*", text[slice(*found.value)]))
            begin = found.value[0]
            units += [(Edit(begin + n.start(), begin + n.end()),) for n in names if len(names) > 1]
    return (yield from fewer(text, units, fine=True))


@lru_cache(maxsize=256)
def _sheets(text: str) -> tuple[tuple[Rule, ...], ...]:
    return tuple(rules(text, node.head, node.tail) for node in elements(parse(text)) if node.name == "style")


def _deep(found: Iterable[Rule]) -> Iterator[Rule]:
    for rule in found:
        yield rule
        yield from _deep(rule.rules)


def sheet_rules(text: str) -> Asking:
    text = yield from fewer(text, _cut(rule for sheet in _sheets(text) for rule in sheet))
    inner = [one for sheet in _sheets(text) for rule in sheet for one in _deep(rule.rules)]
    return (yield from fewer(text, _cut(inner)))


def dead_rules(text: str) -> Asking:
    """At once all rules that, by their selectors, style nothing in this page."""
    tree = LexborHTMLParser(text)

    def dead(rule: Rule) -> bool:
        selector = _PSEUDO_ELEMENT.sub("", text[slice(*rule.prelude)])
        try:
            return not rule.name and bool(selector.strip()) and tree.css_first(selector) is None
        except Exception:  # what the library cannot read may style something
            return False

    smaller = applied(text, [Edit(r.start, r.end) for sheet in _sheets(text) for r in sheet if dead(r)])
    return smaller if smaller != text and (yield smaller) else text


def opened_rules(text: str) -> Asking:
    """What is in conditions, layers and selectors that only hold other rules, without them."""
    found = [r for sheet in _sheets(text) for r in _deep(sheet) if r.rules and r.block and not r.declarations]
    units = [(Edit(r.start, r.block[0]), Edit(r.block[1], r.end)) for r in found if r.block]
    return (yield from fewer(text, units))


def _declared(text: str) -> list[Declaration]:
    found = [d for sheet in _sheets(text) for rule in _deep(sheet) for d in rule.declarations]
    for node in elements(parse(text)):
        style = node.attribute("style")
        if style is not None and style.value is not None:
            found += declarations(text, *style.value)
    return found


def all_declarations(text: str) -> Asking:
    return (yield from fewer(text, _cut(_declared(text))))


def each_declaration(text: str) -> Asking:
    return (yield from fewer(text, _cut(_declared(text)), fine=True))


def selectors(text: str) -> Asking:
    """One of several; then without what stands before the last; then without conditions."""
    found = [r for sheet in _sheets(text) for r in _deep(sheet) if not r.name]
    places = []
    for rule in found:
        whole = text[slice(*rule.prelude)].strip()
        simpler = dict.fromkeys([*_parts(whole), *(s for one in _parts(whole) for s in _simpler_selectors(one))])
        places.append([(Edit(*rule.prelude, one),) for one in simpler if one and one != whole])
    return (yield from first_of(text, places))


def _parts(prelude: str) -> list[str]:
    """Selectors between commas that are in no brackets."""
    found, depth, begin = [], 0, 0
    for at, sign in enumerate(prelude):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            found.append(prelude[begin:at].strip())
            begin = at + 1
    return [*found, prelude[begin:].strip()]


def _simpler_selectors(selector: str) -> Iterator[str]:
    last = re.split(r"[\s>+~]+(?![^(\[]*[)\]])", selector)[-1]
    if last != selector:
        yield last
    if bare := re.match(r"[#.]?[-\w]+", last):
        yield bare[0]


def texts(text: str) -> Asking:
    found = [n for n in _texts(parse(text)) if text[n.start : n.end].strip()]
    text = yield from fewer(text, _cut(found))
    left = [n for n in _texts(parse(text)) if not _plain(text[n.start : n.end].strip())]
    return (yield from first_of(text, [[(Edit(n.start, n.end, s),) for s in _shorter(text, n)] for n in left]))


def _plain(words: str) -> bool:
    return not words or (len(words) == 1 and words.isascii())


def _texts(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.kind == "text":
            yield node
        elif node.name not in ("style", "script"):
            waiting += reversed(node.children)


def _shorter(text: str, node: Node) -> list[str]:
    words = text[node.start : node.end].split()
    shorter = [words[0][:1], words[0]] if len(words) == 1 else [words[0], " ".join(words[:2])]
    # A page of plain letters is the same in any encoding.
    return list(dict.fromkeys(shorter if shorter[0].isascii() else ["x", *shorter]))


def blanks(text: str) -> Asking:
    """Between tags, and in styles; what is in the way of reading, too: empty styles and attributes."""
    root = parse(text)
    units: list[Unit] = [(Edit(n.start, n.end),) for n in _texts(root) if not text[n.start : n.end].strip()]
    for node in elements(root):
        if node.name == "style":
            squeezed = re.sub(r"\s+", " ", text[node.head : node.tail]).strip()
            units.append((Edit(node.head, node.tail, squeezed),) if squeezed else (Edit(node.start, node.end),))
        style = node.attribute("style")
        if style is not None and style.value is not None and not text[slice(*style.value)].strip(" ;"):
            units.append((Edit(style.start, style.end),))
    return (yield from fewer(text, [u for u in units if any(text[e.start : e.end] != e.new for e in u)]))


def tags(text: str) -> Asking:
    found = [n for n in elements(parse(text)) if n.name not in _PLAIN]
    return (yield from first_of(text, [[_renamed(text, n, new) for new in ("div", "span")] for n in found]))


def _renamed(text: str, node: Node, new: str) -> Unit:
    start = Edit(node.start + 1, node.start + 1 + len(node.name), new)
    if node.tail == node.end:
        return (start,)
    return (start, Edit(node.tail + 2, node.tail + 2 + len(node.name), new))


def values(text: str) -> Asking:
    """Simpler numbers, units, colours and words, and fewer of them."""
    places = []
    for declaration in _declared(text):
        value = text[slice(*declaration.value)]
        places.append([(Edit(*declaration.value, one),) for one in simpler_values(value)])
    return (yield from first_of(text, places))


_NUMBER = re.compile(r"(?<![\w#.-])([+-]?)(\d*\.?\d+)(?:e[+-]?\d+)?([a-z%]*)(?![\w(])", re.IGNORECASE)
_LENGTH = re.compile(
    r"(?:r?em|r?ex|r?ch|r?cap|r?ic|r?lh|[sld]?v(?:w|h|i|b|min|max)|cq(?:w|h|i|b|min|max)|cm|mm|q|in|pt|pc)$",
    re.IGNORECASE,
)
_COLOR = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|light-dark)\((?:[^()]|\([^()]*\))*\)",
    re.IGNORECASE,
)


def simpler_values(value: str) -> list[str]:
    plain = value.strip()

    def number(match: re.Match[str]) -> str:
        unit = "px" if _LENGTH.match(match[3]) else match[3]
        size = abs(float(match[2]))
        near = min((0, 1, 10, 100), key=lambda n: abs(n - size)) if size not in (0, 1) else int(size)
        return f"{match[1].replace('+', '')}{near}{unit}"

    colored = _COLOR.sub("green", plain)
    found = [_NUMBER.sub(number, colored), colored, _NUMBER.sub(number, plain)]
    words = plain.split(" ")
    if len(words) > 1 and "(" not in plain and '"' not in plain and "'" not in plain:
        found += [" ".join([*words[:n], *words[n + 1 :]]) for n in range(len(words))]
    if re.fullmatch(r"[-a-z]+", plain, re.IGNORECASE) and plain.lower() not in _WIDE:
        found.append("initial")
    return [one for one in dict.fromkeys(found) if one != plain]


def longhands(text: str) -> Asking:
    places = []
    for declaration in _declared(text):
        words = text[slice(*declaration.value)].split()
        known = load().properties.get(declaration.name)
        names = known.longhands if known else ()
        semicolon = ";" if text[declaration.end - 1 : declaration.end] == ";" else ""
        pairs = [f"{name}:{word}{semicolon}" for name in names for word in dict.fromkeys(words)]
        if len(pairs) > MOST_LONGHANDS:
            continue
        places.append([(Edit(declaration.start, declaration.end, pair),) for pair in pairs])
    return (yield from first_of(text, places))


def tokens(text: str) -> Asking:
    """Whatever the source is, in pieces of tags, words and blanks: for what no tree fits."""
    return (yield from fewer(text, [(Edit(*match.span()),) for match in _TOKENS.finditer(text)]))


def characters(text: str) -> Asking:
    """At last one by one, where there are not many."""
    few = [(Edit(n, n + 1),) for n in range(len(text))] if len(text) <= FEW_CHARACTERS else []
    return (yield from fewer(text, few, fine=True))


def chained(*steps: Pass) -> Pass:
    """Several passes as one."""

    def whole(text: str) -> Asking:
        for step in steps:
            text = yield from step(text)
        return text

    return whole


# What is taken out first, in the order that leaves least to ask.
COARSE: dict[str, Pass] = {
    "elements": chained(dead_rules, subtrees, dead_rules),
    "styles": chained(sheet_rules, all_declarations, opened_rules),
    "scripts": script_lines,
    "attributes and texts": chained(attributes, texts, unwrapped, blanks, frame),
}
FINE: dict[str, Pass] = {
    "one by one": chained(each_element, each_attribute, classes, each_declaration),
    "simpler": chained(script_lines, selectors, values, longhands, sheet_rules, texts, unwrapped, blanks),
}
# For what an operation brings into a page.
BROUGHT = chained(subtrees, unwrapped, each_attribute, all_declarations, texts, values)
SHAPELESS: dict[str, Pass] = {"tokens": tokens, "characters": characters}
