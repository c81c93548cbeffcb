"""Curves without bins against scikit-learn, direct sums and reference values."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from calcli.core.curves.needs import problem_of
from calcli.core.curves.unbinned import corp_curve, cumulative, flexible_reliability
from calcli.core.problems.problem import ordered_problem

NAMES = ("sst2_gpt2", "agnews_gpt2", "cifar100_vgg19_bn")


def some_problem(n: int = 300, seed: int = 0, weighted: bool = False):
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(4, 2, n), 3)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    return ordered_problem(score, rng.random(n) < score**2, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_curve_is_that_of_scikit_learn(weighted):
    problem = some_problem(weighted=weighted)
    curve = corp_curve(problem, "top-1", 20, np.random.default_rng(0))
    oracle = IsotonicRegression().fit(problem.score, problem.outcome, problem.weights)
    np.testing.assert_allclose(curve.frequency, oracle.predict(curve.score), atol=1e-12)
    assert np.all(np.diff(curve.frequency) >= 0)
    assert curve.score[0] == problem.score[0]
    assert curve.score[-1] == problem.score[-1]


@pytest.mark.parametrize("name", NAMES)
def test_smooth_curves_agree_with_the_rows_at_every_confidence_and_have_the_reference_error(
    golden, evaluated, name
):
    problem = problem_of(evaluated(name), "top-1")
    curve = flexible_reliability(problem, "top-1", 9, np.random.default_rng(0))
    drawn = np.interp(problem.score, curve.score, curve.frequency)
    apart = []
    for low in np.arange(0.3, 1, 0.05):
        rows = (problem.score >= low) & (problem.score < low + 0.05)
        if rows.sum() >= 100:
            accuracy = problem.outcome[rows].mean()
            error = np.sqrt(accuracy * (1 - accuracy) / rows.sum())
            apart.append((drawn[rows].mean() - accuracy) / error)
    assert len(apart) >= 7
    assert np.abs(apart).max() < 2.5
    assert curve.error == pytest.approx(golden[name]["smece_top_own"], abs=1e-5)


def test_curves_tell_where_no_row_does():
    score = np.concatenate([np.linspace(0.1, 0.3, 200), np.linspace(0.8, 0.9, 200)])
    problem = ordered_problem(score, np.arange(400) % 20 < 10 + 9 * np.sin(score * 40))
    corp = corp_curve(problem, "top-1", 9, np.random.default_rng(0))
    assert not corp.supported[(corp.score > 0.45) & (corp.score < 0.6)].any()
    assert np.count_nonzero(~corp.supported) == 1
    curve = flexible_reliability(problem, "top-1", 9, np.random.default_rng(0))
    inside = (curve.score >= score[9]) & (curve.score <= score[-10])
    np.testing.assert_array_equal(curve.supported, inside)


def test_isotonic_band_is_that_of_isotonic_fits():
    rng = np.random.default_rng(4)
    problem = some_problem(200)
    curve = corp_curve(problem, "top-1", 400, rng)
    drawn = rng.random((400, 200)) < problem.score
    fits = [IsotonicRegression().fit(problem.score, hits).predict(curve.score) for hits in drawn]
    low, high = np.quantile(fits, [0.05, 0.95], axis=0)
    middle = (curve.score > 0.4) & (curve.score < 0.9)
    np.testing.assert_allclose(curve.low[middle], low[middle], atol=0.06)
    np.testing.assert_allclose(curve.high[middle], high[middle], atol=0.06)


def test_the_ends_of_a_band_of_many_rows_are_those_of_isotonic_fits():
    rng = np.random.default_rng(5)
    problem = ordered_problem(score := np.sort(rng.beta(0.4, 20, 12_000)), rng.random(12_000) < score)
    curve = corp_curve(problem, "class-1", 400, rng)
    drawn = (rng.random(12_000) < score for _ in range(400))
    fits = [IsotonicRegression().fit(score, hits).predict(score[-3:]) for hits in drawn]
    low, high = np.quantile(fits, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(np.interp(score[-3:], curve.score, curve.low), low, atol=0.05)
    np.testing.assert_allclose(np.interp(score[-3:], curve.score, curve.high), high, atol=0.05)


@pytest.mark.parametrize("draw_curve", [corp_curve, flexible_reliability])
def test_band_holds_nine_of_ten_calibrated_curves(draw_curve):
    rng = np.random.default_rng(2)
    inside = []
    for _ in range(30):
        score = rng.random(400)
        curve = draw_curve(ordered_problem(score, rng.random(400) < score), "top-1", 99, rng)
        middle = (curve.score > 0.1) & (curve.score < 0.9)
        within = (curve.low - 1e-12 <= curve.frequency) & (curve.frequency <= curve.high + 1e-12)
        inside.append(within[middle].mean())
    assert 0.8 < np.mean(inside) < 0.98


@pytest.mark.parametrize("score", [1.0, 0.7, 0.62, 1 / 3])
@pytest.mark.parametrize("draw_curve", [corp_curve, flexible_reliability])
def test_one_score_makes_one_frequency(draw_curve, score):
    problem = ordered_problem(np.full(300, score), np.arange(300) % 3 > 0)
    curve = draw_curve(problem, "top-1", 20, np.random.default_rng(0))
    assert set(curve.score) == {score}
    np.testing.assert_allclose(curve.frequency, 2 / 3)
    if score == 1:
        np.testing.assert_allclose(curve.low, 1.0)
    np.testing.assert_allclose(cumulative(problem).frequency, 2 / 3, atol=1e-9)


def test_raw_data_are_thinned():
    problem = some_problem(5000)
    curve = corp_curve(problem, "top-1", 5, np.random.default_rng(0))
    for shown, side in ((curve.misses, ~problem.outcome), (curve.hits, problem.outcome)):
        assert len(shown) <= 150
        assert set(shown) <= set(problem.score[side])
        assert shown[0] == problem.score[side].min()
        assert shown[-1] == problem.score[side].max()


@pytest.mark.parametrize("name", NAMES)
def test_cumulative_curves_end_at_the_means_and_differ_by_ks(golden, evaluated, name):
    result = cumulative(problem_of(evaluated(name), "top-1"))
    gap = np.abs(result.outcome_sum - result.score_sum)
    assert gap.max() == pytest.approx(golden[name]["ks_top1_pct"] / 100, abs=1e-9)
    assert result.widest == gap.argmax()
    assert result.ks == pytest.approx(gap.max())
    assert result.outcome_sum[-1] == pytest.approx(golden[name]["accuracy"], abs=1e-9)
    assert result.score_sum[-1] == pytest.approx(golden[name]["mean_confidence"], abs=1e-9)
    assert (result.fractile[0], result.fractile[-1]) == (0, pytest.approx(1))
    assert len(result.fractile) <= 802


def test_ties_are_one_step(toys):
    toy = toys["ks_ties"]
    result = cumulative(ordered_problem(np.array(toy["score"]), np.array(toy["hit"], bool)))
    assert result.ks == pytest.approx(toy["ks_tie_pct"] / 100)
    assert len(result.fractile) == 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("distinct", [0, 5000])
def test_slopes_of_equal_scores_are_steps(weighted, distinct):
    """Rows of .1 and of .9 have these scores alone, however many other rows there are."""
    rng = np.random.default_rng(2)
    score = np.concatenate([rng.uniform(0.2, 0.6, distinct), rng.choice([0.1, 0.9], 4000)])
    weights = rng.integers(1, 4, len(score)).astype(float) if weighted else None
    result = cumulative(ordered_problem(score, rng.random(len(score)) < score, weights))
    at, rise, run = result.score, np.diff(result.score_sum), np.diff(result.fractile)
    flat = (at[1:] == at[:-1]) & (run > 0)
    np.testing.assert_allclose(at[1:][flat], [0.1, 0.9])
    np.testing.assert_allclose((rise / np.where(run > 0, run, 1))[flat], [0.1, 0.9])
    mass = np.ones(len(score)) if weights is None else weights
    np.testing.assert_allclose(run[flat], [mass[score == one].sum() / mass.sum() for one in (0.1, 0.9)])
    assert np.all(np.diff(result.frequency)[flat] == 0)
    assert np.count_nonzero(run == 0) == 1  # where .9 begins
    assert result.widest == np.abs(result.outcome_sum - result.score_sum).argmax()


@pytest.mark.parametrize("weighted", [False, True])
def test_cumulative_sums_are_sums(weighted):
    problem = some_problem(weighted=weighted)
    result = cumulative(problem)
    weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
    for i in (1, len(result.score) // 2, len(result.score) - 1):
        below = problem.score <= result.score[i]
        total = weights.sum()
        assert result.fractile[i] == pytest.approx(weights[below].sum() / total)
        assert result.score_sum[i] == pytest.approx((weights * problem.score)[below].sum() / total)
        assert result.outcome_sum[i] == pytest.approx((weights * problem.outcome)[below].sum() / total)


def test_smoothed_frequency_finds_the_true_one():
    rng = np.random.default_rng(5)
    score = rng.random(200_000)
    result = cumulative(ordered_problem(score, rng.random(200_000) < score**2))
    inner = (result.fractile > 0.05) & (result.fractile < 0.95)
    assert np.abs(result.frequency - result.score**2)[inner].max() < 0.03
    few = cumulative(ordered_problem(score[:300], score[:300] > 0.4))
    np.testing.assert_array_equal(few.score, [score[:300].min(), *np.sort(score[:300])])
    np.testing.assert_allclose(few.fractile, np.arange(301) / 300)


def test_rows_of_hardly_any_weight_leave_the_slopes_as_they_are():
    rng = np.random.default_rng(5)
    score, weights = np.sort(rng.random(60)), np.where(np.arange(60) % 3 == 0, 1e-40, 1.0)
    outcome, counted = rng.random(60) < score, weights == 1
    result = cumulative(ordered_problem(score, outcome, weights))
    alone = cumulative(ordered_problem(score[counted], outcome[counted]))
    np.testing.assert_allclose(result.frequency[np.append(False, counted)], alone.frequency[1:])
    assert np.isfinite(result.frequency).all()
