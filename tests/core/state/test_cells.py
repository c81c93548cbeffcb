"""Cells of scores add up in any order, and say what the rows say."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from scipy import stats

from calcli.core.data.binning import equal_width_bins
from calcli.core.problems.problem import ordered_problem
from calcli.core.state.cells import ScoreCells, cell_of


def drawn(n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.beta(0.4, 0.7, n)
    prob[:50] = np.arange(50) / 49 * (1 - 1e-9)
    prob[50:60] = 0.5
    prob = np.where(rng.random(n) < 0.2, np.round(prob, 2), prob).astype(dtype)
    return prob, 1 - prob, rng.random(n) < prob**1.1, rng.gamma(2, size=n)


def cells_of(prob, other, outcome, weights=None):
    found = ScoreCells.empty(weights is not None)
    for later in found.add(prob, outcome, weights, other):
        later()
    return found


def test_scores_of_a_cell_are_as_near_to_each_other_as_it_says():
    near = np.geomspace(1e-15, 0.5, 100_001)
    cell = cell_of(near)
    assert (np.diff(cell) <= 0).all()
    assert cell[-1] == 0
    for k in np.unique(cell)[::97]:
        own = near[cell == k]
        assert own.max() / own.min() <= 1 + 1 / 2048
    assert len(np.unique(cell_of(np.array([0, 1e-300, 1e-30, 5e-20])))) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_say_what_the_rows_say(dtype, weighted):
    prob, other, outcome, weights = drawn(40_000, dtype)
    weights = weights if weighted else None
    cells = cells_of(prob, other, outcome, weights)
    confidence, hit = np.maximum(prob, other), np.where(prob > other, outcome, ~outcome)
    for found, score, event in (
        (cells.problem(), prob, outcome),
        (cells.of_other_class(), other, ~outcome),
        (cells.of_confidence(), confidence, hit),
    ):
        rows = ordered_problem(score, event, weights)
        assert found.n_rows == rows.n_rows
        assert found.total_weight == pytest.approx(rows.total_weight)
        assert (np.diff(found.score) >= 0).all()
        for bins in (2, 15, 100):
            own, true = found.bins("equal-width", bins), equal_width_bins(score, event, weights, bins)
            for sums, expected in zip(astuple(own), astuple(true), strict=True):
                assert sums == pytest.approx(expected, rel=1e-6 if dtype == np.float32 else 1e-11, abs=1e-6)
        assert found.gap_extremes == pytest.approx(rows.gap_extremes, abs=2 / 40_000)
        whole = np.ones(len(found.score)) if found.weights is None else found.weights
        assert whole @ found.score == pytest.approx(
            np.sum(score * (1 if weights is None else weights), dtype=np.float64), rel=1e-7
        )


def test_the_area_is_that_of_the_ranks():
    prob, other, outcome, _ = drawn(40_000)
    problem = cells_of(prob, other, outcome).problem()
    ranks = stats.rankdata(prob)[outcome].sum() - outcome.sum() * (outcome.sum() + 1) / 2
    area = ranks / outcome.sum() / (~outcome).sum()
    below = np.cumsum(problem.weights * ~problem.outcome)
    tied = np.searchsorted(problem.score, problem.score, side="left")
    before = np.append(0, below)[tied]
    after = np.append(0, below)[np.searchsorted(problem.score, problem.score, side="right")]
    found = (problem.weights * problem.outcome) @ (before + after) / 2 / outcome.sum() / (~outcome).sum()
    assert found == pytest.approx(area, abs=1e-6)


def test_parts_add_up_in_any_order_and_are_stored():
    prob, other, outcome, weights = drawn(20_000)
    whole = cells_of(prob, other, outcome, weights)
    parts = [np.arange(k, 20_000, 3) for k in (2, 0, 1)]
    added = ScoreCells.empty(weighted=True)
    for rows in parts:
        part = cells_of(prob[rows], other[rows], outcome[rows], weights[rows])
        added.merge(ScoreCells.of_arrays(part.arrays()))
    assert np.array_equal(added.count, whole.count)
    for name in ("weight", "squares", "near", "bins", "bin_weight", "bin_score"):
        np.testing.assert_allclose(getattr(added, name), getattr(whole, name), rtol=1e-11)


@pytest.mark.parametrize("most", [1_000, 10**6])
def test_spaced_rows_are_spread_over_the_scores_of_each_class(most):
    prob, other, outcome, _ = drawn(30_000)
    scores, labels = cells_of(prob, other, outcome).spaced(most)
    assert len(labels) == min(most, 30_000)
    assert scores.sum(axis=1) == pytest.approx(1)
    assert labels.mean() == pytest.approx(outcome.mean(), abs=1e-3)
    for label, own in enumerate((~outcome, outcome)):
        assert (
            stats.wasserstein_distance(scores[labels == label, 1], prob[own]) < 1 / min(most, 30_000) + 1e-5
        )
