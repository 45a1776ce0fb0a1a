"""Runs and findings as viewers show them, in plain data: a live page asks for it, a report brings it along."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..nouns.update import read
from ..pages.steer import USUAL_ATTRIBUTES, USUAL_TAGS
from ..store import Cut, Finding, Row, Run, Store, Trial
from . import consensus, culprit

SHOWN_REASONS = 10
# Points of a line that is drawn over a whole run.
MOST_MOMENTS = 300
# Of a page's text, so much is shown; the page itself is a link away.
MOST_TEXT = 200_000
_WHY = "untestable: "
# A session of a web application, in a finding's folder.
TRACE = "trace.json"
# What differs from page to page in one and the same reason.
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|#\w+|\d+")


class Places(Protocol):
    """Where a viewer finds what is kept by content, and what is made of it."""

    def picture(self, blob: str) -> str: ...

    def difference(self, a: str, b: str) -> str: ...

    def close_up(self, a: str, b: str) -> str: ...

    def average(self, blobs: Sequence[str]) -> str: ...

    def trial(self, run: Run, trial: Trial, name: str) -> str:
        """A small picture of a page that was shown a moment ago."""
        ...

    def pages(self, id: int, finding: Finding) -> Mapping[str, str]:
        """The page and its kin, by what they are called."""
        ...

    def command(self, run: Run, finding: Finding) -> str:
        """What shows it again."""
        ...


def summary(store: Store, run: Run) -> dict[str, Any]:
    """A run in figures."""
    verdicts = store.verdicts(run)
    kinds: Counter[str] = Counter()
    for (_, verdict), count in verdicts.items():
        kinds[verdict] += count
    found = store.findings(run)
    pages = store.next_page(run)
    return {
        "state": store.state(run), "pages": pages, **dict(sorted(kinds.items())),
        "findings": len(found), "signatures": len({one.signature for one in found if one.signature}),
        "examples": sum(one.state == "example" for one in found),
        "known from earlier runs": len({one.signature for one in found if "known_from" in one.details}),
        **_steps(found), **consensus.summary(found),
        "seconds": round(run.seconds, 1), "pages a second": round(pages / max(run.seconds, 0.1), 2), **run.notes,
        **{f"{_WHY}{reason}": n for reason, n in _reasons(store, run).most_common(SHOWN_REASONS)},
    }  # fmt: skip


def _steps(found: Sequence[Finding]) -> dict[str, int]:
    """Of a regression hunt: what came of its candidates."""
    told = [one for one in found if "step" in one.details]
    if not told:
        return {}
    bugs = [one for one in told if one.details["bug"]]
    return {
        "candidates": len(found), "bisected": sum(bool(one.details["step"]) for one in told), "bugs": len(bugs),
        "culprits": len({one.details["step"][1] for one in bugs}),
    }  # fmt: skip


def _reasons(store: Store, run: Run) -> Counter[str]:
    """Why pages could not be tested, alike reasons together."""
    counts: Counter[str] = Counter()
    for reason, count in store.reasons(run, "untestable").items():
        counts[_PARTICULAR.sub("…", reason)[:100]] += count
    return counts


def primitives(found: Sequence[Finding]) -> dict[str, dict[str, int]]:
    """Findings by operation, for each build: which primitives trigger them."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        counts[one.build].update(set(one.details.get("operations", ())))
    return {build: dict(count.most_common()) for build, count in counts.items()}


def settings(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.settings.items() if name not in ("weights", "config", "own")}


def brief(store: Store, run: Run, counts: tuple[int, int, int]) -> dict[str, Any]:
    """A run as a list has it."""
    pages, findings, signatures = counts
    return {
        "name": run.name, "kind": run.kind, "builds": run.settings["builds"], "state": store.state(run),
        "begun": run.begun, "seconds": round(run.seconds, 1), "pages": pages, "findings": findings,
        "signatures": signatures, "budget": {name: run.settings.get(name) for name in ("pages", "seconds")},
        "share": consensus.share(store, run, pages),
    }  # fmt: skip


