"""Scores of the confusion matrix of predicted classes: agreement beyond chance, correlation, mean recall.

All of them are functions of its margins, its diagonal and the mean cost of its cells, which are means over
rows: they have one influence, that of the sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.blocks import Block, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.scoring import Means, OfMeans, ratio
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression

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


def kappa_of(of: Confusion) -> Doubles:
    """1 - disagreement over that of independent predictions with the same shares (Cohen 1960, 1968)."""
    places = np.arange(of.labels.shape[-1])
    costs = _cost(places[:, None], places, of.power)
    return 1 - ratio(of.cost, ((of.labels @ costs) * of.predicted).sum(-1))


def mcc_of(of: Confusion) -> Doubles:
    """Correlation of labels and predicted classes (Matthews 1975; Gorodkin 2004)."""
    covariance = of.hits.sum(-1) - (of.labels * of.predicted).sum(-1)
    spread = (1 - (of.labels**2).sum(-1)) * (1 - (of.predicted**2).sum(-1))
    return ratio(covariance, np.sqrt(np.where(spread > ROUNDING, spread, 0)))


def balanced_accuracy_of(of: Confusion) -> Doubles:
    """Mean over the classes that occur of the share of their rows that is predicted as them."""
    there = of.labels > ROUNDING
    recall = np.divide(of.hits, of.labels, out=np.zeros(of.labels.shape), where=there)
    return ratio(recall.sum(-1), there.sum(-1).astype(np.float64))


def confusion(
    call: MetricExpression, predictions: Predictions, of: Callable[[Confusion], Doubles]
) -> tuple[dict[str, RowStatistic], OfMeans]:
    """Return the row statistics that make a confusion matrix, and a function of it as one of their means.

    Raises
    ------
    UsageError
        If there are too many classes and rows.
    """
    rows, k = predictions.scores.shape
    if rows * k > MOST:
        raise UsageError(f"{call} counts {k:,} classes in {rows:,} rows, which is too much; ask for accuracy")
    weights = str(call.arguments.get("weights", "none"))
    hits, predicted, cost = (
        [f"hit:{c}" for c in range(k)],
        [f"predicted:{c}" for c in range(k)],
        f"disagreement:{weights}",
    )
    statistics: dict[str, RowStatistic] = {cost: partial(_disagreement, power=POWERS[weights])}
    statistics |= {name: partial(_is_hit, c=c) for c, name in enumerate(hits)}
    statistics |= {name: partial(_is_predicted, c=c) for c, name in enumerate(predicted)}

    def of_means(means: Means) -> Doubles:
        def stacked(names: list[str]) -> Any:
            return np.stack([means[name] for name in names], -1)

        return of(Confusion(means.priors, stacked(predicted), stacked(hits), means[cost], POWERS[weights]))

    return statistics, of_means


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
