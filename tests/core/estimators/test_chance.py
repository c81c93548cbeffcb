"""What exceeds chance among many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from calcli.core.data.binning import Bins
from calcli.core.estimators.chance import beyond_chance, gap_p_values, slice_p_value
from calcli.core.estimators.intervals import Interval


def bins_of(rows: int, score: float, outcome: np.ndarray, weight: float = 1.0) -> Bins:
    ones = np.ones(len(outcome))
    total = rows * weight * ones
    return Bins((rows * ones).astype(int), total, total * score, outcome * weight)


@pytest.mark.parametrize("rows", [1, 3, 20, 1000])
@pytest.mark.parametrize("score", [0.001, 0.3, 0.5, 0.9])
def test_bounds_are_not_below_the_exact_p_values(rows, score):
    hits = np.arange(rows + 1)
    found = gap_p_values(bins_of(rows, score, hits))
    tail = np.where(hits > rows * score, binom.sf(hits - 1, rows, score), binom.cdf(hits, rows, score))
    exact = np.minimum(2 * tail, 1)
    assert np.all(found >= exact * (1 - 1e-9))
    if rows == 1000 and score >= 0.3:
        close = (exact < 0.01) & (exact > 1e-9)
        assert np.all(found[close] < 1.5 * exact[close])


def test_outcomes_of_different_probabilities_are_nearer_to_their_mean():
    rng = np.random.default_rng(0)
    score = rng.beta(0.5, 0.5, 60)
    outcome = (rng.random((20_000, 60)) < score).sum(1)
    p = gap_p_values(bins_of(60, score.mean(), outcome.astype(float)))
    for level in (0.3, 0.1, 0.02):
        assert np.mean(p <= level) <= level


def test_equal_weights_count_as_rows():
    hits = np.arange(11.0)
    weighted = gap_p_values(bins_of(10, 0.4, hits, weight=2.5), heaviest=2.5)
    np.testing.assert_allclose(weighted, gap_p_values(bins_of(10, 0.4, hits)))


def test_calibrated_bins_are_rarely_beyond_chance():
    rng = np.random.default_rng(1)
    score = rng.random((400, 50))
    rows = rng.integers(0, 200, (400, 50))
    hits = rng.binomial(rows, score).astype(float)
    found = [
        beyond_chance(Bins(n, n.astype(float), n * s, h)).any()
        for n, s, h in zip(rows, score, hits, strict=True)
    ]
    assert np.mean(found) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)
    assert beyond_chance(bins_of(200, 0.5, np.array([40.0, 100.0]))).tolist() == [True, False]


def test_a_slice_is_compared_by_the_larger_of_two_errors():
    z = norm.ppf(0.975)
    whole = Interval(1 - 0.1 * z, 1 + 0.1 * z, 0.95)
    own = Interval(1.5 - 0.3 * z, 1.5 + 0.1 * z, 0.95)
    assert slice_p_value(1.5, own, 1.0, whole, 0.25) == pytest.approx(2 * norm.sf(0.5 / 0.3))
    assert slice_p_value(1.5, own, 1.0, whole, 0.04) == pytest.approx(2 * norm.sf(0.5 / 0.5))
    assert math.isnan(slice_p_value(1.5, None, 1.0, whole, 0.25))
    assert math.isnan(slice_p_value(math.inf, own, 1.0, whole, 0.25))


def test_random_slices_are_rarely_apart():
    rng = np.random.default_rng(2)
    apart = 0
    for _ in range(300):
        score = rng.beta(0.4, 0.4, 2000).clip(1e-6, 1 - 1e-6)
        loss = -np.log(np.where(rng.random(2000) < score, score, 1 - score))
        part = loss[:200]
        means = [sample[rng.integers(0, len(sample), (100, len(sample)))].mean(1) for sample in (loss, part)]
        whole, own = (Interval(*np.quantile(draws, [0.025, 0.975]), 0.95) for draws in means)
        apart += slice_p_value(part.mean(), own, loss.mean(), whole, 0.1) <= 0.05
    assert apart / 300 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)
