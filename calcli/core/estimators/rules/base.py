"""What a proper scoring rule is: losses of rows, seen and expected, and that of the best constant system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.blocks import Block, RowStatistic


class ScoringRule(ABC):
    """A loss of a whole posterior and a label whose mean is least for the true posteriors.

    Attributes
    ----------
    most
        The greatest loss of a row; inf if there is none.
    """

    most: float = np.inf

    @property
    def of_answers(self) -> ScoringRule:
        """The same rule for answers, right or wrong, as a loss of their confidence alone."""
        return self

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        with np.errstate(divide="ignore"):
            return self.losses(np.log(block.probs.T), block.labels)

    def greatest(self, clip: float) -> float:
        """Return the loss that a label of so small a probability counts at most; inf where it is bounded."""
        return np.inf

    def statistic(self, clip: float) -> RowStatistic:
        """Return what computes the losses from blocks, clipped if `clip` is not 0."""
        greatest = self.greatest(clip)
        if greatest == np.inf:
            return self.of_block
        return lambda block: np.minimum(self.of_block(block), greatest)

    @abstractmethod
    def losses(self, log_probs: Floats, labels: NDArray[np.integer[Any]]) -> Doubles:
        """Return the (N,) losses of (N, K) log-probabilities."""

    @abstractmethod
    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) losses expected of (N, K) log-probabilities under log-posteriors of the label.

        They are the entropy of the posterior, where both are the same, plus the divergence between the two.
        """

    @abstractmethod
    def constant(self, priors: Doubles) -> Doubles:
        """Return the (...) loss of the best constant system, given (..., K) class frequencies."""


class Decomposable(ScoringRule):
    """A rule that is taken apart class by class, or as one of two outcomes.

    Attributes
    ----------
    outcomes
        How many times the loss of one of two outcomes is that of both.
    additive
        Whether it is a sum over any number of classes.
    """

    outcomes: int
    additive: bool

    @abstractmethod
    def binned(self, share: Doubles, mean_prob: Doubles, frequency: Doubles) -> tuple[Any, Any]:
        """Return (...) calibration and refinement losses over (..., m) bins of a class or of several."""

    @abstractmethod
    def refined(self, frequency: Doubles, own: Doubles) -> Doubles:
        """Return (n,) losses of rows whose mean is the refinement loss, to first order also in resamples.

        Parameters
        ----------
        frequency
            (K, n) frequency of each class in the bin of its probability.
        own
            (n,) that of the label.
        """

    @abstractmethod
    def curvature(self, frequency: Doubles) -> Doubles:
        """Return what the variance of a frequency, over 1 - frequency, takes off the refinement loss."""

    @abstractmethod
    def of_frequencies(self, hits: Doubles, weight: Doubles) -> float:
        """Return the mean binary loss of answering with each block's frequency of hits."""

    @abstractmethod
    def class_term(self, losses: Array, prob: Array, outcome: Array) -> Array:
        """Return the (n,) terms of one class in the losses of rows, of which these are their sums.

        Parameters
        ----------
        losses
            (n,) losses of the rows.
        prob, outcome
            (n,) probability of the class, and whether it is the label.
        """

    @abstractmethod
    def binary(self, prob: Array, outcome: Array) -> Array:
        """Return (n,) losses of the probabilities of one of two outcomes."""
