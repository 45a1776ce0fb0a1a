"""Findings as other tools read them: JUnit XML, wptreport, CSV, JSON, reftests, and text for bug trackers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..nouns import UsageError
from ..store import SEEN_TO, Finding, Run, Store, Triage, case_of
from ..wpt.export import reftest
from . import records

_STATUS = {"crashed": "CRASH", "hung": "TIMEOUT"}
# What XML has no way to say.
_UNSAYABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Exported:
    """Files by name, what could not be made, with the reason, and what is to be known of what was."""

    files: Mapping[str, bytes]
    left_out: Mapping[str, str]
    notes: Sequence[str] = ()


Found = Sequence[tuple[int, Finding]]


def exported(store: Store, run: Run, form: str, found: Found) -> Exported:
    """A run's findings, each with its number in the store, in one of the `FORMS`."""
    return FORMS[form](store, run, found)


def _junit(store: Store, run: Run, found: Found) -> Exported:
    """A test case a finding; a run that found nothing is one that passed, and what is no bug is skipped."""
    why = {id: _no_bug(store, run, one) for id, one in found}
    skipped = sum(map(bool, why.values()))
    suite = ElementTree.Element("testsuite", {
        "name": run.name, "tests": str(len(found) or 1), "failures": str(len(found) - skipped), "errors": "0",
        "skipped": str(skipped), "time": f"{run.seconds:.3f}", "timestamp": run.begun.split("+")[0],
    })  # fmt: skip
    if not found:
        words = f"{store.next_page(run)} pages in {', '.join(run.settings['builds'])}"
        ElementTree.SubElement(suite, "testcase", {"classname": f"moire.{run.kind}", "name": words})
    for id, one in found:
        name = _plain(f"finding {id}: {one.signature or one.kind}")
        case = ElementTree.SubElement(suite, "testcase", {"classname": f"moire.{run.kind}", "name": name})
        if why[id]:
            ElementTree.SubElement(case, "skipped", {"message": _plain(why[id])})
            continue
        told = {"message": _plain(_seen(one)), "type": one.kind}
        failure = ElementTree.SubElement(case, "failure", told)
        failure.text = _plain(_facts(store, run, one) + "\n\n" + _page(store, one))
    whole = ElementTree.Element("testsuites")
    whole.append(suite)
    ElementTree.indent(whole)
    return _one("junit.xml", ElementTree.tostring(whole, "utf-8", xml_declaration=True))


def _no_bug(store: Store, run: Run, one: Finding) -> str:
    """Why a finding is none that anybody need be told of; empty if it is."""
    if not one.details.get("bug", True):
        return f"no bug: {one.details.get('why', '')}"
    if "benign" in one.details:
        return "known for benign"
    said = _said_of(store, run, one)
    return f"{said.state}: {said.note}".rstrip(": ") if said.state in SEEN_TO else ""


def _said_of(store: Store, run: Run, one: Finding) -> Triage:
    """What people say of its kind."""
    new = Triage(run.kind, one.signature, "new")
    return next((said for said in store.triage() if (said.kind, said.signature) == (new.kind, new.signature)), new)


def _wptreport(store: Store, run: Run, found: Found) -> Exported:
    """As wpt.fyi and the tools round it read it. What is no bug passes."""
    begun = datetime.fromisoformat(run.begun).timestamp() * 1000
    # A report is of one product: of updates and of a pool, each build is one; of others, the one under test.
    names = _called(run)
    tested = names if run.kind in ("update", "consensus") else names[-1:]
    files: dict[str, bytes] = {}
    for build in tested:
        own = [(id, one) for id, one in found if len(tested) == 1 or build in _blamed(run, one)]
        name = "wptreport.json" if len(tested) == 1 else f"wptreport-{re.sub('[^A-Za-z0-9.]', '-', build)}.json"
        files[name] = json.dumps(_report(store, run, build, own, begun), indent=1).encode()
    return Exported(files, {})


def _called(run: Run) -> list[str]:
    """Builds under test as findings call them: one that was named without a version has one."""
    builds = run.settings["builds"]
    return [*run.settings.get("names", builds)][: len(builds)]


def _blamed(run: Run, one: Finding) -> Sequence[str]:
    """The builds that are to blame for a finding, as far as anybody can say."""
    if run.kind == "update":
        return [one.build]
    if run.kind == "consensus":
        return [*(one.details.get("at_fault") or _called(run))]
    return [_names(run, one)[-1]]


