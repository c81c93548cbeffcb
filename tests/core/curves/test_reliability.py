"""Bins of reliability diagrams against reference values, scikit-learn and the binomial distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.calibration import calibration_curve

from calcli.core.curves.needs import problem_of
from calcli.core.curves.reliability import class_reliability, reliability
from calcli.core.evaluating.metrics.miscalibration import ECE
from calcli.core.problems.problem import ordered_problem

NAMES = ("sst2_gpt2", "agnews_gpt2", "cifar100_vgg19_bn")


@pytest.mark.parametrize("name", NAMES)
def test_bins_add_up_to_the_reference_errors(golden, evaluated, name):
    evaluation = evaluated(name)
    result = reliability(problem_of(evaluation, "top-1"), draws=9)
    share = result.bins.weight / result.bins.weight.sum()
    gap = np.abs(result.frequency - result.mean_score)
    assert np.nansum(share * gap) == pytest.approx(golden[name]["ece_top_ew15_l1"], abs=1e-9)
    assert np.nanmax(gap) == pytest.approx(golden[name]["mce_top_ew15"], abs=1e-9)
    assert result.binned.value == pytest.approx(golden[name]["ece_top_ew15_l1"], abs=1e-9)
    assert result.ks.value == pytest.approx(golden[name]["ks_top1_pct"] / 100, abs=1e-9)
    assert result.overall_score == pytest.approx(golden[name]["mean_confidence"], abs=1e-9)
    assert result.overall_frequency == pytest.approx(golden[name]["accuracy"], abs=1e-12)
    result = reliability(problem_of(evaluation, "top-1"), estimator=ECE(binning="equal-mass"), draws=9)
    share = result.bins.weight / result.bins.weight.sum()
    error = np.sum(share * np.abs(result.frequency - result.mean_score))
    assert error == pytest.approx(golden[name]["ece_top_em15_l1"], abs=1e-9)
    assert len(share) == golden[name]["ece_top_em15_nbins"]
    assert result.share.sum() == pytest.approx(1)
    assert (result.edges[:-1] <= result.mean_score).all()
    assert (result.mean_score <= result.edges[1:]).all()


def test_empty_bins_change_no_consistency_bar():
    rng = np.random.default_rng(0)
    score = np.repeat(rng.random(12), 5)
    problem = ordered_problem(score, rng.random(60) < score)
    few, many = (reliability(problem, estimator=ECE(bins=bins)) for bins in (10_000, 100_000))
    filled, others = (~np.isnan(one.low) for one in (few, many))
    assert filled.sum() == others.sum() == 12
    np.testing.assert_array_equal(few.low[filled], many.low[others])
    np.testing.assert_array_equal(few.high[filled], many.high[others])


def test_bins_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    score, outcome = rng.random(500), rng.random(500) < 0.4
    result = reliability(ordered_problem(score, outcome), draws=9)
    frequency, mean = calibration_curve(outcome, score, n_bins=15)
    np.testing.assert_allclose(result.mean_score, mean)
    np.testing.assert_allclose(result.frequency, frequency)


def test_consistency_bars_are_binomial_quantiles_for_equal_scores():
    n, p = 200, 0.625
    problem = ordered_problem(np.full(n, p), np.arange(n) % 2 == 0)
    result = reliability(problem, draws=20_000)
    (only,) = np.flatnonzero(result.bins.count)
    expected = binom.ppf([0.05, 0.95], n, p) / n
    np.testing.assert_allclose([result.low[only], result.high[only]], expected, atol=1.01 / n)


def test_bars_hold_nine_of_ten_calibrated_frequencies():
    rng = np.random.default_rng(0)
    score = rng.random(3000)
    inside = []
    for _ in range(40):
        result = reliability(ordered_problem(score, rng.random(3000) < score), draws=199)
        inside.append((result.low <= result.frequency) & (result.frequency <= result.high))
    assert 0.85 < np.mean(inside) < 0.97


def test_empty_and_thin_bins_are_told_apart():
    score = np.concatenate([np.full(9, 0.1), np.full(10, 0.9)])
    result = reliability(ordered_problem(score, score > 0.5), estimator=ECE(bins=3), draws=9)
    assert result.thin.tolist() == [True, False, False]
    assert result.edges.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert np.isnan([result.frequency[1], result.mean_score[1], result.low[1], result.high[1]]).all()


@pytest.mark.parametrize("name", NAMES)
def test_classes_average_to_the_reference_errors(golden, evaluated, name):
    evaluation = evaluated(name)
    result = class_reliability(evaluation.class_bins, evaluation.predictions.classes)
    assert result.error.mean() == pytest.approx(golden[name]["cw_ece_ew15"], abs=1e-9)
    assert np.all(np.diff(result.error[result.worst_first]) <= 0)
    table = result.tables()[""]
    gap = np.where(table["rows"] > 0, table["gap"], 0)
    squares = np.sum(table["weight"] * gap**2) / evaluation.predictions.n_rows
    assert squares == pytest.approx(golden[name]["cl_brier_ew15"], abs=1e-9)
    assert len({len(column) for column in table.values()}) == 1
