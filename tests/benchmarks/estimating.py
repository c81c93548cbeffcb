"""Speed of calibration errors and of their tests, beside other libraries and plain numpy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.fitting import softmax
from tests.benchmarks.harness import Contest, Job, hold
from tests.benchmarks.samples import arrays, softmax_pass, write_sample

MODULE = "tests.benchmarks.estimating"
DRAWS = 1000
BINS = 15
TILE = 1000  # rows of a block of pairs


def calcli(metric: str, **settings: Any) -> Callable[[str], Job]:
    """One metric of an evaluation, from the file on, with its test if the settings have draws."""
    settings = {"metrics": (metric,), "intervals": False, "draws": 0} | settings

    def contestant(path: str) -> Job:
        from calcli.core.evaluating.evaluate import evaluate
        from calcli.core.language.settings import Settings
        from calcli.io.read import read

        chosen = Settings(**settings)

        def job() -> str:
            (estimate,) = evaluate(read(path), chosen).estimates.values()
            null = estimate.if_calibrated
            return f"{estimate.value:.6f}" + (f"; null {null.mean:.6f} +- {null.sd:.6f}" if null else "")

        return job

    return contestant


def numpy_top1_null(path: str) -> Job:
    """ECE of outcomes drawn from the confidences, a draw at a time."""
    logits, labels = arrays(path)
    rng = np.random.default_rng(0)

    def job() -> str:
        probs = softmax(logits)
        confidence, hit = probs.max(1), probs.argmax(1) == labels
        cell = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
        score = np.bincount(cell, confidence, BINS)

        def ece(outcome: np.ndarray) -> float:
            return float(np.abs(np.bincount(cell, outcome, BINS) - score).sum() / len(labels))

        draws = [ece(rng.random(len(labels)) < confidence) for _ in range(DRAWS)]
        return f"{ece(hit):.6f}; null {np.mean(draws):.6f} +- {np.std(draws):.6f}"

    return job


def numpy_class_wise_null(path: str) -> Job:
    """Class-wise ECE of labels drawn from the predictions, a draw at a time."""
    logits, labels = arrays(path)
    rng = np.random.default_rng(0)

    def job() -> str:
        probs = softmax(logits)
        rows, classes = probs.shape
        cell = np.minimum((probs * BINS).astype(np.intp), BINS - 1) + np.arange(classes) * BINS
        size = classes * BINS
        score = np.bincount(cell.ravel(), probs.ravel(), size)
        cumulative = np.cumsum(probs, axis=1)

        def ece(label: np.ndarray) -> float:
            own = np.bincount(cell[np.arange(rows), label], minlength=size)
            return float(np.abs(own - score).sum() / (rows * classes))

        def drawn() -> np.ndarray:
            return (rng.random((rows, 1), np.float32) * cumulative[:, -1:] >= cumulative).sum(1)

        draws = [ece(np.minimum(drawn(), classes - 1)) for _ in range(DRAWS)]
        return f"{ece(labels):.6f}; null {np.mean(draws):.6f} +- {np.std(draws):.6f}"

    return job


def relplot(path: str) -> Job:
    """Smooth ECE by relplot, of the top-1 problem."""
    from relplot.metrics import smECE

    logits, labels = arrays(path)

    def job() -> str:
        probs = softmax(logits)
        return f"{smECE(probs.max(1), (probs.argmax(1) == labels).astype(float)):.6f}"

    return job


def torch_skce(path: str) -> Job:
    """The unbiased estimator from blocks of pairs by torch, with the kernel of calcli."""
    import torch

    torch.set_num_threads(1)
    logits, labels = arrays(path)

    def job() -> str:
        probs = torch.from_numpy(softmax(logits.astype(np.float64)))
        rows, classes = probs.shape
        residuals = torch.nn.functional.one_hot(torch.from_numpy(labels), classes) - probs
        few = probs[np.linspace(0, rows - 1, 1000).astype(int)]
        width = torch.pdist(few, p=1).median() / 2
        total = 0.0
        for i in range(0, rows, TILE):
            for j in range(i, rows, TILE):
                left, right = slice(i, i + TILE), slice(j, j + TILE)
                terms = torch.exp(torch.cdist(probs[left], probs[right], p=1) / (-2 * width))
                terms *= residuals[left] @ residuals[right].T
                total += float(terms.triu(1).sum() if i == j else terms.sum())
        return f"{2 * total / (rows * (rows - 1)):.6f}"

    return job


def sort_classes(path: str) -> Job:
    """Read, softmax, and a sort of every class in one piece of memory."""
    logits, _ = arrays(path)

    def job() -> None:
        np.sort(np.ascontiguousarray(softmax(logits).T), axis=1)

    return job


def against(unit: Mapping[str, Callable[[str], Job]], metric: str, **settings: Any) -> dict[str, Any]:
    """Return contestants: the unit, and calcli with a metric."""
    return {**unit, "calcli": calcli(metric, **settings)}


CONTESTS = {
    "top-1": Contest(
        "Consistency resampling of ece, 1,000 draws",
        against({"numpy": numpy_top1_null}, "ece", draws=DRAWS), "ece",
    ),
    "class-wise": Contest(
        "Consistency resampling of cw_ece, 1,000 draws",
        against({"numpy": numpy_class_wise_null}, "cw_ece", draws=DRAWS, test=True), "cw_ece",
    ),
    "smooth": Contest("Smooth ECE", against({"relplot": relplot}, "smooth_ece"), "smooth_ece"),
    "skce": Contest("SKCE, all pairs", against({"torch": torch_skce}, "skce"), "skce"),
    "ks": Contest(
        "KS of every class", against({"softmax + sort": sort_classes}, "ks:lens=class-wise"), "mean KS"
    ),
    "cw_ece": Contest("Class-wise ECE", against({"softmax pass": softmax_pass}, "cw_ece"), "cw_ece"),
    "loss": Contest(
        "Calibration loss, DP affine in 5 folds, dealt twice",
        against({"softmax pass": softmax_pass}, "relative_calibration_loss:recalibrator=dp"),
        "relative_calibration_loss",
    ),
}  # fmt: skip


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        for contest, rows, classes in (
            ("top-1", 10_000, 10),
            ("class-wise", 10_000, 100),
            ("smooth", 1_000_000, 10),
            ("skce", 10_000, 10),
            ("ks", 50_000, 1_000),
            ("cw_ece", 50_000, 1_000),
            ("loss", 10_000, 100),
        ):
            hold(MODULE, contest, f"{rows:,} x {classes:,}", write_sample(Path(name), rows, classes))
