"""What scikit-learn and plain numpy say of probabilities, beside what calcli says of the file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn import metrics

import calcli
from tests.differential.files import Drawn, draw

NAMES = (
    "log_loss",
    "brier",
    "accuracy",
    "auroc",
    "ece",
    "mce",
    "cw_ece",
    "ks",
    "mean_confidence",
    "mean_gap",
)
SINGLE, DOUBLE = 2e-6, 1e-12  # relative, of values of 1 and more; absolute below


def expected(drawn: Drawn) -> dict[str, float]:
    """Return the values of all metrics."""
    probs, labels = drawn.probs, drawn.labels
    n, k = probs.shape
    rows, top = np.arange(n), probs.argmax(1)
    confidence, hit = probs.max(1), (top == labels).astype(float)
    score, outcome = (probs[:, 1], labels.astype(float)) if k == 2 else (confidence, hit)
    squares = ((probs - np.eye(k)[labels]) ** 2).sum(1)
    areas = [metrics.roc_auc_score(labels == c, probs[:, c]) for c in range(k)]
    order = np.argsort(score, kind="stable")
    gaps = np.cumsum((outcome - score)[order]) / n
    ends = np.append(np.diff(score[order]) > 0, True)
    return {
        "log_loss": float(-np.log(probs[rows, labels]).mean()),
        "brier": float(squares.mean()) / (2 if k == 2 else 1),
        "accuracy": float(metrics.accuracy_score(labels, top)),
        "auroc": areas[1] if k == 2 else float(np.mean(areas)),
        "ece": _binned(score, outcome),
        "mce": _binned(score, outcome, largest=True),
        "cw_ece": float(np.mean([_binned(probs[:, c], labels == c) for c in range(k)])),
        "ks": float(np.abs(gaps[ends]).max()),
        "mean_confidence": float(confidence.mean()),
        "mean_gap": float(score.mean() - outcome.mean()),
    }


def _binned(score: np.ndarray, outcome: np.ndarray, largest: bool = False) -> float:
    """Return the calibration error with 15 bins of equal width, one bin at a time."""
    edges, total, most = np.arange(16) / 15, 0.0, 0.0
    for low, high in pairwise(edges):
        inside = (score >= low) & ((score < high) | (high == 1))
        if inside.any():
            gap = abs(float(outcome[inside].mean() - score[inside].mean()))
            total, most = total + inside.mean() * gap, max(most, gap)
    return most if largest else total


def near_an_edge(drawn: Drawn) -> bool:
    """Tell whether single precision may move a score to another bin, or another class to the top."""
    scaled = drawn.probs * 15
    first, second = np.sort(drawn.probs, 1)[:, [-1, -2]].T
    return drawn.single and bool(
        (abs(scaled - np.rint(scaled)) < 1e-5).any() or (first - second < 1e-6).any()
    )


def differences(seed: int, folder: Path) -> Iterator[str]:
    """Yield where calcli differs on a file."""
    drawn = draw(seed, folder)
    report = calcli.evaluate(drawn.path, metrics=list(NAMES), intervals=False, draws=0, **drawn.options)
    bound, edge = SINGLE if drawn.single else DOUBLE, near_an_edge(drawn)
    for name, value in expected(drawn).items():
        if edge and name in ("ece", "mce", "cw_ece", "accuracy", "mean_gap"):
            continue
        found = report[name].value
        if not abs(found - value) <= bound * max(1, abs(value)):
            yield f"seed {seed}, {drawn.told}: {name} is {found!r}, expected {value!r}"
