"""Proper scoring rules: observed and expected losses of rows, and the loss of the best constant system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Labels
from calcli.core.data.blocks import Block, RowStatistic


class ScoringRule(ABC):
    """A loss of a posterior and a label, with the least mean at the true posteriors.

    Attributes
    ----------
    most
        The greatest loss of a row; inf if there is none.
    """

    most: float = np.inf

    @property
    def of_two(self) -> ScoringRule:
        """The same rule for two outcomes, as a loss of the probability of one outcome."""
        return self

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        with np.errstate(divide="ignore"):
            return self.losses(np.log(block.probs.T), block.labels)

    def greatest(self, clip: float) -> float:
        """Return the largest loss of a label with a clipped probability; inf if no clipping is needed."""
        return np.inf

    def statistic(self, clip: float) -> RowStatistic:
        """Return the function that computes the losses from blocks, clipped unless `clip` is 0."""
        greatest = self.greatest(clip)
        if greatest == np.inf:
            return self.of_block
        return lambda block: np.minimum(self.of_block(block), greatest)

    @abstractmethod
    def losses(self, log_probs: Floats, labels: Labels) -> Doubles:
        """Return the (N,) losses of (N, K) log-probabilities."""

    @abstractmethod
    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected losses of (N, K) log-probabilities under log-posteriors of the label.

        They are the entropy of the posterior plus the divergence between the two.
        """

    @abstractmethod
    def constant(self, priors: Doubles) -> Doubles:
        """Return the (...) loss of the best constant system, given (..., K) class frequencies."""


class Decomposable(ScoringRule):
    """A rule that decomposes by class, or as the loss of one of two outcomes.

    Attributes
    ----------
    outcomes
        Ratio of the loss of one of two outcomes to the loss of both.
    additive
        Whether it is a sum over any number of classes.
    """

    outcomes: int
    additive: bool

    @abstractmethod
    def binned(self, share: Doubles, mean_prob: Doubles, frequency: Doubles) -> tuple[Any, Any]:
        """Return (...) calibration and refinement losses over (..., m) bins of a class or of several."""

    @abstractmethod
    def refined(self, frequency: Doubles, of_label: Doubles) -> Doubles:
        """Return (n,) losses of rows with the refinement loss as mean, to first order also in resamples.

        Parameters
        ----------
        frequency
            (K, n) frequency of each class in the bin of its probability.
        of_label
            (n,) the probability of the label.
        """

    @abstractmethod
    def curvature(self, frequency: Doubles) -> Doubles:
        """Return how much the refinement loss falls per variance of a frequency, times 1 - frequency."""

    @abstractmethod
    def of_frequencies(self, hits: Doubles, weight: Doubles) -> float:
        """Return the mean binary loss of predicting each block's frequency of hits."""

    @abstractmethod
    def class_term(self, losses: Array, prob: Array, outcome: Array) -> Array:
        """Return the (n,) terms of one class in the losses of rows, which are sums over classes.

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


class LogLoss(Decomposable):
    """The log-loss: -ln of the label's probability, in nats; infinite where that is 0 (Good 1952).

    Its divergence is Kullback and Leibler's.
    """

    outcomes = 1
    additive = False

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return -block.log_prob

    def greatest(self, clip: float) -> float:
        """Return the loss of a label with its probability raised to `clip`."""
        return -np.log(clip) if clip else np.inf

    def losses(self, log_probs: Floats, labels: Labels) -> Doubles:
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
        share_of_class, seen = share * frequency, frequency > 0  # 0 ln 0 = 0
        with np.errstate(divide="ignore"):
            seen_log, mean_log = (
                np.log(values, out=np.zeros_like(share_of_class), where=seen)
                for values in (frequency, mean_prob)
            )
        return np.vecdot(share_of_class, seen_log - mean_log), -np.vecdot(share_of_class, seen_log)

    def refined(self, frequency: Doubles, of_label: Doubles) -> Doubles:
        """Return (n,) losses of rows with the refinement loss as mean."""
        with np.errstate(divide="ignore"):  # a row without weight may be the only one of its class
            return frequency.sum(axis=0) - 1 - np.log(of_label)

    def curvature(self, frequency: Doubles) -> Doubles:
        """Return half of one where there is a frequency."""
        return np.where(frequency > 0, 0.5, 0.0)

    def of_frequencies(self, hits: Doubles, weight: Doubles) -> float:
        """Return the mean binary log-loss of predicting each block's frequency."""
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


