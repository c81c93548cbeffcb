"""Scores as smooth functions of means over rows: leaving out a row is cheap."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.costs import AT_STAKE, CostMatrix

DIGITS = 12  # of the largest risk: tolerance when risks are compared


class Means:
    """Weighted means of row statistics, of the sample or without each of n units, computed on demand.

    Parameters
    ----------
    column
        Returns the (...) means of a statistic.
    priors
        Returns the (..., K) weighted class frequencies.
    of_sample
        (K,) class frequencies of the sample.
    """

    def __init__(
        self, column: Callable[[str], Doubles], priors: Callable[[], Doubles], of_sample: Doubles
    ) -> None:
        self._column, self._priors, self.of_sample = column, priors, of_sample
        self._known: dict[str, Doubles] = {}

    def __getitem__(self, name: str) -> Doubles:
        """Return the means of one statistic."""
        if name not in self._known:
            self._known[name] = self._column(name)
        return self._known[name]

    @cached_property
    def priors(self) -> Doubles:
        """The class frequencies."""
        return self._priors()


OfMeans = Callable[[Means], Doubles]


def error_rate(means: Means) -> Doubles:
    """Share of rows with another most probable class than the label."""
    return 1 - means["hit"]


def normalized_error_rate(means: Means, decision: int | None = None) -> Doubles:
    """Error rate divided by the rate of always deciding for the most frequent class, or for another one."""
    return ratio(error_rate(means), constant_error_rate(means, decision))


def normalized_risk(means: Means, costs: CostMatrix, decision: int | None = None) -> Doubles:
    """Mean cost relative to the best constant decision (Ferrer & Ramos 2024, section 2.3.1), or another."""
    return ratio(means[costs.column], constant_risk(means, costs, decision))


def constant_risk(means: Means, costs: CostMatrix, decision: int | None = None) -> Doubles:
    """Mean cost of a constant decision; by default the best one in the sample."""
    if costs.amounts is not None:
        return (np.stack([means.priors[..., 0], means[AT_STAKE]], axis=-1) @ costs.cost).min(axis=-1)
    chosen = (means.of_sample @ costs.cost).argmin() if decision is None else decision
    return (means.of_sample if costs.balanced else means.priors) @ costs.cost[:, chosen]


def constant_error_rate(means: Means, decision: int | None = None) -> Doubles:
    """Error rate of always deciding for a class; by default the most frequent one in the sample."""
    return 1 - means.priors[..., means.of_sample.argmax() if decision is None else decision]


def rival(priors: Doubles, cost: Doubles, reach: float) -> int:
    """Return the most expensive constant decision among the candidates for the best one.

    The least of several risks is too small by chance. At the level of an interval, the best decision is
    among the decisions without a risk that is proven to be higher than the least.

    Parameters
    ----------
    priors
        (K,) class frequencies.
    cost
        (K, D) costs.
    reach
        Number of standard errors of one row that prove a difference.
    """
    risks = priors @ cost
    # the first of equal costs, whatever the rounding of the sums
    risks = np.round(risks / (float(np.abs(risks).max()) or 1.0), DIGITS)
    excess = cost - cost[:, [risks.argmin()]]
    mean = priors @ excess
    spread = np.sqrt(np.maximum(priors @ excess**2 - mean**2, 0))
    return int(np.where(mean <= reach * spread, risks, -np.inf).argmax())


def ratio(value: Doubles, reference: Doubles) -> Doubles:
    """Divide; nan if the constant system is perfect (one class only), and nothing can be normalized."""
    out: Any = np.full(np.shape(value), np.nan)
    return np.divide(value, reference, out=out, where=reference > 0)
