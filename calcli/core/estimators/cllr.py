"""The cost of log-likelihood ratios of two classes, in bits (Bruemmer & du Preez 2006).

A likelihood ratio is posterior odds over prior odds; both classes count alike, however often they occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.blocks import Block, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.estimators.scoring import Means, ratio
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.problems.pav import pav


@dataclass(frozen=True)
class Cllr:
    """The cost of ratios, under prior odds.

    Attributes
    ----------
    prior_odds
        Of the second class.
    of_labels
        Those of the labels, which the prior odds depend on; None where those of the training are known.
    """

    prior_odds: float
    of_labels: float | None

    @property
    def statistics(self) -> dict[str, RowStatistic]:
        """Costs of the rows of each class, 0 in those of the other, and their slopes, by name.

        The name says which odds they are under: states of parts with others have no sums in common.
        """
        under = f"under prior odds of {self.prior_odds:.9g}"
        return {
            f"cost of ratios of class 0 {under}": partial(self._costs, 0),
            f"cost of ratios of class 1 {under}": partial(self._costs, 1),
            f"slope of cost of class 0 {under}": partial(self._slopes, 0),
            f"slope of cost of class 1 {under}": partial(self._slopes, 1),
        }

    def _costs(self, k: int, block: Block) -> Array:
        bits = np.logaddexp(0, self._against(k, block)) / np.log(2)
        return np.where(block.labels == k, bits, 0)

    def _slopes(self, k: int, block: Block) -> Array:
        """Return by how much costs grow with the logarithm of the prior odds."""
        slope = (1 if k else -1) / np.log(2) * np.exp(-np.logaddexp(0, -self._against(k, block)))
        return np.where(block.labels == k, slope, 0)

    def _against(self, k: int, block: Block) -> Doubles:
        """Return the log-likelihood ratios of the other class."""
        log_ratio = block.log_odds.astype(np.float64, copy=False) - np.log(self.prior_odds)
        return log_ratio if k == 0 else -log_ratio

    def value(self, means: Means) -> Doubles:
        """Return the mean over the classes of the mean costs of their rows.

        Without some rows the prior odds are others too, if these rows are all that is known of them.
        """
        odds = ratio(means.priors[..., 1], means.priors[..., 0])
        usual = odds if self.of_labels is None else self.of_labels
        away = np.log(odds / usual, out=np.full(np.shape(odds), np.nan), where=odds > 0)
        first, second, *slopes = (
            ratio(means[name], means.priors[..., n % 2]) for n, name in enumerate(self.statistics)
        )
        return np.asarray((first + second + away * (slopes[0] + slopes[1])) / 2)


def find_cllr(name: str, predictions: Predictions, settings: Settings) -> Cllr:
    """Return the cost of ratios under the odds of the labels, those that posteriors were moved to included.

    Raises
    ------
    UsageError
        If there are not two classes that both occur, or it is not clear which prior odds the posteriors have.
    """
    if predictions.n_classes != 2:
        raise UsageError(
            f"{name} is for two classes, and there are {predictions.n_classes}; see --against-rest"
        )
    shift = settings.shift_to_priors
    if settings.priors is not None and shift is None:
        raise UsageError(
            f"{name} does not depend on class frequencies; leave out --priors, or move the probabilities "
            "there with --shift-to-priors"
        )
    first, second = np.bincount(predictions.labels, predictions.weights, 2).tolist()
    if not first or not second:
        raise UsageError(f"{name} needs rows of both classes")
    own = second / first
    if shift is None:
        return Cllr(own, own)
    (first, second), known = shift.of(predictions.classes).tolist(), settings.trained_at is not None
    return Cllr(second / first, None if known else own)


def min_cllr(log_odds: Floats, labels: Array, weights: Floats | None) -> float:
    """Return the least cost that any increasing map of the log-odds, (N,), has on these rows."""
    weights = np.ones(len(labels)) if weights is None else weights.astype(np.float64, copy=False)
    counted = weights > 0
    log_odds, labels, weights = log_odds[counted], labels[counted], weights[counted]
    balanced = weights / np.bincount(labels, weights, 2)[labels]
    blocks = pav(log_odds, labels == 1, balanced)
    return decomposable_rule("log_loss").of_frequencies(blocks.hits, blocks.weight) / float(np.log(2))
