"""How time and memory of the default report grow with the rows, for the guide; only run when named.

`python -m tests.benchmarks.growth` measures; with `--page` it writes the table.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
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


def whole_run(path: Path) -> dict[str, float]:
    """Return seconds of the processor and the peak memory in MB of a whole process, the least of several."""
    runs = []
    for _ in range(REPEATS):
        call = [sys.executable, "-c", WHOLE, "evaluate", str(path)]
        done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=True)
        runs.append([float(one) for one in done.stderr.splitlines()[-1].split()])
    cpu, peak = map(min, zip(*runs, strict=True))
    return {"cpu": round(cpu, 3), "peak": round(peak, 3)}


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
    heads = ["rows", "seconds of the processor", "peak memory, MB"]
    rows = [
        [f"{int(rows):,}", f"{own['cpu']:.1f}", f"{own['peak']:.0f}"] for rows, own in found["rows"].items()
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
