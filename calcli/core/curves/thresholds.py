"""What each threshold of P(class 1) finds: precision and recall, and the net benefit of acting on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calcli.core.curves.needs import row_weights
from calcli.core.curves.risk import sums_from
from calcli.core.data.arrays import Doubles, Tables
from calcli.core.problems.problem import Problem

POINTS = 401
HIGHEST = 0.99  # threshold that is shown: beyond, one false positive outweighs a hundred true ones


@dataclass(frozen=True)
class PrecisionRecall:
    """Precision against recall; rows of equal score are taken together.

    Attributes
    ----------
    threshold
        (p,) scores from which the class is predicted, the highest first.
    recall, precision
        (p,) at those.
    frequency
        Of the class: the precision of random scores.
    """

    threshold: Doubles
    recall: Doubles
    precision: Doubles
    frequency: float

    def tables(self) -> Tables:
        """Return the table behind the curve."""
        return {"": {name: getattr(self, name) for name in ("threshold", "recall", "precision")}}


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit at every threshold (Vickers & Elkin 2006).

    Attributes
    ----------
    threshold
        (p,) evenly spaced, from 0 to `HIGHEST`.
    net_benefit, treat_all
        (p,) of predicting the class where its score is at least that, and everywhere.
    """

    threshold: Doubles
    net_benefit: Doubles
    treat_all: Doubles

    def tables(self) -> Tables:
        """Return the table behind the curve."""
        return {"": {name: getattr(self, name) for name in ("threshold", "net_benefit", "treat_all")}}


def precision_recall(problem: Problem) -> PrecisionRecall:
    """Return precision and recall of the ordered problem of one class; recall is nan where it has no rows."""
    starts = np.append(0, problem.run_ends[:-1])[::-1]
    weights = row_weights(problem)
    hits, every = np.stack([sums_from(values, starts) for values in (weights * problem.outcome, weights)])
    starts, hits, every = starts[every > 0], hits[every > 0], every[every > 0]
    recall = np.divide(hits, hits[-1], out=np.full(len(hits), np.nan), where=hits[-1] > 0)
    step = np.unique(np.searchsorted(every, np.linspace(0, every[-1], POINTS)).clip(max=len(every) - 1))
    score = problem.score[starts].astype(np.float64)
    curve = (score[step], recall[step], (hits / every)[step])
    return PrecisionRecall(*curve, float(hits[-1] / every[-1]))


def net_benefit(problem: Problem) -> NetBenefit:
    """Return the net benefit of the ordered problem of one class."""
    threshold = np.linspace(0, HIGHEST, POINTS)
    weights = row_weights(problem)
    below = np.searchsorted(problem.score, threshold, side="left")
    hits, alarms = (
        np.append(np.cumsum(values[::-1])[::-1], 0) / problem.total_weight
        for values in (weights * problem.outcome, weights * ~problem.outcome)
    )
    odds = threshold / (1 - threshold)
    return NetBenefit(threshold, hits[below] - alarms[below] * odds, hits[0] - alarms[0] * odds)
