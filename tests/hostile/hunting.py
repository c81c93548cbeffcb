"""Hunts: many cases in a few processes, made and run in forks."""

from __future__ import annotations

import gc
import io
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from itertools import chain, starmap
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from calcli.cli import main
from tests.forked import load
from tests.hostile.cases import Case, kind_of, make
from tests.hostile.made import Store
from tests.hostile.running import Ended, run, run_many
from tests.hostile.verdicts import ABORTED, verdicts

PART = 24  # cases that one process tries


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
    once: list[str] = field(default_factory=list)  # verdicts beside other cases in a process, and not again

    @property
    def aborted(self) -> bool:
        """Whether a library gave up for want of memory."""
        return any(verdict.startswith(ABORTED) for verdict in self.verdicts)

    @property
    def is_fault(self) -> bool:
        return bool(self.verdicts) and not self.aborted


def try_case(seed: int, number: int, folder: Path, store: Path) -> Found:
    """Make a case in an empty folder, run it there in a process of its own and judge it."""
    _make({number: folder}, seed, store)
    case = _made(folder)
    if not case:
        told = folder / "failed"
        return _failed(number, f"the generator failed: {told.read_text() if told.exists() else 'ended'}")
    return _judged(number, case, run(case, folder))


def try_cases(seed: int, numbers: Sequence[int], whole: Path) -> list[Found]:
    """Try cases in one process; those that seem to be wrong are tried again, each in a process of its own."""
    folders = {number: whole / str(number) for number in numbers}
    try:
        _make(folders, seed, whole / "store")
        cases = {folder: case for folder in folders.values() if (case := _made(folder))}
        ended = run_many(cases)
        return [
            _sure(seed, number, folder, cases.get(folder), ended.get(folder))
            for number, folder in folders.items()
        ]
    finally:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def _sure(seed: int, number: int, folder: Path, case: Case | None, ended: Ended | None) -> Found:
    first = None
    try:
        if case and ended:
            first = _judged(number, case, ended)
            if not first.verdicts:
                return first
        shutil.rmtree(folder)
        found = try_case(seed, number, folder, folder.parent / "store")
        found.once = first.verdicts if first and not found.verdicts else []
        return found
    except Exception as error:
        return _failed(number, f"the harness failed: {error!r}")


def _make(folders: dict[int, Path], seed: int, store: Path) -> None:
    """Make cases in a fork: they leave no trace in this process, from which they are forked as well."""
    for folder in folders.values():
        (folder / "work").mkdir(parents=True)
    if (child := os.fork()) == 0:
        for number, folder in folders.items():
            try:
                case = make(seed, number, folder / "work", Store(store))
                (folder / "case.json").write_text(json.dumps(asdict(case)))
            except BaseException as error:
                (folder / "failed").write_text(ascii(error))
        os._exit(0)
    os.waitpid(child, 0)


def _made(folder: Path) -> Case | None:
    path = folder / "case.json"
    return Case(**json.loads(path.read_text())) if path.exists() else None


def _judged(number: int, case: Case, ended: Ended) -> Found:
    said = ended.err.strip().rpartition("\n")[2]
    found = verdicts(case, ended)
    return Found(number, case.kind, ended.status, found, ended.seconds, ended.megabytes, case.arguments, said)


def _failed(number: int, told: str) -> Found:
    return Found(number, kind_of(number), 0, [told], 0, 0, [], "")


def prepare(whole: Path) -> None:
    """Load calcli, and make the folders that cases share."""
    for name in ("store", "fonts"):
        (whole / name).mkdir(parents=True)
    os.environ["MPLCONFIGDIR"] = str(whole / "fonts")
    load()
    _warm_up(whole / "warm")


def _warm_up(folder: Path) -> None:
    """Make a few calls here, so that forks find done what is done on the first; none that starts a thread."""
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
        parts = [numbers[first : first + PART] for first in range(0, len(numbers), PART)]
        tasks = ((seed, part, Path(whole)) for part in parts)
        if jobs == 1:
            yield from chain.from_iterable(starmap(try_cases, tasks))
            return
        with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
            yield from chain.from_iterable(pool.map(_tried, tasks))


def _tried(task: tuple[int, range, Path]) -> list[Found]:
    return try_cases(*task)


def summary(found: list[Found]) -> str:
    """Return how many cases ended how."""
    faults = [one for one in found if one.is_fault]
    ends = Counter("aborted" if one.aborted else one.status for one in found if not one.is_fault)
    kinds = len({one.kind for one in found})
    once = sum(bool(one.once) for one in found)
    slowest = max(found, key=lambda one: one.seconds)
    largest = max(found, key=lambda one: one.megabytes)
    return (
        f"{len(found):,} cases of {kinds} kinds: {ends[0] + ends[1]:,} answered, {ends[2]:,} refused, "
        f"{ends['aborted']:,} stopped for want of memory, {len(faults):,} faults"
        f"{f' and {once:,} not seen again' if once else ''}; "
        f"at most {slowest.seconds:.1f} s (case {slowest.number}) and {largest.megabytes:.0f} MB "
        f"(case {largest.number})"
    )
