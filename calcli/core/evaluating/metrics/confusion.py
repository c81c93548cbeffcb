"""Scores of the confusion matrix of predicted classes: agreement beyond chance, correlation, mean recall.

They all are functions of its margins, its diagonal and the mean cost of its cells, which are means over rows:
they have one influence, from the sums.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.blocks import Block, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.scoring import Means, ratio
from calcli.core.evaluating.metrics.scores import Score, Scored
from calcli.core.language.entries import arg, metric
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

MOST = 200_000_000  # rows times classes that are counted
ROUNDING = 1e-14  # of shares: what is less is nothing
POWERS = {"none": 0, "linear": 1, "quadratic": 2}  # of the distance of classes, by which they disagree


@dataclass(frozen=True)
class Confusion:
    """Shares of the weight of rows in a confusion matrix.

    Attributes
    ----------
    labels, predicted
        (..., K) of each class, and of each predicted class.
    hits
        (..., K) of each class where it is predicted.
    cost
        (...) mean cost of the cells.
    power
        Of the distance of two classes, which is the cost where they are not the same.
    """

    labels: Doubles
    predicted: Doubles
    hits: Doubles
    cost: Doubles
    power: int


@dataclass(frozen=True, kw_only=True)
class OfConfusion(Scored):
    """A function of the confusion matrix."""

    @property
    def disagreement(self) -> str:
        """What a disagreement costs, by the distance of the classes."""
        return "none"

    @abstractmethod
    def value(self, of: Confusion) -> Doubles:
        """Return it."""

    def constant(self, priors: Doubles) -> Doubles:
        """Return the value for the same answer in every row."""
        return 0 * priors[..., 0]

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it.

        Raises
        ------
        UsageError
            If there are too many classes and rows.
        """
        rows, k = predictions.scores.shape
        if rows * k > MOST:
            raise UsageError(
                f"{self} counts {k:,} classes in {rows:,} rows, which is too much; ask for accuracy"
            )
        power = POWERS[self.disagreement]
        hits, predicted, cost = (
            [f"hit:{c}" for c in range(k)],
            [f"predicted:{c}" for c in range(k)],
            f"disagreement:{self.disagreement}",
        )
        statistics: dict[str, RowStatistic] = {cost: partial(_disagreement, power=power)}
        statistics |= {name: partial(_is_hit, c=c) for c, name in enumerate(hits)}
        statistics |= {name: partial(_is_predicted, c=c) for c, name in enumerate(predicted)}

        def of_means(means: Means) -> Doubles:
            def stacked(names: list[str]) -> Any:
                return np.stack([means[name] for name in names], -1)

            return self.value(Confusion(means.priors, stacked(predicted), stacked(hits), means[cost], power))

        return Score(statistics, of_means, lambda means: self.constant(means.priors))


@metric(
    "kappa", "Cohen's kappa", direction="higher", range="-1 to 1", unit="ratio", needs_probabilities=False,
    needs_classes="compares predicted classes with the labels",
)  # fmt: skip
class Kappa(OfConfusion):
    """agreement of predicted class and label beyond chance agreement; 0 is chance

    Formula: 1 - sum_ij w_ij n_ij / sum_ij w_ij n_i. n_.j / n, w_ij = [i != j], |i - j| or (i - j)^2
    Source: Cohen 1960; Cohen 1968 (weights)
    Misses: it falls with rare classes, however good the agreement; see balanced_accuracy
    """

    weights: Literal["none", "linear", "quadratic"] = arg(
        "what a disagreement costs by the distance of the classes, if they have an order",
        default="none",
        own=True,
    )

    @property
    def disagreement(self) -> str:
        """What a disagreement costs, by the distance of the classes."""
        return self.weights

    def value(self, of: Confusion) -> Doubles:
        """Return 1 - disagreement over the disagreement of independent predictions with the same shares."""
        places = np.arange(of.labels.shape[-1])
        costs = _cost(places[:, None], places, of.power)
        return 1 - ratio(of.cost, ((of.labels @ costs) * of.predicted).sum(-1))


@metric(
    "mcc", "MCC", abbreviation_of="Matthews correlation coefficient", direction="higher", range="-1 to 1",
    unit="ratio", needs_probabilities=False, needs_classes="compares predicted classes with the labels",
)  # fmt: skip
class MatthewsCorrelation(OfConfusion):
    """correlation of predicted class and label; 0 is chance

    Formula: (sum_k n_kk / n - sum_k t_k p_k) / sqrt((1 - sum_k t_k^2) (1 - sum_k p_k^2))
    Source: Matthews 1975; Gorodkin 2004 (several classes)
    Misses: not defined if one class alone is predicted, or occurs
    """

    def value(self, of: Confusion) -> Doubles:
        """Return it."""
        covariance = of.hits.sum(-1) - (of.labels * of.predicted).sum(-1)
        spread = (1 - (of.labels**2).sum(-1)) * (1 - (of.predicted**2).sum(-1))
        return ratio(covariance, np.sqrt(np.where(spread > ROUNDING, spread, 0)))


@metric(
    "balanced_accuracy", "Balanced accuracy", direction="higher", needs_probabilities=False,
    needs_classes="looks at the rows of each class",
)  # fmt: skip
class BalancedAccuracy(OfConfusion):
    """mean over the classes of the share of their rows that is predicted as them

    Formula: mean over k of n_kk / n_k.
    Source: Brodersen et al. 2010
    Misses: how often each class occurs; accuracy sees that
    """

    def value(self, of: Confusion) -> Doubles:
        """Return the mean over the classes that occur."""
        there = of.labels > ROUNDING
        recall = np.divide(of.hits, of.labels, out=np.zeros(of.labels.shape), where=there)
        return ratio(recall.sum(-1), there.sum(-1).astype(np.float64))

    def constant(self, priors: Doubles) -> Doubles:
        """Return the value for the same answer in every row."""
        return 1 / (priors > 0).sum(-1)


def _cost(label: Array, predicted: Array, power: int) -> Doubles:
    return np.where(label == predicted, 0.0, np.abs(label - predicted) ** float(power))


def _predicted(block: Block) -> Array:
    return block.kept("predicted", lambda one: one.predicted)


def _disagreement(block: Block, power: int) -> Array:
    return _cost(block.labels.astype(np.intp), _predicted(block), power)


def _is_hit(block: Block, c: int) -> Array:
    return np.asarray(block.hit & (block.labels == c))


def _is_predicted(block: Block, c: int) -> Array:
    return np.asarray(_predicted(block) == c)
