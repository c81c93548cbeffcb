"""Calibration errors of one-dimensional problems over bins: ECE and kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calcli.core.data.arrays import Doubles, Positions
from calcli.core.data.binning import Bins
from calcli.core.estimators.intervals import wilson_interval
from calcli.core.evaluating.metrics.errors import BINNING, EXPECTED, OfBins, OneDimensional
from calcli.core.language.entries import arg, metric
from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import LENS, OVER_BINS, Norm
from calcli.core.problems.problem import Problem, segment_sums


def binned_error(bins: Bins, norm: Norm) -> Any:
    """Aggregate the gaps between mean outcome and mean score over the last axis.

    The error is sum_b w_b |gap_b| for norm 1, the root of sum_b w_b gap_b^2 for norm 2, and the largest
    |gap_b| for norm max; w_b is the bin's share of the weight. Empty bins weigh nothing
    (Naeini et al. 2015; Kumar et al. 2019; Vaicenavicius et al. 2019, eq. 6).

    Returns
    -------
    (...) errors in [0, 1].
    """
    gap = np.abs(bins.outcome - bins.score)
    total = bins.weight.sum(-1)
    if norm == "1":
        return gap.sum(-1) / total
    mean_gap = np.divide(gap, bins.weight, out=np.zeros(gap.shape), where=bins.weight > 0)
    if norm == "max":
        return mean_gap.max(-1)
    return np.sqrt((gap * mean_gap).sum(-1) / total)


ClassWeights = Literal["equal", "inverse-frequency"]
OF_CLASSES = "needs the probability of every class"


@dataclass(frozen=True, kw_only=True)
class BinnedError(OfBins):
    """The estimator lens x binning x norm."""

    norm: Norm = "1"
    debiased: bool = False
    weights: ClassWeights = "equal"

    def __post_init__(self) -> None:
        """Check that the arguments fit together."""
        super().__post_init__()
        if self.weights != "equal" and not self.is_class_wise:
            raise UsageError(f"{self}: weights are those of classes; leave out the lens {self.lens}")

    @property
    def from_sums(self) -> bool:
        """Whether sums over equal-width bins suffice, without putting scores in order."""
        return self.binning == "equal-width" and not self.debiased

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error from sums over this estimator's bins, for observed or drawn outcomes."""
        if self.debiased:
            return debiased_l2(bins, concentration(problem, self.cuts(problem)))
        return self.of_sums(bins)

    def of_sums(self, bins: Bins) -> Any:
        """Return the error, not debiased, divided by the frequency of the outcome if `weights` asks for it.

        The error of an outcome that never happens is 0.
        """
        error = binned_error(bins, self.norm)
        if self.weights == "equal":
            return error
        frequency = bins.outcome.sum(-1) / bins.weight.sum(-1)
        return np.divide(error, frequency, out=np.zeros_like(error), where=frequency > 0)

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return the debiased square, with the value as its root: below 0 if the value is 0."""
        if not self.debiased:
            return {}
        shares = concentration(problem, self.cuts(problem))
        return {"squared": float(debiased_square(problem.bins(self.parted, self.bins), shares))}


@metric("ece", "ECE", abbreviation_of=EXPECTED, tier="to know")
class ECE(BinnedError):
    """mean gap between confidence and accuracy over bins

    Formula: sum_b n_b/N |mean outcome - mean score|
    Source: Naeini et al. 2015; Guo et al. 2017
    Misses: biased upward on few rows; on many rows at most the true error, as gaps of opposite sign cancel
        within bins (Vaicenavicius et al. 2019, theorem 2); ks has no bins
    """

    norm: Norm = arg(OVER_BINS, default="1")


@metric("ece_l2", "ECE, L2", abbreviation_of=EXPECTED, tier="works")
class SquaredECE(BinnedError):
    """root mean square gap between confidence and accuracy over bins

    Formula: sqrt(sum_b n_b/N |mean outcome - mean score|^2)
    Source: Kumar et al. 2019; van de Waterlaat 2021
    Misses: biased upward like ece; debiased=true subtracts the bias
    """

    norm: Norm = "2"
    debiased: bool = arg("whether to subtract the bias of few rows", default=False)


@metric("mce", "MCE", abbreviation_of="maximum calibration error")
class MCE(BinnedError):
    """largest gap between confidence and accuracy in any bin

    Formula: max_b |mean outcome - mean score|
    Source: Naeini et al. 2015
    Misses: one bin with few rows decides it; look at the reliability diagram. Its test is conservative for
        skewed predictions: it rejects 1 to 3% of calibrated ones, nominally 5%
    """

    norm: Norm = "max"


@metric(
    "cw_ece", "Class-wise ECE", abbreviation_of=EXPECTED,
    needs_classes=OF_CLASSES,
)  # fmt: skip
class ClassWiseECE(BinnedError):
    """ece of the probability of each class, averaged over classes

    Formula: mean over k of sum_b n_kb/N |mean outcome - mean score|
    Source: Kull et al. 2019; van de Waterlaat 2021
    Misses: shrinks as 1/K when most probabilities are tiny; weights=inverse-frequency (Panchenko et al.
        2022) divides by the class frequencies and sums over the classes, so it can exceed 1
    """

    lens: str = arg(LENS, default="class-wise")
    weights: ClassWeights = arg("the weight of each class", default="equal")


@metric(
    "cw_ece_l2", "Class-wise ECE, L2", abbreviation_of=EXPECTED, tier="works",
    needs_classes=OF_CLASSES,
)  # fmt: skip
class SquaredClassWiseECE(BinnedError):
    """root mean square gap of each class's probability, over bins and classes

    Formula: sqrt(mean over k of sum_b n_kb/N |mean outcome - mean score|^2)
    Source: van de Waterlaat 2021
    """

    lens: str = arg(LENS, default="class-wise")
    norm: Norm = "2"


@metric(
    "ace", "ACE", abbreviation_of="adaptive calibration error", tier="works",
    needs_classes=OF_CLASSES,
)  # fmt: skip
class AdaptiveECE(BinnedError):
    """class-wise ece with equal-mass bins

    Formula: mean over k of sum_b n_kb/N |mean outcome - mean score|
    Source: Nixon et al. 2019
    Misses: sorts the scores of every class in memory
    """

    lens: str = arg(LENS, default="class-wise")
    binning: str = arg(BINNING, default="equal-mass")


def concentration(problem: Problem, cuts: Positions) -> Doubles:
    """Return (m,) sums of the squared shares of rows in each bin: 1 / n for n equal weights, 1 for one row.

    With variance v per row, the mean outcome of a bin has variance v times this; empty bins get 1.
    """
    weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
    squares, sums = segment_sums(problem.squared_weights, cuts), segment_sums(weights, cuts)
    return np.divide(squares, np.square(sums), out=np.ones(len(sums)), where=sums > 0)


def debiased_square(bins: Bins, shares: Doubles) -> Any:
    """Return the debiased squared L2 calibration error (Kumar et al. 2019).

    An unbiased estimate of the variance of the mean outcome is subtracted from the squared gap of each bin:
    accuracy (1 - accuracy) / (n - 1). The rest averages zero on calibrated predictions, and may be negative.
    Bins in which one row has all the weight say nothing and count as zero.

    Parameters
    ----------
    bins
        Sums with axes (..., m).
    shares
        (m,) concentration of each bin.

    Returns
    -------
    (...) values of at most 1.
    """
    estimable = (bins.weight > 0) & (shares < 1)
    weight = bins.weight[..., estimable]
    score, outcome = bins.score[..., estimable] / weight, bins.outcome[..., estimable] / weight
    noise = outcome * (1 - outcome) * shares[estimable] / (1 - shares[estimable])
    return (np.square(outcome - score) - noise) @ (weight / bins.weight.sum())


def debiased_l2(bins: Bins, shares: Doubles) -> Any:
    """Return the root of the debiased squared error, or zero if that is negative."""
    return np.sqrt(np.maximum(debiased_square(bins, shares), 0))


LEVEL = 0.95  # level of the interval that makes a bin's gap significant
ROUNDING = 1e-12  # a smaller gap counts as none


Sign = Literal["over", "under"]


@dataclass(frozen=True, kw_only=True)
class ConfidenceShare(OfBins):
    """Share of the weight in bins with less ("over") or more ("under") accuracy than confidence.

    Panchenko et al. 2022, definition 1. A gap is significant if its confidence lies outside the Wilson
    interval of the accuracy.
    """

    lens: str = arg(LENS, default="top-1")
    side: Sign = "over"
    significant: bool = arg("whether to count only bins with a significant gap (Wilson)", default=False)

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the share from sums over this estimator's bins, for observed or drawn outcomes."""
        weight = np.where(bins.weight > 0, bins.weight, 1)
        accuracy, confidence = bins.outcome / weight, bins.score / weight
        low = high = accuracy
        if self.significant:
            low, high = wilson_interval(accuracy, np.maximum(bins.count, 1), LEVEL)
        gap = confidence - high if self.side == "over" else low - confidence
        return (bins.weight * (gap > ROUNDING)).sum(-1) / bins.weight.sum(-1)


