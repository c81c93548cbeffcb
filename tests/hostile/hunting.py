"""Hunts: many cases, one after the other in a few processes, each made and run in forks."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.forked import load
from tests.hostile.cases import Case, kind_of, make
from tests.hostile.made import Store
from tests.hostile.running import run
from tests.hostile.verdicts import ABORTED, verdicts


@dataclass
class Found:
    """What came out of one case."""

    number: int
    kind: str
    status: int
    verdicts: list[str]
    seconds: float
    megabytes: float
    arguments: list[str]
    said: str

    @property
    def aborted(self) -> bool:
        """Whether a library gave up for want of memory."""
        return any(verdict.startswith(ABORTED) for verdict in self.verdicts)

    @property
    def is_fault(self) -> bool:
        return bool(self.verdicts) and not self.aborted


def try_case(seed: int, number: int, folder: Path, store: Path) -> Found:
    """Make a case in an empty folder, run it there and judge it."""
    (folder / "work").mkdir(parents=True)
    if (child := os.fork()) == 0:  # it leaves no trace in this process, from which the case is forked as well
        status = 1
        try:
            case = make(seed, number, folder / "work", Store(store))
            (folder / "case.json").write_text(json.dumps(asdict(case)))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        return Found(number, kind_of(number), 0, ["the generator failed"], 0, 0, [], "")
    case = Case(**json.loads((folder / "case.json").read_text()))
    ended = run(case, folder)
    said = ended.err.strip().rpartition("\n")[2]
    found = verdicts(case, ended)
    return Found(number, case.kind, ended.status, found, ended.seconds, ended.megabytes, case.arguments, said)


def prepare(whole: Path) -> None:
    """Load calcli, and make the folders that cases share."""
    load()
    for name in ("store", "fonts"):
        (whole / name).mkdir(parents=True)
    os.environ["MPLCONFIGDIR"] = str(whole / "fonts")


def hunt(seed: int, numbers: range, jobs: int) -> Iterator[Found]:
    """Try cases, in several processes at once, and give what came out as it comes."""
    with tempfile.TemporaryDirectory(prefix="hostile_") as whole:
        prepare(Path(whole))
        tasks = ((seed, number, whole) for number in numbers)
        if jobs == 1:
            yield from map(_tried, tasks)
            return
        with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
            yield from pool.map(_tried, tasks, chunksize=4)


def _tried(task: tuple[int, int, str]) -> Found:
    seed, number, whole = task
    folder = Path(whole) / str(number)
    try:
        return try_case(seed, number, folder, Path(whole) / "store")
    except Exception as error:
        return Found(number, kind_of(number), 0, [f"the harness failed: {error!r}"], 0, 0, [], "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def summary(found: list[Found]) -> str:
    """Return how many cases ended how."""
    faults = [one for one in found if one.is_fault]
    ends = Counter("aborted" if one.aborted else one.status for one in found if not one.is_fault)
    kinds = len({one.kind for one in found})
    slowest = max(found, key=lambda one: one.seconds)
    largest = max(found, key=lambda one: one.megabytes)
    return (
        f"{len(found):,} cases of {kinds} kinds: {ends[0] + ends[1]:,} answered, {ends[2]:,} refused, "
        f"{ends['aborted']:,} stopped for want of memory, {len(faults):,} faults; "
        f"at most {slowest.seconds:.1f} s (case {slowest.number}) and {largest.megabytes:.0f} MB "
        f"(case {largest.number})"
    )
