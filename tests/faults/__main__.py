"""`python -m tests.faults --runs 1000 --seed 7` strikes as many runs of the commands that write."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.trying import try_many


def main() -> int:
    """Try; status 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of calls, faults and moments")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faults_") as folder:
        tried = try_many(asked.seed, asked.runs, Path(folder))
    print(tried.summary())
    return 1 if tried.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