@metric("over_confidence", "Over-confident rows", tier="works")
class OverConfidence(ConfidenceShare):
    """share of rows in bins with confidence above accuracy; about half if calibrated

    Formula: sum_b n_b/N [mean outcome < mean score]
    Source: Panchenko et al. 2022, definition 1
    Misses: how far off they are; see mean_gap. significant=true counts only significant bins (Wilson)
    """

    side: Sign = "over"


@metric("under_confidence", "Under-confident rows", tier="works")
class UnderConfidence(ConfidenceShare):
    """share of rows in bins with confidence below accuracy; about half if calibrated

    Formula: sum_b n_b/N [mean outcome > mean score]
    Source: Panchenko et al. 2022, definition 1
    Misses: how far off they are; see mean_gap. significant=true counts only significant bins (Wilson)
    """

    side: Sign = "under"


WIDTH = 0.4  # of the kernel, as in Kumar et al. 2018


@metric("mmce", "MMCE", abbreviation_of="maximum mean calibration error", tier="works")
class MaximumMeanError(OneDimensional):
    """kernel calibration error: gaps of pairs of rows, weighted by their nearness in confidence

    Formula: sqrt(mean of (score - outcome)(score' - outcome') exp(-|score - score'|/0.4))
    Source: Kumar et al. 2018
    Misses: biased upward on few rows; has a fixed bandwidth, smooth_ece chooses its own

    The mean is over all pairs, each row with itself among them (Kumar, Sarawagi & Jain 2018, section 3).
    """

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error, in [0, 1], of sums over runs of equal scores."""
        score = problem.score[problem.run_ends - 1].astype(np.float64)
        gap = bins.outcome - bins.weight * score
        rise = np.exp(score / WIDTH)  # at most e^2.5: sums lose no precision
        before = np.cumsum(gap * rise, axis=-1) - gap * rise
        square = np.square(gap).sum(-1) + 2 * (gap / rise * before).sum(-1)
        return np.sqrt(np.maximum(square, 0)) / problem.total_weight
