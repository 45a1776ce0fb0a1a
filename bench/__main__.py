"""`python -m bench [NAME…]`: run the benchmarks and keep their figures in bench/results.json."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

NAMES = (
    "phash",
    "throughput",
    "change",
    "endurance",
    "pages",
    "markup",
    "reduce",
    "update",
    "findings",
    "stages",
    "regression",
)
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or NAMES:
        results[name] = importlib.import_module(f"bench.{name}").run()
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        for row in results[name]:
            rest = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
            print(rest, flush=True)


main()
