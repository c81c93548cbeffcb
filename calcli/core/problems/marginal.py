"""The marginal lens: the probability of every class in every row, as one problem (Kendall & Gal 2017).

Vaicenavicius et al. 2019, example 4. The K pairs of a row have one label, so that they are drawn together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats, Positions
from calcli.core.data.chance import draw_labels
from calcli.core.problems.problem import Problem, ordered_problem


@dataclass(frozen=True)
class PooledRows:
    """The rows behind pooled pairs of probability and outcome.

    Attributes
    ----------
    probs
        (n, K) probabilities.
    weights
        (n,) row weights, or None.
    place
        (K, n) position of each pair in the order of the scores.
    kept
        The positions that a problem holds.
    ends
        Between which scores they are.
    """

    probs: Floats
    weights: Floats | None
    place: Positions
    kept: slice
    ends: tuple[float, float] = (0.0, 1.0)

    def drawn(self, draws: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return (draws, pairs) outcomes, of one label a row that is drawn from its probabilities."""
        labels = draw_labels(self.probs, draws, rng)
        outcome = np.zeros((draws, self.place.size), np.bool_)
        columns = np.arange(len(labels))
        for own, label in zip(outcome, labels.T, strict=True):
            own[self.place[label, columns]] = True
        return outcome[:, self.kept]

    def within(self, kept: slice, low: float, high: float) -> PooledRows:
        """Return the rows of a part of the pairs."""
        start = self.kept.start
        return replace(self, kept=slice(start + kept.start, start + kept.stop), ends=(low, high))

    def resampled(self, rng: np.random.Generator) -> Problem:
        """Return the pairs of rows that are drawn with replacement, their labels from their predictions."""
        rows = rng.integers(0, len(self.probs), len(self.probs))
        probs = self.probs[rows]
        weights = None if self.weights is None else self.weights[rows]
        whole = marginal_problem(probs, draw_labels(probs, 1, rng)[:, 0], weights)
        return whole if self.ends == (0.0, 1.0) else whole.within(*self.ends)


def marginal_problem(probs: Floats, labels: Array, weights: Floats | None = None) -> Problem:
    """Return the problem of all pairs of a probability, in a row of weight, and whether that is the class.

    Parameters
    ----------
    probs
        (n, K) probabilities.
    labels
        (n,) integers in 0..K-1.
    weights
        (n,) row weights, or None.
    """
    if weights is not None and not weights.all():
        counted = weights > 0
        probs, labels, weights = probs[counted], labels[counted], weights[counted]
    n, k = probs.shape
    scores = probs.T.ravel()
    outcome = np.equal.outer(np.arange(k), labels).ravel()
    place = np.empty(scores.size, np.intp)
    place[np.argsort(scores, kind="stable")] = np.arange(scores.size)
    problem = ordered_problem(scores, outcome, None if weights is None else np.tile(weights, k))
    return replace(problem, rows=PooledRows(probs, weights, place.reshape(k, n), slice(0, scores.size)))
