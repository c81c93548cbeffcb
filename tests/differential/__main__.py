"""`python -m tests.differential --files 1000 --seed 7` compares as many files with what others compute."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.differential.comparing import differences


def main() -> int:
    """Compare; status 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--files", type=int, default=400, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first file; the next has the next")
    asked = parser.parse_args()
    different = 0
    for seed in range(asked.seed, asked.seed + asked.files):
        with tempfile.TemporaryDirectory() as folder:
            found = list(differences(seed, Path(folder)))
        different += bool(found)
        print(*found, sep="\n", end="\n" if found else "", flush=True)
    print(f"{asked.files} files, {different} of them with another value")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
