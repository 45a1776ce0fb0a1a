"""A page's source as spans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moire.pages.source import Edit, Node, applied, declarations, elements, parse, rules

PAGE = """<!DOCTYPE html>
<html><head><style>
@media (min-width:1px) { a > b, c { color : red ; --x: {a}; } d{} }
@import "x;y.css"; /* } */ #e1::before { content: "}" ; & em { margin:0 } }
</style></head>
<body class=a><p id="e1" style='color:red;background:url(a;b.png)'>one <b>two</b>
<p hidden>three<br/><ul><li>1<li>2</ul></i><svg><path d="M0 0"/><g/></svg><!-- <p> -->
<textarea><p></textarea></body></html>
"""


def names(node: Node) -> list[str]:
    return [n.name for n in elements(node)]


def test_a_page_is_read_as_it_is_written() -> None:
    root = parse(PAGE)
    assert names(root) == [
        "html", "head", "style", "body", "p", "b", "p", "br", "ul", "li", "li", "svg", "path", "g", "textarea"
    ]  # fmt: skip
    first = next(n for n in elements(root) if n.name == "p")
    assert PAGE[first.start : first.end].startswith('<p id="e1"') and "three" not in PAGE[first.start : first.end]
    attribute = first.attribute("style")
    assert attribute is not None and attribute.value is not None
    assert [d.name for d in declarations(PAGE, *attribute.value)] == ["color", "background"]
    items = [PAGE[n.start : n.end] for n in elements(root) if n.name == "li"]
    assert items == ["<li>1", "<li>2"]


def test_styles_are_rules_within_rules() -> None:
    style = next(n for n in elements(parse(PAGE)) if n.name == "style")
    media, imported, last = rules(PAGE, style.head, style.tail)
    assert [r.name for r in (media, imported, last)] == ["@media", "@import", ""]
    assert [PAGE[slice(*r.prelude)].strip() for r in media.rules] == ["a > b, c", "d"]
    assert [d.name for d in media.rules[0].declarations] == ["color"]
    assert [PAGE[slice(*d.value)].strip() for d in last.declarations] == ['"}"']
    assert [PAGE[slice(*r.prelude)].strip() for r in last.rules] == ["& em"]


@given(st.text(alphabet="<>/!-=\"' abp{};:@\n\\()", max_size=60))
def test_any_text_is_read_and_every_span_lies_within_what_holds_it(text: str) -> None:
    def check(node: Node) -> None:
        at = node.head if node.kind == "element" else node.start
        for child in node.children:
            assert at <= child.start <= child.end <= node.end
            at = child.end
            check(child)

    check(parse(text))
    for rule in rules(text, 0, len(text)):
        assert 0 <= rule.start < rule.end <= len(text)


def test_an_edit_within_another_has_no_place() -> None:
    assert applied("abcdef", [Edit(2, 3, "X"), Edit(1, 4), Edit(5, 6, "Y")]) == "aeY"
