"""The grammar engine, against facts of Instacheck's own tests and against itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SHARED
from moire.grammar import (
    GrammarError,
    NothingLeft,
    counts,
    default,
    flat,
    layered,
    parse,
    propagate,
    read,
    reduce,
    reducer,
    source,
    write,
)
from moire.grammar.check import check
from moire.grammar.prune import prune
from moire.grammar.reduce import picked

VECTORS = SHARED / "vectors" / "instacheck.json"
FACTS: dict[str, Any] = json.loads(VECTORS.read_text()) if VECTORS.exists() else {}
needs_facts = pytest.mark.skipif(not FACTS, reason="the shared vectors are not beside this clone")

MATH = """
line = expression '\\n'?
expression = "(" expression ")" | expression "+" expression | expression "-" expression
           | expression "*" expression | expression "/" expression | any-number
any-number = any-digit | nz-digit any-digit+
any-digit = "0" | nz-digit
nz-digit = "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9"
"""
# a → b → c → a, and c → b.
MUTUAL = "a = 'a' b | 'x'\nb = 'b' c | a\nc = a 'c' | #'[0-9]+' b*"
GRAMMARS = [
    MATH,
    MUTUAL,
    "r = ( 'p' | 'q'? )* , [ 'o' ] { #'\\s+' 'z' } (* end *)",
    "s := <'h'> ('a' / 'ab') t+ ; <t> ::= 'b'",
]


@needs_facts
@pytest.mark.parametrize("name", ["default_weights", "comment_weights"])
def test_weights_of_a_grammar(name: str) -> None:
    assert default(read(FACTS[name]["ebnf"])) == FACTS[name]["weights"]


@needs_facts
@pytest.mark.parametrize("fact", FACTS.get("path_counts", []))
def test_path_counts(fact: dict[str, Any]) -> None:
    grammar = read(fact["ebnf"])
    seen = counts(grammar, [parse(grammar, fact["text"])])
    assert {path: seen[path] for path in fact["counts"]} == fact["counts"]


PROPAGATED = [(fact, mode) for fact in FACTS.get("propagate", []) for mode in fact["modes"]]


@needs_facts
@pytest.mark.parametrize(("fact", "mode"), PROPAGATED)
def test_propagation(fact: dict[str, Any], mode: Any) -> None:
    kind, _, by = mode.partition(":")
    grammar, weights = read(fact["ebnf"]), {**fact["weights"], **fact["set"]}
    if fact.get("error"):
        with pytest.raises(NothingLeft, match="weight 0"):
            propagate(grammar, weights, None, kind, reducer(by or "zero"))
    else:
        assert propagate(grammar, weights, None, kind, reducer(by or "zero")) == {**weights, **fact["expect"]}


@needs_facts
@pytest.mark.parametrize("name", sorted(FACTS.get("reducers", {})))
def test_reducers(name: str) -> None:
    fact = FACTS["reducers"][name]
    by, weight = reducer(name.replace(" ", ":")), fact["start"]
    for step in range(1, 1 + max(int(n) for n in fact["after"])):
        weight = by(weight)
        assert weight == fact["after"].get(str(step), weight)


@needs_facts
@pytest.mark.parametrize("fact", FACTS.get("never", []))
def test_weight_zero_is_never_chosen(fact: dict[str, Any]) -> None:
    grammar = read(fact["ebnf"])
    made = source(grammar, layered(grammar, fact["set"]))
    texts = [flat(made.derive(seed, 6)) for seed in range(fact["samples"])]
    assert not any(fact["absent"] in text for text in texts) and len(set(texts)) > 2


@pytest.mark.parametrize("ebnf", GRAMMARS)
def test_what_is_written_reads_back(ebnf: str) -> None:
    grammar = read(ebnf)
    again = read(write(grammar))
    assert (again.rules, again.start, again.hidden) == (grammar.rules, grammar.start, grammar.hidden)
    heavy = {edge: n for n, edge in enumerate(default(grammar)) if not edge.endswith("nil")}
    assert read(write(grammar, heavy)).comment_weights == heavy


@pytest.mark.parametrize("ebnf", GRAMMARS)
def test_what_is_generated_can_be_read_and_grows(ebnf: str) -> None:
    grammar = read(ebnf)
    made = source(grammar)
    lengths = []
    for size in (0, 2, 8, 20):
        texts = [flat(made.derive(seed, size)) for seed in range(40)]
        assert texts == [flat(source(read(ebnf)).derive(seed, size)) for seed in range(40)]
        assert all(flat(parse(grammar, text)) == text for text in texts)
        lengths.append(sum(map(len, texts)))
    assert lengths[0] < lengths[-1]


def test_a_seed_is_a_seed_for_ever() -> None:
    """Changing these would change every case that anyone has noted down."""
    assert [flat(source(read(MATH)).derive(seed, 10)).strip() for seed in (3, 4)] == FOREVER


FOREVER = ["10*0-0*5+(50*70)*(30/0)", "((0)-80-20)+0+0+80*80*10+50*0"]


def test_deep_and_left_recursive_texts() -> None:
    right, left = read("r = 'e' r | 'f'"), read("l = l 'e' | 'f'")
    assert len(flat(parse(right, "e" * 2000 + "f"))) == len(flat(parse(left, "f" + "e" * 2000))) == 2001


def test_lookahead_and_order() -> None:
    grammar = read("c = '<' ( #'[^-]' | !'->' '-' )* '->'")
    assert flat(parse(grammar, "<a-b->")) == "<a-b->"
    with pytest.raises(GrammarError):
        parse(grammar, "<a->b->")
    ordered = read("r = ( 'ab' / 'a' 'b' )")
    assert counts(ordered, [parse(ordered, "ab")])["r/ord/0"] == 1


def test_an_empty_loop_comes_to_an_end() -> None:
    grammar = read("r = r r | 'a' | ''")
    assert flat(parse(grammar, "aaa")) == "aaa" and flat(parse(grammar, "")) == ""


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 12), st.sampled_from(GRAMMARS), st.data())
def test_any_weights_that_are_accepted_can_be_generated_from(seed: int, size: int, ebnf: str, data: Any) -> None:
    grammar = read(ebnf)
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(default(grammar))), st.integers(0, 5), max_size=6))
    try:
        weights = layered(grammar, changed)
    except GrammarError as error:
        assert "weight 0" in str(error) or "never comes to an end" in str(error)
        return
    text = flat(source(grammar, weights).derive(seed, size))
    used = counts(grammar, [parse(grammar, text)])
    assert sum(used.values()) > 0


def test_reduction_goes_on_until_nothing_is_left() -> None:
    grammar = read(MATH)
    weights, steps = default(grammar), 0
    with pytest.raises(NothingLeft):
        while True:
            text = flat(source(grammar, weights).derive(steps, 6))
            weights = reduce(grammar, weights, counts(grammar, [parse(grammar, text)]), seed=steps)
            layered(grammar, weights)
            steps += 1
    assert steps > 20


def test_what_is_never_to_be_reduced_is_not() -> None:
    grammar = read(MATH)
    used = counts(grammar, [parse(grammar, "7*7")])
    keep = [edge for edge in used if edge.startswith("nz-digit")]
    for seed in range(30):
        for way in ("weight", "dist", "weight-dist"):
            edge = picked(grammar, default(grammar), used, seed, way, keep)  # type: ignore[arg-type]
            assert edge is not None and used[edge] > 0 and edge not in keep


def test_a_rule_can_be_given_to_a_function_or_another_rule() -> None:
    from moire.grammar import Source

    grammar = read("r = n ',' n | n\nn = #'[0-9]'\nm = 'm'")
    made = Source(grammar, default(grammar), {"n": lambda number, size: str(40 + int(number() * 3))})
    numbers = ["40", "41", "42"]
    assert {flat(made.derive(seed, 3)) for seed in range(40)} <= {
        *numbers,
        *(f"{a},{b}" for a in numbers for b in numbers),
    }
    assert flat(Source(grammar, default(grammar), {"n": "m"}).derive(1, 3)).replace(",", "").strip("m") == ""
    with pytest.raises(GrammarError):
        Source(grammar, default(grammar), {"n": "nope"})


def test_a_grammar_pruned_to_a_text_generates_only_its_like() -> None:
    grammar = read(MATH)
    used = counts(grammar, [parse(grammar, "7*(7)")])
    small = prune(grammar, layered(grammar, used))
    assert "any-digit" in small.rules and "'8'" not in write(small) and "'+'" not in write(small)
    made = source(read(write(small)))
    for seed in range(60):
        text = flat(made.derive(seed, 12))
        assert set(text) <= set("7*()") and flat(parse(grammar, text)) == text


def test_pruning_keeps_the_weights_under_their_new_paths() -> None:
    grammar = read("r = 'a' | 'b' ( 'c' | 'd' | 'e' )? | s*\ns = 'x' | 'y'")
    weights = {"r/alt/0": 0, "r/alt/1": 30, "r/alt/1/cat/1/opt/0/alt/1": 0, "r/alt/1/cat/1/opt/0/alt/2": 7,
               "r/alt/2/star/nil": 0}  # fmt: skip
    small = prune(grammar, layered(grammar, weights))
    assert write(small, {}).splitlines()[:2] == ["r = 'b' ( 'c' | 'e' )?", "  | s+ ;"]
    assert small.comment_weights == {"r/alt/0": 30, "r/alt/0/cat/1/opt/0/alt/1": 7}


PROPERTIES: dict[str, Callable[[str], bool]] = {
    "longer than 7 characters": lambda text: len(text) <= 7,
    "contains <<": lambda text: "<<" not in text,
}


@needs_facts
@pytest.mark.parametrize("fact", FACTS.get("shrink", []))
def test_shrinking_ends_at_the_smallest_whatever_the_batch(fact: dict[str, Any]) -> None:
    made, holds = source(read(fact["ebnf"])), PROPERTIES[fact["fails"]]
    for seed in range(6):
        one, seven = (
            check(made, lambda texts: list(map(holds, texts)), iterations=60, max_size=20, seed=seed, batch=batch)
            for batch in (1, 7)
        )
        assert one.smallest in fact["smallest"] and not one.passed
        assert (one.first_failure, one.smallest, one.trials) == (seven.first_failure, seven.smallest, seven.trials)


def test_a_property_that_holds_passes() -> None:
    result = check(source(read(MATH)), lambda texts: [True] * len(texts), iterations=12)
    assert (result.passed, result.trials, result.smallest) == (True, 12, None)


def test_shrinking_simplifies_numbers_and_alternatives_by_weight() -> None:
    grammar = read("r = ( 'x' | 'y' | 'z' ) #'[0-9]{3}'")
    made = source(grammar, layered(grammar, {"r/cat/0/alt/1": 500}))
    result = check(made, lambda texts: [text[1] < "5" for text in texts], iterations=50, max_size=10)
    assert result.smallest == "y500"


@pytest.mark.parametrize(
    ("ebnf", "says"),
    [
        ("", "Line 1, column 1"), ("a = 'x", "closing '"), ("a =", "found the end"), ("a = (b", "expected ')'"),
        ("a = b", "'b', which has no rule"), ("= x", "expected a name"), ("a = 'x' | / 'y'", "column 11"),
        ("a = #'['", "compiles"), ("a 'x'", "'::='"), ("(* x", "comment"), ("a = 'x' / 'y' | 'z'", "parentheses"),
        ("a = 'b'\na = 'c'", "a rule 'a' already"), ("a = 'x' )", "new rule"),
    ],
)  # fmt: skip
def test_a_bad_grammar_is_a_sentence_with_its_place(ebnf: str, says: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read(ebnf)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"r/alt/0": 0, "r/alt/1": 0}, "Every edge of r has weight 0"), ({"r/alt/1": 0}, "never comes to an end"),
        ({"x": 1}, "no choice with the edge x"), ({"r/alt/0": -1}, "Give 0 or more"),
    ],
)  # fmt: skip
def test_bad_weights_are_a_sentence_with_the_path(weights: dict[str, int], says: str) -> None:
    with pytest.raises(GrammarError) as caught:
        layered(read("r = 'e' r | 'f'"), weights)
    assert says in str(caught.value)


def test_a_text_that_does_not_fit_is_a_sentence_with_its_place() -> None:
    with pytest.raises(GrammarError, match=r"line 1, column 3: expected '\(', '0'.* or 6 others, found '\*2'"):
        parse(read(MATH), "1+*2")