class Brier(Decomposable):
    """The Brier score: (p - y)^2 for two classes, in [0, 1]; beyond two the sum over the classes, in [0, 2].

    Brier 1950. Its divergence is the squared Euclidean distance.

    Parameters
    ----------
    outcomes
        Number of outcomes over which errors are summed: 2, or for two outcomes 1, the squared error of the
        probability of one outcome, in [0, 1].
    """

    additive = True

    def __init__(self, outcomes: int = 2) -> None:
        self.outcomes = outcomes
        self.most, self._share = float(outcomes), outcomes / 2

    @property
    def of_two(self) -> Brier:
        """The squared error of the probability of one of two outcomes."""
        return Brier(outcomes=1)

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return self._share * block.brier

    def losses(self, log_probs: Floats, labels: Labels) -> Doubles:
        """Return the (N,) losses of (N, K) log-probabilities."""
        probs = np.exp(log_probs, dtype=np.float64)
        of_label = np.exp(log_probs[np.arange(len(labels)), labels])
        return self._share * (np.vecdot(probs, probs) - 2 * of_label + 1)

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected losses."""
        weights, probs = np.exp(posteriors), np.exp(log_probs)
        return self._share * (np.vecdot(probs, probs) - 2 * np.vecdot(weights, probs) + 1)

    def constant(self, priors: Doubles) -> Doubles:
        """Return the score of the class frequencies."""
        return self._share * (1 - np.square(priors).sum(-1))

    def binned(self, share: Doubles, mean_prob: Doubles, frequency: Doubles) -> tuple[Any, Any]:
        """Return the mean squared distance of mean probability and frequency, and the score of frequencies.

        See van de Waterlaat 2021, eq. 4.8 to 4.9 and appendix B.3.
        """
        share = self._share * share
        calibration = np.vecdot(share, np.square(mean_prob - frequency))
        return calibration, np.vecdot(share, frequency * (1 - frequency))

    def refined(self, frequency: Doubles, of_label: Doubles) -> Doubles:
        """Return (n,) losses of rows with the refinement loss as mean."""
        return self._share * (np.square(frequency).sum(axis=0) - 2 * of_label + 1)

    def curvature(self, frequency: Doubles) -> Doubles:
        """Return the frequency itself, or half of it."""
        return self._share * frequency

    def of_frequencies(self, hits: Doubles, weight: Doubles) -> float:
        """Return the mean squared error of predicting each block's frequency, for one outcome."""
        return float((hits * (1 - hits / weight)).sum() / weight.sum())

    def class_term(self, losses: Array, prob: Array, outcome: Array) -> Array:
        """Return the (n,) squared errors of the class, halved for two classes."""
        return self._share * self.binary(prob, outcome)

    def binary(self, prob: Array, outcome: Array) -> Array:
        """Return (n,) squared errors of the probabilities of one of two outcomes."""
        return np.square(prob - outcome)


class RankedProbabilityScore(ScoringRule):
    """The mean Brier score of cumulative probabilities at the K - 1 places between classes, in [0, 1].

    The classes have the order of the file (Epstein 1969).
    """

    most = 1.0

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return _between(np.cumsum(block.probs, axis=0, dtype=np.float64).T, block.labels)

    def losses(self, log_probs: Floats, labels: Labels) -> Doubles:
        """Return the (N,) losses of (N, K) log-probabilities."""
        return _between(np.cumsum(np.exp(log_probs, dtype=np.float64), axis=1), labels)

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected losses: of the posterior itself, and the distance to it."""
        below, true = (np.cumsum(np.exp(table), axis=1)[:, :-1] for table in (log_probs, posteriors))
        return np.asarray((np.square(below - true) + true * (1 - true)).mean(axis=1))

    def constant(self, priors: Doubles) -> Doubles:
        """Return the score of the class frequencies."""
        below = np.cumsum(priors, axis=-1)[..., :-1]
        return np.asarray((below * (1 - below)).mean(axis=-1))


def _between(cumulative: Doubles, labels: Labels) -> Doubles:
    """Return the (n,) mean squared errors of (n, K) cumulative probabilities between the classes."""
    below = labels[:, None] <= np.arange(cumulative.shape[1] - 1)
    return np.asarray(np.square(cumulative[:, :-1] - below).mean(axis=1))


RULES: dict[str, ScoringRule] = {"log_loss": LogLoss(), "brier": Brier(), "rps": RankedProbabilityScore()}


def scoring_rule(name: str, n_classes: int) -> ScoringRule:
    """Return the rule of a proper score for a number of classes."""
    return RULES[name].of_two if n_classes == 2 else RULES[name]


def decomposable_rule(name: str, n_classes: int) -> Decomposable:
    """Return a rule that has parts."""
    rule = scoring_rule(name, n_classes)
    assert isinstance(rule, Decomposable)
    return rule
