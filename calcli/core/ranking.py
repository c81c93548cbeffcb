"""Ranking quality: the area under the ROC curve, with each row's share in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.binning import is_run_end
from calcli.core.predictions import Array, Floats


def auroc_shares(
    score: Floats, outcome: NDArray[np.bool_], weights: Floats | None = None
) -> NDArray[np.float64] | None:
    """Return pseudo-values whose mean is the area under the ROC curve.

    A row's share is the area plus its influence on it: how often it is ranked rightly against the rows of
    the other outcome (ties count one half), relative to the area and to its outcome's share of the weight
    (DeLong et al. 1988, placement values). Their resampled mean is the resampled area to first order.

    Parameters
    ----------
    score
        (n,) scores.
    outcome
        (n,) booleans.
    weights
        (n,) row weights, or None.

    Returns
    -------
    (n,) pseudo-values, or None where one of the outcomes does not occur.
    """
    order = np.argsort(score)
    weight = np.ones(len(score)) if weights is None else weights[order].astype(np.float64)
    hit = outcome[order]
    positive, negative = weight * hit, weight * ~hit
    total_positive, total_negative = positive.sum(), negative.sum()
    if total_positive == 0 or total_negative == 0:
        return None
    ends = np.flatnonzero(is_run_end(score[order])) + 1
    run = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    negative_below = _middle(negative, ends)[run] / total_negative
    positive_above = 1 - _middle(positive, ends)[run] / total_positive
    area = float((positive * negative_below).sum() / total_positive)
    total = weight.sum()
    shares = np.empty(len(score))
    shares[order] = area + np.where(
        hit,
        (negative_below - area) * (total / total_positive),
        (positive_above - area) * (total / total_negative),
    )
    return shares


def one_versus_rest_shares(
    probs: Floats, labels: Array, weights: Floats | None = None
) -> NDArray[np.float64] | None:
    """Return pseudo-values of the mean area over the classes that occur, one class against the rest.

    Parameters
    ----------
    probs
        (K, n) probabilities, class by class.
    labels
        (n,) integers.
    weights
        (n,) row weights, or None.

    Returns
    -------
    (n,) pseudo-values, or None where no class has both outcomes.
    """
    shares = [auroc_shares(column, labels == k, weights) for k, column in enumerate(probs)]
    defined = [share for share in shares if share is not None]
    return np.mean(defined, axis=0) if defined else None


def _middle(weight: NDArray[np.float64], ends: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for each run the weight before it plus half of its own."""
    below = np.cumsum(weight)[ends - 1]
    return (below + np.concatenate([[0.0], below[:-1]])) / 2
