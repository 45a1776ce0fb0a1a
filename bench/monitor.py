"""The live page over a large store: how soon each list is there, and whether the server's memory stays as it is."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from moire.pixels import encode
from moire.store import Finding, PageRow, Run, Store

from .common import Row, build, row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
# The tests' own way to look at a page of ours.
from viewing import View, viewing

PAGES, FINDINGS = 100_000, 10_000
KINDS = 2000
LOADS = 20
# The address of each list, and what it has when it is there.
LISTS = {
    "runs": ("#/", ".runs a"), "run": ("#/run/update-1", ".tile"), "findings": ("#/findings", ".card"),
    "every finding": ("#/findings?each=1", ".card"), "features": ("#/features", ".matrix a"),
    "two runs": ("#/compare?a=update-1&b=update-2", "h2"), "a finding": ("#/finding/5000", ".stage img"),
}  # fmt: skip
# When the first of it was drawn, in milliseconds from the beginning of the load.
_WATCH = """
addEventListener('DOMContentLoaded', () => {
  const look = () => {
    if (!document.querySelector(%s)) return;
    watching.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = performance.now(); }));
  };
  const watching = new MutationObserver(look);
  watching.observe(document, {childList: true, subtree: true});
});
"""


def filled(folder: Path) -> None:
    random = np.random.default_rng(1)
    names = [f"property-{n}" for n in range(300)]
    with Store(folder) as store:
        pictures = []
        for n in range(200):
            image = np.full((600, 800, 3), 255, np.uint8)
            image[n : n + 200, n : n + 300] = random.integers(0, 255, 3)
            pictures.append(store.blobs.add(encode(image)))
        for name in ("update-1", "update-2"):
            run = store.begin("update", name, {"builds": ["chromium@156"], "measure": "exact", "pages": PAGES // 2})
            for first in range(0, PAGES // 2, 500):
                rows = [PageRow(n, "chromium@156", "same") for n in range(first, first + 500)]
                store.done(run, rows, 20.0, {"pages": first + 500, "findings": first // 10, "signatures": first // 50})
            # One by one they would be on disk one by one, which is what takes long.
            with store._change() as db:
                _findings(db, run, [store.blobs.add(b"<p>")], pictures, names, random)


def _findings(db: Any, run: Run, pages: list[str], pictures: list[str], names: list[str], random: Any) -> None:
    for n in range(FINDINGS // 2):
        some = [names[k] for k in random.integers(0, len(names), 3)]
        features = {
            "tags": [["div"], ["table"]], "attributes": [["table", "border"]], "properties": [[one] for one in some],
            "styled": [["div", one] for one in some],
        }  # fmt: skip
        shown = {"updated": pictures[n % 200], "fresh": pictures[(n + 1) % 200]}
        details: dict[str, Any] = {
            "page": pages[0], "bytes": [4000, 90], "figures": {"pixels": int(random.integers(1, 9999))},
            "stage": "layout", "element": "div", "properties": some[:1], "pictures": shown, "features": features,
            "operations": ["set-style"],
        }  # fmt: skip
        one = Finding(n, "chromium@156", "example", "different", f"kind {n % (KINDS // 2)} {some[0]}", details)
        brief = {"impact": details["figures"]["pixels"], **{k: v for k, v in details.items() if k != "page"}}
        db.execute(
            "INSERT INTO findings (run, number, build, state, kind, signature, details, brief, changed)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(changed), 0) + 1 FROM findings))",
            (run.id, n, one.build, one.state, one.kind, one.signature, json.dumps(details), json.dumps(brief)),
        )


async def drawn(view: View, address: str, selector: str) -> float:
    """Seconds until something of the list is on the screen."""
    script = await view.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH % json.dumps(selector))
    await view.call("Page.navigate", url="about:blank")
    await view.call("Page.navigate", url=address)
    await view.until("window.drawn")
    await view.call("Page.removeScriptToEvaluateOnNewDocument", **script)
    return float(await view.js("window.drawn")) / 1000


def memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


async def measured(address: str, content: str, pid: int) -> list[Row]:
    rows = []
    async with viewing(build("chromium@156"), address.removeprefix("http://"), content.removeprefix("http://")) as view:
        for name, (where, selector) in LISTS.items():
            times = [await drawn(view, f"{address}/{where}", selector) for _ in range(3)]
            rows.append(row(f"live page: {name} drawn, s", max(times), "1 at most", all=[round(t, 3) for t in times]))
        before = memory(pid)
        for _ in range(LOADS):
            await drawn(view, f"{address}/#/findings?each=1", ".card")
        ratio = memory(pid) / before
        rows.append(row(f"live page: memory after {LOADS} loads ÷ before", ratio, "1.1 at most", bytes=memory(pid)))
    return rows


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        filled(Path(folder))
        words = [sys.executable, "-m", "moire.cli", "serve", "--port", "0", "--store", folder]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[1].partition("/#")[0]
            try:
                config = urllib.request.urlopen(f"{address}/data/config.js").read().decode()
                content = json.loads(config.partition("= ")[2].rstrip(";\n"))["content"]
                yield from asyncio.run(measured(address, content, server.pid))
            finally:
                server.terminate()
