"""A run as one folder that opens offline: pages, pictures, figures, and how to see it again."""

from __future__ import annotations

import contextlib
import html
import json
import re
import shlex
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..nouns import Case, UsageError
from ..nouns.case import inside
from ..nouns.update import read
from ..pages.normal import normalised
from ..pixels import Image, average, close_up, decode, difference, encode
from ..store import Finding, Run, Store, case_of
from ..wpt.export import reftest
from . import consensus, culprit
from .style import SCRIPT, STYLE

SHOWN_REASONS = 10
_WHY = "untestable: "
# What differs from page to page in one and the same reason.
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|#\w+|\d+")
_esc = html.escape


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
        "examples": sum(one.state == "example" for one in found), **_steps(found), **consensus.summary(found),
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


def write(store: Store, run: Run, place: Path) -> Path:
    """The page to open."""
    if (place / "index.html").exists() and not (place / "report.json").exists():
        raise UsageError(f"{place} holds something else.", "Give another folder.")
    place.mkdir(parents=True, exist_ok=True)
    for record in place.glob("finding-*/finding.json"):
        # An earlier report's; nothing that is not ours goes.
        shutil.rmtree(record.parent)
    found = store.findings(run)
    figures = summary(store, run)
    shown = [one for one in found if one.state != "duplicate"]
    # Each kind of finding together, the most visible first.
    worth: Counter[str] = Counter()
    for one in shown:
        worth[one.signature] = max(worth[one.signature], int(one.details.get("figures", {}).get("pixels", 0)))
    shown.sort(key=lambda one: (not one.details.get("bug"), -worth[one.signature], one.signature, one.number))
    alike = Counter(one.signature for one in found)
    records = [_files(store, run, one, place / f"finding-{n:03d}") for n, one in enumerate(shown, 1)]
    whole = {
        "run": run.name, "kind": run.kind, "settings": _settings(run), "summary": figures,
        "primitives": primitives(found), "findings": records,
    }  # fmt: skip
    (place / "report.json").write_text(json.dumps(whole, indent=1), "utf-8")
    if run.settings.get("config"):
        (place / "config.toml").write_bytes(run.settings["config"].encode("utf-8", "replace"))
    more = consensus.write(store, run, found, place) if run.kind == "consensus" else ""
    index = place / "index.html"
    index.write_bytes(_page(run, figures, primitives(found), records, alike, more).encode("utf-8", "replace"))
    return index


def _settings(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.settings.items() if name not in ("weights", "config")}


def _files(store: Store, run: Run, finding: Finding, folder: Path) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    # First, so that the folder is known for ours whatever happens.
    (folder / "finding.json").write_text("{}", "utf-8")
    details = finding.details
    end = _end(details)
    case = replace(case_of(store.blobs, finding), name=f"page{end}")
    # As browsers got to see it; what stands above the page itself is in neither the text nor its size.
    seen = normalised if run.settings.get("normal") else lambda one: one
    (folder / f"page{end}").write_bytes(seen(case).html)
    if "before" in details:
        before = replace(case, html=store.blobs.read(details["before"]["page"]))
        (folder / f"before{end}").write_bytes(seen(before).html)
    if case.update:
        (folder / "update.json").write_text(_lines(details["update"]), "utf-8")
        if details.get("reftest") == "fails":
            _reftest(case, finding, folder)
    pictures = {}
    for name, blob in details.get("pictures", {}).items():
        file = f"{_plain(name)}.png"
        (folder / file).write_bytes(store.blobs.read(blob))
        pictures[name] = file
    if len(pictures) == 2:
        images = [decode((folder / file).read_bytes()) for file in pictures.values()]
        (folder / "difference.png").write_bytes(encode(difference(*images)))
        (folder / "close-up.png").write_bytes(encode(close_up(*images)))
    more = _apart(details, {name: store.blobs.read(blob) for name, blob in details.get("pictures", {}).items()})
    for n, (_, picture) in enumerate(more):
        (folder / f"more-{n}.png").write_bytes(encode(picture))
    record = {
        **details, "name": folder.name, "number": finding.number, "build": finding.build, "verdict": finding.kind,
        "state": finding.state, "signature": finding.signature, "pictures": pictures,
        "more": {what: f"more-{n}.png" for n, (what, _) in enumerate(more)},
        "command": _command(run, finding, folder.name), "end": end, "html": case.html.decode("utf-8", "replace"),
    }  # fmt: skip
    (folder / "finding.json").write_text(json.dumps(record, indent=1), "utf-8")
    _beside(case, folder)
    return record


def _apart(details: Mapping[str, Any], pictures: Mapping[str, bytes]) -> list[tuple[str, Image]]:
    """Of more than two builds: who disagrees with whom, and all of them laid over each other."""
    if len(pictures) < 3:
        return []
    images = {name: decode(png) for name, png in pictures.items()}
    pairs = [pair for pair in details.get("apart", ()) if set(pair) <= images.keys()]
    apart = [(f"difference of {a} and {b}", difference(images[a], images[b])) for a, b in pairs]
    return [*apart, ("average", average(list(images.values())))]


def _beside(case: Case, folder: Path) -> None:
    """What the page takes from beside it, but for names that are taken by what is there."""
    ours = {entry.name for entry in folder.iterdir()}
    for path, data in case.resources.items():
        if inside(path) and Path(path).parts[0] not in ours:
            with contextlib.suppress(OSError):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)


def _reftest(case: Case, finding: Finding, folder: Path) -> None:
    pair = reftest(case, "reftest", finding.signature)
    for name, data in (pair.test, pair.reference):
        (folder / name).write_bytes(data)


