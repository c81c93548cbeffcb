"""`python -m tests.hostile --cases 1000 --seed 7` tries many cases, `--case 12 --seed 7` one and keeps it."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from tests.hostile.hunting import Found, hunt, prepare, summary, try_case
from tests.hostile.kinds import kind_of


def main() -> int:
    """Hunt; status 1 if there are faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument(
        "--seed", type=int, default=0, help="with the number of a case it gives the case again"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--case", type=int, help="only this one, in a folder that is kept")
    asked = parser.parse_args()
    if asked.case is not None:
        folder = Path(tempfile.gettempdir()) / f"hostile_{asked.seed}_{asked.case}"
        shutil.rmtree(folder, ignore_errors=True)
        prepare(folder)
        one = try_case(asked.case, asked.seed, folder, keep=True)
        print(_line(asked.seed, one))
        print(f"    cd {folder}/{asked.case}/work; {one.seconds:.1f} s, {one.megabytes:.0f} MB")
        print(f"    {one.said!a}")
        return 1 if one.is_fault else 0
    found = []
    for one in hunt(asked.seed, range(asked.first, asked.first + asked.cases), asked.jobs):
        found.append(one)
        if one.is_fault:
            print(_line(asked.seed, one), flush=True)
    print(summary(found))
    return 1 if any(one.is_fault for one in found) else 0


def _line(seed: int, found: Found) -> str:
    called = shlex.join(["calcli", *found.arguments])
    again = f"python -m tests.hostile --seed {seed} --case {found.number}"
    return f"{kind_of(found.number)}: {'; '.join(found.verdicts)!a}\n    {called[:500]!a}\n    {again}"


if __name__ == "__main__":
    sys.exit(main())
