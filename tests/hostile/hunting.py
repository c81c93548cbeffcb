"""Hunts: many cases, made and run in forks of a process that has loaded calcli."""

from __future__ import annotations

import gc
import io
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from calcli.cli import main
from tests.forked import load
from tests.hostile.cases import Case
from tests.hostile.kinds import kind_of, make
from tests.hostile.running import run
from tests.hostile.verdicts import ABORTED, verdicts


@dataclass
class Found:
    """What came out of one case."""

    number: int
    verdicts: list[str]
    status: int = 0
    seconds: float = 0.0
    megabytes: float = 0.0
    arguments: tuple[str, ...] = ()
    said: str = ""

    @property
    def aborted(self) -> bool:
        """Whether a library gave up for want of memory."""
        return any(verdict.startswith(ABORTED) for verdict in self.verdicts)

    @property
    def is_fault(self) -> bool:
        return bool(self.verdicts) and not self.aborted


def try_case(number: int, seed: int, whole: Path, keep: bool = False) -> Found:
    """Make a case in a folder of a prepared one, run it there and judge it."""
    folder = whole / str(number)
    try:
        case = make_case(seed, number, folder, whole / "store")
        ended = run(case, folder)
        said = ended.err.strip().rpartition("\n")[2]
        told = verdicts(case, ended)
        return Found(number, told, ended.status, ended.seconds, ended.megabytes, tuple(case.arguments), said)
    except Exception as error:
        return Found(number, [f"the harness failed: {error!r}"])
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def make_case(seed: int, number: int, folder: Path, store: Path) -> Case:
    """Make a case in a fork: it leaves no trace in this process, from which it is forked as well."""
    (folder / "work").mkdir(parents=True)
    if (child := os.fork()) == 0:
        try:
            case = make(seed, number, folder / "work", store)
            (folder / "case").write_text(json.dumps(asdict(case)))
        except BaseException as error:
            (folder / "case").write_text(json.dumps({"failed": repr(error)}))
        os._exit(0)
    os.waitpid(child, 0)
    made = json.loads((folder / "case").read_text())
    if "failed" in made:
        raise ValueError(made["failed"])
    return Case(**made)


def prepare(whole: Path) -> None:
    """Load calcli, and make the folders that cases share."""
    for name in ("store", "fonts"):
        (whole / name).mkdir(parents=True)
    os.environ["MPLCONFIGDIR"] = str(whole / "fonts")
    load()
    folder = whole / "warm"  # for a few calls, so that forks find done what is done on the first
    folder.mkdir()
    np.savez(folder / "t.npz", scores=np.full((20, 2), 0.5), labels=np.arange(20) % 2)
    threads = os.listdir("/proc/self/task")
    app: Any = main.app_of()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), chdir(folder):
        for words in ("evaluate t.npz", "compare t.npz t.npz", "plot t.npz -o figures", "inspect t.npz"):
            app(words.split(), standalone_mode=False)
    assert os.listdir("/proc/self/task") == threads, "forks have one thread"
    gc.freeze()


def hunt(seed: int, numbers: range, jobs: int) -> Iterator[Found]:
    """Try cases, in several processes at once, and give what came out as it comes."""
    with tempfile.TemporaryDirectory(prefix="hostile_") as whole:
        prepare(Path(whole))
        trying = partial(try_case, seed=seed, whole=Path(whole))
        if jobs == 1:
            yield from map(trying, numbers)
            return
        with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
            yield from pool.map(trying, numbers, chunksize=24)


def summary(found: list[Found]) -> str:
    """Return how many cases ended how."""
    faults = sum(one.is_fault for one in found)
    ends = Counter("aborted" if one.aborted else one.status for one in found if not one.is_fault)
    slowest = max(found, key=lambda one: one.seconds)
    largest = max(found, key=lambda one: one.megabytes)
    return (
        f"{len(found):,} cases of {len({kind_of(one.number) for one in found})} kinds: "
        f"{ends[0] + ends[1]:,} answered, {ends[2]:,} refused, {ends['aborted']:,} out of memory, "
        f"{faults:,} faults; at most {slowest.seconds:.1f} s (case {slowest.number}) and "
        f"{largest.megabytes:.0f} MB (case {largest.number})"
    )
