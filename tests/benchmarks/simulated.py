"""10^9 rows that are never stored: made by their numbers, summed in two partitions; only run when named.

`python -m tests.benchmarks.simulated ROWS` does it with others.
"""

from __future__ import annotations

import hashlib
import io
import sys
import time
import zipfile
from collections.abc import Iterator

import numpy as np

import calcli
from tests.benchmarks.harness import peak, table

ROWS = 1_000_000_000
OF_PARTS = (1_000_000, 3_257_329)  # rows, in two partitions
METRICS = "log_loss,brier,accuracy,mean_gap,ece,ks,ece:lens=class-1,auroc"
MADE = 1 << 17  # rows made at once
MIXED = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))  # SplitMix64


def rows(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) probabilities of the second of two classes, over-confident, and labels, by row numbers."""
    scores, labels = np.empty(stop - start, np.float32), np.empty(stop - start, np.int8)
    for at in range(start, stop, MADE):
        numbers = np.arange(at, min(at + MADE, stop), dtype=np.uint64)
        part = slice(at - start, at - start + len(numbers))
        uniform = _uniform(2 * numbers)
        score = 0.001 + 0.998 * uniform * uniform * (3 - 2 * uniform)  # more of them near 0 and 1
        scores[part] = score
        labels[part] = _uniform(2 * numbers + np.uint64(1)) < 0.1 + 0.8 * score
    return scores, labels


def _uniform(numbers: np.ndarray) -> np.ndarray:
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in MIXED:
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def states(total: int, of_part: int) -> Iterator[calcli.State]:
    """Yield the state of each part."""
    for start in range(0, total, of_part):
        scores, labels = rows(start, min(start + of_part, total))
        yield calcli.State.of(scores, labels, kind="probs", metrics=METRICS)


def merged(total: int, of_part: int) -> calcli.State:
    """Return the state of all rows."""
    found = states(total, of_part)
    whole = next(found)
    for state in found:
        whole = whole.merge(state)
    return whole


def fingerprint(state: calcli.State) -> str:
    """Return a digest of all that is the same for any partition: not sums of classes, nor sampled rows."""
    found = hashlib.sha256()
    with zipfile.ZipFile(io.BytesIO(state.to_bytes())) as file:
        for name in sorted(file.namelist()):
            if name.startswith(("deals/", "cells/", "ranks/")):
                found.update(name.encode() + file.read(name))
    return found.hexdigest()[:12]


def main(total: int = ROWS) -> None:
    """Print the table."""
    found = []
    for of_part in OF_PARTS:
        start, clock = time.process_time(), time.perf_counter()
        state = merged(total, of_part)
        cpu, wall = time.process_time() - start, time.perf_counter() - clock
        report = calcli.evaluate(state)
        values = ", ".join(f"{metric} {report[metric].value:.9f}" for metric in ("log_loss", "ece", "auroc"))
        size = len(state.to_bytes()) / 1e6
        row = [
            f"{of_part:,}",
            f"{cpu:.0f}",
            f"{wall:.0f}",
            f"{peak():.0f}",
            f"{size:.1f}",
            fingerprint(state),
            values,
        ]
        found.append(row)
    heads = ["rows of a part", "cpu s", "wall s", "peak MB", "state MB", "numbers", "metrics"]
    table(f"{total:,} simulated rows, made and summed", heads, found)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
