"""Scores that are smooth functions of means over rows: they can be resampled without reading a row again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.beta_scores import BetaScore
from calcli.core.estimators.costs import CostMatrix


@dataclass(frozen=True)
class Means:
    """Weighted means of row statistics, of the sample or of B resamples.

    Attributes
    ----------
    columns
        (...) means by name.
    priors
        (..., K) weighted class frequencies.
    of_sample
        (K,) those of the sample that was resampled; None if these are they.
    """

    columns: Mapping[str, Doubles]
    priors: Doubles
    of_sample: Doubles | None = None

    def __getitem__(self, name: str) -> Doubles:
        """Return the means of one statistic."""
        return self.columns[name]


def top1_brier(means: Means) -> Doubles:
    """Mean square of confidence minus hit; in [0, 1] (Gupta et al. 2021, table 7)."""
    return means["top1_brier"]


def accuracy(means: Means) -> Doubles:
    """Share of rows whose most probable class is the label."""
    return means["hit"]


def error_rate(means: Means) -> Doubles:
    """Share of rows whose most probable class is not the label."""
    return 1 - means["hit"]


def normalized_error_rate(means: Means) -> Doubles:
    """Error rate over that of always deciding for the most frequent class."""
    return ratio(error_rate(means), constant_error_rate(means))


def top5_accuracy(means: Means) -> Doubles:
    """Share of rows whose label is among the five most probable classes."""
    return means["top5_hit"]


def mean_confidence(means: Means) -> Doubles:
    """Mean of the largest probability."""
    return means["confidence"]


def mean_gap(means: Means) -> Doubles:
    """Mean confidence minus accuracy: above 0 over-confident, below 0 under-confident."""
    return means["confidence"] - means["hit"]


def risk(means: Means, costs: CostMatrix) -> Doubles:
    """Mean cost of decisions, of least expected cost or given (Ferrer & Ramos 2024, section 2.3.1)."""
    return means[costs.column]


def normalized_risk(means: Means, costs: CostMatrix) -> Doubles:
    """The same over that of the best constant decision (Ferrer & Ramos 2024, section 2.3.1)."""
    return ratio(risk(means, costs), constant_risk(means, costs))


def beta_score(means: Means, score: BetaScore) -> Doubles:
    """Mean over the rows of the integral of risks that one beta density of the threshold weights."""
    return means[score.column]


def constant_risk(means: Means, costs: CostMatrix) -> Doubles:
    """Mean cost of the best constant decision; in resamples, of the one that is best in the sample.

    The least of several risks is too small by chance already. If every resample chose anew, it would be so
    twice, and intervals would miss the normalized risk where several decisions are about as good.
    """
    chosen = means.priors if means.of_sample is None else means.of_sample
    return means.priors @ costs.cost[:, (chosen @ costs.cost).argmin()]


def constant_error_rate(means: Means) -> Doubles:
    """Error rate of always deciding for the most frequent class; in resamples as `constant_risk`."""
    chosen = means.priors if means.of_sample is None else means.of_sample
    return 1 - means.priors[..., chosen.argmax()]


def without_bias(draws: Doubles, value: float) -> Doubles:
    """Move (B,) resampled values of a biased statistic to where it would lie without its bias.

    Resamples have the bias of the sample once more, and are moved back by twice as much. The entropy of the
    frequencies of K classes in N rows is too low by (K - 1) / 2N (Miller 1955), that of resamples by double.

    Parameters
    ----------
    draws
        Those that are nan do not count.
    value
        The statistic of the sample itself.
    """
    return draws - 2 * (np.nanmean(draws) - value)


def ratio(value: Doubles, reference: Doubles) -> Doubles:
    """Divide; nan where the constant system is perfect (one class only) and nothing can be normalized."""
    out: Any = np.full(np.shape(value), np.nan)
    return np.divide(value, reference, out=out, where=reference > 0)
