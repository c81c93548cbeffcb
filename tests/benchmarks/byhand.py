"""The metrics of the speed contests as one writes them by hand: `python -m tests.benchmarks.byhand FILE`.

A file of parquet is read by polars and has the probability of the second of two classes, any other is an
array of logits with its labels beside it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

METRICS = ("log_loss", "brier", "accuracy", "ece", "mce", "ks", "cw_ece")
BINS = 15
Values = np.ndarray[Any, np.dtype[Any]]


def of_matrix(path: str) -> dict[str, float]:
    """Return the metrics of logits, by numpy and scipy."""
    from scipy.special import log_softmax

    scores, labels = np.load(path), np.load(path.replace(".npy", "_labels.npy"))
    log_probs = log_softmax(scores, axis=1)
    probs, rows = np.exp(log_probs), np.arange(len(labels))
    confidence, hit = probs.max(1), probs.argmax(1) == labels
    own = probs[rows, labels]
    brier = ((probs**2).sum(1) - 2 * own + 1).mean()
    classwise = np.mean([_gaps(probs[:, k], labels == k)[1].sum() for k in range(scores.shape[1])])
    found = {"log_loss": -log_probs[rows, labels].mean(), "brier": brier, "accuracy": hit.mean()}
    return found | _of_confidence(confidence, hit) | {"cw_ece": classwise}


def of_table(path: str) -> dict[str, float]:
    """Return the metrics of probabilities of the second of two classes, by polars and numpy."""
    import polars as pl

    frame = pl.read_parquet(path, columns=["prob", "label"])
    second, labels = frame["prob"].to_numpy(), frame["label"].to_numpy()
    own = np.where(labels == 1, second, 1 - second)
    hit = (second > 0.5) == labels
    found = {"log_loss": -np.log(own).mean(), "brier": 2 * ((1 - own) ** 2).mean(), "accuracy": hit.mean()}
    classwise = (_gaps(second, labels == 1)[1].sum() + _gaps(1 - second, labels == 0)[1].sum()) / 2
    return found | _of_confidence(np.maximum(second, 1 - second), hit) | {"cw_ece": classwise}


def _gaps(score: Values, outcome: Values) -> tuple[Values, Values]:
    """Return the gap of every bin, and its part of the calibration error."""
    cell = np.minimum((score * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(cell, minlength=BINS)
    gap = np.abs(np.bincount(cell, score, BINS) - np.bincount(cell, outcome, BINS))
    return gap / np.maximum(count, 1), gap / len(score)


def _of_confidence(confidence: Values, hit: Values) -> dict[str, float]:
    gap, part = _gaps(confidence, hit)
    order = np.argsort(confidence)
    drift = np.cumsum(confidence[order] - hit[order]) / len(order)
    return {"ece": part.sum(), "mce": gap.max(), "ks": np.abs(drift).max()}


if __name__ == "__main__":
    found = of_table(sys.argv[1]) if sys.argv[1].endswith(".parquet") else of_matrix(sys.argv[1])
    print({name: float(value) for name, value in found.items()})
