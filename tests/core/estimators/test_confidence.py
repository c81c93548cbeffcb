import numpy as np
import pytest
from scipy.stats import binomtest

from calcli.core.data.binning import Bins
from calcli.core.estimators.confidence import ConfidenceShare, wilson_interval
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import ordered_problem


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("hits", "rows"), [(0, 1), (1, 1), (0, 30), (3, 10), (199, 200), (50, 50)])
def test_wilson_interval_against_scipy(hits, rows, level):
    expected = binomtest(hits, rows).proportion_ci(level, method="wilson")
    low, high = wilson_interval(np.array([hits / rows]), np.array([rows]), level)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def shares(problem, bins, significant=False):
    """Return the over- and the under-confident share."""
    return tuple(
        float(ConfidenceShare(side=side, significant=significant).of(problem, bins))
        for side in ("over", "under")
    )


def test_shares_of_bins():
    # 10 rows 0.9 against 0.5, 30 rows 0.6 against 0.7, 60 rows 0.5 against 0.8, none in the fourth
    count = np.array([10, 30, 60, 0])
    bins = Bins(count, count.astype(float), np.array([9.0, 18, 30, 0]), np.array([5.0, 21, 48, 0]))
    assert shares(None, bins) == pytest.approx((0.1, 0.9))
    # 5 of 10 reaches up to 0.76, 21 of 30 down to 0.52, 48 of 60 down to 0.68 (as scipy has it, above)
    assert shares(None, bins, significant=True) == pytest.approx((0.1, 0.6))


@pytest.mark.parametrize("score", [0.75, 0.1])
def test_equal_confidence_and_accuracy_are_neither(score):
    outcome = np.arange(20) < round(20 * score)
    problem = ordered_problem(np.full(20, score), outcome)  # twenty times 0.1 is not quite 2
    for significant in (False, True):
        assert shares(problem, problem.bins("equal-width", 15), significant) == (0, 0)


def test_weights_move_shares_but_rows_decide_significance():
    score, outcome = np.repeat([0.55, 0.95], 20), np.tile([True, False], 20)
    weights = np.repeat([3.0, 1.0], 20)
    bins = ordered_problem(score, outcome, weights).bins("equal-width", 10)
    assert shares(None, bins) == pytest.approx((1, 0))
    assert shares(None, bins, significant=True) == pytest.approx((0.25, 0))
    thousandfold = ordered_problem(score, outcome, 1000 * weights).bins("equal-width", 10)
    assert shares(None, thousandfold, significant=True) == pytest.approx((0.25, 0))


def test_calibrated_bins_are_significant_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    sure = []
    for _ in range(300):
        score = np.repeat(np.linspace(0.3, 0.7, 10), 100)
        problem = ordered_problem(score, rng.random(1000) < score)
        sure.append(sum(shares(problem, problem.binned(np.arange(0, 1001, 100)), significant=True)))
    assert np.mean(sure) == pytest.approx(0.05, abs=0.02)


def test_expressions_and_tests_of_shares(predict):
    rng = np.random.default_rng(1)
    score = rng.uniform(0.5, 1, 5000)
    labels = (rng.random(5000) > score - 0.04).astype(int)
    names = ("over_confidence", "under_confidence:bins=20", "over_confidence:significant=true")
    found = evaluate(predict(np.stack([score, 1 - score], 1), labels), Settings(metrics=names)).estimates
    over, under, sure = (found[name] for name in names)
    assert over.value > 0.8 > sure.value > 0.2 > under.value
    assert over.if_calibrated.mean == pytest.approx(0.5, abs=0.05)
    assert sure.if_calibrated.mean == pytest.approx(0.025, abs=0.01)
    assert over.if_calibrated.p_value < 0.05 < under.if_calibrated.p_value
    assert sure.if_calibrated.p_value == 0.001
