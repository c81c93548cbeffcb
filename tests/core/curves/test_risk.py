"""Risk curves against the scores they integrate to and against counting."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import rejection_curve, risk_curve, weighted_risk
from calcli.core.problems.problem import ordered_problem

NAMES = ("sst2_gpt2", "fvcaus_plda")


@pytest.mark.parametrize("name", NAMES)
def test_areas_are_the_reference_scores(golden, evaluated, name):
    curve = risk_curve(problem_of(evaluated(name), "class-1"))
    reference = golden[name]
    assert curve.log_loss == pytest.approx(reference["ce_nats"], abs=1e-9)
    assert curve.brier == pytest.approx(reference["brier_sum"], abs=1e-9)
    assert np.trapezoid(curve.risk, curve.log_odds) == pytest.approx(reference["ce_nats"], rel=0.01)
    assert np.trapezoid(curve.brier_risk, curve.threshold) == pytest.approx(reference["brier_sum"], rel=0.005)
    constant = np.trapezoid(curve.constant_risk, curve.log_odds)
    assert constant == pytest.approx(reference["prior_entropy_nats"], rel=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_risk_at_one_half_is_half_the_error_rate(golden, evaluated, name):
    curve = risk_curve(problem_of(evaluated(name), "class-1"))
    middle = len(curve.threshold) // 2
    assert curve.threshold[middle] == 0.5
    assert curve.brier_risk[middle] / 4 == pytest.approx((1 - golden[name]["accuracy"]) / 2, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_risk_is_the_mean_cost_counted_row_by_row(weighted):
    rng = np.random.default_rng(0)
    score, outcome = rng.random(80), rng.random(80) < 0.3
    weights = rng.random(80) if weighted else None
    curve = risk_curve(ordered_problem(score, outcome, weights))
    for t, risk in zip(curve.threshold[::40], curve.brier_risk[::40], strict=True):
        cost = np.where(outcome, (1 - t) * (score < t), t * (score >= t))
        assert risk / 4 == pytest.approx(np.average(cost, weights=weights))


def test_sure_and_wrong_costs_without_bound():
    curve = risk_curve(ordered_problem(np.array([0.2, 0.7, 1.0]), np.array([False, True, False])))
    assert curve.log_loss == np.inf
    assert np.isfinite(curve.risk).all()


@pytest.mark.parametrize("name", [*NAMES, "cifar100_vgg19_bn"])
def test_rejection_begins_with_all_rows(golden, evaluated, name):
    curve = rejection_curve(evaluated(name).confidence)
    assert curve.rejected[0] == 0
    assert curve.error_rate[0] == pytest.approx(1 - golden[name]["accuracy"], abs=1e-9)
    assert curve.promised[0] == pytest.approx(1 - golden[name]["mean_confidence"], abs=1e-9)
    assert np.all(np.diff(curve.rejected) > 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_rejection_is_counted_and_ties_go_together(weighted):
    rng = np.random.default_rng(1)
    score, outcome = np.round(rng.random(90), 1), rng.random(90) < 0.7
    weights = rng.random(90) if weighted else np.ones(90)
    curve = rejection_curve(ordered_problem(score, outcome, weights if weighted else None))
    least = [s for s in np.unique(score) if np.count_nonzero(score >= s) >= 10]
    for i, s in enumerate(least):
        kept = score >= s
        assert curve.rejected[i] == pytest.approx(1 - weights[kept].sum() / weights.sum())
        assert curve.error_rate[i] == pytest.approx(np.average(~outcome[kept], weights=weights[kept]))
    assert len(curve.rejected) == len(least)
    assert np.isnan(curve.low).all()


def test_intervals_of_what_is_kept_are_those_of_shares():
    rng = np.random.default_rng(2)
    score, right = rng.random(200), rng.random(200) < 0.8
    curve = rejection_curve(ordered_problem(score, right), 0.9)
    for i in (0, 60, 150):
        kept = score >= np.sort(score)[i]
        own = stats.binomtest(int(np.sum(~right[kept])), int(kept.sum())).proportion_ci(0.9, "wilson")
        assert (curve.low[i], curve.high[i]) == pytest.approx((own.low, own.high))
    twice = rejection_curve(ordered_problem(score, right, np.full(200, 2.0)), 0.9)
    np.testing.assert_allclose(twice.high, curve.high)


@pytest.mark.parametrize("name", NAMES)
def test_weighted_risks_integrate_to_the_reference_scores(golden, evaluated, name):
    """By eq. 12 the area is the log-loss, and with Beta(2, 2) one and a half Brier scores."""
    curve, reference = weighted_risk(problem_of(evaluated(name), "class-1")), golden[name]
    assert np.trapezoid(curve.beta_risk, curve.a) == pytest.approx(1.5 * reference["brier_sum"], rel=0.01)
    assert curve.normalized_log_loss == pytest.approx(reference["ce_nats"] / reference["prior_entropy_nats"])


def test_the_weighted_risk_is_that_of_the_costs_of_equation_11():
    rng = np.random.default_rng(0)
    score, outcome = rng.random(80), rng.random(80) < 0.3
    curve = weighted_risk(ordered_problem(score, outcome))
    for a, risk, beta in list(zip(curve.a, curve.risk, curve.beta_risk, strict=True))[::40]:
        second = score > 1 - a
        cost = np.where(outcome & ~second, 1 / (1 - a), np.where(~outcome & second, 1 / a, 0))
        assert risk == pytest.approx(cost.mean())
        assert beta == pytest.approx(6 * a * (1 - a) * cost.mean())
