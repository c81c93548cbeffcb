from __future__ import annotations

import numpy as np
import pytest

from calcli.core.estimators.mmce import MaximumMeanError
from calcli.core.problems.problem import ordered_problem


def naive(score, outcome, weights):
    gap = weights * (outcome - score)
    kernel = np.exp(-np.abs(score[:, None] - score) / 0.4)
    return np.sqrt(gap @ kernel @ gap) / weights.sum()


@pytest.mark.parametrize("digits", [1, 12])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_double_sum(digits, weighted):
    rng = np.random.default_rng(0)
    score = np.round(rng.random(200), digits)
    outcome = rng.random(200) < score**2
    weights = rng.exponential(size=200) if weighted else None
    problem = ordered_problem(score, outcome, weights)
    expected = naive(score, outcome, np.ones(200) if weights is None else weights)
    assert MaximumMeanError().value(problem) == pytest.approx(expected, rel=1e-12)


def test_the_null_is_that_of_drawn_outcomes():
    rng = np.random.default_rng(1)
    score = rng.random(300)
    problem = ordered_problem(score, rng.random(300) < score)
    null = MaximumMeanError().null(problem, 4000, rng)
    drawn = [naive(score, rng.random(300) < score, np.ones(300)) for _ in range(1000)]
    assert null.mean == pytest.approx(np.mean(drawn), rel=0.05)
    assert null.sd == pytest.approx(np.std(drawn), rel=0.1)
    off = ordered_problem(score, rng.random(300) < score**2)
    assert MaximumMeanError().null(off, 999, rng).p_value == pytest.approx(0.001)