def _report(store: Store, run: Run, build: str, found: Found, begun: float) -> dict[str, Any]:
    engine, _, version = build.partition("@")
    # Of a program of the user's own, its file's name says more than where it is.
    product = engine if engine in _ENGINES.values() else Path(build.partition("?")[0]).name or build
    versions = dict(zip(_called(run), run.settings.get("versions", ()), strict=False))
    results = [
        {
            "test": f"/moire/{run.name}/{id}{records.end(one.details)}", "subtests": [], "duration": 0,
            "status": "PASS" if _no_bug(store, run, one) else _STATUS.get(one.kind, "FAIL"),
            "message": _no_bug(store, run, one) or f"{one.signature}: {_seen(one)}",
        }
        for id, one in found
    ]  # fmt: skip
    return {
        "run_info": {"product": product, "browser_version": versions.get(build) or version, "os": "linux",
                     "moire_run": run.name},
        "results": results, "time_start": int(begun), "time_end": int(begun + run.seconds * 1000),
    }  # fmt: skip


def _csv(store: Store, run: Run, found: Found) -> Exported:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["finding", "run", "oracle", "page", "build", "verdict", "state", "signature", "pixels", "stage",
                     "element", "properties", "bytes before", "bytes after", "bug", "said", "note"])  # fmt: skip
    for id, one in found:
        details, said = one.details, _said_of(store, run, one)
        declared = [name for (name,) in details.get("features", {}).get("properties", ())]
        before, after = [*details.get("bytes", ()), "", ""][:2]
        writer.writerow([
            id, run.name, run.kind, one.number, one.build, one.kind, one.state, one.signature,
            records.pixels(details), details.get("stage", ""), details.get("element", ""),
            " ".join(details.get("properties") or declared), before, after,
            details.get("bug", ""), said.state, said.note,
        ])  # fmt: skip
    return _one("findings.csv", out.getvalue().encode("utf-8", "replace"))


def _json(store: Store, run: Run, found: Found) -> Exported:
    whole = {
        "run": run.name, "kind": run.kind, "settings": records.settings(run), "summary": records.summary(store, run),
        "findings": [
            {**_named(id, one), **one.details, "html": _page(store, one), "said": asdict(_said_of(store, run, one))}
            for id, one in found
        ],
    }  # fmt: skip
    return _one("findings.json", json.dumps(whole, indent=1).encode())


def _wpt(store: Store, run: Run, found: Found) -> Exported:
    """Reftests, of findings that come as such: where the fresh page is what the updated one should look like."""
    files: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    for id, one in found:
        if "page" not in one.details:
            left_out[f"finding {id}"] = "its page is lost"
            continue
        case = case_of(store.blobs, one)
        if not case.update:
            left_out[f"finding {id}"] = "nothing says what its page should look like"
            continue
        if one.details.get("reftest") != "fails":
            left_out[f"finding {id}"] = f"as a reftest it does not fail: {one.details.get('reftest', 'never tried')}"
            continue
        try:
            pair = reftest(case, f"moire-{id}", one.signature)
        except UsageError as error:
            left_out[f"finding {id}"] = error.sentence
            continue
        # What a page takes from beside it may be called as another's is.
        own = dict([*case.resources.items(), pair.test, pair.reference])
        files |= {f"moire-{id}/{path}" if case.resources else path: data for path, data in own.items()}
    return Exported(files, left_out)


# How each tracker wants to be told.
_ENGINES = {"chromium": "chromium", "mozilla": "firefox", "webkit": "webkit"}
_TRACKERS: Mapping[str, tuple[str, str, str, str]] = {
    "chromium": ("Steps to reproduce the problem", "What is the expected behavior?", "What went wrong?", "Version"),
    "mozilla": ("Steps to reproduce", "Expected results", "Actual results", "Build"),
    "webkit": ("Steps to Reproduce", "Expected Results", "Actual Results", "Build and platform"),
}


def _markdown(tracker: str) -> Callable[[Store, Run, Found], Exported]:
    def make(store: Store, run: Run, found: Found) -> Exported:
        engine = _ENGINES[tracker]
        left_out = {f"finding {id}": why for id, one in found if (why := _no_bug(store, run, one)) and len(found) > 1}
        told = [(id, one) for id, one in found if f"finding {id}" not in left_out]
        bugs = {f"finding-{id}.md": _bug(store, run, one, tracker) for id, one in told}
        others = [id for id, one in told if not any(name.startswith(engine) for name in _blamed(run, one))]
        notes = [f"finding {id} is no fault of a {engine}: is {tracker} the right tracker?" for id in others]
        return Exported({name: text.encode("utf-8", "replace") for name, text in bugs.items()}, left_out, notes)

    return make


