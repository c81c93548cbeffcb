import numpy as np
import pytest
from scipy.stats import binomtest

from calcli.core.confidence import confidence_shares, wilson_interval
from calcli.core.lenses import ordered_problem
from calcli.core.rows import Bins


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("hits", "rows"), [(0, 1), (1, 1), (0, 30), (3, 10), (199, 200), (50, 50)])
def test_wilson_interval_against_scipy(hits, rows, level):
    expected = binomtest(hits, rows).proportion_ci(level, method="wilson")
    low, high = wilson_interval(np.array([hits / rows]), np.array([rows]), level)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_shares_of_bins():
    # 10 rows 0.9 against 0.5, 30 rows 0.6 against 0.7, 60 rows 0.5 against 0.8, none in the fourth
    count = np.array([10, 30, 60, 0])
    bins = Bins(count, count.astype(float), np.array([9.0, 18, 30, 0]), np.array([5.0, 21, 48, 0]))
    shares = confidence_shares(bins)
    assert (shares.over, shares.under) == pytest.approx((0.1, 0.9))
    # 5 of 10 reaches up to 0.76, 21 of 30 down to 0.52, 48 of 60 down to 0.68 (as scipy has it, above)
    assert (shares.surely_over, shares.surely_under) == pytest.approx((0.1, 0.6))


def test_equal_confidence_and_accuracy_are_neither():
    problem = ordered_problem(np.full(4, 0.75), np.array([1, 1, 1, 0], bool))
    shares = confidence_shares(problem.bins("equal-width", 15))
    assert (shares.over, shares.under, shares.surely_over, shares.surely_under) == (0, 0, 0, 0)


def test_weights_move_shares_but_rows_decide_significance():
    score, outcome = np.repeat([0.55, 0.95], 20), np.tile([True, False], 20)
    weights = np.repeat([3.0, 1.0], 20)
    shares = confidence_shares(ordered_problem(score, outcome, weights).bins("equal-width", 10))
    assert (shares.over, shares.surely_over) == pytest.approx((1, 0.25))
    thousandfold = ordered_problem(score, outcome, 1000 * weights).bins("equal-width", 10)
    assert confidence_shares(thousandfold) == shares


def test_calibrated_bins_are_significant_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    sure = []
    for _ in range(300):
        score = np.repeat(np.linspace(0.3, 0.7, 10), 100)
        problem = ordered_problem(score, rng.random(1000) < score)
        shares = confidence_shares(problem.binned(np.arange(0, 1001, 100)), level=0.9)
        sure.append(shares.surely_over + shares.surely_under)
    assert np.mean(sure) == pytest.approx(0.1, abs=0.03)
