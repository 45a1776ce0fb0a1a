"""Which builds a finding is looked at in again, and what is said of it then."""

from __future__ import annotations

from typing import Any

import pytest

from moire.hunts.recheck import Beside, _is_later, beside
from moire.nouns import Build, UsageError
from moire.store import Finding, Run

FULL = {"chromium@108": "108.0.5359.0", "chromium@116": "116.0.1", "chromium@156": "156.0.8078.79",
        "firefox@153": "153.7.0", "chromium@160": "160.0.1"}  # fmt: skip


def _build(name: str) -> Build:
    return Build(name, name.partition("@")[0], FULL[name], "npm", capabilities={"version": FULL[name]})


def _run(kind: str, *builds: str) -> Run:
    settings = {"builds": list(builds), "versions": [FULL[name] for name in builds]}
    return Run(1, f"{kind}-1", kind, settings, "", 0.0, "done", {})


def _among(kind: str, pool: tuple[str, ...], new: str, build: str = "", **details: Any) -> tuple[list[str], str, str]:
    finding = Finding(0, build, "example", "different", "s", details)
    found = beside(_run(kind, *pool), finding, _build(new), _build)
    return [one.name for one in found.builds], found.new.name, found.old


def test_a_new_build_takes_the_place_of_an_old_one() -> None:
    pool = ("chromium@108", "chromium@156", "firefox@153")
    assert _among("consensus", pool, "chromium@160") == (
        ["chromium@108", "chromium@160", "firefox@153"], "chromium@160", "chromium@156",
    )  # fmt: skip
    assert _among("consensus", pool, "chromium@160", at_fault=["chromium@108"]) == (
        ["chromium@160", "chromium@156", "firefox@153"], "chromium@160", "chromium@108",
    )  # fmt: skip
    assert _among("change", ("chromium@108", "chromium@116"), "chromium@160") == (
        ["chromium@108", "chromium@160"], "chromium@160", "chromium@116",
    )  # fmt: skip
    assert _among("update", ("chromium@108",), "firefox@153", "chromium@108")[0] == ["firefox@153"]


def test_a_build_is_never_compared_with_itself() -> None:
    # It stands for the one at fault, and only once.
    assert _among("consensus", ("chromium@108", "chromium@156", "firefox@153"), "chromium@156",
                  at_fault=["chromium@108"])[0] == ["chromium@156", "firefox@153"]  # fmt: skip
    # Nobody else is left: then it is asked about where it is.
    two = ("chromium@108", "chromium@156")
    for new in two:
        assert _among("consensus", two, new) == ([*two], new, new if new == "chromium@108" else "chromium@156")
    with pytest.raises(UsageError, match="told from"):
        _among("change", two, "chromium@108")


def test_what_an_older_build_or_another_engine_does_not_have_is_not_fixed_there() -> None:
    run = _run("update", "chromium@116")
    for old, new, later in (
        ("chromium@116", "chromium@108", False),
        ("chromium@116", "chromium@156", True),
        ("chromium@116", "chromium@116", True),
        ("chromium@116", "firefox@153", False),
        ("./out/chrome", "chromium@156", True),
    ):
        assert _is_later(run, Beside([_build(new)], _build(new), old)) is later
