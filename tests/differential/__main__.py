"""`python -m tests.differential --files 1000 --seed 7` compares as many files with what others compute."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from calcli.core.language.errors import CalcliError
from tests.differential import comparing, untangling
from tests.differential.tangled import tangled


def main() -> int:
    """Compare as many plain files and tangled ones; status 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--files", type=int, default=400, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first file; the next has the next")
    asked = parser.parse_args()
    different = refused = 0
    for seed in range(asked.seed, asked.seed + asked.files):
        with tempfile.TemporaryDirectory() as folder:
            found = list(comparing.differences(seed, Path(folder)))
            try:
                found += untangling.differences(tangled(seed, Path(folder)))
            except CalcliError:
                refused += 1
        different += bool(found)
        print(*found, sep="\n", end="\n" if found else "", flush=True)
    print(f"{asked.files} seeds, {different} of them with another value, {refused} tangled files refused")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
