"""Scores from the confusion matrix of predicted classes: agreement beyond chance, correlation, mean recall.

All are functions of its margins, its diagonal and the mean cost of its cells, which are means over rows,
and sums give their influences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.blocks import Block, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.scoring import Means, ratio
from calcli.core.evaluating.metrics.scores import Score, Scored
from calcli.core.language.entries import arg, metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure
from calcli.core.language.settings import Settings

MOST = 200_000_000  # largest number of rows times classes
ROUNDING = 1e-14  # tolerance of shares
POWERS = {"none": 0, "linear": 1, "quadratic": 2}  # of the distance between classes, as a disagreement


class OfConfusion(Scored):
    """A function of the margins of the confusion matrix, and of the mean cost of its cells."""

    @abstractmethod
    def value(self, labels: Doubles, predicted: Doubles, cost: Doubles, costs: Doubles) -> Doubles:
        """Return it.

        Parameters
        ----------
        labels, predicted
            (..., K) shares of the weight of rows, of each class and of each predicted class.
        cost
            (...) mean cost of the cells.
        costs
            (K, K) weights.
        """

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it.

        Raises
        ------
        UsageError
            If there are too many classes and rows.
        """
        weights = getattr(self, "weights", "none")
        cost, power = f"disagreement:{weights}", POWERS[weights]
        places = np.arange(predictions.n_classes)
        costs = _cost(places[:, None], places, power)
        (predicted,) = _by_class(self, predictions, predicted=_is_predicted)

        def of_means(means: Means) -> Doubles:
            return self.value(means.priors, _stacked(means, predicted), np.asarray(means[cost]), costs)

        return Score(
            {cost: partial(_disagreement, power=power)} | predicted,
            of_means,
            lambda means: 0 * means.priors[..., 0],
            ends=(0.0, float(costs.max())),
            scale=lambda means: ((means.priors @ costs) * means.priors).sum(-1),
            loss=itemgetter(cost),
        )


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

    def value(self, labels: Doubles, predicted: Doubles, cost: Doubles, costs: Doubles) -> Doubles:
        """Return 1 - disagreement, relative to independent predictions with the same shares."""
        return 1 - ratio(cost, ((labels @ costs) * predicted).sum(-1))


@metric(
    "mean_difference", "Predicted - label", direction="zero", range="-inf to inf", unit="grades",
    needs_probabilities=False, needs_classes="compares predicted classes with the labels",
)  # fmt: skip
class MeanDifference(Scored):
    """mean of predicted class minus label, by their numbers or their order: above 0, a judge is lenient

    Formula: mean of predicted - label
    Misses: differences of opposite sign cancel; kappa:weights=quadratic adds them up
    """

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        grades = np.arange(float(predictions.n_classes))
        if all(name.isdigit() for name in predictions.classes):
            grades = np.array(predictions.classes).astype(np.float64)
        span = float(np.ptp(grades))

        def difference(block: Block) -> Array:
            return np.asarray(grades[_predicted(block)] - grades[block.labels.astype(np.intp)])

        return Score({str(self): difference}, itemgetter(str(self)), ends=(-span, span))


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

    def value(self, labels: Doubles, predicted: Doubles, cost: Doubles, costs: Doubles) -> Doubles:
        """Return it."""
        covariance = 1 - cost - (labels * predicted).sum(-1)
        spread = (1 - (labels**2).sum(-1)) * (1 - (predicted**2).sum(-1))
        return ratio(covariance, np.sqrt(np.where(spread > ROUNDING, spread, 0)))


@metric(
    "balanced_accuracy", "Balanced accuracy", direction="higher", needs_probabilities=False,
    needs_classes="looks at the rows of each class",
)  # fmt: skip
class BalancedAccuracy(Scored):
    """mean over the classes of the share of their rows that is predicted as them

    Formula: mean over k of n_kk / n_k.
    Source: Brodersen et al. 2010
    Misses: how often each class occurs; accuracy sees that
    """

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return the mean over the classes that occur.

        Raises
        ------
        UsageError
            If there are too many classes and rows.
        """
        hits, labels = _by_class(self, predictions, hit=_is_hit, label=_is_label)

        def of_means(means: Means) -> Doubles:
            of_labels = _stacked(means, labels)
            there = of_labels > ROUNDING
            recall = np.divide(_stacked(means, hits), of_labels, out=np.zeros(there.shape), where=there)
            return ratio(recall.sum(-1), there.sum(-1).astype(np.float64))

        shares = tuple((itemgetter(hit), itemgetter(label)) for hit, label in zip(hits, labels, strict=True))
        return Score(hits | labels, of_means, lambda means: 1 / (means.priors > 0).sum(-1), shares=shares)


def _by_class(
    metric: Measure, predictions: Predictions, **statistics: Callable[..., Array]
) -> list[dict[str, RowStatistic]]:
    """Return row statistics of each class, by name; raise a UsageError where they are too many."""
    rows, k = predictions.scores.shape
    if rows * k > MOST:
        raise UsageError(
            f"{metric} counts {k:,} classes in {rows:,} rows, which is too much; ask for accuracy"
        )
    return [{f"{name}:{c}": partial(of, c=c) for c in range(k)} for name, of in statistics.items()]


def _stacked(means: Means, names: Iterable[str]) -> Any:
    return np.stack([means[name] for name in names], -1)


def _cost(label: Array, predicted: Array, power: int) -> Doubles:
    return np.where(label == predicted, 0.0, np.abs(label - predicted) ** float(power))


def _predicted(block: Block) -> Array:
    return block.kept("predicted", lambda rows: rows.predicted)


def _disagreement(block: Block, power: int) -> Array:
    return _cost(block.labels.astype(np.intp), _predicted(block), power)


def _is_hit(block: Block, c: int) -> Array:
    return np.asarray(block.hit & (block.labels == c))


def _is_label(block: Block, c: int) -> Array:
    return np.asarray(block.labels == c)


def _is_predicted(block: Block, c: int) -> Array:
    return np.asarray(_predicted(block) == c)
