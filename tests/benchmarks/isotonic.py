"""Speed of isotonic regression, each class against the others, beside sorting the columns, all in double."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.benchmarks.fitting import softmax
from tests.benchmarks.harness import Contest, Job, hold
from tests.benchmarks.samples import arrays, write_distorted

MODULE = "tests.benchmarks.isotonic"


def squared_error(columns: np.ndarray, labels: np.ndarray) -> str:
    """Return the Brier score of (K, N) fitted columns, normalized."""
    probs = columns.T / columns.sum(0)[:, None]
    probs[np.arange(len(labels)), labels] -= 1
    return f"{np.square(probs).sum(1).mean():.7f}"


def columns_and_labels(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (K, N) probabilities, each class in one piece of memory, and labels."""
    logits, labels = arrays(path)
    return np.ascontiguousarray(softmax(logits.astype(np.float64)).T), labels


def sort_columns(path: str) -> Job:
    """Sort every column."""
    columns, _ = columns_and_labels(path)

    def job() -> None:
        np.sort(columns, axis=1)

    return job


def calcli(path: str) -> Job:
    """The plain fit of calcli, from logits on."""
    from calcli.core.calibrators.histogram import Isotonic

    logits, labels = arrays(path)

    def job() -> Callable[[], str]:
        fitted = Isotonic(smoothing=0).fit(logits, labels)
        return lambda: squared_error(fitted.predict_proba(logits).T, labels)

    return job


def scipy(path: str) -> Job:
    """An argsort and scipy's compiled regression for each column."""
    from scipy.optimize import isotonic_regression

    columns, labels = columns_and_labels(path)

    def job() -> Callable[[], str]:
        fitted = np.empty(columns.shape)
        for k, column in enumerate(columns):
            order = np.argsort(column)
            fitted[k, order] = isotonic_regression((labels == k)[order].astype(np.float64)).x
        return lambda: squared_error(fitted, labels)

    return job


def scikit_learn(path: str) -> Job:
    """scikit-learn's regression for each column."""
    from sklearn.isotonic import IsotonicRegression

    columns, labels = columns_and_labels(path)

    def job() -> Callable[[], str]:
        fitted = [
            IsotonicRegression(out_of_bounds="clip").fit(column, labels == k)
            for k, column in enumerate(columns)
        ]
        return lambda: squared_error(
            np.array([own.predict(column) for own, column in zip(fitted, columns, strict=True)]), labels
        )

    return job


CONTESTANTS = {
    "sorting the columns": sort_columns,
    "calcli": calcli,
    "scipy": scipy,
    "scikit-learn": scikit_learn,
}
CONTESTS = {"isotonic": Contest("Isotonic one-versus-rest", CONTESTANTS, "Brier score of the fit")}


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        hold(MODULE, "isotonic", "100 x 10,000 rows", write_distorted(Path(name), 10_000, 100))
