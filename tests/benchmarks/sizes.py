"""Commands on many rows beside polars, numpy and torch by hand, with one, two and all cores, for the guide.

Only run when named: `python -m tests.benchmarks.sizes` measures; with `--page` it writes the table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import ROOT, THREADS
from tests.benchmarks.keeping import GUIDE, Kept, between, table
from tests.benchmarks.samples import write_binary_parquet, write_sample

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "sizes.md"
ROWS, MANY = 10_000_000, 100_000_000
ROUNDS = 2
CORES = sorted({1, 2, len(os.sched_getaffinity(0))})
# its own memory: what the system counts has that of the process that started it
ENDING = """
import atexit, os, sys
status = lambda: open("/proc/self/status").read().split("VmHWM:")[1].split()[0]
atexit.register(lambda: print(status(), file=sys.stderr))
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])
"""
CALCLI = "import sys; from calcli.cli.main import status_of; sys.exit(status_of(sys.argv[1:]) not in (0, 1))"
EVALUATE = """
import sys, polars as pl
p, y = pl.col("prob").cast(pl.Float64).clip(1e-30, 1 - 1e-16), pl.col("label").cast(pl.Float64)
loss, bin = -(y * p.log() + (1 - y) * (1 - p).log()), (pl.col("prob") * 15).cast(pl.Int32)
rows = pl.scan_parquet(sys.argv[1]).select(bin=bin, loss=loss, brier=(p - y) ** 2, p=p, y=y)
sums = rows.group_by("bin").agg(pl.len(), pl.col("loss", "brier", "p", "y").sum())
print(sums.collect(engine="streaming"))
"""
SEGMENTS = """
import sys, itertools, polars as pl
rows = pl.read_parquet(sys.argv[1]).with_columns(
    age=pl.col("age").qcut(5).to_physical(), gap=pl.col("label") - pl.col("prob"),
    variance=pl.col("prob") * (1 - pl.col("prob")))
columns = "country", "device", "age"
for names in (*([name] for name in columns), *map(list, itertools.combinations(columns, 2))):
    print(rows.group_by(names).agg(pl.len(), pl.col("gap", "variance").sum()))
"""
MONITOR = """
import sys, polars as pl
rows = pl.scan_parquet(sys.argv[1]).with_columns(gap=pl.col("label") - pl.col("prob"))
print(rows.group_by(pl.col("day").dt.truncate("1w")).agg(pl.len(), pl.col("gap", "prob").sum()).collect())
"""
CHECK = """
import sys, polars as pl
p, y = pl.col("prob").cast(pl.Float64).clip(1e-30, 1 - 1e-16), pl.col("label").cast(pl.Float64)
loss, bin = -(y * p.log() + (1 - y) * (1 - p).log()), (pl.col("prob") * 15).cast(pl.Int32)
new, old = (pl.scan_parquet(file).select(bin=bin, loss=loss, p=p, y=y).collect() for file in sys.argv[1:])
difference = new["loss"] - old["loss"]
print(difference.mean(), difference.std(), new.group_by("bin").agg(pl.len(), pl.col("p", "y").sum()))
"""
NUMPY = """
import sys, numpy as np
from scipy.optimize import minimize_scalar
scores, labels = np.load(sys.argv[1]), np.load(sys.argv[2])
scores -= scores.max(1, keepdims=True)
of_label = scores[np.arange(len(labels)), labels]
def loss(alpha):
    return float(np.log(np.exp(scores * np.float32(alpha)).sum(1)).mean() - alpha * of_label.mean())
print(1 / minimize_scalar(loss, bracket=(0.5, 1.5), tol=1e-6).x)
"""
TORCH = """
import os, sys, numpy as np, torch
torch.set_num_threads(len(os.sched_getaffinity(0)))
scores, labels = torch.from_numpy(np.load(sys.argv[1])), torch.from_numpy(np.load(sys.argv[2]))
alpha = torch.ones(1, requires_grad=True)
search = torch.optim.LBFGS([alpha], max_iter=20, line_search_fn="strong_wolfe")
def loss():
    search.zero_grad()
    value = torch.nn.functional.cross_entropy(alpha * scores, labels)
    value.backward()
    return value
