"""The ranked probability score of classes in an order: Brier scores of the cumulative probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.blocks import Block
from calcli.core.estimators.rules.base import ScoringRule
from calcli.core.estimators.scores import Proper


class RankedProbabilityScore(ScoringRule):
    """In [0, 1], over the K - 1 places between classes, in the order of the file (Epstein 1969)."""

    most = 1.0

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return _between(np.cumsum(block.probs, axis=0, dtype=np.float64).T, block.labels)

    def losses(self, log_probs: Floats, labels: NDArray[np.integer[Any]]) -> Doubles:
        """Return the (N,) losses of (N, K) log-probabilities."""
        return _between(np.cumsum(np.exp(log_probs, dtype=np.float64), axis=1), labels)

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected losses: those of the posterior itself, and the distance to it."""
        below, true = (np.cumsum(np.exp(table), axis=1)[:, :-1] for table in (log_probs, posteriors))
        return np.asarray((np.square(below - true) + true * (1 - true)).mean(axis=1))

    def constant(self, priors: Doubles) -> Doubles:
        """Return the score of the class frequencies."""
        below = np.cumsum(priors, axis=-1)[..., :-1]
        return np.asarray((below * (1 - below)).mean(axis=-1))


def _between(cumulative: Doubles, labels: NDArray[np.integer[Any]]) -> Doubles:
    """Return the (n,) mean squared errors of (n, K) cumulative probabilities between the classes."""
    below = labels[:, None] <= np.arange(cumulative.shape[1] - 1)
    return np.asarray(np.square(cumulative[:, :-1] - below).mean(axis=1))


RULE = RankedProbabilityScore()
rps = Proper("rps")
