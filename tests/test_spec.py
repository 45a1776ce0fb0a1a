"""The value definition syntax."""

from __future__ import annotations

import math

import pytest

from moire.pages.spec.vds import (
    AllOf,
    AnyOf,
    Function,
    NotEmpty,
    OneOf,
    Property,
    Repeat,
    Row,
    SyntaxProblem,
    Type,
    Value,
    Word,
    parse,
)

A, B, C, D = (Word(letter) for letter in "abcd")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", A),
        ("a b", Row((A, B))),
        ("a | b || c && d a", OneOf((A, AnyOf((B, AllOf((C, Row((D, A))))))))),
        ("[ a | b ] c", Row((OneOf((A, B)), C))),
        ("a? b* c+ d!", Row((Repeat(A, 0, 1), Repeat(B, 0, math.inf), Repeat(C, 1, math.inf), NotEmpty(D)))),
        ("a{2} b{2,} c{1,4}", Row((Repeat(A, 2, 2), Repeat(B, 2, math.inf), Repeat(C, 1, 4)))),
        ("a# b#{1,2} c#?", Row((
            Repeat(A, 1, math.inf, True), Repeat(B, 1, 2, True), Repeat(Repeat(C, 1, math.inf, True), 0, 1),
        ))),
        ("<length [0,∞]> <number [-1,1]> <angle [-90deg,90deg]>", Row((
            Type("length", 0, math.inf), Type("number", -1, 1), Type("angle", -90, 90),
        ))),
        ("<'margin-left'> / <rgb()>", Row((Property("margin-left"), Word("/"), Type("rgb()")))),
        ("rgb( <number>#{3} , a ) | none()", OneOf((
            Function("rgb", Row((Repeat(Type("number"), 3, 3, True), Word(","), A))), Function("none", Row(())),
        ))),
        ("'[' a ']' 1.5", Row((Word("["), A, Word("]"), Word("1.5")))),
    ],
)  # fmt: skip
def test_every_operator(text: str, value: Value) -> None:
    assert parse(text) == value


@pytest.mark.parametrize("text", ["", "a |", "[ a", "a ]", "|| a", "{2}", "rgb( a", "a && ", "∞"])
def test_what_is_no_definition_says_where(text: str) -> None:
    with pytest.raises(SyntaxProblem, match=r"^Column \d+ of "):
        parse(text)
