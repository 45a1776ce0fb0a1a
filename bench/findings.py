"""Findings worth showing, in docs/findings/: each must fail ten times of ten, from its reftest alone.

`python -m bench findings` tries them all, and draws their pictures and the page that lists them.
`python -m bench.findings REPORT/finding-001 NAME "What is wrong."` takes one in from a run's report.
"""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from moire.browsers.lab import Lab
from moire.nouns import Case, Shot
from moire.nouns.update import read
from moire.pixels import close_up, decode, encode
from moire.wpt.export import reftest

from .common import Row, build, row

PLACE = Path(__file__).parents[1] / "docs" / "findings"
LIST = PLACE / "findings.json"
TIMES = 10
_HEAD = """# Findings

Render-update bugs that Moire found in stock builds: a page changed by script does not look like the same
page loaded fresh. Each was reduced and then read; its reftest fails {times} times of {times} in the build
that is named (`python -m bench findings`). Pictures show the updated page, the fresh one and where they differ.

Another page has what [WebKitGTK shows otherwise](disagreements.md) than Chromium and Firefox do.
"""
_SECTION = """
### {sentence}

{build}, {operations}; {stage} went stale. Of other references: {references}.
[Test]({name}.html), [reference]({name}-ref.html).

````html
{page}
````

````json
{update}
````

![updated, fresh and the difference]({name}.png)
"""


def take(folder: Path, name: str, sentence: str) -> None:
    """One from a report, with its reftest under a name that says what it is."""
    record = json.loads((folder / "finding.json").read_text("utf-8"))
    if record["resources"] or record.get("reftest") != "fails":
        sys.exit("Only a page of one file whose reftest was seen to fail can be shown.")
    case = Case((folder / "page.html").read_bytes(), update=read((folder / "update.json").read_text("utf-8")))
    pair = reftest(case, name, sentence)
    PLACE.mkdir(parents=True, exist_ok=True)
    for file, data in (pair.test, pair.reference):
        (PLACE / file).write_bytes(data)
    kept = {key: record[key] for key in ("build", "signature", "operations", "stage", "references")}
    one = {
        "name": name,
        "sentence": sentence,
        **kept,
        "page": case.html.decode(),
        "update": [o.plain for o in case.update],
    }
    others = [other for other in _listed() if other["name"] != name]
    LIST.write_text(json.dumps(sorted([*others, one], key=_order), indent=1, ensure_ascii=False) + "\n", "utf-8")


def _listed() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(LIST.read_text("utf-8")) if LIST.exists() else []
    return found


def _order(one: dict[str, Any]) -> tuple[str, str]:
    return one["build"], one["name"]


async def tried(found: list[dict[str, Any]]) -> dict[str, int]:
    """How often each fails; a picture of it."""
    failed: dict[str, int] = {}
    targets = {name: build(name) for name in sorted({one["build"] for one in found})}
    for name, own in groupby(sorted(found, key=_order), key=lambda one: str(one["build"])):
        async with Lab([targets[name]]) as lab:
            for one in own:
                files = [PLACE / f"{one['name']}{end}.html" for end in ("", "-ref")]
                cases = [Case(file.read_bytes(), file.name) for file in files]
                count = 0
                for _ in range(TIMES):
                    shots = [await lab.shoot(targets[name], case) for case in cases]
                    pictures = [decode(shot.png) for shot in shots if isinstance(shot, Shot)]
                    if len(pictures) == 2 and (pictures[0] != pictures[1]).any():
                        count += 1
                        (PLACE / f"{one['name']}.png").write_bytes(encode(close_up(*pictures)))
                failed[one["name"]] = count
    return failed


def page(found: list[dict[str, Any]]) -> str:
    """For people: only what was seen to fail each time."""
    parts = [_HEAD.format(times=TIMES)]
    for name, own in groupby(sorted(found, key=_order), key=lambda one: str(one["build"])):
        parts.append(f"\n## {name}\n")
        for one in own:
            said = ", ".join(f"{other}: {words}" for other, words in one["references"].items())
            update = "\n".join(json.dumps(plain, ensure_ascii=False) for plain in one["update"])
            words = {**one, "operations": ", ".join(one["operations"]), "references": said, "update": update}
            parts.append(_SECTION.format(**words))
    return "".join(parts)


def run() -> list[Row]:
    found = _listed()
    failed = asyncio.run(tried(found))
    weak = {name: count for name, count in failed.items() if count < TIMES}
    sure = [one for one in found if one["name"] not in weak]
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "README.md").write_text(page(sure), "utf-8")
    builds = sorted({one["build"] for one in sure})
    signatures = {one["signature"] for one in sure}
    return [
        row(f"findings whose reftest fails {TIMES} times of {TIMES}", len(signatures), "10", builds=builds, weak=weak)
    ]


if __name__ == "__main__":
    take(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
