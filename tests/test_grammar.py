"""The grammar engine, against facts of Instacheck's own tests and against itself."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SHARED
from moire.grammar import (
    GrammarError,
    NothingLeft,
    Source,
    counts,
    default,
    flat,
    generators,
    layered,
    module,
    parse,
    paths,
    propagate,
    read,
    reduce,
    reducer,
    samples,
    source,
    write,
)
from moire.grammar.check import check, drawn
from moire.grammar.model import Literal
from moire.grammar.prune import prune
from moire.grammar.reduce import picked, zero

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
        ({"x": 1}, "no choice with the edge x"), ({"r/alt/0": -1}, "Give 0 to"),
    ],
)  # fmt: skip
def test_bad_weights_are_a_sentence_with_the_path(weights: dict[str, int], says: str) -> None:
    with pytest.raises(GrammarError) as caught:
        layered(read("r = 'e' r | 'f'"), weights)
    assert says in str(caught.value)


def test_a_text_that_does_not_fit_is_a_sentence_with_its_place() -> None:
    with pytest.raises(GrammarError, match=r"line 1, column 3: expected '\(', '0'.* or 6 others, found '\*2'"):
        parse(read(MATH), "1+*2")


MARKUP = """
test = elem+
elem = '<a' (' ' attr)+ '>' elem* '</a>' | '<b' (' ' attr)+ '>' elem* '</b>'
attr = aname '="' prop (' ' prop)* '"' ;
prop = #'[xy]{1,2}' ':' (' ' pval)+ ';'
aname = 'p' | 'q' (* {:weight 300} *) ; pval = '1' | '2' | #'[a-c]|z?'
"""


@pytest.mark.parametrize("ebnf", [MATH, MARKUP, "s = 'a' / 'b' ; ", "s = [ t ] ; t = 'x' u ; u = 'y' | s 'z'"])
def test_compiled_generators_give_the_same_texts(ebnf: str, tmp_path: Path) -> None:
    made = source(read(ebnf))
    compiled = generators(made)
    (tmp_path / "gen.py").write_text(module(made))
    alone = subprocess.run(
        [sys.executable, "-I", tmp_path / "gen.py", "--seed", "3", "--count", "5", "--max-size", "9"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert alone.stdout == "".join(flat(made.derive(*drawn(n, 5, 9, 3))) + "\n" for n in range(5))
    for seed in range(30):
        for size in (0, 1, 3, 12):
            assert compiled.generate(seed, size) == flat(made.derive(seed, size))


def test_functions_stand_in_for_rules_in_compiled_generators_too() -> None:
    grammar = read("s = n ',' n ; n = 'x'")
    made = Source(grammar, default(grammar), {"n": lambda number, size: f"{int(number() * 10)}/{size}"})
    assert generators(made).generate(5, 4) == flat(made.derive(5, 4))
    with pytest.raises(GrammarError):
        module(made)


PATHS = read("s = 'a' 'b' t | t? ; t = <'c'> u* | 'd' ; u = 'e' t | 'f'")


def test_nodes_are_found_and_changed_by_path() -> None:
    assert paths.node_at(PATHS, "s/alt/0/cat/1") == Literal("b")
    with pytest.raises(GrammarError):
        paths.node_at(PATHS, "s/alt/7")
    new = paths.replaced(PATHS, {"s/alt/0/cat/1": Literal("B"), "t/alt/0/cat/0": Literal("C")})
    assert "B" in write(new) and "<'C'>" in write(new) and "B" not in write(PATHS)
    assert paths.node_at(paths.joined(PATHS), "s/alt/0/cat/0") == Literal("ab")
    assert paths.references(PATHS, "t") == ["s/alt/0/cat/2", "s/alt/1/opt/0", "u/alt/0/cat/1"]
    assert paths.weighted_ancestors(PATHS, "u") == ["t/alt/0/cat/1"]
    below = paths.descendants(PATHS, "s", lambda path, node: node == Literal("f"))
    assert below == ["u/alt/1"]
    assert set(paths.leaves(PATHS)) >= {"s/alt/0/cat/0", "t/alt/1", "u/alt/0/cat/1"}
    with pytest.raises(GrammarError, match="circle"):
        paths.ordered(PATHS)
    assert paths.ordered(read("a = b c ; b = c ; c = 'x' c?")) == ["c", "b", "a"]


def test_likelihoods_follow_the_weights() -> None:
    weights = {**default(PATHS), "s/alt/0": 300, "t/alt/1": 0}
    known = paths.likelihoods(PATHS, weights)
    assert known["s"] == 1 and known["s/alt/0"] == 0.75 and known["s/alt/1/opt/0"] == 0.125
    assert known["t/alt/0"] == 0.75 and known["t/alt/1"] == 0 and known["u"] == 0.375
    assert paths.terminal_likelihoods(PATHS, weights)["u/alt/1"] == 0.1875
    assert paths.removed(PATHS, {**weights, "t/alt/0": 0}, "t") and not paths.removed(PATHS, weights, "t")


def test_samples_go_on_and_grow() -> None:
    texts = list(itertools.islice(samples(MARKUP, seed=2, max_size=8), 20))
    assert texts == list(itertools.islice(samples(MARKUP, seed=2, max_size=8), 20))
    assert max(map(len, texts)) > 5 * len(texts[0])


@pytest.mark.parametrize(
    ("ebnf", "word"),
    [
        ("s = 'a' (* {:weight -5} *) | 'b'", "a weight from 0"),
        ("s = 'a' (* {:weight many} *) | 'b'", "a weight from 0"),
        ("s = '\\ud800'", "half of a pair"),
        ("s = " + "(" * 400 + "'a'" + ")" * 400, "at most 50 brackets"),
    ],
)
def test_bad_grammars_are_refused_where_they_are_wrong(ebnf: str, word: str) -> None:
    with pytest.raises(GrammarError, match=f"Line 1, column .*{word}"):
        read(ebnf)


@pytest.mark.parametrize("pattern", ["(?!a)b", r"\bx", "a{100000}"])
def test_what_cannot_be_generated_is_refused(pattern: str) -> None:
    with pytest.raises(GrammarError, match="regular expression"):
        source(read(f"s = #'{pattern}'")).derive(1, 3)


def test_long_chains_of_rules_are_no_trouble() -> None:
    chain = "".join(f"r{n} = 'x' r{n + 1} ;\n" for n in range(3000)) + "r3000 = 'y'"
    made = source(read(chain))
    assert flat(made.derive(1, 5)) == generators(made).generate(1, 5) == "x" * 3000 + "y"


@pytest.mark.parametrize(
    ("ebnf", "sentence"),
    [
        ("a = #'a{99999999999}'", "regular expression that compiles"),
        ("s = 'k' eps  eps = 'A'", "stands for nothing"),
        ("a = " + "( " * 60 + "'x'" + " )" * 60, "brackets within each other"),
    ],
)
def test_more_bad_grammars_are_one_sentence(ebnf: str, sentence: str) -> None:
    with pytest.raises(GrammarError, match=sentence):
        read(ebnf)


def test_texts_are_blamed_where_they_go_wrong() -> None:
    with pytest.raises(GrammarError, match="column 2: expected the end"):
        parse(read("a = 'x'"), "xy")
    with pytest.raises(GrammarError, match="depends on itself"):
        parse(read("a = !a 'x'"), "x")


@pytest.mark.parametrize(
    "ebnf", ["a = <'x' (* {:weight 5} *) | 'y'> 'z'", """a = #"\\\\'" 'b'""", "a = #'\\'' | #\"'\""]
)
def test_weights_and_quotes_read_back(ebnf: str) -> None:
    grammar = read(ebnf)
    again = read(write(grammar))
    assert again.rules == grammar.rules and again.comment_weights == grammar.comment_weights