def _bug(store: Store, run: Run, one: Finding, tracker: str) -> str:
    steps, expected, actual, version = _TRACKERS[tracker]
    details = one.details
    wanted, seen = _said(run, one)
    update = records.lines(details.get("update", "[]"))
    parts = [
        f"# {_title(run, one)}", f"## {steps}",
        "1. Save this page as `page" + records.end(details) + "` and open it.", _fenced(_page(store, one), "html"),
        *(["2. Save these operations as `update.json`. They are to be applied in order, once the page is drawn:",
           _fenced(update, "json")] if update else []),
        "Moire shows it again with:",
        _fenced(records.command(run, one, "page"), "sh"),
        *_by_reftest(store, one),
        f"## {expected}", wanted, f"## {actual}", seen, f"## {version}", _versions(run, one),
        "## More", _facts(store, run, one),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _by_reftest(store: Store, one: Finding) -> list[str]:
    """For those who have no Moire: a page that changes itself, and the one that it must look like."""
    if one.details.get("reftest") != "fails" or "page" not in one.details:
        return []
    pair = reftest(case_of(store.blobs, one), "reftest", one.signature)
    parts = ["Or by these two pages, which must look the same: the first changes itself once it is drawn."]
    for name, data in (pair.test, pair.reference):
        parts += [f"`{name}`", _fenced(data.decode("utf-8", "replace"), "html")]
    return parts


def _title(run: Run, one: Finding) -> str:
    return one.signature or f"{one.build}: {one.kind}"


def _said(run: Run, one: Finding) -> tuple[str, str]:
    """What should be seen, and what is."""
    details = one.details
    if one.kind in ("crashed", "hung"):
        return "The page is shown.", f"The browser {one.kind}."
    if run.kind == "update":
        return (
            "The page looks as it does when its final state is loaded afresh.",
            f"It looks different: {_seen(one)}.",
        )
    if run.kind == "consensus":
        odd = ", ".join(details.get("at_fault", ())) or one.build
        return "All browsers show the page alike.", f"{odd}: {details.get('category', one.kind)}; {_seen(one)}."
    before, after = (details.get("step") or run.settings["builds"])[:2]
    return f"The page looks as in {before}.", f"It looks different since {after}: {_seen(one)}."


def _seen(one: Finding) -> str:
    """What anyone would see, rather than which measure said so."""
    if one.kind in ("crashed", "hung"):
        return f"the browser {one.kind}"
    if "issue" in one.details:
        # Of a web application it is known what is different, and not only that something looks so.
        return f"{one.details['issue']}: {one.details['reason']}"
    where = f" of {one.details['element']}" if one.details.get("element") else ""
    pixels = records.pixels(one.details)
    if not pixels:
        return str(one.details.get("reason") or one.kind)
    most = one.details.get("figures", {}).get("max_difference")
    return f"{pixels:,} pixels{where} differ{f', by {most} of 255 at the most' if most else ''}"


def _versions(run: Run, one: Finding) -> str:
    versions = dict(zip(run.settings["builds"], run.settings.get("versions", ()), strict=False))
    names = _names(run, one)
    return "\n".join(f"- {name}{f' ({versions[name]})' if versions.get(name) else ''}" for name in names)


def _names(run: Run, one: Finding) -> Sequence[str]:
    """The builds that it is about."""
    return one.details.get("step") or ([one.build] if run.kind == "update" else run.settings["builds"])


def _facts(store: Store, run: Run, one: Finding) -> str:
    return "\n".join(f"- {key}: {value}" for key, value in records.facts(store, run, one).items() if value)


def _page(store: Store, one: Finding) -> str:
    return store.blobs.read(one.details["page"]).decode("utf-8", "replace") if "page" in one.details else ""


def _fenced(text: str, language: str) -> str:
    """As code, with a fence that is in none of its lines."""
    fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", text))]))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _named(id: int, one: Finding) -> dict[str, Any]:
    return {"id": id, "number": one.number, "build": one.build, "verdict": one.kind, "state": one.state,
            "signature": one.signature}  # fmt: skip


def _one(name: str, data: bytes) -> Exported:
    return Exported({name: data}, {})


def _plain(text: str) -> str:
    return _UNSAYABLE.sub("�", text)


FORMS: Mapping[str, Callable[[Store, Run, Found], Exported]] = {
    "junit": _junit, "wptreport": _wptreport, "csv": _csv, "json": _json, "wpt": _wpt,
    **{tracker: _markdown(tracker) for tracker in _TRACKERS},
}  # fmt: skip
