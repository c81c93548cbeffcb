"""Means and the jackknife of scores, against plain loops over rows left out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from calcli.core.data.units import Units
from calcli.core.estimators import scoring
from calcli.core.estimators.costs import parse_cost_word
from calcli.core.estimators.unittable import UnitTable
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings

CLASSES = SimpleNamespace(n_classes=3)
normalized_log_loss = parse_metric("normalized_log_loss").score(CLASSES, Settings()).value
SCORES = {"log_loss": lambda means: means["log_loss"], "normalized": normalized_log_loss}


def rows(n, k=3, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"log_loss": rng.exponential(size=n), "hit": rng.random(n) < 0.7}
    return columns, rng.integers(0, k, n), rng.exponential(size=n)


def every(sums, scores):
    """Return what each unit brings to scores that are finite."""
    found = {name: sums.influences(of) for name, of in scores.items()}
    return {name: one for name, one in found.items() if one is not None}


def entropy(weights):
    return -sum(p * np.log(p) for p in weights / weights.sum() if p > 0)


def jackknifed(losses, labels, weights, units):
    """Return the normalized log-loss and what it is without each unit."""

    def score(kept):
        return np.average(losses[kept], weights=weights[kept]) / entropy(
            np.bincount(labels[kept], weights[kept], 3)
        )

    return score(units >= 0), np.array([score(units != unit) for unit in np.unique(units)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_influences_are_a_plain_loop(weighted, clustered):
    columns, labels, weights = rows(60)
    units = np.random.default_rng(1).integers(0, 15, 60) if clustered else np.arange(60)
    sums = UnitTable.of_rows(
        columns, labels, 3, weights if weighted else None, units=Units.of(60, units if clustered else None)
    )
    found = sums.influences(SCORES["normalized"])
    w = weights if weighted else np.ones(60)
    value, without = jackknifed(columns["log_loss"], labels, w, units)
    share = np.bincount(units, w)[np.unique(units)] / w.sum()
    own = (1 - share) * (value - without)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.bias == pytest.approx(-own.sum(), rel=1e-9)
    assert found.of_units == pytest.approx(own - share * own.sum(), abs=1e-12)
    assert found.of_units.sum() == pytest.approx(0, abs=1e-12)


def test_the_entropy_is_too_low_by_what_is_known():
    """(K - 1) / 2N (Miller 1955)."""
    labels = np.repeat(np.arange(100), 50)
    constant = parse_metric("log_loss").score(CLASSES, Settings()).constant
    found = UnitTable.of_rows({"log_loss": np.ones(5000)}, labels, 100).influences(constant)
    assert found.bias == pytest.approx(-99 / 10_000, rel=0.02)


def test_ends_follow_a_function_of_a_mean():
    """Of x^2 and of ln x the interval is that of x, squared or its logarithm, to second order."""
    columns = {"x": 3 + np.random.default_rng(3).exponential(size=400)}
    functions = {"x": lambda m: m["x"], "square": lambda m: m["x"] ** 2, "log": lambda m: np.log(m["x"])}
    found = every(UnitTable.of_rows(columns, np.zeros(400, int), 1), functions)
    plain, square, log = (found[name].spread.interval(0.95) for name in functions)
    assert found["square"].curvature == pytest.approx(1 / (4 * columns["x"].mean() ** 2), rel=0.005)
    assert (square.low, square.high) == pytest.approx((plain.low**2, plain.high**2), rel=1e-4)
    assert (log.low, log.high) == pytest.approx((np.log(plain.low), np.log(plain.high)), rel=1e-4)


@pytest.mark.parametrize("classes", [2, 10])
def test_a_normalized_error_rate_holds_the_truth_where_many_classes_are_as_frequent(classes, predict):
    """The largest of equal frequencies is too large: nine in ten classes or more may be the most frequent."""
    rng, held = np.random.default_rng(classes), 0
    for _ in range(100):
        labels = rng.integers(0, classes, 300)
        said = np.where(rng.random(300) < 0.3, (labels + 1) % classes, labels)
        predictions = predict(0.6 * np.eye(classes)[said] + 0.4 / classes, labels)
        found = evaluate(predictions, Settings(metrics=("normalized_error_rate",), draws=0))
        held += found.estimates["normalized_error_rate"].interval.contains(0.3 / (1 - 1 / classes))
    assert held >= stats.binom.ppf(0.001, 100, 0.95)


def test_a_rival_may_be_the_best_decision():
    cost = 1 - np.eye(3)
    assert scoring.rival(np.array([0.5, 0.3, 0.2]), cost, 1.96 / np.sqrt(1000)) == 0
    assert scoring.rival(np.array([0.40, 0.38, 0.22]), cost, 1.96 / np.sqrt(1000)) == 1
    assert scoring.rival(np.array([0.4, 0.35, 0.25]), cost, 1.96 / np.sqrt(10)) == 2
    tied = np.array([0.4, 0.3, 0.3 * (1 - 1e-15)])  # as other orders of adding up leave them
    assert scoring.rival(tied, 1e-20 * cost, 1.96 / np.sqrt(10)) == 1


def test_given_priors_stay_as_they_are():
    """The variance of stratified sampling."""
    columns, labels, _ = rows(300)
    priors = np.array([0.2, 0.3, 0.5])
    weights = (priors / np.bincount(labels))[labels]
    found = every(UnitTable.of_rows(columns, labels, 3, weights, priors), SCORES)
    losses = columns["log_loss"]
    variance = sum(
        priors[k] ** 2 * losses[labels == k].var() / np.count_nonzero(labels == k) for k in range(3)
    )
    assert found["log_loss"].spread.standard_error == pytest.approx(np.sqrt(variance), rel=0.005)
    expected = found["log_loss"].of_units / entropy(priors)
    assert found["normalized"].of_units == pytest.approx(expected, abs=1e-12)


def test_without_a_row_scores_are_divided_by_the_decision_that_is_best_in_the_sample():
    hit, labels = np.arange(60) % 3 > 0, np.repeat([0, 1, 2], [20, 20, 20])
    costs = parse_cost_word("zero-one").matrix(("a", "b", "c"), np.full(3, 1 / 3))
    sums = UnitTable.of_rows({"hit": hit, costs.column: ~hit}, labels, 3)
    scores = {
        "error": scoring.normalized_error_rate,
        "risk": lambda means: scoring.normalized_risk(means, costs),
    }
    without = [(1 - np.delete(hit, i).mean()) / np.mean(np.delete(labels, i) != 0) for i in range(60)]
    own = (1 - 1 / 60) * (0.5 - np.array(without))
    for found in every(sums, scores).values():
        assert found.of_units == pytest.approx(own - own.mean(), abs=1e-12)


def test_what_is_infinite_has_no_influences():
    loss = np.array([np.inf, 1.0, 2.0, 3.0])
    sums = UnitTable.of_rows({"log_loss": loss, "hit": loss > 1}, np.zeros(4, int), 1)
    assert np.isinf(sums.means()["log_loss"])
    assert list(every(sums, SCORES | {"hit": lambda means: means["hit"]})) == ["hit"]
    weightless = UnitTable.of_rows({"log_loss": loss}, np.zeros(4, int), 1, np.array([0.0, 1, 1, 1]))
    assert float(weightless.means()["log_loss"]) == pytest.approx(2)


def test_a_cluster_of_copies_is_one_row():
    columns, labels, weights = rows(60)
    plain = every(UnitTable.of_rows(columns, labels, 3, weights), SCORES)
    order = np.random.default_rng(3).permutation(180)
    copies = np.repeat(np.arange(60), 3)[order]
    tripled = {name: values[copies] for name, values in columns.items()}
    names = np.array([f"patient {number:02}" for number in copies])
    sums = UnitTable.of_rows(tripled, labels[copies], 3, weights[copies], units=Units.of(180, names))
    for name, found in every(sums, SCORES).items():
        assert found.of_units == pytest.approx(plain[name].of_units, abs=1e-12)


def test_deals_of_clusters_keep_the_spread_between_clusters(monkeypatch):
    rng = np.random.default_rng(4)
    clusters = rng.integers(0, 12_000, 30_000)
    columns = {"log_loss": rng.normal(size=12_000)[clusters] + rng.normal(size=30_000) / 4}
    labels = rng.integers(0, 3, 30_000)
    score = {"log_loss": SCORES["log_loss"]}

    def error(units):
        return (
            UnitTable.of_rows(columns, labels, 3, units=units)
            .influences(score["log_loss"])
            .spread.standard_error
        )

    apart, rows_alone = error(Units.of(30_000, clusters)), error(None)
    monkeypatch.setattr("calcli.core.data.units.UNIT_LIMIT", 10_000)
    assert error(Units.of(30_000, clusters)) == pytest.approx(apart, rel=0.1)
    assert rows_alone < 0.8 * apart


def test_of_losses_whose_squares_are_infinite_there_is_no_bend():
    columns, labels = {"log_loss": np.array([1e200, 0.5, 1.0, 2.0])}, np.array([0, 1, 2, 1])
    with np.errstate(over="ignore", invalid="ignore"):
        found = every(UnitTable.of_rows(columns, labels, 3), SCORES)
        assert [(one.curvature, one.spread.enough) for one in found.values()] == [(0.0, False)] * len(SCORES)
