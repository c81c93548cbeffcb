"""Tests of all classes at once: two ways to the same draws, and the rate of false alarms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calcli.core.estimators.cumulative import KolmogorovSmirnov
from calcli.core.estimators.miscalibration import BinnedError
from calcli.core.evaluating.classwise import class_wise_null, class_wise_value, simulated_class_errors
from calcli.core.evaluating.evaluate import evaluate, measure
from calcli.core.language.settings import Settings

WIDTHS = (*(m / 15 for m in range(15)), 1.0)


def calibrated(rng, n, k):
    probs = rng.dirichlet(np.full(k, 0.5), n)
    labels = (rng.random((n, 1)) > np.cumsum(probs, 1)[:, :-1]).sum(1)
    return probs, labels


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["1", "2", "max"])
def test_sums_and_ordered_classes_say_the_same(predict, norm, weighted):
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=200) if weighted else None
    predictions = predict(*calibrated(rng, 200, 4), weights=weights)
    measured = measure(predictions, Settings(metrics=("cw_ece",), test=True))
    found = [
        simulated_class_errors(measured, BinnedError(binning, 15, norm), 30, np.random.default_rng(1))
        for binning in ("equal-width", WIDTHS)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_errors_drawn_are_those_of_drawn_labels(predict):
    rng = np.random.default_rng(2)
    probs, labels = calibrated(rng, 50, 3)
    measured = measure(predict(probs, labels), Settings(metrics=("ks:lens=class-wise",), test=True))
    drawn = simulated_class_errors(measured, KolmogorovSmirnov(), 2000, rng)
    again = []
    for _ in range(2000):
        own = (rng.random((50, 1)) > np.cumsum(probs, 1)[:, :-1]).sum(1)
        gap = (np.eye(3)[own] - probs)[np.argsort(probs, 0), np.arange(3)]
        again.append(np.abs(gap.cumsum(0)).max(0) / 50)
    for k in range(3):
        assert stats.ks_2samp(drawn[:, k], np.array(again)[:, k]).pvalue > 0.001


def test_five_percent_of_calibrated_data_are_rejected(predict):
    rng = np.random.default_rng(3)
    estimators = [BinnedError(), BinnedError("equal-mass", 5)]
    rejected = np.zeros(2)
    for _ in range(200):
        measured = measure(predict(*calibrated(rng, 80, 3)), Settings(metrics=("cw_ece",), test=True))
        for number, estimator in enumerate(estimators):
            value = class_wise_value(measured, estimator, "1")
            rejected[number] += class_wise_null(measured, estimator, "1", value, 39, rng).p_value <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], 200, 0.05)
    assert ((rejected >= low) & (rejected <= high)).all()


def test_every_class_wise_error_is_tested_on_demand_or_where_rows_are_few(predict, monkeypatch):
    monkeypatch.setattr("calcli.core.evaluating.usual.TESTED", 1000)
    rng = np.random.default_rng(4)
    probs, labels = calibrated(rng, 600, 3)
    names = ("cw_ece", "cw_ece_l2", "ace", "ks:lens=class-wise", "ece_l2:lens=class-wise:debiased=true")
    predictions = predict(probs**4 / (probs**4).sum(1, keepdims=True), labels)  # over-confident
    plain = evaluate(predictions, Settings(metrics=names, draws=99)).estimates
    tested = evaluate(predictions, Settings(metrics=names, draws=99, test=True)).estimates
    assert [estimate.if_calibrated for estimate in plain.values()] == [None] * 5
    for name, estimate in tested.items():
        assert estimate.value == plain[name].value
        assert estimate.if_calibrated.p_value == 0.01, name
    monkeypatch.setattr("calcli.core.evaluating.usual.TESTED", 1800)
    assert evaluate(predictions, Settings(metrics=names, draws=99)).estimates == tested


@pytest.mark.parametrize("metric", ["ks", "ece", "ece_l2:binning=equal-mass:debiased=true"])
def test_the_worst_class_is_the_greatest_of_all(predict, metric):
    rng = np.random.default_rng(5)
    name, _, arguments = metric.partition(":")
    each = [":".join(filter(None, [name, f"lens=class-{k}", arguments])) for k in range(3)]
    worst = ":".join(filter(None, [name, "lens=worst-class", arguments]))
    predictions = predict(*calibrated(rng, 200, 3))
    found = evaluate(predictions, Settings(metrics=(*each, worst), draws=99, test=True)).estimates
    assert found[worst].value == pytest.approx(max(found[one].value for one in each), abs=1e-12)
    assert found[worst].if_calibrated.mean > max(found[one].if_calibrated.mean for one in each)
