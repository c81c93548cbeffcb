"""Runs contestants side by side, each in a process of its own, and compares their processor time."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STATUS = Path("/proc/self/status")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
REPEATS = 3
ROUNDS = 2  # so that what else the machine is doing falls on all contestants alike
SLOW = 2.0  # processor seconds from which a contestant has one round
SHORTEST, LONGEST = 0.5, 10.0  # seconds for all repeats: short jobs are repeated more, long ones less
PATIENCE = 240  # seconds after which a contestant is given up

os.environ.update(dict.fromkeys(THREADS, "1"))  # for libraries that are loaded later, and in other processes
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling every module anew is no part of a daily run

Job = Callable[[], Any]
Contestant = Callable[..., Job]


@dataclass(frozen=True)
class Contest:
    """Contestants for one job.

    Attributes
    ----------
    title
        What the job is.
    contestants
        Functions of the arguments, by name, that get ready and return the job that is timed. What a job
        returns is shown beside its time; if it returns a function, that one is called after the clock has
        stopped. The first contestant is the unit of the others' times.
    found
        What they return, as the head of a column; empty if it is not worth showing.
    """

    title: str
    contestants: Mapping[str, Contestant]
    found: str = ""


@dataclass(frozen=True)
class Figures:
    """What one contestant needed.

    Attributes
    ----------
    cpu
        Least processor seconds of its repeats, of all its threads, imports and preparation apart.
    peak
        Peak memory of the process, in megabytes; nan where the system does not tell.
    found
        What it returned.
    """

    cpu: float
    peak: float
    found: str


def hold(module: str, name: str, data: str, *arguments: object) -> None:
    """Run the contest of that name in `module.CONTESTS` and print its table."""
    contest: Contest = importlib.import_module(module).CONTESTS[name]
    best: dict[str, Figures | str] = {}
    for contestant in list(contest.contestants) * ROUNDS:
        before = best.get(contestant)
        if before is None:
            best[contestant] = run(module, name, contestant, *arguments)
        elif isinstance(before, Figures) and before.cpu < SLOW:
            again = run(module, name, contestant, *arguments)
            assert isinstance(again, Figures), again
            best[contestant] = min(before, again, key=lambda figures: figures.cpu)
    first = next(iter(contest.contestants))
    unit = best[first]
    assert isinstance(unit, Figures), unit
    rows = []
    for contestant, figures in best.items():
        if isinstance(figures, str):
            rows.append([contestant, figures, "", "", ""])
        else:
            times = [f"{figures.cpu / unit.cpu:.2f}", f"{figures.cpu:.3f}"]
            rows.append([contestant, *times, f"{figures.peak:.0f}", figures.found])
    heads = ["contestant", f"x {first}", "cpu s", "peak MB", contest.found]
    width = len(heads) if contest.found else len(heads) - 1
    table(f"{contest.title}: {data}", heads[:width], [row[:width] for row in rows])


def run(module: str, name: str, contestant: str, *arguments: object) -> Figures | str:
    """Run a contestant in a process of its own.

    Returns
    -------
    Its figures, or why there are none.
    """
    call = [sys.executable, "-m", "tests.benchmarks.harness", module, name, contestant, *map(str, arguments)]
    try:
        done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"not done after {PATIENCE} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return "not installed" if "ModuleNotFoundError" in last else last
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def contest(module: str, name: str, contestant: str, *arguments: str) -> None:
    """Be the process of one contestant: do its job several times and print its figures."""
    job = importlib.import_module(module).CONTESTS[name].contestants[contestant](*arguments)
    times: list[float] = []
    while _again(times):
        start = time.process_time()
        found = job()
        times.append(time.process_time() - start)
    highest = peak()
    found = found() if callable(found) else found
    print(json.dumps(asdict(Figures(min(times), highest, "" if found is None else str(found)))))


def _again(times: Sequence[float]) -> bool:
    spent = sum(times)
    if len(times) < REPEATS:
        return spent < LONGEST
    return spent < SHORTEST


def peak() -> float:
    """Return the highest memory of this process so far, in megabytes."""
    if not STATUS.exists():
        return float("nan")
    # of this process alone; getrusage would count what the parent had when it started it
    return int(STATUS.read_text().split("VmHWM:")[1].split()[0]) / 1024


def whole_process(command: Sequence[str], repeats: int = 5) -> float:
    """Return the least processor seconds of a whole process."""
    times = []
    for _ in range(repeats):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.stderr is not None
        if process.returncode:
            raise RuntimeError(process.stderr.read().decode())
        process.stderr.close()
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times)


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    contest(*sys.argv[1:])
