"""Mean divergences of posteriors of two classes from one fixed posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calcli.core.curves.needs import row_weights
from calcli.core.data.arrays import Doubles, Tables
from calcli.core.problems.problem import Problem

POINTS = 401
NEAREST = 0.005  # to 0 and 1, where the Kullback-Leibler divergence is infinite


@dataclass(frozen=True)
class Divergences:
    """Mean divergences from a fixed posterior (Ferrer & Ramos 2024, appendix B, fig. 4).

    Attributes
    ----------
    fixed
        (p,) the first class's probability in the fixed posterior, evenly spaced.
    curves
        (p,) means by name: of the absolute difference of one probability, of the sum of both, of the squared
        Euclidean distance, and of the Kullback-Leibler divergence in nats.
    mean
        Mean probability of the first class, where each score divergence is least.
    at_mean
        The value of each curve there.
    """

    fixed: Doubles
    curves: Mapping[str, Doubles]
    mean: float
    at_mean: Mapping[str, float]

    def tables(self) -> Tables:
        """Return the table behind the curves, and the mean."""
        mean = {"mean": np.array([self.mean]), **{name: np.array([y]) for name, y in self.at_mean.items()}}
        return {"": {"fixed": self.fixed, **self.curves}, "mean": mean}


def divergences(problem: Problem) -> Divergences:
    """Return the divergences of the posteriors in the ordered problem of the first of two classes."""
    score, weights = problem.score.astype(np.float64, copy=False), row_weights(problem)
    mean = float(np.average(score, weights=weights))
    fixed = np.linspace(NEAREST, 1 - NEAREST, POINTS)
    at_mean = {name: float(y[0]) for name, y in _curves(score, weights, np.array([mean])).items()}
    return Divergences(fixed, _curves(score, weights, fixed), mean, at_mean)


def _curves(score: Doubles, weights: Doubles, fixed: Doubles) -> dict[str, Doubles]:
    share = weights / weights.sum()
    below = np.searchsorted(score, fixed)
    number = np.append(0, np.cumsum(share))[below]
    part, mean = np.append(0, np.cumsum(share * score))[below], float(share @ score)
    absolute = fixed * (2 * number - 1) - 2 * part + mean
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(one > 0, one * np.log(one), 0) for one in (score, 1 - score)]
        cross = mean * np.log(fixed) + (1 - mean) * np.log1p(-fixed)
    return {
        "l1_of_one": absolute,
        "l1": 2 * absolute,
        "squared": 2 * (float(share @ score**2) - 2 * fixed * mean + fixed**2),
        "kl": float(share @ (terms[0] + terms[1])) - cross,
    }
