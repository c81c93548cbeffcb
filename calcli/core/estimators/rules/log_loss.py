"""The log-loss: -ln of the label's probability (Good 1952)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.blocks import Block
from calcli.core.estimators.rules.base import Decomposable
from calcli.core.estimators.scores import Proper


class LogLoss(Decomposable):
    """In nats; infinite where a label has probability 0. Its divergence is that of Kullback and Leibler."""

    outcomes = 1
    additive = False

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return -block.log_prob

    def greatest(self, clip: float) -> float:
        """Return the loss of a label whose probability is raised to `clip`."""
        return -np.log(clip) if clip else np.inf

    def losses(self, log_probs: Floats, labels: NDArray[np.integer[Any]]) -> Doubles:
        """Return the (N,) losses of (N, K) log-probabilities."""
        return -log_probs[np.arange(len(labels)), labels].astype(np.float64, copy=False)

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected losses, the cross-entropies."""
        weights = np.exp(posteriors)
        products = np.multiply(weights, log_probs, out=np.zeros_like(weights), where=weights > 0)
        return -products.sum(axis=1)

    def constant(self, priors: Doubles) -> Doubles:
        """Return the entropy of the class frequencies."""
        logs = np.log(priors, out=np.zeros_like(priors), where=priors > 0)
        return 0 - (priors * logs).sum(-1)  # one class only has 0, not -0

    def binned(self, share: Doubles, mean_prob: Doubles, frequency: Doubles) -> tuple[Any, Any]:
        """Return the sums of c ln(c / z) and -c ln c (van de Waterlaat 2021, section 4.3.2).

        Their class terms are not divergences and may be negative.
        """
        own, seen = share * frequency, frequency > 0  # 0 ln 0 = 0
        with np.errstate(divide="ignore"):
            seen_log, mean_log = (
                np.log(values, out=np.zeros_like(own), where=seen) for values in (frequency, mean_prob)
            )
        return np.vecdot(own, seen_log - mean_log), -np.vecdot(own, seen_log)

    def refined(self, frequency: Doubles, own: Doubles) -> Doubles:
        """Return (n,) losses of rows whose mean is the refinement loss."""
        with np.errstate(divide="ignore"):  # a row without weight may be the only one of its class
            return frequency.sum(axis=0) - 1 - np.log(own)

    def curvature(self, frequency: Doubles) -> Doubles:
        """Return half of one where there is a frequency."""
        return np.where(frequency > 0, 0.5, 0.0)

    def of_frequencies(self, hits: Doubles, weight: Doubles) -> float:
        """Return the mean binary log-loss of answering with each block's frequency."""
        losses = [
            -np.multiply(count, np.log(count / weight, where=count > 0, out=np.zeros_like(count)))
            for count in (hits, weight - hits)
        ]
        return float((losses[0] + losses[1]).sum() / weight.sum())

    def class_term(self, losses: Array, prob: Array, outcome: Array) -> Array:
        """Return the (n,) losses of the rows of the class, 0 elsewhere."""
        return np.where(outcome, losses, 0)

    def binary(self, prob: Array, outcome: Array) -> Array:
        """Return (n,) losses of the probabilities of one of two outcomes."""
        with np.errstate(divide="ignore"):
            return -np.log(np.where(outcome, prob, 1 - prob))


RULE = LogLoss()
log_loss, normalized_log_loss = Proper("log_loss"), Proper("log_loss", normalized=True)
