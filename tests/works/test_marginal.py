"""The marginal lens, against pooling by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calcli.core.language.errors import UsageError
from calcli.works.marginal import marginal_errors


def ece(score, outcome, weight, bins):
    index = np.minimum((score * bins).astype(int), bins - 1)
    return np.abs(np.bincount(index, weight * (outcome - score), bins)).sum() / weight.sum()


def ks(score, outcome, weight, _):
    order = np.argsort(score)
    gap = np.cumsum((weight * (outcome - score))[order]) / weight.sum()
    return np.abs(gap[np.append(np.diff(score[order]) > 0, True)]).max()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("metric", "by_hand"), [("ece:bins=10", ece), ("ks", ks)])
def test_it_pools_the_probabilities_of_all_classes(predict, metric, by_hand, weighted):
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(4), 150), rng.integers(0, 4, 150)
    weights = rng.integers(0, 3, 150) if weighted else None
    every = np.ones(150) if weights is None else weights
    pooled = probs.ravel(), np.eye(4)[labels].ravel(), np.repeat(every, 4)
    found, null = marginal_errors(predict(probs, labels, weights=weights), [metric], draws=0)[metric]
    assert found == pytest.approx(by_hand(*pooled, 10))
    assert null is None


def test_labels_of_a_row_are_drawn_together(predict):
    """p-values of calibrated rows are uniform; of pairs drawn one by one they would not be."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        probs = rng.dirichlet(np.full(3, 0.3), 60)
        labels = (probs.cumsum(1) > rng.random((60, 1))).argmax(1)
        _, null = marginal_errors(predict(probs, labels), ["ks"], draws=49, seed=seed)["ks"]
        found.append(null.p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.01


def test_errors_of_vectors_are_refused(predict):
    rows = predict(np.full((30, 3), 1 / 3), np.arange(30) % 3)
    with pytest.raises(UsageError, match="leave out the lens"):
        marginal_errors(rows, ["skce:lens=canonical"])