search.step(loss)
print(1 / alpha.item())
"""
POLICY = '[[rules]]\nmetric = "log_loss"\nmax_increase = 0.1\n\n[[rules]]\nmetric = "ece"\nmax = 0.5\n'


def write_columns(folder: Path, binary: Path) -> Path:
    """Write the rows of a file with columns of groups and days."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, path = np.random.default_rng(1), folder / "columns.parquet"
    rows = pq.read_table(binary)
    n = rows.num_rows
    for name, number in (("country", 8), ("device", 3)):
        values = pa.array([f"{name} {k}" for k in range(number)])
        codes = pa.array(rng.integers(0, number, n).astype(np.int32))
        rows = rows.append_column(name, pa.DictionaryArray.from_arrays(codes, values).cast(pa.string()))
    rows = rows.append_column(
        "day", pa.array((20_000 + np.arange(n) * 60 // n).astype(np.int32)).cast(pa.date32())
    )
    pq.write_table(rows.append_column("age", pa.array(rng.integers(18, 90, n).astype(np.int16))), path)
    return path


def contests(folder: Path) -> dict[str, tuple[list[str], dict[str, tuple[str, list[str]]]]]:
    """Write the files; return by job the arguments of calcli, and the code and arguments of each other."""
    many, baseline = (str(write_binary_parquet(folder, rows)) for rows in (MANY, ROWS))
    columns, scores = str(write_columns(folder, Path(baseline))), str(write_sample(folder, ROWS // 2, 10))
    labels, policy = scores.replace(".npy", "_labels.npy"), folder / "calcli.toml"
    policy.write_text(POLICY, encoding="utf-8")
    read = ["--scores", "prob", "--label-column", "label"]
    fit = ["fit", scores, "--labels", labels, "-m", "temperature", "-o", "-"]
    return {
        f"evaluate, {MANY:,} rows": (
            ["evaluate", many, *read, "--metrics", "log_loss,brier,ece"], {"polars": (EVALUATE, [many])},
        ),
        f"segments, {ROWS:,} rows": (
            ["segments", columns, *read, "--columns", "country,device,age"],
            {"polars": (SEGMENTS, [columns])},
        ),
        f"monitor, {ROWS:,} rows": (
            ["monitor", columns, *read, "--time", "day", "--every", "week"], {"polars": (MONITOR, [columns])},
        ),
        f"check --baseline, {ROWS:,} rows": (
            ["check", columns, "--baseline", baseline, "--policy", str(policy), *read],
            {"polars": (CHECK, [columns, baseline])},
        ),
        f"fit -m temperature, {ROWS // 2:,} x 10": (
            fit, {"numpy": (NUMPY, [scores, labels]), "torch": (TORCH, [scores, labels])},
        ),
    }  # fmt: skip


def whole_run(code: str, arguments: list[str], cores: int) -> list[float] | None:
    """Return processor and wall seconds and peak memory in MB of a process; None if a package is missing."""
    start = time.perf_counter()
    limits = {name: str(cores) for name in THREADS}
    process = subprocess.Popen(
        [sys.executable, "-c", ENDING.format(cores=cores) + code, *arguments], cwd=ROOT,
        env={**os.environ, **limits}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and "ModuleNotFoundError" in said:
        return None
    if process.returncode:
        raise RuntimeError(said)
    peak = float(said.splitlines()[-1]) / 1024
    return [usage.ru_utime + usage.ru_stime, time.perf_counter() - start, peak]


def measure(kept: Kept) -> None:
    """Run every job by calcli and by hand in turns, and keep the least of each."""
    with tempfile.TemporaryDirectory() as name:
        for job, (command, others) in contests(Path(name)).items():
            contestants = {"calcli": (CALCLI, command), **others}
            for cores in CORES:
                runs: dict[str, list[list[float]]] = {name: [] for name in contestants}
                for contestant, (code, arguments) in [*contestants.items()] * ROUNDS:
                    if (figures := whole_run(code, arguments, cores)) is not None:
                        runs[contestant].append(figures)
                least = {
                    name: [round(min(values), 2) for values in zip(*several, strict=True)]
                    for name, several in runs.items()
                }
                kept.found["jobs"].setdefault(job, {})[str(cores)] = least
                kept.write()
                print(job, cores, least, flush=True)


def refreshed(text: str, found: Mapping[str, Any]) -> str:
    """Return the page with the table of what was found: ratios to the same by hand, on as many cores."""
    heads = ["command", "cores", "beside", "processor, times", "wall, times", "peak memory, MB", "by hand"]
    rows = [
        [f"`{job.partition(',')[0]}`,{job.partition(',')[2]}", cores, name, *ratios(least["calcli"], by_hand)]
        for job, by_cores in found["jobs"].items()
        for cores, least in by_cores.items()
        for name, by_hand in least.items()
        if name != "calcli" and by_hand
    ]
    return between(text, "beside", "\n".join(table(heads, rows)) + "\n")


def ratios(own: list[float], by_hand: list[float]) -> list[str]:
    """Return the cells of a row."""
    times = [f"{mine / other:.1f}" for mine, other in zip(own[:2], by_hand, strict=False)]
    return [*times, f"{own[2]:.0f}", f"{by_hand[2]:.0f}"]


def main() -> None:
    """Measure, or write what the guide shows."""
    kept = Kept(RESULTS, "jobs")
    if "--page" not in sys.argv[1:]:
        measure(kept)
        return
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), kept.found), encoding="utf-8")


if __name__ == "__main__":
    main()
