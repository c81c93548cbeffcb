"""Runs contestants side by side, each in a process of its own, and compares their processor time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Figures:
    """What one contestant needed.

    Attributes
    ----------
    cpu
        Least processor seconds of its repeats, imports apart.
    peak
        Peak memory of the process, in megabytes.
    found
        What it returned, to be seen beside the time.
    """

    cpu: float
    peak: float
    found: str


def run(module: str, contestant: str, arguments: Iterable[object], repeats: int = 3) -> Figures | str:
    """Run a contestant in a process of its own.

    Returns
    -------
    Its figures, or why there are none.
    """
    call = [sys.executable, "-m", module, contestant, str(repeats), *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return "not installed" if "ModuleNotFoundError" in last else last
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def contest(contestants: dict[str, object]) -> None:
    """Be the process of one contestant: `python -m MODULE NAME REPEATS ARGUMENT...`."""
    import time

    name, repeats, *arguments = sys.argv[1:]
    job = contestants[name](*arguments)  # type: ignore[operator]
    times = []
    for _ in range(int(repeats)):
        start = time.process_time()
        found = job()
        times.append(time.process_time() - start)
    status = Path("/proc/self/status").read_text()  # getrusage would count the parent's peak
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"cpu": min(times), "peak": peak, "found": str(found)}))


def whole_process(command: Sequence[str], repeats: int = 5) -> float:
    """Return the least processor seconds of a whole process."""
    import os

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
