"""`python -m tests.ledger OLD NEW` lists every number that two checkouts compute otherwise.

Both run on this machine, on data made anew. `python tests/ledger/running.py "" N > FILE` keeps each N-th of
what a checkout computes, so that FILE may stand for OLD.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXACT, SINGLE, ITERATED = 1e-12, 1e-9, 1e-7  # relative
WITHOUT = "calcli", "signature", "sha256"


def main() -> int:
    """Compare; status 1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout, or a file that running.py wrote in one")
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", default="", help="computations whose name has this in it")
    parser.add_argument("--every", type=int, default=1, help="only each N-th computation")
    parser.add_argument("--show", type=int, default=60, help="differences that are shown")
    asked = parser.parse_args()
    old, new = (_computed(one, asked.only, asked.every) for one in (asked.old, asked.new))
    found = [
        (name, path, before, after)
        for name in {**old, **new}
        for path, before, after in _differences(old.get(name), new.get(name), _tolerance(name), "")
    ]
    for name, path, before, after in found[: asked.show]:
        print(f"{name}{path}\n    - {str(before)[:300]}\n    + {str(after)[:300]}")
    apart = Counter(name.split(" / ")[0] for name in {name for name, *_ in found})
    print(f"{len(old):,} computations, {sum(apart.values()):,} differ")
    print(*(f"{count:6}  {name}" for name, count in sorted(apart.items())), sep="\n")
    return int(bool(found))


def _computed(checkout: Path, only: str, every: int) -> dict[str, Any]:
    if checkout.is_file():
        return json.loads(checkout.read_text(encoding="utf-8"))
    script = Path(__file__).with_name("running.py")
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve()), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, script, only, str(every)]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, check=True)
    return json.loads(done.stdout)


def _tolerance(name: str) -> float:
    if "fit" in name.split() or "calibration" in name:
        return ITERATED
    return SINGLE if "float32" in name else EXACT


def _differences(old: Any, new: Any, tolerance: float, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key not in WITHOUT:
                yield from _differences(old.get(key), new.get(key), tolerance, f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from _differences(*pair, tolerance, f"{path}[{number}]")
    elif isinstance(old, float) and isinstance(new, int | float):
        if not math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance):
            yield path, old, new
    elif old != new:
        yield path, old, new


if __name__ == "__main__":
    sys.exit(main())
