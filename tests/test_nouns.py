"""What the records say of themselves."""

from __future__ import annotations

import pytest

from moire.nouns import Case


@pytest.mark.parametrize(
    "html",
    [
        "<script>1</script>", "<SCRIPT SRC=x>", "<img src=x>", "<img srcset='x 2x'>", "<body background=x.png>",
        "<p onclick=1>", "<svg/onload=1>", "<a href='JavaScript:1'>", "<p style='background: URL(x)'>",
        "<style>p { background: u\\72l(x) }</style>", "<style>@import 'x'</style>", "<link rel=stylesheet href=x>",
        "<p style='background: image-set(\"x.png\" 1x)'>", "<svg><use href='x.svg#a'/></svg>", "<input autofocus>",
        "<meta http-equiv=refresh content=0>", "<svg><image href=x></svg>", "<iframe srcdoc=x>", "<p>a\0b",
        "<svg><set attributeName=x></svg>", "<a href=//elsewhere>", "<p style='background: u&#114;l(x)'>",
        "<p style='background: url&lpar;x)'>", "<style title=x>p {}</style>", "<p>é", "<meta charset=latin1><p>x",
        "\ufeff<p>x",
    ],
)  # fmt: skip
def test_pages_that_may_act_are_not_inert(html: str) -> None:
    assert not Case(html.encode()).inert


def test_a_page_that_is_read_as_xml_is_not_inert() -> None:
    assert not Case(b"<p>x", "page.xhtml").inert


def test_bytes_that_are_no_text_are_not_inert() -> None:
    assert not Case(b"<p>\xff").inert


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<p>text",
        "<a href='#x'>x</a>",
        "<meta charset=utf-8>é &amp;",
        "<input value=3><b style='color: red'>once = 1",
    ],
)
def test_pages_that_only_lie_there_are_inert_and_at_rest(html: str) -> None:
    assert Case(html.encode()).inert and Case(html.encode()).at_rest


@pytest.mark.parametrize(
    "html", ["<style>@keyframes a{}</style><p style='animation: a 1s'>", "<STYLE>@FONT-FACE {}</STYLE>", "<marquee>x"]
)
def test_pages_that_move_are_inert_but_not_at_rest(html: str) -> None:
    assert Case(html.encode()).inert and not Case(html.encode()).at_rest
