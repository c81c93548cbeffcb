"""Calibration errors of vector predictions: bins that adapt to the data, and distances within them.

A problem of d outcomes has (N, d) probabilities and labels in 0..d-1: the full predictions, the k largest
probabilities and the rest, or groups of classes. The errors are the expected and the worst miscalibration of
Vaicenavicius et al. (2019, sections 3 and 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Rng, batch_sizes, draw_labels
from calcli.core.data.binning import Bins, equal_width_index
from calcli.core.estimators.calibrationerror import Null, compare
from calcli.core.evaluating.metrics.errors import EXPECTED, OfVectors, parted
from calcli.core.language.entries import arg, metric
from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import OVER_BINS, Norm, min_rows, number_of_bins
from calcli.core.problems.lenses import Partition, VectorProblem, recursive_partition
from calcli.core.problems.problem import Binning, Problem, Recursive, segment_sums

NamedDistance = Literal["tv", "euclidean", "squared-euclidean", "max", "hellinger", "kl"]
Distance = Literal["class-mean"] | NamedDistance
DISTANCE = "the distance between observed and predicted frequencies of a bin"
OF_VECTORS = "needs vectors of probabilities"

DRAWN = 2_000_000  # labels, or sums of their outcomes, held in memory at once


@dataclass(frozen=True, kw_only=True)
class VectorMiscalibration(OfVectors):
    """Expected or worst distance between mean prediction and outcome frequencies over bins of vectors."""

    binning: str = arg("how vectors are binned: recursive or equal-width", default="recursive")
    bins: int = number_of_bins()
    min_rows: int = min_rows()
    distance: Distance = "tv"
    norm: Norm = "1"
    of_top: ClassVar[bool] = False  # whether only the predicted class counts, in bins of vectors

    def __post_init__(self) -> None:
        """Check lens and binning."""
        super().__post_init__()
        assert self.parted

    @cached_property
    def parted(self) -> Binning:
        """The binning of the vectors."""
        return parted(self, self.binning, self.min_rows)

    def found(self, problem: VectorProblem, draws: int, rng: Rng) -> tuple[float, Null | None, Bins]:
        """Return the error, its distribution under perfect calibration, and its bins."""
        partition, seen = self._partition(problem), problem.of_top() if self.of_top else problem
        bins = vector_bins(seen.probs, seen.labels, partition, seen.weights)
        value = float(miscalibration(bins, self.distance, self.norm))
        if not draws:
            return value, None, bins
        null = miscalibration_null(
            seen.probs, seen.labels, partition, self.distance, self.norm, draws, rng, seen.weights
        )
        return value, null, bins

    def of(self, bins: Bins) -> float:
        """Return the error of (d, m) sums."""
        seen = _of_top(bins) if self.of_top else bins
        return float(miscalibration(seen, self.distance, self.norm))

    def _partition(self, problem: VectorProblem) -> Partition:
        if isinstance(self.parted, Recursive):
            return recursive_partition(problem.probs, self.min_rows, problem.weights)
        if problem.probs.shape[1] > 2:
            if self.binning != "equal-width":
                raise UsageError(
                    "vectors of several outcomes take binning=recursive or equal-width; others need one score"
                )
            return cell_partition(problem.probs, self.bins)
        # of two classes the second has the score, of other problems the first outcome
        scored = 1 if "class-1" in problem.names else 0
        score = problem.probs[:, scored]
        order = np.argsort(score, kind="stable")
        weights = None if problem.weights is None else problem.weights[order]
        ordered = Problem(score[order], problem.labels[order] == scored, weights)
        return Partition(order, ordered.cuts(self.parted, self.bins))


@metric("expected_miscalibration", "Expected miscalibration", range="0 to 1 (tv)")
class ExpectedMiscalibration(VectorMiscalibration):
    """mean distance between predicted and observed class frequencies, over bins of probability vectors

    Formula: sum_b n_b/N d(mean outcome, mean prediction)
    Source: Vaicenavicius et al. 2019, eq. 6
    Misses: biased upward on few rows; on many rows at most the true value (theorem 2). Many classes need
        many rows; class-wise errors look at single classes
    """

    distance: NamedDistance = arg(DISTANCE, default="tv")
    norm: Norm = arg(OVER_BINS, default="1")


@metric("worst_miscalibration", "Worst miscalibration", tier="works", range="0 to 1 (tv)")
class WorstMiscalibration(VectorMiscalibration):
    """largest distance between predicted and observed class frequencies in any bin of vectors

    Formula: max_b d(mean outcome, mean prediction)
    Source: Vaicenavicius et al. 2019, section 3.2
    Misses: one bin decides it; expected_miscalibration averages over all
    """

    distance: NamedDistance = arg(DISTANCE, default="tv")
    norm: Norm = "max"


@metric(
    "ece_given_vector", "ECE given the whole vector", abbreviation_of=EXPECTED, tier="works",
    needs_classes=OF_VECTORS,
)  # fmt: skip
class ECEGivenVector(VectorMiscalibration):
    """mean gap between confidence and accuracy over bins of probability vectors

    Formula: sum_b n_b/N |accuracy - mean confidence|
    Source: Panchenko et al. 2022, section III
    Misses: many classes need many rows, as bins of vectors are wide; ece bins the confidence
    """

    of_top = True


@metric(
    "cw_ece_given_vector", "Class-wise ECE given the whole vector", abbreviation_of=EXPECTED,
    tier="works", needs_classes=OF_VECTORS,
)  # fmt: skip
class ClassWiseECEGivenVector(VectorMiscalibration):
    """gap of each class's probability over bins of probability vectors, averaged over classes

    Formula: mean over k of sum_b n_b/N |mean outcome - mean prob|
    Source: Panchenko et al. 2022, section III
    Misses: many classes need many rows, as bins of vectors are wide; cw_ece bins each class
    """

    distance: Distance = "class-mean"


def _of_top(bins: Bins) -> Bins:
    """Return the sums of the predicted class and of all others."""
    top = bins.score.argmax(0)[None]
    likeliest = (np.take_along_axis(table, top, axis=0) for table in (bins.score, bins.outcome))
    return Bins(bins.count, bins.weight, *(np.concatenate([sums, bins.weight - sums]) for sums in likeliest))


def cell_partition(points: Floats, bins: int) -> Partition:
    """Split vectors by the equal-width bin of each probability; only cells with rows are bins.

    For three outcomes the cells are the bins^2 triangles of side 1 / bins (Vaicenavicius et al. 2019, fig.
    1): the bins of a row add up to bins - 1 or bins - 2. Where every probability lies on an edge they add up
    to `bins`, a corner of cells, and the row goes to the one with a lower first probability that is not 0.
    """
    kind = np.uint8 if bins <= 2**8 else ">u4"  # bytes in the order of the numbers
    keys = np.empty(points.shape, kind)
    total, start = np.zeros(len(points), np.intp), np.full(len(points), -1)
    for k, column in enumerate(points.T):
        index = equal_width_index(column, bins)
        keys[:, k] = index
        total += index
        start[(start < 0) & (index > 0)] = k
    corner = np.flatnonzero((total == bins) & (start >= 0))
    keys[corner, start[corner]] -= 1
    rows = keys.view(np.dtype((np.void, keys.itemsize * points.shape[1]))).ravel()
    order = np.argsort(rows, kind="stable")
    ends = np.flatnonzero(rows[order][1:] != rows[order][:-1]) + 1
    return Partition(order, np.concatenate([[0], ends, [len(points)]]))


def vector_bins(probs: Floats, labels: Array, partition: Partition, weights: Floats | None = None) -> Bins:
    """Return the sums of every bin; scores and outcomes are (d, m), one row per outcome.

    Parameters
    ----------
    probs
        (N, d) probabilities.
    labels
        (N,) integers in 0..d-1.
    partition
        The m bins.
    weights
        (N,) row weights.
    """
    order, cuts = partition
    count = np.diff(cuts)
    row_weights = np.ones(len(labels)) if weights is None else weights[order]
    shape = probs.shape[1], len(count)
    cells = labels[order].astype(np.intp) * len(count) + np.repeat(np.arange(len(count)), count)
    outcome = (
        np.bincount(cells, row_weights, shape[0] * shape[1]).reshape(shape).astype(np.float64, copy=False)
    )
    score = np.empty(shape)
    for k, column in enumerate(probs.T):  # column by column: no second table of N x d
        score[k] = segment_sums(column[order] * row_weights, cuts)
    return Bins(count, segment_sums(row_weights, cuts), score, outcome)


def miscalibration(bins: Bins, distance: Distance, norm: Norm) -> Any:
    """Aggregate the distances between mean prediction and outcome frequencies over the bins.

    With norm 1 this is the expected miscalibration, the mean over rows; with norm 2 the root of the mean
    square; with norm max the worst miscalibration of any bin (Vaicenavicius et al. 2019, eq. 3 to 6).
    Empty bins weigh nothing.

    Parameters
    ----------
    bins
        Sums with axes (..., d, m) of scores and outcomes.
    distance
        See `apart`.
    norm
        How the bins are aggregated.

    Returns
    -------
    (...) errors.
    """
    filled = bins.weight > 0
    weight = bins.weight[filled]
    distances = apart(bins.outcome[..., filled] / weight, bins.score[..., filled] / weight, distance)
    if norm == "max":
        return distances.max(-1)
    share = weight / weight.sum()
    return distances @ share if norm == "1" else np.sqrt(np.square(distances) @ share)


def apart(outcome: Doubles, score: Doubles, distance: Distance) -> Doubles:
    """Return the distance of frequencies of outcomes, or of true probabilities, from predictions.

    Parameters
    ----------
    outcome, score
        (..., d, m) distributions over d outcomes.
    distance
        "tv", half the sum of absolute differences, at most 1; "class-mean", their mean; "euclidean", at most
        sqrt(2), and "squared-euclidean"; "max", the largest difference; "hellinger", at most 1; "kl", in
        nats, infinite if an outcome occurs that was predicted with 0.
    """
    if distance == "hellinger":
        return np.sqrt(np.square(np.sqrt(outcome) - np.sqrt(score)).sum(-2) / 2)
    if distance == "kl":
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(outcome) - np.log(score)
        terms = np.multiply(outcome, logs, out=np.zeros_like(outcome), where=outcome > 0)
        return np.maximum(terms.sum(-2), 0)
    gap = np.abs(outcome - score)
    if distance == "tv":
        return gap.sum(-2) / 2
    if distance == "class-mean":
        return gap.mean(-2)
    if distance == "max":
        return gap.max(-2)
    square = np.square(gap).sum(-2)
    return np.sqrt(square) if distance == "euclidean" else square


def miscalibration_null(
    probs: Floats,
    labels: Array,
    partition: Partition,
    distance: Distance,
    norm: Norm,
    resamples: int,
    rng: Rng,
    weights: Floats | None = None,
) -> Null:
    """Return the miscalibration under perfect calibration: labels are drawn from the predictions.

    The bins depend on the predictions only and stay the same.

    Parameters
    ----------
    probs, labels, partition, weights
        As for `vector_bins`.
    distance, norm
        As for `miscalibration`.
    resamples
        Simulated data sets.
    rng
        Source of chance.
    """
    observed = vector_bins(probs, labels, partition, weights)
    d, m = observed.score.shape
    bin_of = np.empty(len(labels), np.intp)
    bin_of[partition.order] = np.repeat(np.arange(m), observed.count)
    draws = []
    for size in batch_sizes(resamples, max(len(labels), d * m), DRAWN):
        simulated = draw_labels(probs, size, rng)
        cells = (np.arange(size) * d + simulated) * m + bin_of[:, None]
        repeated = None if weights is None else np.repeat(weights, size)
        outcome = np.bincount(cells.ravel(), repeated, size * d * m).reshape(size, d, m).astype(np.float64)
        drawn_bins = Bins(observed.count, observed.weight, observed.score, outcome)
        draws.append(miscalibration(drawn_bins, distance, norm))
    return compare(float(miscalibration(observed, distance, norm)), np.concatenate(draws))
