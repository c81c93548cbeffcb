"""Risk, rejection, precision, recall and net benefit: reference scores, scikit-learn and counting."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import precision_recall_curve, recall_score, roc_curve

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import (
    benefits,
    integrals_of,
    net_benefit,
    rates,
    rejection_curve,
    risk_curve,
    weighted_risk,
)
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import ordered_problem

NAMES = ("sst2_gpt2", "fvcaus_plda")


@pytest.mark.parametrize("name", NAMES)
def test_areas_are_the_reference_scores(golden, evaluated, name):
    curve = risk_curve(problem_of(evaluated(name), "class-1"))
    reference = golden[name]
    assert curve.log_loss == pytest.approx(reference["ce_nats"], abs=1e-9)
    assert curve.brier == pytest.approx(reference["brier_sum"] / 2, abs=1e-9)
    assert np.trapezoid(curve.risk, curve.log_odds) == pytest.approx(reference["ce_nats"], rel=0.01)
    assert np.trapezoid(curve.brier_risk, curve.threshold) == pytest.approx(
        reference["brier_sum"] / 2, rel=0.005
    )
    constant = np.trapezoid(curve.constant_risk, curve.log_odds)
    assert constant == pytest.approx(reference["prior_entropy_nats"], rel=0.05)
    middle = len(curve.threshold) // 2
    assert curve.threshold[middle] == 0.5
    assert curve.brier_risk[middle] / 2 == pytest.approx((1 - reference["accuracy"]) / 2, abs=1e-9)
    # by eq. 12 the area is the log-loss, and with Beta(2, 2) three Brier scores
    evaluation = evaluated(name)
    weighted = weighted_risk(evaluation, integrals_of(evaluation, ("log_loss", "brier")))
    area = np.trapezoid(weighted.weighted["brier"], weighted.a)
    assert area == pytest.approx(1.5 * reference["brier_sum"], rel=0.01)
    normalized = reference["ce_nats"] / reference["prior_entropy_nats"]
    assert weighted.normalized["log_loss"] == pytest.approx(normalized)


@pytest.mark.parametrize("weighted", [False, True])
def test_risk_is_the_mean_cost_counted_row_by_row(weighted):
    rng = np.random.default_rng(0)
    score, outcome = rng.random(80), rng.random(80) < 0.3
    weights = rng.random(80) if weighted else None
    curve = risk_curve(ordered_problem(score, outcome, weights))
    for t, risk in zip(curve.threshold[::40], curve.brier_risk[::40], strict=True):
        cost = np.where(outcome, (1 - t) * (score < t), t * (score >= t))
        assert risk / 2 == pytest.approx(np.average(cost, weights=weights))
    sure = risk_curve(ordered_problem(np.array([0.2, 0.7, 1.0]), np.array([False, True, False])))
    assert sure.log_loss == np.inf
    assert np.isfinite(sure.risk).all()


@pytest.mark.parametrize("name", [*NAMES, "cifar100_vgg19_bn"])
def test_rejection_begins_with_all_rows(golden, evaluated, name):
    curve = rejection_curve(problem_of(evaluated(name), "top-1"))
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


OWN = ("beta_score:a=3:b=2", "beta_score:a=2:b=3", "weighted_risk:weights=mine", "normalized_beta_score")


@pytest.fixture
def drawn(binary):
    rng = np.random.default_rng(0)
    score = rng.random(400)
    predictions = binary(score, (rng.random(400) < 0.8 * score).astype(int))
    weights = {"mine": ((0.1, 0.0), (0.2, 1.5), (1.0, 0.0))}
    return evaluate(predictions, Settings(metrics=("log_loss", *OWN), threshold_weights=weights, draws=0))


def test_areas_are_the_scores_whose_weights_are_shown(drawn):
    curve = weighted_risk(drawn, integrals_of(drawn, OWN))
    assert list(curve.weighted) == list(OWN[:3])
    assert list(integrals_of(drawn)) == ["log_loss", *OWN[:3]]
    for name, weighted in curve.weighted.items():
        found = drawn.estimates[name]
        assert np.mean(weighted) == pytest.approx(found.value, rel=5e-3)
        assert curve.normalized[name] == pytest.approx(found.value / found.parts["constant"])


def test_the_weighted_risk_is_that_of_the_costs_of_equation_11(drawn):
    curve = weighted_risk(drawn, integrals_of(drawn, OWN))
    score, outcome = drawn.predictions.scores.array[:, 1], drawn.predictions.labels == 1
    for i in range(0, len(curve.a), 40):
        a = curve.a[i]
        second = score > 1 - a
        cost = np.where(outcome & ~second, 1 / (1 - a), np.where(~outcome & second, 1 / a, 0))
        assert curve.risk[i] == pytest.approx(cost.mean())
        density = stats.beta(3, 2).pdf(a)
        assert curve.weighted[OWN[0]][i] == pytest.approx(density * cost.mean())
        own = np.interp(1 - a, [0.1, 0.2, 1], [0, 1.5, 0], left=0)
        assert curve.weighted[OWN[2]][i] == pytest.approx(own * cost.mean())


@pytest.fixture(params=["equal rows", "weights", "weights of 0"])
def rows(request):
    """Return scores with ties, outcomes, and weights or None."""
    rng = np.random.default_rng(0)
    score = np.round(rng.random(120), 2)
    weights = None if request.param == "equal rows" else 0.5 + rng.random(120)
    if request.param == "weights of 0":
        weights[score >= np.quantile(score, 0.9)] = 0
    return score, rng.random(120) < score, weights


def test_rates_are_those_of_scikit_learn(rows):
    score, outcome, weights = rows
    curve = rates(ordered_problem(score, outcome, weights), (0.25, 1.5))
    seen = slice(None) if weights is None else weights > 0
    given = None if weights is None else weights[seen]
    precision, recall, threshold = precision_recall_curve(outcome[seen], score[seen], sample_weight=given)
    np.testing.assert_array_equal(curve.threshold[::-1], threshold)
    np.testing.assert_allclose(curve.precision[::-1], precision[:-1])
    np.testing.assert_allclose(curve.recall[::-1], recall[:-1])
    frequency = np.average(outcome, weights=weights)
    assert curve.frequency == pytest.approx(frequency)
    fpr, tpr, _ = roc_curve(outcome[seen], score[seen], sample_weight=given, drop_intermediate=False)
    np.testing.assert_allclose(curve.false_positive_rate, fpr[1:], atol=1e-12)
    np.testing.assert_allclose(curve.recall, tpr[1:])
    share = [np.average(score >= t, weights=weights) for t in curve.threshold]
    np.testing.assert_allclose(curve.share, share)
    np.testing.assert_allclose(curve.lift, curve.recall / share)
    assert curve.marked.recall[0] == pytest.approx(
        recall_score(outcome, score >= 0.25, sample_weight=weights)
    )
    assert curve.marked.recall[1] == 0
    assert np.isnan(curve.marked.precision[1])


def test_of_many_rows_some_points_of_that_curve_are_left_also_where_the_class_is_rare():
    rng = np.random.default_rng(1)
    score = rng.random(50_000)
    outcome = rng.random(50_000) < 0.01 * score
    curve = rates(ordered_problem(score, outcome))
    assert 600 < len(curve.threshold) < 900
    precision, recall, threshold = precision_recall_curve(outcome, score)
    place = np.searchsorted(threshold, curve.threshold)
    np.testing.assert_allclose(curve.precision, precision[place])
    np.testing.assert_allclose(curve.recall, recall[place])
    assert curve.recall[-1] == 1
    assert np.diff(curve.recall).max() < 0.01


def test_net_benefit_is_counted_row_by_row(rows):
    score, outcome, weights = rows
    curve = net_benefit(ordered_problem(score, outcome, weights))
    every = np.ones(120) if weights is None else weights
    for t, found, treat_all in zip(curve.threshold, curve.net_benefit, curve.treat_all, strict=True):
        true, false = (every[(score >= t) & (outcome == is_true)].sum() for is_true in (True, False))
        assert found == pytest.approx((true - false * t / (1 - t)) / every.sum())
        share = np.average(outcome, weights=weights)
        assert treat_all == pytest.approx(share - (1 - share) * t / (1 - t))


@pytest.fixture
def pair_of_systems(binary):
    rng = np.random.default_rng(4)
    score = rng.beta(1.2, 3, 1500)
    labels = (rng.random(1500) < score).astype(int)
    worse = np.clip(score + rng.normal(0, 0.15, 1500), 0.001, 0.999)
    settings = Settings(metrics=("log_loss",), thresholds=(0.1, 0.3), draws=0)
    return [evaluate(binary(scores, labels), settings) for scores in (score, worse)]


def test_intervals_of_net_benefit_are_those_of_the_metric(pair_of_systems):
    points, change = benefits(pair_of_systems)
    for system, found in zip(pair_of_systems, points, strict=True):
        for n, threshold in enumerate((0.1, 0.3)):
            estimate = system.estimates[f"net_benefit:threshold={threshold}"]
            assert (found.value[n], found.low[n], found.high[n]) == pytest.approx(
                (estimate.value, estimate.interval.low, estimate.interval.high), abs=1e-12
            )
    # near Student's t of what the rows bring, but for the skewness
    for n, odds in enumerate((1 / 9, 3 / 7)):
        of_rows = [
            (p.scores.array[:, 1] >= (0.1, 0.3)[n]) * np.where(p.labels == 1, 1, -odds)
            for p in (system.predictions for system in pair_of_systems)
        ]
        brought = of_rows[1] - of_rows[0]
        ends = stats.ttest_1samp(brought, 0).confidence_interval()
        assert change.value[n] == pytest.approx(brought.mean(), abs=1e-12)
        assert (change.low[n], change.high[n]) == pytest.approx(
            (ends.low, ends.high), abs=0.08 * np.ptp(ends)
        )


def test_systems_with_other_cases_have_no_difference(pair_of_systems, binary):
    rows = pair_of_systems[1].predictions
    others = binary(rows.scores.array[:1400, 1], rows.labels[:1400])
    points, change = benefits([pair_of_systems[0], evaluate(others, pair_of_systems[0].settings)])
    assert change is None
    assert [len(found.value) for found in points] == [2, 2]
