"""`python -m bench [NAME…]`: run the benchmarks and keep their figures in bench/results.json, each as soon as it is
measured. `NAME.PART` runs a part of one that has parts."""

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
    "disagreements",
    "stages",
    "regression",
    "consensus",
    "monitor",
    "store",
    "cluster",
    "guidance",
    "soak",
    "apps",
    "app_speed",
)
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for asked in sys.argv[1:] or NAMES:
        name, _, part = asked.partition(".")
        module = importlib.import_module(f"bench.{name}")
        before = results.get(name, []) if part else []
        for row in module.PARTS[part]() if part else module.run():
            before = [one for one in before if one["measure"] != row["measure"]]
            results[name] = [*before, row]
            before = results[name]
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
            rest = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
            print(rest, flush=True)


main()
