"""Merging the files of many states of 10 classes; their making is not timed."""

from __future__ import annotations

import time

import numpy as np

import calcli
from calcli.core.evaluating.states import merge
from calcli.io.saved.states import from_bytes
from tests.benchmarks.harness import table

STATES, CLASSES = 100, 10  # times are for ten times as many
OF_STATE = (30_000, 200_000)  # rows


def files(rows: int) -> list[bytes]:
    """Return states of simulated logits, as in files."""
    rng, found = np.random.default_rng(0), []
    for _ in range(STATES):
        logits = rng.standard_normal((rows, CLASSES), dtype=np.float32) * 2
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
        found.append(calcli.State.of(logits, labels).to_bytes())
    return found


def main() -> None:
    """Print the table."""
    found = []
    for rows in OF_STATE:
        stored, times = files(rows), []
        for _ in range(3):
            start = time.process_time()
            merge(map(from_bytes, stored))
            times.append(time.process_time() - start)
        found.append([f"{rows:,}", f"{len(stored[0]) / 1e6:.1f}", f"{min(times) / STATES * 1000:.1f}"])
    table("1,000 states of 10 classes, read and merged", ["rows of a state", "MB of a state", "cpu s"], found)
