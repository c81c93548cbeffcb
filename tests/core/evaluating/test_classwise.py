"""Classes one by one: the table of the classes, and errors of all classes with their tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calcli.core.evaluating import sections as classwise
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.sections import ENOUGH_OF_CLASS, rows_needed
from calcli.core.language.settings import Settings

WIDTHS = "/".join(repr(m / 15) for m in range(1, 15))


def calibrated(rng, n, k):
    probs = rng.dirichlet(np.full(k, 0.5), n)
    return probs, (rng.random((n, 1)) > np.cumsum(probs, 1)[:, :-1]).sum(1)


def rows_of(predict, probs, labels, **settings):
    return evaluate(predict(probs, labels), Settings(metrics=("accuracy",), **settings)).summary.per_class


def test_a_class_that_is_off_is_found_and_a_rare_one_is_not_judged(predict):
    rng = np.random.default_rng(0)
    probs = np.concatenate([rng.dirichlet([4, 2, 2], 1000) * 0.99, np.full((1000, 1), 0.01)], 1)
    labels = (rng.random((1000, 1)) > np.cumsum(probs, 1)[:, :-1]).sum(1)
    moved = probs @ np.array([[0.7, 0.3, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert [row.if_calibrated for row in rows_of(predict, moved, labels)] == [None] * 4
    tested = rows_of(predict, moved, labels, test=True, draws=199)
    first, second, third, rare = (row.if_calibrated for row in tested)
    assert (first.p_value, second.p_value) == (0.005, 0.005)
    assert (first.corrected_p, second.corrected_p) == (0.015, 0.015), "of three classes with rows enough"
    assert third.p_value == third.corrected_p > 0.05
    assert rare.corrected_p is None
    assert rare.p_value <= 1
    share = max(tested[3].frequency, tested[3].mean_prob)
    needed = rows_needed(tested)
    assert share * needed >= ENOUGH_OF_CLASS > share * (needed - 1)
    never = rows_of(predict, np.full((200, 3), [0.5, 0.3, 0.2]), [0, 1] * 100, test=True, draws=199)[2]
    assert (never.rows, never.if_calibrated.corrected_p) == (0, 0.015), "expected, but it never occurs"


@pytest.mark.parametrize(
    ("rows", "classes", "most", "draws"),
    [(3000, 60, None, 2399), (20, 400, None, 9), (3000, 60, 3000 * 20, 20)],
)
def test_classes_with_rows_enough_take_as_many_draws_as_find_them(
    predict, monkeypatch, rows, classes, most, draws
):
    """As far as these can be afforded."""
    monkeypatch.setattr(classwise, "MOST_DRAWN", most or classwise.MOST_DRAWN)
    rng = np.random.default_rng(1)
    logits = rng.normal(scale=2, size=(rows, classes))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    sharp = np.exp(3 * logits)
    found = rows_of(predict, sharp / sharp.sum(1, keepdims=True), labels, test=True, draws=9)
    assert {row.if_calibrated.draws for row in found} == {draws}
    corrected = [row.if_calibrated.corrected_p for row in found]
    assert (sum(p <= 0.05 for p in corrected if p is not None) > 30) == (draws == 2399)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["1", "2", "max"])
def test_sums_and_ordered_classes_say_the_same(predict, norm, weighted):
    """Bins of equal width are summed, and those of the same edges found in ordered classes."""
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=200) if weighted else None
    rows = predict(*calibrated(rng, 200, 4), weights=weights)
    names = tuple(f"ece:lens=class-wise:norm={norm}{more}" for more in ("", f":binning=0.0/{WIDTHS}/1.0"))
    one, other = evaluate(rows, Settings(names, draws=30, test=True)).estimates.values()
    assert one.value == pytest.approx(other.value, abs=1e-12)
    for part in ("mean", "sd", "p_value"):
        assert getattr(one.if_calibrated, part) == pytest.approx(
            getattr(other.if_calibrated, part), abs=1e-12
        )


def test_five_percent_of_calibrated_data_are_rejected(predict):
    rng, draws = np.random.default_rng(3), 150
    names = ("cw_ece", "cw_ece:binning=equal-mass:bins=5", "ks:lens=class-wise")
    rejected = np.zeros(3)
    for seed in range(draws):
        settings = Settings(names, draws=39, test=True, intervals=False, seed=seed)
        found = evaluate(predict(*calibrated(rng, 80, 3)), settings, sections=()).estimates.values()
        rejected += [one.if_calibrated.p_value <= 0.05 for one in found]
    low, high = stats.binom.ppf([0.0005, 0.9995], draws, 0.05)
    assert ((rejected >= low) & (rejected <= high)).all()


def test_every_class_wise_error_is_tested_on_demand_or_where_rows_are_few(predict, monkeypatch):
    monkeypatch.setattr("calcli.core.evaluating.usual.TESTED", 1000)
    probs, labels = calibrated(np.random.default_rng(4), 600, 3)
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


def test_weights_count_in_the_table_of_the_classes(predict):
    rng = np.random.default_rng(2)
    probs, labels = calibrated(rng, 300, 3)
    weights = rng.exponential(size=300)
    found = evaluate(
        predict(probs, labels, weights=weights), Settings(metrics=("accuracy",))
    ).summary.per_class
    assert [row.mean_prob for row in found] == pytest.approx(np.average(probs, axis=0, weights=weights))
    assert [row.frequency for row in found] == pytest.approx(np.bincount(labels, weights) / weights.sum())
    hit = probs.argmax(1) == labels
    recalls = [np.average(hit[labels == k], weights=weights[labels == k]) for k in range(3)]
    assert [row.recall for row in found] == pytest.approx(recalls)


@pytest.mark.parametrize(("rows", "judged"), [(29, False), (30, True)])
def test_thirty_rows_are_enough_to_judge_a_class(predict, rows, judged):
    labels = np.repeat([0, 1, 2], [400, 400, rows])
    probs = np.full((len(labels), 3), [0.5, 0.499, 0.001])
    assert (rows_of(predict, probs, labels, test=True)[2].if_calibrated.corrected_p is not None) is judged
