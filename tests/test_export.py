"""Findings for other tools: each shape as its readers want it, whatever a page says."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from moire.nouns.update import read
from moire.store import Finding, Store, Triage
from test_cli import moire
from test_monitor import EVIL, filled


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    filled(folder)
    return folder


def exported(full: Path, run: str, form: str, place: Path, *more: object) -> list[str]:
    done = moire("export", run, "--format", form, "-o", place, "--store", full, *more)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_junit(full: Path, tmp_path: Path) -> None:
    exported(full, "update-1", "junit", tmp_path)
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("6", "6")
    cases = list(suite)
    assert len(cases) == 6 and EVIL in (cases[0].get("name") or "") and "\ufffd" not in (cases[0].get("name") or "")
    failure = cases[0].find("failure")
    assert failure is not None and failure.get("type") == "different" and EVIL in (failure.text or "")


def test_a_run_without_findings_passes(tmp_path: Path) -> None:
    with Store(tmp_path / "runs") as store:
        store.begin("update", "", {"builds": ["b"], "measure": "exact"})
    exported(tmp_path / "runs", "update-1", "junit", tmp_path)
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("1", "0", 1)


def test_wptreport(full: Path, tmp_path: Path) -> None:
    exported(full, "consensus-1", "wptreport", tmp_path)
    # Who agrees with another is not to blame.
    for name in ("chromium-156", "firefox-153"):
        assert json.loads((tmp_path / f"wptreport-{name}.json").read_text())["results"] == []
    told = json.loads((tmp_path / "wptreport-webkit-2.50.json").read_text())
    assert told["run_info"]["product"] == "webkit" and told["time_end"] > told["time_start"]
    assert {(one["status"], len(one["subtests"])) for one in told["results"]} == {("FAIL", 0)}
    assert len({one["test"] for one in told["results"]}) == 6


def test_builds_that_were_named_without_a_version(tmp_path: Path) -> None:
    with Store(tmp_path / "runs") as store:
        settings = {"builds": ["firefox", "webkit"], "names": ["firefox@153", "webkit@2.50"], "measure": "exact"}
        run = store.begin("consensus", "", settings)
        details = {"page": store.blobs.add(b"<p>"), "at_fault": ["webkit@2.50"]}
        store.keep(run, Finding(0, "firefox@153 | webkit@2.50", "example", "different", "s", details))
    exported(tmp_path / "runs", "consensus-1", "wptreport", tmp_path)
    assert len(json.loads((tmp_path / "wptreport-webkit-2.50.json").read_text())["results"]) == 1
    assert json.loads((tmp_path / "wptreport-firefox-153.json").read_text())["results"] == []


def test_a_report_is_of_one_product(tmp_path: Path) -> None:
    with Store(tmp_path / "runs") as store:
        run = store.begin("update", "", {"builds": ["chromium@156", "firefox@153"], "measure": "exact"})
        store.keep(run, Finding(0, "chromium@156", "example", "crashed", "s", {"page": store.blobs.add(b"<p>")}))
    exported(tmp_path / "runs", "update-1", "wptreport", tmp_path)
    reports = [
        json.loads((tmp_path / f"wptreport-{name}.json").read_text()) for name in ("chromium-156", "firefox-153")
    ]
    assert [[one["status"] for one in report["results"]] for report in reports] == [["CRASH"], []]


def test_what_is_no_bug_fails_nobodys_build(tmp_path: Path) -> None:
    with Store(tmp_path / "runs") as store:
        builds = ["chromium@108", "/opt/chrome/chrome?flags=--x"]
        run = store.begin("regression", "", {"builds": builds, "measure": "phash"})
        for n, (bug, name) in enumerate([(True, "one"), (False, "two"), (True, "three")]):
            details = {"page": store.blobs.add(b"<p>"), "bug": bug, "why": "the reference agrees", "step": builds}
            store.keep(run, Finding(n, " | ".join(builds), "example", "different", name, details))
        store.say(Triage("regression", "three", "known", "bug 7"))
    exported(tmp_path / "runs", "regression-1", "junit", tmp_path)
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get(key) for key in ("tests", "failures", "skipped")] == ["3", "1", "2"]
    assert [len(case.findall("skipped")) for case in suite] == [0, 1, 1]
    exported(tmp_path / "runs", "regression-1", "wptreport", tmp_path)
    told = json.loads((tmp_path / "wptreport.json").read_text())
    assert told["run_info"]["product"] == "chrome" and [one["status"] for one in told["results"]] == [
        "FAIL", "PASS", "PASS",
    ]  # fmt: skip
    said = exported(tmp_path / "runs", "regression-1", "chromium", tmp_path / "bugs")
    assert [file.name for file in (tmp_path / "bugs").iterdir()] == ["finding-1.md"]
    assert any("no bug: the reference agrees" in line for line in said) and any("known: bug 7" in line for line in said)
    exported(tmp_path / "runs", "regression-1", "csv", tmp_path)
    rows = list(csv.DictReader((tmp_path / "findings.csv").open()))
    assert [(row["said"], row["note"]) for row in rows] == [("new", ""), ("new", ""), ("known", "bug 7")]


def test_the_command_shows_a_page_as_the_hunt_did(tmp_path: Path) -> None:
    with Store(tmp_path / "runs") as store:
        run = store.begin("consensus", "", {"builds": ["a", "b"], "measure": "sqdiff", "normal": True})
        store.keep(run, Finding(0, "a | b", "example", "different", "s", {"page": store.blobs.add(b"<p>")}))
    exported(tmp_path / "runs", "consensus-1", "webkit", tmp_path / "bugs")
    assert "--measure sqdiff --normal\n" in (tmp_path / "bugs" / "finding-1.md").read_text()


def test_tables(full: Path, tmp_path: Path) -> None:
    exported(full, "update-1", "csv", tmp_path)
    exported(full, "update-1", "json", tmp_path, "--finding", "7")
    rows = list(csv.DictReader((tmp_path / "findings.csv").open()))
    assert len(rows) == 6 and (rows[0]["pixels"], rows[0]["properties"]) == ("100", "justify-self")
    (one,) = json.loads((tmp_path / "findings.json").read_text())["findings"]
    assert one["id"] == 7 and EVIL in one["html"]


def test_reftests_of_those_that_fail_as_such(full: Path, tmp_path: Path) -> None:
    left_out = exported(full, "update-1", "wpt", tmp_path / "update")
    assert len(left_out) == 1 and "passes" in left_out[0]
    names = sorted(file.name for file in (tmp_path / "update").iterdir())
    assert len(names) == 10 and names[0] == "moire-10-ref.html"
    assert 'rel="match" href="moire-10-ref.html"' in (tmp_path / "update" / "moire-10.html").read_text()
    assert len(exported(full, "consensus-1", "wpt", tmp_path / "consensus")) == 6


@pytest.mark.parametrize("tracker", ["chromium", "mozilla", "webkit"])
def test_text_for_trackers(tracker: str, full: Path, tmp_path: Path) -> None:
    exported(full, "update-1", tracker, tmp_path, "--finding", "8")
    (file,) = tmp_path.iterdir()
    text = file.read_text()
    # The page, its operations and the command, as they are.
    page, update, command, *pair = re.findall(r"^(`{3,})\w+\n(.*?)\n\1$", text, re.S | re.M)
    # And two pages for those who have no Moire.
    assert len(pair) == 2 and "TestRendered" in pair[0][1] and "TestRendered" not in pair[1][1]
    assert "`update.json`" in text
    assert (
        EVIL in page[1]
        and read(update[1])[0].op == "set-text"
        and command[1].startswith("moire check-update page.html")
    )
    assert "(1)" in text and "afresh" in text


def test_wrong_calls_get_a_sentence(full: Path, tmp_path: Path) -> None:
    for words, said in [
        (("none", "--format", "csv"), "no run"), (("update-1", "--format", "odd"), "odd"),
        (("update-1", "--format", "csv", "--finding", "1"), "no finding 1"),
    ]:  # fmt: skip
        done = moire("export", *words, "-o", tmp_path, "--store", full)
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    for words, said in [
        (("none", "--build", "chromium@156"), "no run"), (("update-1", "--build", "chromium@999"), "chromium@999"),
        (("update-1", "--build", "chromium@156", "--finding", "1"), "no finding 1"),
        (("consensus-1", "--build", "cmd:true {page} {png}"), "is a"),
    ]:  # fmt: skip
        done = moire("recheck", *words, "--store", full)
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done.stderr
