"""Evaluation of a file of 4 GB, which is made in the folder for temporary files: only run when named."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.benchmarks.evaluating import calcli
from tests.benchmarks.harness import Contest, hold
from tests.benchmarks.samples import softmax_pass, write_sample

ROWS, CLASSES = 1_000_000, 1_000
CONTESTANTS = {"softmax pass": softmax_pass, "calcli": calcli(draws=0)}
CONTESTS = {"large": Contest("Evaluation", CONTESTANTS)}


def main() -> None:
    """Print the table, or how much room is missing."""
    with tempfile.TemporaryDirectory() as name:
        needed, free = 4 * ROWS * CLASSES * 1.01, shutil.disk_usage(name).free
        if free < needed:
            print(f"\n{name} has {free / 1e9:.1f} GB free; 1,000,000 x 1,000 needs {needed / 1e9:.1f} GB")
            return
        path = write_sample(Path(name), ROWS, CLASSES)
        hold("tests.benchmarks.large", "large", f"{ROWS:,} x {CLASSES:,}", path)