def test_code_leaves_out_what_never_ends_and_follows_overrides_as_derivations_do() -> None:
    unused = read("start = 'a'  b = c | 'x'  c = c 'y'")
    assert generators(Source(unused, default(unused))).generate(1, 3) == "a"
    grammar = read("s = a 'x'  a = 'A'  b = 'B'")
    source = Source(grammar, default(grammar), {"a": "b", "b": lambda number, size: "F"})
    assert generators(source).generate(1, 3) == flat(source.derive(1, 3)) == "Bx"


def test_reducing_ends_where_choices_lead_only_to_each_other() -> None:
    grammar = read("start = 'x' | a  a = b | b 'p'  b = a | a 'q'")
    weights = {**default(grammar), "a/alt/0": 0, "a/alt/1": 0}
    assert propagate(grammar, weights, mode="reducer", by=zero)["start/alt/1"] == 0
    with pytest.raises(GrammarError):
        reducer("ladder:-5")


def test_a_chain_of_many_rules_is_shrunk_and_reduced() -> None:
    chain = " ".join(f"r{n} = r{n + 1}" for n in range(1100)) + " r1100 = 'a' | 'b'"
    grammar = read(chain)
    result = check(Source(grammar, default(grammar)), lambda texts: [False] * len(texts), iterations=1)
    assert not result.passed and result.tree is not None
    assert reduce(grammar, default(grammar), counts(grammar, [result.tree]), seed=1)


def test_what_was_read_can_be_generated_and_read_again() -> None:
    grammar = read("s = list list ;\nlist = '[' 'x'* ']' ;")
    used = counts(grammar, [parse(grammar, "[xx][]")])
    assert used == {"list/cat/1/star/0": 2, "list/cat/1/star/nil": 1}
    small = prune(grammar, used)
    assert flat(parse(small, "[xx][]")) == "[xx][]"


def test_a_choice_without_a_way_on_is_named() -> None:
    grammar = read("s = a | 'z' ;\na = b ;\nb = 'p' | 'q' ;")
    with pytest.raises(GrammarError, match="Every edge of b has weight 0"):
        layered(grammar, {"b/alt/0": 0, "b/alt/1": 0})


@pytest.mark.parametrize("seed", range(5))
def test_a_list_is_shrunk_from_its_beginning_too(seed: int) -> None:
    grammar = read("s = term (('+' | '-') term)* ;\nterm = n (('*' | '/') n)* ;\nn = #'[0-9]' | '(' s ')' ;")

    def holds(texts: Sequence[str]) -> list[bool]:
        return ["/0" not in text for text in texts]

    result = check(Source(grammar, default(grammar)), holds, iterations=200, max_size=20, seed=seed)
    assert result.smallest == "0/0"
