"""The Brier score: the squared distance to the label's indicator, summed over the classes (Brier 1950)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.blocks import Block
from calcli.core.estimators.rules.base import Decomposable
from calcli.core.estimators.scores import Proper


class Brier(Decomposable):
    """In [0, 2]. Its divergence is the squared Euclidean distance.

    Parameters
    ----------
    outcomes
        2, or 1 for answers, right or wrong: the squared error of their confidence, half of that of both
        outcomes, in [0, 1].
    """

    additive = True

    def __init__(self, outcomes: int = 2) -> None:
        self.outcomes = outcomes
        self.most, self._share = float(outcomes), outcomes / 2

    @property
    def of_answers(self) -> Brier:
        """The squared error of the confidence alone."""
        return Brier(outcomes=1)

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return self._share * block.brier

    def losses(self, log_probs: Floats, labels: NDArray[np.integer[Any]]) -> Doubles:
        """Return the (N,) losses of (N, K) log-probabilities."""
        probs = np.exp(log_probs, dtype=np.float64)
        own = np.exp(log_probs[np.arange(len(labels)), labels])
        return self._share * (np.vecdot(probs, probs) - 2 * own + 1)

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected losses."""
        weights, probs = np.exp(posteriors), np.exp(log_probs)
        return self._share * (np.vecdot(probs, probs) - 2 * np.vecdot(weights, probs) + 1)

    def constant(self, priors: Doubles) -> Doubles:
        """Return the score of the class frequencies."""
        return self._share * (1 - np.square(priors).sum(-1))

    def binned(self, share: Doubles, mean_prob: Doubles, frequency: Doubles) -> tuple[Any, Any]:
        """Return the mean squared distance of mean probability and frequency, and the score of frequencies.

        They are those of van de Waterlaat 2021, eq. 4.8 to 4.9 and appendix B.3.
        """
        share = self._share * share
        calibration = np.vecdot(share, np.square(mean_prob - frequency))
        return calibration, np.vecdot(share, frequency * (1 - frequency))

    def refined(self, frequency: Doubles, own: Doubles) -> Doubles:
        """Return (n,) losses of rows whose mean is the refinement loss."""
        return self._share * (np.square(frequency).sum(axis=0) - 2 * own + 1)

    def curvature(self, frequency: Doubles) -> Doubles:
        """Return the frequency itself, or half of it."""
        return self._share * frequency

    def of_frequencies(self, hits: Doubles, weight: Doubles) -> float:
        """Return the mean squared error of answering with each block's frequency, for one outcome."""
        return float((hits * (1 - hits / weight)).sum() / weight.sum())

    def class_term(self, losses: Array, prob: Array, outcome: Array) -> Array:
        """Return the (n,) squared errors of the class."""
        return self.binary(prob, outcome)

    def binary(self, prob: Array, outcome: Array) -> Array:
        """Return (n,) squared errors of the probabilities of one of two outcomes."""
        return np.square(prob - outcome)


RULE = Brier()
brier, normalized_brier = Proper("brier"), Proper("brier", normalized=True)