def whole(store: Store, run: Run, counts: tuple[int, int, int], places: Places) -> dict[str, Any]:
    """A run with how it went, minute by minute."""
    verdicts: Counter[str] = Counter()
    for (_, verdict), count in store.verdicts(run).items():
        verdicts[verdict] += count
    moments = store.moments(run, MOST_MOMENTS)
    looking = store.looking(run)
    return {
        **brief(store, run, counts), "verdicts": dict(verdicts), "settings": settings(run),
        "moments": [[seconds, *(facts.get(name, 0) for name in ("pages", "findings", "signatures"))]
                    for seconds, facts in moments],
        "health": moments[-1][1].get("health", {}) if moments else {},
        "reasons": dict(_reasons(store, run).most_common(SHOWN_REASONS)),
        "looking": looking and {
            "number": looking[0], "build": looking[1], "now": looking[2],
            "cuts": [_cut(cut, places) for cut in store.cuts(run, *looking[:2])],
        },
        "trials": [
            {"number": one.number, "build": one.build, "verdict": one.verdict,
             "pictures": [[name, places.trial(run, one, name)] for name in one.pictures]}
            for one in store.trials(run)
        ],
        "last": [[one.number, one.build, one.verdict, one.reason] for one in store.last_pages(run, 60)],
    }  # fmt: skip


def triage(store: Store) -> list[dict[str, Any]]:
    """What people say of kinds of findings."""
    return [
        {"kind": one.kind, "signature": one.signature, "state": one.state, "note": one.note} for one in store.triage()
    ]


def row(one: Row, kinds: Mapping[str, str]) -> str:
    """A finding as a list has it, in JSON; `kinds` are those of runs. There may be thousands, so what the store has in
    JSON is passed on as it is."""
    facts = {
        "id": one.id, "run": one.run, "oracle": kinds[one.run], "number": one.number, "build": one.build,
        "state": one.state, "kind": one.kind, "signature": one.signature,
    }  # fmt: skip
    return f'{json.dumps(facts)[:-1]}, "brief": {one.brief}}}'


def finding(store: Store, run: Run, id: int, one: Finding, places: Places) -> dict[str, Any]:
    """All of a finding."""
    details = one.details
    blobs: Mapping[str, str] = details.get("pictures", {})
    names = list(blobs)
    pairs = [pair for pair in details.get("apart", ()) if set(pair) <= blobs.keys()] if len(names) > 2 else []
    pairs = pairs or ([names] if len(names) == 2 else [])
    page, before = _text(store, details.get("page")), _text(store, details.get("before", {}).get("page"))
    return {
        "id": id, "run": run.name, "kind": run.kind, "number": one.number, "build": one.build, "verdict": one.kind,
        "state": one.state, "signature": one.signature, "impact": impact(details),
        "facts": [[key, str(value)] for key, value in facts(store, run, one).items() if value and key != "references"],
        "tables": [*_tables(run, details), *culprit.tables(details)],
        "pictures": [[name, places.picture(blob)] for name, blob in blobs.items()],
        "differences": [[a, b, places.difference(blobs[a], blobs[b])] for a, b in pairs],
        "close_up": places.close_up(blobs[pairs[0][0]], blobs[pairs[0][1]]) if pairs else "",
        "average": places.average(list(blobs.values())) if len(names) > 1 else "",
        "boxes": details.get("boxes", []), "scale": details.get("environment", {}).get("scale", 1),
        "html": page, "before": before if before != page else "", "update": lines(details.get("update", "[]")),
        "causes": _causes(details, page), "command": places.command(run, one),
        "pages": list(places.pages(id, one).items()),
        "visited": details.get("visited", []), "step": details.get("step", []),
        "cuts": [_cut(cut, places) for cut in store.cuts(run, one.number, one.build)],
        "checks": [
            {"builds": list(check.builds), "verdict": check.verdict, "reason": check.reason, "made": check.made,
             "pictures": [[name, places.picture(blob)] for name, blob in check.pictures.items()]}
            for check in store.checks(id)
        ],
    }  # fmt: skip


def impact(details: Mapping[str, Any]) -> int:
    """How visible a finding is."""
    return int(details.get("impact", pixels(details)))


def pixels(details: Mapping[str, Any]) -> int:
    """In how many pixels it differs at all."""
    return int(details.get("pixels", details.get("figures", {}).get("pixels", 0)))


