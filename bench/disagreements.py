"""Pages that one engine shows otherwise than the others, in docs/findings/: each must do so ten times of ten.

`python -m bench disagreements` tries the clearest, and draws their pictures and the page that lists them, with all that
the hunt found besides. `docs/findings/disagreements.json` has them: pages as the hunt reduced them, and what people say
who read them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from moire.browsers.lab import Lab
from moire.nouns import Case, Environment, Shot
from moire.oracles.consensus import Pool, judge
from moire.pixels import decode, encode, measure, side_by_side

from .common import Row, build, row

PLACE = Path(__file__).parents[1] / "docs" / "findings"
LIST = PLACE / "disagreements.json"
TIMES = 10
# Round what differs, and how large that is shown.
MARGIN, WIDTH, LARGEST = 12, 240, 8
_HEAD = """# Who disagrees

{about}

Pages are shown over Moire's reset, in Ahem. Each of the clearest was seen {times} times of {times} in fresh tabs of all
three engines (`python -m bench disagreements`); pictures show {builds}, from left to right, where they differ.
"""
_SECTION = """
## {sentence}

{why}

````html
{page}
````

![{alt}]({name}.png)
"""


def pictured(shots: list[Shot]) -> bytes:
    """Where they differ, side by side."""
    images = [decode(shot.png) for shot in shots]
    apart = np.zeros(images[0].shape[:2], bool)
    for image in images[1:]:
        apart |= (image != images[0]).any(axis=2)
    rows, columns = np.nonzero(apart)
    top, bottom = max(0, int(rows.min()) - MARGIN), int(rows.max()) + MARGIN + 1
    left, right = max(0, int(columns.min()) - MARGIN), int(columns.max()) + MARGIN + 1
    times = max(1, min(LARGEST, WIDTH // max(right - left, bottom - top)))
    parts = [image[top:bottom, left:right].repeat(times, 0).repeat(times, 1) for image in images]
    return encode(side_by_side([np.ascontiguousarray(part) for part in parts]))


async def tried(told: dict[str, Any]) -> list[str]:
    """The names of those that were seen each time; a picture of each."""
    builds = tuple(build(name) for name in told["builds"])
    pool = Pool(builds, measure("sqdiff"), "target", told["builds"].index(told["target"]))
    sure = []
    async with Lab(builds) as lab:
        for one in told["clearest"]:
            case = Case(f"<!DOCTYPE html>{one['page']}".encode(), environment=Environment(**told["environment"]))
            looked = await judge(lab, pool, case, TIMES, screen=False)
            shots = [own[0] for own in looked.taken if isinstance(own[0], Shot)]
            if looked.verdict.kind == "different" and len(shots) == len(builds):
                sure.append(one["name"])
                (PLACE / f"{one['name']}.png").write_bytes(pictured(shots))
    return sure


def page(told: dict[str, Any], sure: list[str]) -> str:
    builds = ", ".join(told["builds"])
    parts = [_HEAD.format(about=told["about"], times=TIMES, builds=builds)]
    for one in told["clearest"]:
        if one["name"] in sure:
            parts.append(_SECTION.format(**one, alt=f"the page in {builds}"))
    parts.append("\n## All that the hunt found\n\n| what differs | reduced page |\n| --- | --- |\n")
    for one in told["others"]:
        text = " ".join(one["page"].split()).replace("|", "\\|")
        parts.append(f"| {one['sentence']} | `` {text} `` |\n")
    return "".join(parts)


def run() -> Iterator[Row]:
    told = json.loads(LIST.read_text("utf-8"))
    sure = asyncio.run(tried(told))
    (PLACE / "disagreements.md").write_text(page(told, sure), "utf-8")
    weak = [one["name"] for one in told["clearest"] if one["name"] not in sure]
    cases = len(told["clearest"]) + len(told["others"])
    yield row(f"disagreements seen {TIMES} times of {TIMES}", len(sure), "10", weak=weak, described=cases)
