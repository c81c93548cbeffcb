"""Scores that are smooth functions of means over rows: they can be resampled without reading a row again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

@dataclass(frozen=True)
class Means:
    """Weighted means of row statistics, of the sample or of B resamples.

    Attributes
    ----------
    columns
        (...) means by name.
    priors
        (..., K) weighted class frequencies.
    """

    columns: Mapping[str, Values]
    priors: Values

    def __getitem__(self, name: str) -> Values:
        """Return the means of one statistic."""
        return self.columns[name]


def log_loss(means: Means) -> Values:
    """Mean of -ln of the label's probability, in nats; inf where a label has probability 0."""
    return means["log_loss"]


def normalized_log_loss(means: Means) -> Values:
    """Log-loss over the entropy of the class frequencies (Ferrer & Ramos 2024, section 3.2)."""
    return _ratio(log_loss(means), prior_entropy(means))


def brier(means: Means) -> Values:
    """Mean over rows of the squared distance to the label's indicator, summed over the classes; in [0, 2]."""
    return means["brier"]


def normalized_brier(means: Means) -> Values:
    """Brier score over that of the class frequencies (Ferrer & Ramos 2024, section 3.2)."""
    return _ratio(brier(means), prior_brier(means))


def accuracy(means: Means) -> Values:
    """Share of rows whose most probable class is the label."""
    return means["hit"]


def error_rate(means: Means) -> Values:
    """Share of rows whose most probable class is not the label."""
    return 1 - means["hit"]


def normalized_error_rate(means: Means) -> Values:
    """Error rate over that of always deciding for the most frequent class."""
    return _ratio(error_rate(means), 1 - means.priors.max(-1))


def top5_accuracy(means: Means) -> Values:
    """Share of rows whose label is among the five most probable classes."""
    return means["top5_hit"]


def mean_confidence(means: Means) -> Values:
    """Mean of the largest probability."""
    return means["confidence"]


def mean_gap(means: Means) -> Values:
    """Mean confidence minus accuracy: above 0 over-confident, below 0 under-confident."""
    return means["confidence"] - means["hit"]


def prior_entropy(means: Means) -> Values:
    """Log-loss of the best constant system, in nats."""
    logs = np.log(means.priors, out=np.zeros_like(means.priors), where=means.priors > 0)
    return -(means.priors * logs).sum(-1)


def prior_brier(means: Means) -> Values:
    """Brier score of the best constant system."""
    return 1 - np.square(means.priors).sum(-1)


def _ratio(value: Values, reference: Values) -> Values:
    """Divide; nan where the constant system is perfect (one class only) and nothing can be normalized."""
    out: Any = np.full(np.shape(value), np.nan)
    return np.divide(value, reference, out=out, where=reference > 0)
