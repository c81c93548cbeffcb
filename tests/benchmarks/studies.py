"""Long statistical studies: sizes and powers of tests, coverages of intervals, bias of estimators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.classical import (
    calibration_intercept,
    calibration_slope,
    spiegelhalter_test,
)
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.metrics.miscalibration import concentration, debiased_square
from calcli.core.language.settings import Settings
from tests.benchmarks.harness import table

CASES = 1000
CASES_OF_POWER = 200
ROWS = 500
TRUTH_ROWS = 2_000_000
LEVEL = 0.95
DRAWS = 39  # p-values are multiples of 1/40, so that 5% is exact; more draws find a little more
SCALES = (1.0, 1.2, 1.5, 2.0)  # of the logits; 1 is calibrated

BINNED = ("ece", "ece_l2", "ece_l2:debiased=true", "mce", "ece:binning=equal-mass", "ece:bins=30:norm=2")
LENSES = ("ece:lens=within-top-2", "ece:lens=top-2", "ks:lens=within-top-2", "ks:lens=class-0")
UNBINNED = ("ks", "smooth_ece", "kde_ece")
CLASS_WISE = ("cw_ece", "cw_ece_l2", "ace", "ks:lens=class-wise")
VECTORS = (
    "expected_miscalibration:min_rows=100",
    "worst_miscalibration:min_rows=100",
    "skce",
    "skce:estimator=block",
)
TESTED = (*BINNED, *LENSES, *UNBINNED, *CLASS_WISE, *VECTORS)
SPIEGELHALTER = "Spiegelhalter's Z, of class 0"
SCORES = (
    "log_loss", "normalized_log_loss", "brier", "normalized_brier", "accuracy", "normalized_error_rate",
    "top1_brier", "mean_confidence", "mean_gap", "auroc",
    "binned_refinement_loss", "binned_refinement_loss:score=log_loss",
    "corp_uncertainty", "corp_uncertainty:lens=top-1",
)  # fmt: skip


def draw(rows: int, classes: int, rng: np.random.Generator, scale: float) -> Predictions:
    """Return rows whose labels come from the softmax of logits, as seen by a system that scales these."""
    truth = rng.normal(scale=2, size=(rows, classes))
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(1)
    return Predictions(ArrayScores(scale * truth, "logits"), labels, tuple(map(str, range(classes))))


def of_one_class(predictions: Predictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probability, log-odds and outcome of class 0."""
    (logits,) = predictions.scores.blocks(predictions.n_rows)
    log_odds = logits[:, 0] - np.logaddexp.reduce(logits[:, 1:], axis=1)
    return 1 / (1 + np.exp(-log_odds)), log_odds, predictions.labels == 0


def rejections(scale: float, cases: int) -> dict[str, float]:
    """Return how often each test finds a system miscalibrated, at 5%."""
    counts = dict.fromkeys((*TESTED, SPIEGELHALTER), 0)
    for seed, predictions in enumerate(data_sets(3, scale, cases)):
        settings = Settings(TESTED, intervals=False, draws=DRAWS, test=True, seed=seed)
        for name, estimate in evaluate(predictions, settings).estimates.items():
            assert estimate.if_calibrated is not None, name
            counts[name] += estimate.if_calibrated.p_value <= 1 - LEVEL + 1e-12
        score, _, outcome = of_one_class(predictions)
        counts[SPIEGELHALTER] += spiegelhalter_test(score, outcome).p_value <= 1 - LEVEL
    return {name: count / cases for name, count in counts.items()}


def data_sets(classes: int, scale: float, cases: int) -> Iterator[Predictions]:
    """Yield independent data sets."""
    for seed in range(cases):
        yield draw(ROWS, classes, np.random.default_rng([seed, classes]), scale)


def coverages(classes: int) -> dict[str, float]:
    """Return how often the intervals of an over-confident system's scores hold what 2,000,000 rows say."""
    scale = 1.5
    known = evaluate(
        draw(TRUTH_ROWS, classes, np.random.default_rng(0), scale),
        Settings(SCORES, intervals=False, draws=0),
    ).estimates
    counts = dict.fromkeys(SCORES, 0)
    for seed, predictions in enumerate(data_sets(classes, scale, CASES)):
        settings = Settings(SCORES, level=LEVEL, draws=0, seed=seed)
        for name, estimate in evaluate(predictions, settings).estimates.items():
            ends = estimate.interval
            assert ends is not None, name
            counts[name] += ends.low <= known[name].value <= ends.high
    return {name: count / CASES for name, count in counts.items()}


def classical_coverages() -> dict[str, float]:
    """Return how often the intervals of a calibrated system hold 0 and 1."""
    counts = {"calibration intercept": 0, "calibration slope": 0}
    for predictions in data_sets(2, 1.0, CASES):
        _, log_odds, outcome = of_one_class(predictions)
        found = (
            (calibration_intercept(log_odds, outcome), 0),
            (calibration_slope(log_odds, outcome), 1),
        )
        for name, (coefficient, truth) in zip(counts, found, strict=True):
            low, high = coefficient.interval(LEVEL)
            counts[name] += low <= truth <= high
    return {name: count / CASES for name, count in counts.items()}


def squared_errors() -> Iterator[Sequence[str]]:
    """Yield mean and standard error of the squared L2 error of a calibrated system, plain and debiased."""
    settings = Settings(("ece_l2",), intervals=False, draws=0)
    for binning in ("equal-width", "equal-mass"):
        values = []
        for predictions in data_sets(3, 1.0, CASES):
            problem = evaluate(predictions, settings).confidence
            bins, cuts = problem.bins(binning, 15), problem.cuts(binning, 15)
            plain = np.square(bins.outcome - bins.score)[bins.weight > 0] / bins.weight[bins.weight > 0]
            debiased = debiased_square(bins, concentration(problem, cuts))
            values.append((plain.sum() / bins.weight.sum(), debiased))
        means, errors = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(CASES)
        for name, mean, error in zip(("plain", "debiased"), means, errors, strict=True):
            yield f"{name}, 15 {binning} bins", f"{mean:.6f}", f"{error:.6f}", f"{mean / error:+.1f}"


def main() -> None:
    """Print the tables."""
    found = [rejections(scale, CASES if scale == 1 else CASES_OF_POWER) for scale in SCALES]
    table(
        f"Rejections at 5%, {ROWS} rows of 3 classes, {DRAWS} draws: {CASES:,} calibrated data sets, "
        f"{CASES_OF_POWER} for each logits times a scale",
        ["test", "calibrated", *(f"x {scale}" for scale in SCALES[1:])],
        [[name, *(f"{shares[name]:.1%}" for shares in found)] for name in found[0]],
    )
    two, many = coverages(2), coverages(5)
    table(
        f"95% intervals that cover, {CASES:,} data sets of {ROWS} rows, logits times 1.5",
        ["metric", "2 classes", "5 classes"],
        [[name, f"{two[name]:.1%}", f"{many[name]:.1%}"] for name in SCORES],
    )
    table(
        f"95% intervals that cover, {CASES:,} calibrated data sets of {ROWS} rows, 2 classes",
        ["estimate", "cover"],
        [[name, f"{share:.1%}"] for name, share in classical_coverages().items()],
    )
    table(
        f"Squared L2 calibration error, {CASES:,} calibrated data sets of {ROWS} rows, 3 classes",
        ["estimator", "mean", "standard error", "mean / standard error"],
        squared_errors(),
    )
