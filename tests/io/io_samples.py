"""Predictions to write and read again, shared by the tests of this folder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from calcli.core.predictions import Predictions


class Sample(NamedTuple):
    """Arrays as a model would give them."""

    scores: np.ndarray
    labels: np.ndarray


def random_logits(rows: int = 57, classes: int = 12) -> Sample:
    """Return single-precision logits; by default numbers of one and two digits are among the classes."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(rows, classes)).astype(np.float32) * 3
    return Sample(scores, rng.integers(classes, size=rows))


def random_probs(rows: int = 40, classes: int = 3) -> Sample:
    """Return double-precision probabilities."""
    rng = np.random.default_rng(6)
    return Sample(rng.dirichlet(np.ones(classes), size=rows), rng.integers(classes, size=rows))


def table_of(scores: np.ndarray, labels, names: list[str], **others) -> pa.Table:
    """Return a table with one column a class."""
    columns = {"id": np.arange(len(scores)), "label": labels}
    columns |= {name: np.ascontiguousarray(column) for name, column in zip(names, scores.T, strict=True)}
    return pa.table(columns | others)


def scores_of(predictions: Predictions, rows: int = 7) -> np.ndarray:
    """Return all scores, read in blocks of a few rows."""
    blocks = [block.copy() for block in predictions.scores.blocks(rows)]
    assert all(len(block) <= rows for block in blocks)
    return np.concatenate(blocks)
