"""How time and memory of the default report grow with the rows, on one core and on all, for the guide.

Only run when named: `python -m tests.benchmarks.growth` measures; with `--page` it writes the table.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import ROOT
from tests.benchmarks.keeping import GUIDE, Kept, between, table
from tests.benchmarks.samples import write_binary_parquet

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "sizes.md"
SIZES = tuple(10**power for power in range(4, 9))
REPEATS = 3
WHOLE = """
import sys, time
from calcli.cli.main import status_of
from tests.benchmarks.harness import peak
if status_of(sys.argv[1:]):
    sys.exit("calcli failed")
print(time.process_time(), peak(), file=sys.stderr)
"""


THREADS = {"one": ("--workers", "1"), "all": ()}


def whole_run(path: Path) -> dict[str, float]:
    """Return processor seconds, wall seconds and peak memory in MB of whole processes, the least of several.

    Threads take turns, so that the rest of the machine's work falls on both alike.
    """
    runs: dict[str, list[list[float]]] = {name: [] for name in THREADS}
    for _ in range(REPEATS):
        for name, options in THREADS.items():
            call, start = [sys.executable, "-c", WHOLE, "evaluate", str(path), *options], time.perf_counter()
            done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=True)
            cpu, peak = (float(one) for one in done.stderr.splitlines()[-1].split())
            runs[name].append([cpu, time.perf_counter() - start, peak])
    least = {name: map(min, zip(*several, strict=True)) for name, several in runs.items()}
    return {
        f"{kind} {name}": round(value, 3)
        for name, values in least.items()
        for kind, value in zip(("cpu", "wall", "peak"), values, strict=True)
    }


def measure(kept: Kept) -> None:
    """Measure every size."""
    with tempfile.TemporaryDirectory() as name:
        for rows in SIZES:
            path = write_binary_parquet(Path(name), rows)
            kept.found["rows"][str(rows)] = found = whole_run(path)
            path.unlink()
            kept.write()
            print(f"{rows:,}: {found}", flush=True)


def refreshed(text: str, found: Mapping[str, Any]) -> str:
    """Return the page with the table of what was found."""
    heads = ["rows", "seconds of the processor", "by all cores", "peak memory, MB"]
    heads += ["by all cores"]
    rows = [
        [
            f"{int(rows):,}",
            f"{own['cpu one']:.1f}",
            f"{own['cpu all']:.1f}",
            f"{own['peak one']:.0f}",
            f"{own['peak all']:.0f}",
        ]
        for rows, own in found["rows"].items()
    ]
    return between(text, "growth", "\n".join(table(heads, rows)) + "\n")


def main() -> None:
    """Measure, or write what the guide shows."""
    kept = Kept(RESULTS, "rows")
    if "--page" not in sys.argv[1:]:
        measure(kept)
        return
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), kept.found), encoding="utf-8")


if __name__ == "__main__":
    main()
