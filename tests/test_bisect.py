"""Bisection: every step that the visited builds show, past builds that show nothing."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from moire.browsers import dates, history
from moire.nouns import Build, Case
from moire.pixels import measure
from moire.triage.bisect import Bisected, Memory, Pictures, Unsettled, Visits, bisect
from moire.triage.bisect.search import Change, Eyes, NoEnd, SameEnds, search

MOIRE = [sys.executable, "-m", "moire.cli"]
NUMBERS: Eyes[float] = Eyes(lambda a, b: abs(a - b) > 1, lambda a, b: abs(a - b))


def looked(history: Sequence[float | None], eyes: Eyes[float] = NUMBERS) -> tuple[list[Change], list[int]]:
    """The changes, and the places that were looked at."""
    looking = search(len(history), eyes)
    asked = next(looking)
    visited = sorted(asked)
    try:
        while True:
            asked = looking.send({place: history[place] for place in asked})
            visited += sorted(asked)
    except StopIteration as done:
        return done.value, visited


@pytest.mark.parametrize("count", [2, 3, 7, 20, 64, 1000])
def test_one_change_takes_no_more_looks_than_halving(count: int) -> None:
    for step in random.Random(count).sample(range(1, count), min(20, count - 1)):
        found, visited = looked([0] * step + [10] * (count - step))
        assert found == [Change(step - 1, step)]
        assert len(visited) == len(set(visited)) <= math.ceil(math.log2(count)) + 2


def test_every_change_that_is_seen_is_found_the_last_first() -> None:
    found, _ = looked([0] * 10 + [10] * 20 + [20] * 30 + [30] * 4)
    assert found == [Change(59, 60), Change(29, 30), Change(9, 10)]
    # There and back between two that were looked at is not seen.
    assert looked([0] * 30 + [5] + [0] * 20 + [9] * 14)[0] == [Change(50, 51)]


def test_what_shows_nothing_is_passed_over_and_widens_the_step() -> None:
    history: list[float | None] = [0] * 8 + [10] * 8
    history[7] = history[8] = None
    found, visited = looked(history)
    assert found == [Change(6, 9)] and {7, 8} <= set(visited)
    assert looked([0, None, None, 10])[0] == [Change(0, 3)]


def test_small_steps_that_add_up_lead_to_the_largest() -> None:
    found, _ = looked([0, 0.2, 0.4, 1.2, 1.3, 1.5])
    assert found == [Change(2, 3)]


def test_ends_are_verified_first() -> None:
    with pytest.raises(SameEnds):
        looked([0, 10, 0.5])
    for seen in ([None, 0, 10], [0, 10, None]):
        with pytest.raises(NoEnd) as error:
            looked(seen)
        assert seen[error.value.place] is None


def test_any_history_ends_in_steps_that_differ() -> None:
    draw = random.Random(1)
    step: Callable[[], float | None] = lambda: None if draw.random() < 0.2 else float(draw.randrange(4) * 5)  # noqa: E731
    for _ in range(300):
        history = [0.0, *(step() for _ in range(draw.randrange(30))), 5.0]
        found, visited = looked(history)
        assert found and len(visited) == len(set(visited))
        assert sorted(found, key=lambda change: -change.after) == found
        for change in found:
            assert abs((history[change.before] or 0) - (history[change.after] or 0)) > 1
            assert all(history[place] is None for place in range(change.before + 1, change.after))


async def test_pages_are_bisected_together_and_builds_that_fail_are_passed_over(tmp_path: Path) -> None:
    """A history of programs that draw: green from one on, red in the next, and one that cannot start."""
    program = tmp_path / "draw.py"
    program.write_text(DRAW)
    names = [f"cmd:{sys.executable} {program} {version} {{page}} {{png}}" for version in range(10)]
    names[4] = f"cmd:{sys.executable} {tmp_path / 'none.py'} {{page}} {{png}}"
    listed_ = tmp_path / "releases.txt"
    listed_.write_text("# oldest first\n" + "\n".join(names) + "\n")
    stops = history.listed(listed_)
    cases = [Case(b"3", "a.svg"), Case(b"7", "b.svg"), Case(b"99", "c.svg"), Case(b"4", "d.svg"), Case(b"2 6", "e.svg")]
    view = Pictures(measure("exact"))
    visits: list[str] = []
    told = Visits(lambda build, *_: visits.append(build))
    memory = Memory(tmp_path / "memory", view.way)
    found = await bisect(stops, cases, view, memory, told)

    def steps(result: Bisected | Unsettled) -> list[tuple[int, int]]:
        assert isinstance(result, Bisected)
        return [(names.index(a), names.index(b)) for a, b in result.changes]

    assert steps(found[0]) == [(2, 3)] and steps(found[1]) == [(6, 7)] and steps(found[4]) == [(5, 6), (1, 2)]
    assert isinstance(found[2], Unsettled) and "alike" in found[2].reason
    assert steps(found[3]) == [(3, 5)] and names[4] in found[3].skipped
    assert len(visits) == len(set(visits)) <= len(names)
    # What was seen is not looked at again, also by another process that was killed in the middle of a line.
    with (tmp_path / "memory" / "seen.jsonl").open("a") as out:
        out.write('["half')
    again = Pictures(measure("exact"))
    assert await bisect(stops, cases, again, Memory(tmp_path / "memory", again.way), Visits()) == found
    assert again.renders < view.renders


DRAW = """
import sys
from PIL import Image
version, page, png = int(sys.argv[1]), sys.argv[2], sys.argv[3]
steps = [int(word) for word in open(page).read().split()]
done = sum(step <= version for step in steps)
Image.new("RGB", (800, 600), ["white", "green", "red"][done]).save(png)
"""


def moire(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MOIRE, *map(str, words)], capture_output=True, text=True, timeout=240)


def test_bisect_takes_a_list_a_command_or_a_git_history(tmp_path: Path) -> None:
    program = tmp_path / "draw.py"
    program.write_text(DRAW)
    page = tmp_path / "page.svg"
    page.write_text("2")
    names = [f"cmd:{sys.executable} {program} {version} {{page}} {{png}}" for version in range(5)]
    (tmp_path / "releases.txt").write_text("\n".join(names))
    done = moire("bisect", page, "--history", tmp_path / "releases.txt", "--json", "-o", tmp_path / "out")
    row = json.loads(done.stdout)
    assert (row["before"], row["culprit"]) == (names[1], names[2]) and row["skipped"] == {} and row["visited"] <= 5
    assert (tmp_path / "out" / "side-by-side.png").exists()
    releases = ("--history", tmp_path / "releases.txt")
    from_three = "case '{build}' in *' 3 '*|*' 4 '*) exit 1;; esac"
    said = moire("bisect", page, *releases, "--", "sh", "-c", from_three)
    assert said.returncode == 0 and f"between {names[2]} and {names[3]}" in said.stdout, said.stderr
    for words, code, remedy in [
        ((*releases, "--", "sh", "-c", "case '{build}' in *' 0 '*) exit 1;; esac"), 5, "--find-fix"),
        ((*releases, "--", "true"), 5, "alike"),
        (("--good", "chromium@156"), 2, "Two ends"),
        (("--good", "chromium@156", "--bad", "chromium@108"), 2, "not newer"),
        (("--good", "chromium@108", "--bad", "firefox@153"), 2, "no history in common"),
        (("--history", tmp_path / "none.txt"), 2, "cannot be read"),
    ]:  # fmt: skip
        done = moire("bisect", page, *words)
        assert done.returncode == code and remedy in done.stderr and "Traceback" not in done.stderr, done.stderr
    # What was alike once need not be so for good: the program may be another by now.
    (tmp_path / "two.txt").write_text("\n".join(names[3:]))
    assert moire("bisect", page, "--history", tmp_path / "two.txt").returncode == 5
    program.write_text(DRAW.replace("step <= version", "step + 2 <= version"))
    again = moire("bisect", page, "--history", tmp_path / "two.txt", "--json")
    assert json.loads(again.stdout)["culprit"] == names[4], again.stderr
    program.write_text(DRAW)
    long = moire("bisect", page, *releases, "--", "sh", "-c", f"exit 125 # {'x' * 300}")
    assert long.returncode == 5 and "cannot tell" in long.stderr
    repository = tmp_path / "src"
    repository.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(repository)]
    subprocess.run([*git, "init", "-q"], check=True)
    for version in range(4):
        (repository / "version").write_text(str(version))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", str(version)], check=True)
        subprocess.run([*git, "tag", f"v{version}"], check=True)
    # A build may know its own place, and say what is no text.
    build = "sh -c 'git show {commit}:version > {out}/version; echo {out} > {out}/place; printf \\\\377'"
    runs = f"cmd:sh -c '{sys.executable} {program} $(cat $(cat {{out}}/place)/version) {{page}} {{png}}'"
    words = (
        "bisect",
        page,
        "--git",
        repository,
        "--good",
        "v0",
        "--bad",
        "v3",
        "--build-command",
        build,
        "--runs",
        runs,
        "--json",
    )
    done = moire(*words)
    culprit = subprocess.run([*git, "rev-parse", "v2"], capture_output=True, text=True, check=True).stdout.strip()
    assert json.loads(done.stdout)["culprit"] == culprit, done.stderr
    lost = moire("bisect", page, "--git", repository, "--good", "v3", "--bad", "v0", "--build-command", build)
    assert lost.returncode == 2 and "does not come before" in lost.stderr


def test_bisect_finds_the_step_between_real_builds(tmp_path: Path) -> None:
    """CSS nesting came with 112."""
    page = tmp_path / "page.html"
    page.write_text(
        "<!DOCTYPE html><style>div { & p { width: 50px; height: 50px; background: green } }</style><div><p></div>"
    )
    row = json.loads(
        moire("bisect", page, "--good", "chromium@108", "--bad", "chromium@156", "--installed", "--json").stdout
    )
    before, culprit = (int(row[key].partition("@")[2].split(".")[0]) for key in ("before", "culprit"))
    assert before < 112 <= culprit and "googlesource" in row["link"]
    fix = moire(
        "bisect", page, "--bad", "chromium@108", "--good", "chromium@116", "--find-fix", "--installed", "--json"
    )
    assert json.loads(fix.stdout)["builds"] >= 2


def test_a_reference_is_of_the_same_time() -> None:
    def build(engine: Any, version: str) -> Build:
        return Build(f"{engine}@{version}", engine, version, "x", position=tuple(map(int, version.split("."))))

    assert dates.released(build("chromium", "116.0")) == date(2023, 8, 15)
    assert dates.released(build("chromium", "150.0")) > date(2026, 4, 1)  # type: ignore[operator]
    foxes = [build("firefox", version) for version in ("102.0", "115.0", "128.0", "153.7")]
    assert dates.nearest(build("chromium", "116.0"), foxes) == foxes[1]
    assert dates.nearest(build("chromium", "156.0"), foxes) == foxes[3]
    assert dates.nearest(build("webkit", "2.44"), foxes) == foxes[2]
    assert dates.nearest(build("chromium", "116.0"), []) is None