def _tables(run: Run, details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Who disagrees with whom, and what others say."""
    found = []
    if run.kind == "consensus" and details.get("figures"):
        apart = [" | ".join(pair) for pair in details.get("apart", ())]
        rows = [[pair, f"{n:.6g}", "disagree" if pair in apart else "agree"] for pair, n in details["figures"].items()]
        found.append(culprit.table("Each two of the pool", ("builds", run.settings["measure"], ""), rows))
    if details.get("references"):
        found.append(culprit.table("What others say", ("who", "what"), [*details["references"].items()]))
    return found


def facts(store: Store, run: Run, one: Finding) -> dict[str, Any]:
    """What is said of a finding, a line each."""
    details = one.details
    numbers = ", ".join(f"{k} {v:.6g}" for k, v in details.get("figures", {}).items())
    rate = details.get("flake_rate")
    return {
        "build": one.build, "verdict": one.kind,
        "figures": (numbers if run.kind not in ("consensus", "app") else "") or details.get("reason", ""),
        "known from": details.get("known_from", ""), "after": details.get("step_words", ""),
        "stage": details.get("stage", ""), "element": details.get("element", ""),
        "properties": ", ".join(details.get("properties", ())),
        "references": ", ".join(f"{who}: {what}" for who, what in details.get("references", {}).items()),
        "bytes": " → ".join(map(str, details.get("bytes", ()))), "flake rate": "" if rate is None else f"{rate:.0%}",
        "not reduced": details.get("unreduced", ""),
        "lost": f"{details['lost']} of its files" if "lost" in details else "",
        **culprit.facts(details), **consensus.facts(details),
    }  # fmt: skip


def command(run: Run, one: Finding, page: str, *, bare: bool = True) -> str:
    """What shows it again; `page` is where its page is, but for the end of its name. A page that is not `bare` has what
    it was shown over in it."""
    if run.kind == "app":
        trace = str(Path(page).parent / TRACE)
        return shlex.join(["moire", "app", "replay", trace, "--build", one.build, "--step"])
    measure = ["--measure", str(run.settings["measure"])]
    file = f"{page}{end(one.details)}"
    if run.kind == "update":
        update = str(Path(page).parent / "update.json")
        return shlex.join(["moire", "check-update", file, update, "-b", one.build, *measure])
    names = one.details.get("step") or run.settings["builds"]
    builds = [word for build in names for word in ("-b", build)]
    shown = one.details.get("environment", {})
    size = f"{shown.get('width', 800)}x{shown.get('height', 600)}"
    normal = ["--normal"] if bare and run.settings.get("normal") else []
    sized = ["--size", size] if size != "800x600" else []
    return shlex.join(["moire", "compare", file, *builds, *measure, *sized, *normal])


def end(details: Mapping[str, Any]) -> str:
    """A page's kind, by the end of its name."""
    found = Path(str(details.get("name", ""))).suffix.lower()
    return found if re.fullmatch(r"\.[a-z]{1,5}", found) else ".html"


def lines(update: str) -> str:
    """One operation a line; nothing, if there are none."""
    operations = [json.dumps(one.plain, ensure_ascii=False) for one in read(update)]
    return "[\n" + ",\n".join(operations) + "\n]\n" if operations else ""


def _text(store: Store, blob: str | None) -> str:
    return store.blobs.read(blob).decode("utf-8", "replace")[:MOST_TEXT] if blob else ""


def _causes(details: Mapping[str, Any], page: str) -> list[str]:
    """Words of the page's text that matter most: properties as they are declared, attributes, and the elements that
    the difference is in; of those that every page has, only if there is nothing else."""
    has = details.get("features", {})
    properties = details.get("properties") or [name for (name,) in has.get("properties", ())]
    attributes = sorted({name for _, name in has.get("attributes", ())} - USUAL_ATTRIBUTES)
    nodes = [each["node"].rpartition(" > ")[2] for each in details.get("differences", ())[:1]]
    within = [re.split(r"[^\w-]", name)[0] for name in (*nodes, details.get("element") or "") if name]
    tags = [name for name in within if f"<{name}" in page.lower()] or [name for (name,) in has.get("tags", ())]
    special = [name for name in tags if name not in USUAL_TAGS] or ([] if properties or attributes else tags)
    return [*(f"{name}:" for name in properties), *(f"{name}=" for name in attributes), *(f"<{n}" for n in special)]


def _cut(cut: Cut, places: Places) -> dict[str, Any]:
    pictures = [[name, places.picture(blob)] for name, blob in cut.pictures.items()]
    return {"name": cut.name, "bytes": cut.bytes, "pictures": pictures}
