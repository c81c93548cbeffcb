"""Decompositions of scores: binned calibration and refinement loss, and CORP, which needs no bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.binning import MASS_ROUNDING, Bins
from calcli.core.estimators.rules import Decomposable
from calcli.core.problems.problem import Blocks, pav


@dataclass(frozen=True)
class BinnedLosses:
    """Calibration and refinement loss over bins of each class's probability (van de Waterlaat 2021).

    Attributes
    ----------
    calibration, refinement
        Summed over the classes. Their sum differs from the score by the variation within bins.
    """

    calibration: float
    refinement: float

    @property
    def estimated(self) -> float:
        """Their sum, the estimated score."""
        return self.calibration + self.refinement


def binned_losses(bins: Bins, rule: Decomposable) -> BinnedLosses:
    """Return the losses under a scoring rule from the (K, m) sums over the bins of every class."""
    return BinnedLosses(*(float(losses.sum()) for losses in class_losses(bins, rule)))


def class_losses(bins: Bins, rule: Decomposable) -> tuple[Doubles, Doubles]:
    """Return the (K,) calibration and refinement losses of the classes."""
    full = bins.weight > 0
    share = np.where(full, bins.weight, 0) / bins.weight[0].sum()
    weight = np.where(full, bins.weight, 1)
    # the first bin is a total less the other bins, and may be a rounding error below 0
    return rule.binned(share, np.maximum(bins.score, 0) / weight, bins.outcome / weight)


@dataclass(frozen=True)
class RefinedBins:
    """The frequencies of every class in the bins of its probability, used as predictions.

    Attributes
    ----------
    sums
        (K, m) sums over the bins of every class.
    rule
        Which loss.
    """

    sums: Bins
    rule: Decomposable

    @property
    def bins(self) -> int:
        """Bins of each class."""
        return self.sums.weight.shape[1]

    @cached_property
    def _frequency(self) -> Doubles:
        """(K, m) frequencies; 0 in empty bins."""
        weight = self.sums.weight
        return np.divide(self.sums.outcome, weight, out=np.zeros(weight.shape), where=weight > 0)

    def losses(self, cells: Positions, labels: Array) -> Doubles:
        """Return (n,) losses of rows with the refinement loss as mean, to first order also in resamples.

        Parameters
        ----------
        cells
            (K, n) the bin of each probability.
        labels
            (n,) integers.
        """
        frequency = np.take_along_axis(self._frequency, cells, axis=1)
        of_label = frequency[labels, np.arange(len(labels))]
        return self.rule.refined(frequency, of_label)

    def bias(self, share: float = 1.0) -> float:
        """Return the expected difference between the refinement losses of few rows and of many.

        The frequency of a bin with the information of a single row is 0 or 1, which hides all of the loss
        there: the loss of the mean probability is used instead.

        Parameters
        ----------
        share
            Effective number of rows, as a share of the rows.
        """
        several = self.sums.count * share > 1 + MASS_ROUNDING
        frequency, weight = self._frequency[several], self.sums.weight[several]
        spread = (1 - frequency) / (self.sums.count[several] * share - 1)
        spread *= self.rule.curvature(frequency)
        thin, total = ~several & (self.sums.weight > 0), self.sums.weight[0].sum()
        mean = np.maximum(self.sums.score[thin], 0) / self.sums.weight[thin]
        hidden = self.rule.binned(self.sums.weight[thin] / total, mean, mean)[1]
        return -float(weight @ spread / total) - hidden


@dataclass(frozen=True)
class Corp:
    """A score as miscalibration - discrimination + uncertainty (Dimitriadis, Gneiting & Jordan 2021).

    Attributes
    ----------
    score
        The mean score.
    recalibrated
        The mean score of the isotonic fit of the outcomes, the best increasing map of the probabilities.
    uncertainty
        The mean score of the frequency, the best constant.
    """

    score: float
    recalibrated: float
    uncertainty: float

    @property
    def miscalibration(self) -> float:
        """The gain of the best increasing map; never negative except for rounding."""
        return self.score - self.recalibrated

    @property
    def discrimination(self) -> float:
        """The gain of that map over the best constant; never negative except for rounding."""
        return self.uncertainty - self.recalibrated


def corp(order: Floats, outcome: Array, losses: Array, weights: Floats | None, rule: Decomposable) -> Corp:
    """Return the decomposition of a binary score.

    Parameters
    ----------
    order
        (N,) probabilities, or any increasing function of them.
    outcome
        (N,) 0 or 1.
    losses
        (N,) loss of each row: natural log-loss, or squared difference of probability and outcome.
    weights
        (N,) row weights, or None.
    rule
        Which loss.
    """
    losses = losses.astype(np.float64, copy=False)
    if weights is not None:
        counted = weights > 0
        order, outcome, losses, weights = (values[counted] for values in (order, outcome, losses, weights))
    blocks = pav(order, outcome, weights)
    hits, weight = blocks.hits.sum(keepdims=True), blocks.weight.sum(keepdims=True)
    pooled = Blocks(order[:1], order[:1], hits, weight)
    mean = float(np.average(losses, weights=weights))
    return Corp(mean, *(rule.of_frequencies(groups.hits, groups.weight) for groups in (blocks, pooled)))


def summed(corps: list[Corp]) -> Corp:
    """Return the decomposition of the sum of the scores of several outcomes."""
    return Corp(*np.sum([[p.score, p.recalibrated, p.uncertainty] for p in corps], axis=0).tolist())
