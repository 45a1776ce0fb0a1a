"""`moire grammar`, as a user and as a script meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from test_cli import moire
from test_grammar import MATH


@pytest.fixture
def math(tmp_path: Path) -> Path:
    path = tmp_path / "math.ebnf"
    path.write_text(MATH)
    return path


@pytest.fixture
def harness(tmp_path: Path) -> Path:
    """Fails on a 7 with a product somewhere after it."""
    path = tmp_path / "harness.sh"
    path.write_text('#!/bin/sh\n! grep -q "7.*\\*" "$1"\n')
    path.chmod(0o755)
    return path


def test_sample_repeats_itself_and_heeds_weights(math: Path, tmp_path: Path) -> None:
    used = tmp_path / "used.json"
    first = moire("grammar", "sample", math, "--count", 30, "--weights-output", used)
    assert first.stdout == moire("grammar", "sample", math, "--count", 30, "--weights", used).stdout
    assert "7" in first.stdout
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps({"nz-digit/alt/6": 0}))
    done = moire("grammar", "sample", math, "--count", 30, "--weights", used, "--weights", fewer, "--json")
    assert len(json.loads(done.stdout)) == 30 and "7" not in done.stdout
    moire("grammar", "sample", math, "--count", 3, "-o", tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_check_shrinks_the_same_for_any_number_of_jobs(math: Path, harness: Path, tmp_path: Path) -> None:
    runs = [
        moire("grammar", "check", math, "--iterations", 60, "--jobs", jobs, "--json", "-o", tmp_path / "o", "--",
              harness, "{case}")
        for jobs in (1, 3)
    ]  # fmt: skip
    one, three = (json.loads(run.stdout) for run in runs)
    wanted = {"passed", "trials", "first_failure", "smallest", "seed"}
    assert [run.returncode for run in runs] == [1, 1] and wanted <= set(one)
    assert {key: one[key] for key in wanted} == {key: three[key] for key in wanted}
    assert not one["passed"] and one["smallest"] == "7*0" and (tmp_path / "o/smallest").read_text() == one["smallest"]
    passed = moire("grammar", "check", math, "--json", "--", "true")
    assert passed.returncode == 0 and json.loads(passed.stdout)["passed"]


def test_a_failing_text_is_shrunk_itself(math: Path, harness: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("3+17*(2-9*4)")
    done = moire("grammar", "check", math, "--like", old, "--json", "--", harness)
    said = json.loads(done.stdout)
    assert said["first_failure"] == "3+17*(2-9*4)" and said["smallest"] in ("7*2", "7*1")


def test_line_ends_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "g").write_bytes(rb"a = 'x' '\r\n'")
    moire("grammar", "sample", tmp_path / "g", "--count", 1, "-o", tmp_path / "out")
    assert (tmp_path / "out/sample-0001").read_bytes() == b"x\r\n"
    assert moire("grammar", "parse", tmp_path / "g", tmp_path / "out/sample-0001").returncode == 0


def test_parse_and_reduce_speak_json(math: Path, tmp_path: Path) -> None:
    for name, text in (("a", "1+2"), ("b", "(3)\n")):
        (tmp_path / name).write_text(text)
    both = json.loads(moire("grammar", "parse", math, tmp_path / "a", tmp_path / "b", "--json").stdout)
    assert both["expression/alt/1"] == both["expression/alt/0"] == both["line/cat/1/opt/0"] == 1
    out = tmp_path / "out.json"
    words = ("--set", "any-digit/alt/0=0", "--set", "any-digit/alt/1=0", "--propagate", "zero", "-o", out)
    assert moire("grammar", "reduce", math, *words).returncode == 2  # the start itself can no longer end
    assert not out.exists()
    words = ("--set", "any-number/alt/0=0", "--propagate", "max-child", "-o", out)
    assert moire("grammar", "reduce", math, *words).returncode == 0
    assert json.loads(out.read_text())["any-number/alt/0"] == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("sample", "{no}"), 2, "cannot be read"), (("sample", "{bad}"), 2, "Line 1, column"),
        (("sample", "{math}", "--weights", "{no}"), 2, "cannot be read"),
        (("sample", "{math}", "--weights", "{bad}"), 2, "no JSON"), (("parse", "{math}", "{bad}"), 2, "does not fit"),
        (("reduce", "{math}", "--set", "x"), 2, "PATH=N"), (("reduce", "{math}", "--set", "x=1"), 2, "no choice"),
        (("reduce", "{math}", "--propagate", "up"), 2, "no propagation"),
        (("check", "{math}", "--", "{no}"), 2, "cannot be run"),
        (("check", "{math}", "--iteration", "3", "--", "true"), 2, "No such option"),
        (("check", "{math}", "--timeout", "nan", "--", "true"), 2, "leaves no time"),
        (("check", "{math}", "--timeout", "0.3", "--", "sh", "-c", "sleep 9"), 4, "did not end within 0.3 seconds"),
        (("check", "{math}", "--", "sh", "-c", "kill -9 $$"), 4, "died of signal 9"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(words: tuple[str, ...], code: int, says: str, math: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("= what\n")
    places = {"{math}": math, "{bad}": bad, "{no}": tmp_path / "no"}
    done = moire("grammar", *(places.get(word, word) for word in words))
    assert done.returncode == code and says in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_why_the_command_failed_is_told(math: Path, tmp_path: Path) -> None:
    done = moire("grammar", "check", math, "--json", "--", "sh", "-c", "echo too bad >&2; exit 3")
    assert done.returncode == 1 and json.loads(done.stdout)["reason"] == "ended with 3: too bad"
    nowhere = moire("grammar", "check", math, "--weights-output", "/proc/none/w.json", "--", "true")
    assert nowhere.returncode == 2 and "Nothing can be written" in nowhere.stderr