def _command(run: Run, finding: Finding, name: str) -> str:
    measure = ["--measure", str(run.settings["measure"])]
    page = f"{name}/page{_end(finding.details)}"
    if run.kind == "update":
        return shlex.join(["moire", "check-update", page, f"{name}/update.json", "-b", finding.build, *measure])
    names = finding.details.get("step") or run.settings["builds"]
    builds = [word for build in names for word in ("-b", build)]
    shown = finding.details.get("environment", {})
    size = f"{shown.get('width', 800)}x{shown.get('height', 600)}"
    return shlex.join(["moire", "compare", page, *builds, *measure, *(["--size", size] if size != "800x600" else [])])


def _end(details: Mapping[str, Any]) -> str:
    """A page's kind, by the end of its name."""
    end = Path(str(details.get("name", ""))).suffix.lower()
    return end if re.fullmatch(r"\.[a-z]{1,5}", end) else ".html"


def _lines(update: str) -> str:
    """One operation a line."""
    return "[\n" + ",\n".join(json.dumps(one.plain, ensure_ascii=False) for one in read(update)) + "\n]\n"


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "-" for c in name)


def _page(
    run: Run, figures: Mapping[str, Any], triggers: Mapping[str, Mapping[str, int]], records: Sequence[dict[str, Any]],
    alike: Mapping[str, int], more: str,
) -> str:  # fmt: skip
    why = {key.removeprefix(_WHY): count for key, count in figures.items() if key.startswith(_WHY)}
    rows = _rows({key: value for key, value in figures.items() if not key.startswith(_WHY)})
    untestable = f"<details><summary>Why pages could not be tested</summary><table>{_rows(why)}</table></details>"
    title = f"{run.name}: {' and '.join(run.settings['builds'])}"
    return (
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Moire: {_esc(title)}</title><style>{STYLE}</style><h1>{_esc(title)}</h1><table>{rows}</table>"
        + (untestable if why else "")
        + (_bars(triggers) if run.kind == "update" and triggers else "")
        + more
        + "".join(_section(one, alike) for one in records)
        + f"<script>{SCRIPT}</script>"
    )


def _rows(facts: Mapping[str, Any]) -> str:
    return "".join(f"<tr><th>{_esc(str(k))}</th><td>{_esc(str(v))}</td></tr>" for k, v in facts.items())


def _bars(triggers: Mapping[str, Mapping[str, int]]) -> str:
    """Findings for each operation that triggers them."""
    most = max((n for counts in triggers.values() for n in counts.values()), default=1)
    return "".join(
        f"<h2>Findings by operation, {_esc(build)}</h2><div class=bars>"
        + "".join(f"<span>{_esc(op)}</span><i style='width:{100 * n / most:.0f}%'></i><b>{n}</b>"
                  for op, n in counts.items())
        + "</div>"
        for build, counts in triggers.items()
    )  # fmt: skip


def _section(one: Mapping[str, Any], alike: Mapping[str, int]) -> str:
    name = one["name"]
    numbers = ", ".join(f"{k} {v:.6g}" for k, v in one.get("figures", {}).items())
    facts = {
        "build": one["build"], "verdict": one["verdict"], "figures": numbers or one.get("reason", ""),
        "stage": one.get("stage", ""), "element": one.get("element", ""),
        "properties": ", ".join(one.get("properties", ())),
        "of this kind": alike.get(one["signature"], 1),
        "references": ", ".join(f"{who}: {what}" for who, what in one.get("references", {}).items()),
        "bytes": " → ".join(map(str, one.get("bytes", ()))),
        "not reduced": one.get("unreduced", ""), **culprit.facts(one), **consensus.facts(one),
    }  # fmt: skip
    rows = _rows({key: value for key, value in facts.items() if value})
    update = f"<h3>Operations</h3><pre>{_esc(_lines(one['update']))}</pre>" if one.get("update", "[]") != "[]" else ""
    links = [(f"page{one['end']}", "page", True), (f"before{one['end']}", "before reduction", "before" in one),
             ("reftest.html", "reftest", one.get("reftest") == "fails")]  # fmt: skip
    anchors = " · ".join(f"<a href='{name}/{file}'>{words}</a>" for file, words, there in links if there)
    return (
        f"<h2 id={name}>{name}: {_esc(one['signature'] or 'not looked into yet')}</h2>"
        f"<p>{anchors} · <code>{_esc(one['command'])}</code></p><table>{rows}</table>"
        f"{culprit.tables(one)}<div class=shots>{_figures(one)}</div>{update}"
        f"<h3>Page</h3><pre>{_esc(one['html'])}</pre>"
    )


def _figures(one: Mapping[str, Any]) -> str:
    name, pictures = one["name"], list(one["pictures"].items())
    plain = [
        f"<figure><img loading=lazy src='{name}/{file}' alt='{_esc(what)}'><figcaption>{_esc(what)}</figcaption>"
        "</figure>"
        for what, file in [
            *pictures,
            *([("difference", "difference.png")] if len(pictures) == 2 else []),
            *one["more"].items(),
        ]
    ]
    if len(pictures) == 2:
        images = "".join(f"<img loading=lazy src='{name}/{file}' alt='{_esc(what)}'>" for what, file in pictures)
        first, second = (_esc(what) for what, _ in pictures)
        plain.append(
            f"<figure><div class=flip tabindex=0 role=button data-first='{first}' data-second='{second}'>{images}</div>"
            f"<figcaption>{first} (click to flip)</figcaption></figure>"
        )
        plain.insert(
            0,
            f"<figure class=close><img loading=lazy src='{name}/close-up.png' alt='close up'>"
            f"<figcaption>{first}, {second} and the difference, close up</figcaption></figure>",
        )
    return "".join(plain)
