"""How time and memory of the default report grow with the rows, for the guide; only run when named.

`python -m tests.benchmarks.growth` measures, with `--walls` the seconds of several workers alone; with
`--page` it writes the tables.
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
from tests.benchmarks.samples import write_binary_parquet, write_sample

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "sizes.md"
SIZES = tuple(10**power for power in range(4, 9))
WORKERS = (1, 2)
WALLS = ((10**8, 2), (5_000_000, 10))  # rows and classes of which walls are told
AIM = 0.65  # wall of two workers to that of one
REPEATS = 3
WHOLE = """
import sys, time
from calcli.cli.main import status_of
from tests.benchmarks.harness import peak
if status_of(sys.argv[1:]):
    sys.exit("calcli failed")
print(time.process_time(), peak(), file=sys.stderr)
"""


def whole_run(path: Path, workers: int) -> dict[str, float]:
    """Return seconds of the processor and of the clock, and the peak memory in MB, of a whole process."""
    call = [sys.executable, "-c", WHOLE, "evaluate", str(path), "--workers", str(workers)]
    start = time.perf_counter()
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=True)
    wall = time.perf_counter() - start
    cpu, peak = map(float, done.stderr.splitlines()[-1].split())
    return {"cpu": cpu, "wall": wall, "peak": peak}


def of_each_number(path: Path) -> dict[str, dict[str, float]]:
    """Return the least of several runs of each number of workers in turn."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(REPEATS):
        for workers in WORKERS:
            one, best = whole_run(path, workers), found.setdefault(str(workers), {})
            best |= {key: round(min(value, best.get(key, value)), 3) for key, value in one.items()}
    return found


def measure(kept: Kept) -> None:
    """Measure every size."""
    with tempfile.TemporaryDirectory() as name:
        for rows in SIZES:
            path = write_binary_parquet(Path(name), rows)
            kept.found["rows"][str(rows)] = found = of_each_number(path)
            path.unlink()
            kept.write()
            print(f"{rows:,}: {found}", flush=True)


def measure_walls(kept: Kept) -> None:
    """Measure what several workers gain."""
    for rows, classes in WALLS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = write_binary_parquet(folder, rows) if classes == 2 else write_sample(folder, rows, classes)
            found = of_each_number(path)
        kept.found.setdefault("walls", {})[f"{rows:,} x {classes}"] = found
        kept.write()
        one, two = (found[str(workers)]["wall"] for workers in WORKERS)
        print(f"{rows:,} x {classes}: {one} s, {two} s by two workers: {two / one:.2f} (aim {AIM})")


def refreshed(text: str, found: Mapping[str, Any]) -> str:
    """Return the page with the table of what was found."""
    heads = ["rows", "seconds of the processor", "peak memory, MB"]
    rows = [
        [f"{int(rows):,}", f"{own['1']['cpu']:.1f}", f"{own['1']['peak']:.0f}"]
        for rows, own in found["rows"].items()
    ]
    text = between(text, "growth", "\n".join(table(heads, rows)) + "\n")
    heads = ["rows and classes", "one worker, s", "two workers, s", "ratio"]
    rows = [
        [size, f"{(one := own['1']['wall']):.1f}", f"{(two := own['2']['wall']):.1f}", f"{two / one:.2f}"]
        for size, own in found["walls"].items()
    ]
    return between(text, "walls", "\n".join(table(heads, rows)) + "\n")


def main() -> None:
    """Measure, or write what the guide shows."""
    kept = Kept(RESULTS, "rows")
    if "--page" not in sys.argv[1:]:
        (measure_walls if "--walls" in sys.argv[1:] else measure)(kept)
        return
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), kept.found), encoding="utf-8")


if __name__ == "__main__":
    main()
