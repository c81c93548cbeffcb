"""`make bench`: all comparisons, or those named, as Markdown tables on standard output."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version

from tests.benchmarks.harness import THREADS

PARTS = (
    "evaluating", "reading", "estimating", "fitting", "isotonic", "effects", "studies", "coverage",
    "recalibration", "merging", "pairs", "firstpolicies", "promises", "widths", "streams", "segmented",
    "labelmeans", "ordered", "comparisons", "accidents",
)  # fmt: skip
PACKAGES = (
    "numpy", "pandas", "pyarrow", "scikit-learn", "scipy", "torch", "torchmetrics", "netcal", "relplot",
    "betacal", "psrcal", "probmetrics", "polars",
)  # fmt: skip


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"


print(f"Python {platform.python_version()}, {', '.join(map(_version, PACKAGES))}; {platform.machine()},")
print(f"{os.cpu_count()} processors, load before {os.getloadavg()[0]:.1f}, {date.today()}.")
print("Processor seconds, the least of several repeats.", *(f"{name}={os.environ[name]}" for name in THREADS))
for name in sys.argv[1:] or PARTS:
    importlib.import_module(f"tests.benchmarks.{name}").main()
