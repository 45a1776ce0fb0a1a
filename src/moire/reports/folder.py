"""A report as one folder that opens offline: pages, pictures, figures, and how to see it again."""

from __future__ import annotations

import html
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from ..hunts.change import Judged
from ..nouns import Build, Shot
from ..pixels import decode, difference, encode

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1400px; padding: 1rem;
  color: #1c1c1e; background: #fafafa }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem }
table { border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left }
.shots { display: grid; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); gap: .75rem }
figure { margin: 0 } figcaption { font-size: .85rem; color: #555 }
img { width: 100%; border: 1px solid #ccc; background: #fff }
code { background: #eee; padding: .1rem .3rem; overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) {
  body { background: #1c1c1e; color: #eee } figcaption { color: #aaa } code { background: #333 } }
"""


class Folder:
    """Findings are on disk as they are added; `finish` writes the page that shows them."""

    def __init__(self, place: Path, base: Build, new: Build, settings: dict[str, Any]) -> None:
        self._place = place
        self._base = base
        self._new = new
        self._settings = settings
        self._findings: list[dict[str, Any]] = []
        place.mkdir(parents=True, exist_ok=True)

    def begin(self) -> None:
        """Make room for a new report: an earlier one's findings go, and nothing that is not ours."""
        for record in self._place.glob("finding-*/finding.json"):
            shutil.rmtree(record.parent)

    def add(self, judged: Judged) -> None:
        name = f"finding-{len(self._findings) + 1:03d}"
        folder = self._place / name
        folder.mkdir(exist_ok=True)
        (folder / "page.html").write_bytes(judged.case.html)
        shots = [taken[0] for taken in judged.outcomes if taken and isinstance(taken[0], Shot)]
        files = ["base.png", "new.png"][: len(shots)]
        for file, shot in zip(files, shots, strict=True):
            (folder / file).write_bytes(shot.png)
        if len(shots) == 2:
            images = [decode(shot.png) for shot in shots]
            (folder / "difference.png").write_bytes(encode(difference(*images)))
            files.append("difference.png")
        finding = {
            "name": name, "seed": judged.case.seed, "verdict": judged.verdict.kind, "reason": judged.verdict.reason,
            "figures": dict(judged.verdict.figures), "flake_rate": judged.verdict.flake_rate, "files": files,
        }  # fmt: skip
        (folder / "finding.json").write_text(json.dumps(finding, indent=1))
        self._findings.append(finding)

    def finish(self, summary: dict[str, Any]) -> Path:
        whole = {"settings": self._settings, "summary": summary, "findings": self._findings}
        (self._place / "report.json").write_text(json.dumps(whole, indent=1))
        index = self._place / "index.html"
        index.write_text(self._page(summary))
        return index

    def _page(self, summary: dict[str, Any]) -> str:
        esc = html.escape
        rows = "".join(f"<tr><th>{esc(str(k))}</th><td>{esc(str(v))}</td></tr>" for k, v in summary.items())
        # The most visible first.
        shown = sorted(self._findings, key=lambda f: -int(f["figures"].get("pixels", 0)))
        return (
            f"<!DOCTYPE html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>Moire: {esc(self._base.name)} and {esc(self._new.name)}</title><style>{_STYLE}</style>"
            f"<h1>{esc(self._base.name)} and {esc(self._new.name)}</h1><table>{rows}</table>"
            + "".join(self._section(finding) for finding in shown)
        )

    def _section(self, finding: dict[str, Any]) -> str:
        esc = html.escape
        name = finding["name"]
        captions = {"base.png": self._base.name, "new.png": self._new.name, "difference.png": "difference"}
        figures = "".join(
            f"<figure><img loading=lazy src='{name}/{file}' alt='{esc(captions[file])}'>"
            f"<figcaption>{esc(captions[file])}</figcaption></figure>"
            for file in finding["files"]
        )
        numbers = ", ".join(f"{k} {v:.6g}" for k, v in finding["figures"].items())
        words = ["moire", "compare", f"{name}/page.html", "-b", self._base.name, "-b", self._new.name]
        command = shlex.join([*words, "--measure", str(self._settings["measure"])])
        return (
            f"<h2 id={name}>{name}: {esc(finding['verdict'])}</h2><p>{esc(numbers or finding['reason'])} · "
            f"<a href='{name}/page.html'>page</a> · <code>{esc(command)}</code></p><div class=shots>{figures}</div>"
        )
