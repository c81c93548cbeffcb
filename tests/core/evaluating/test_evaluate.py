"""Properties that every evaluation has, and oracles from scikit-learn."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn import metrics as sk

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.costs import CostWord
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.usual import default_metrics
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings

PLAIN = Settings(intervals=False, draws=0)


def values(predictions, settings=PLAIN):
    found = evaluate(predictions, settings).estimates
    return {name: estimate.value for name, estimate in found.items()}


def sample(k, n=400, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) * 2
    labels = rng.integers(0, k, n)
    logits[np.arange(n), labels] += 1.5
    return logits, labels


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 8, 300])
def test_scikit_learn_agrees_on_rows_of_which_some_are_tied(k, weighted, predict):
    logits, labels = sample(k)
    logits = np.round(logits)
    weights = np.random.default_rng(1).integers(0, 3, len(labels)) / 2 if weighted else None
    q = softmax(logits, axis=1)
    order = np.argsort(-logits, axis=1, kind="stable")  # of equal classes the first is predicted
    average = partial(np.average, weights=weights)
    expected = {
        "log_loss": sk.log_loss(labels, q, labels=range(k), sample_weight=weights),
        "brier": average(np.square(q - np.eye(k)[labels]).sum(1)) / (2 if k == 2 else 1),
        "accuracy": sk.accuracy_score(labels, order[:, 0], sample_weight=weights),
        "mean_confidence": average(q.max(1)),
        "top1_brier": average(np.square(q.max(1) - (order[:, 0] == labels))),
    }
    if k > 5:
        expected["top5_accuracy"] = average((order[:, :5] == labels[:, None]).any(1))
    areas = [sk.roc_auc_score(labels == c, q[:, c], sample_weight=weights) for c in range(k) if k < 300]
    for kind, scores in (("logits", logits), ("log-probs", np.log(q)), ("probs", q)):
        if kind == "probs" and k < 300:  # rows are tied that are the same, not those of the same softmax
            expected["auroc"] = areas[1] if k == 2 else np.mean(areas)
        found = evaluate(predict(scores, labels, kind, weights), replace(PLAIN, metrics=tuple(expected)))
        values = {name: one.value for name, one in found.estimates.items()}
        assert values == pytest.approx(expected, abs=1e-12)
    counted = slice(None) if weights is None else weights > 0
    tied = (logits == logits.max(1, keepdims=True)).sum(1) > 1
    assert found.summary.input.tied_rows == tied[counted].sum() > 0


prob_rows = st.lists(
    st.tuples(
        st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any), st.integers(0, 2), st.integers(1, 3)
    ),
    min_size=2,
    max_size=25,
)


def build(rows, weights=None):
    counts = np.array([row[0] for row in rows], float)
    probs = counts / counts.sum(1, keepdims=True)
    labels = np.array([row[1] for row in rows])
    return Predictions(ArrayScores(probs, "probs"), labels, ("a", "b", "c"), weights)


def same(first, second, tolerance=1e-12):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert second[name] == pytest.approx(value, abs=tolerance, nan_ok=True), name


# which rows share a fold depends on the order of rows and classes
ORDERLESS = [
    name for name in default_metrics(build([([1, 1, 1], 0, 1)]))[0] if "calibration_loss" not in name
]
EVERYTHING = Settings(
    metrics=(
        *ORDERLESS,
        "corp_miscalibration",
        "corp_discrimination:score=log_loss:lens=top-1",
        "binned_refinement_loss",
        "top1_brier",
        "normalized_bayes_risk:costs=abstain",
        "ks:lens=class-2",
        "ks:lens=class-wise",
        "cw_ece:binning=equal-mass:bins=4",
        "ece:binning=equal-mass:bins=3",
    ),
    intervals=False,
    draws=0,
    costs=(CostWord("abstain", "abstain", 0.3),),
)


@settings(max_examples=30)
@given(prob_rows, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    same(values(build(rows), EVERYTHING), values(build(shuffled), EVERYTHING))


@settings(max_examples=30)
@given(prob_rows)
def test_a_weight_is_a_row_repeated(rows):
    unit = math.gcd(*(row[2] for row in rows))  # the scale of the weights is no matter
    repeated = [row for row in rows for _ in range(row[2] // unit)]
    weights = np.array([float(row[2]) for row in rows])
    same(values(build(repeated), EVERYTHING), values(build(rows, weights), EVERYTHING))


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 1e12])
@pytest.mark.parametrize("k", [2, 4])
def test_weights_may_be_multiplied_by_a_number(k, factor, predict):
    logits, labels = sample(k, 60)
    metrics = ("log_loss", "brier", "ece", "ace", "cw_ece", "ks", "skce", "binned_refinement_loss", "auroc")
    asked = Settings(metrics=metrics, draws=99, test=True)
    one, other = (
        evaluate(predict(logits, labels, "logits", weights=np.full(60, weight)), asked).estimates
        for weight in (1.0, factor)
    )
    for name, found in other.items():
        assert found.value == pytest.approx(one[name].value, rel=1e-5), name
        assert (found.interval is None) == (one[name].interval is None), name
        if found.interval is not None:
            assert found.interval.low == pytest.approx(one[name].interval.low, rel=1e-6), name
        if found.if_calibrated is not None:
            assert found.if_calibrated.p_value == pytest.approx(one[name].if_calibrated.p_value), name


@pytest.mark.parametrize("k", [2, 5, 300])
def test_a_constant_added_to_the_logits_changes_nothing(k, predict):
    logits, labels = sample(k, 200)
    shift = np.random.default_rng(3).normal(size=(200, 1)) * 10
    same(values(predict(logits, labels, "logits")), values(predict(logits + shift, labels, "logits")), 1e-10)


@pytest.mark.parametrize("k", [2, 5])
def test_permuting_the_classes_changes_nothing_but_their_order(k, predict):
    logits, labels = sample(k)
    order = np.random.default_rng(4).permutation(k)
    back = np.argsort(order)
    plain = replace(PLAIN, metrics=(*ORDERLESS, "corp_miscalibration"))
    first = evaluate(predict(logits, labels, "logits"), plain)
    second = evaluate(predict(logits[:, order], back[labels], "logits"), plain)
    for name in first.estimates:
        if k == 2 and (name == "mean_gap" or first.estimates[name].metric.entry.family.has_null):
            continue  # they are about the class that comes second
        assert second.estimates[name].value == pytest.approx(first.estimates[name].value, abs=1e-12), name
    assert [row.ece for row in second.summary.per_class] == pytest.approx(
        [first.summary.per_class[i].ece for i in order]
    )


def test_infinite_rows_are_counted_and_left_out(predict):
    found = evaluate(predict([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]], [1, 0, 0]), Settings())
    assert found.estimates["log_loss"].value == math.inf
    assert found.estimates["log_loss"].interval is None
    assert found.estimates["log_loss"].no_interval == "its value is infinite"
    assert found.summary.infinite_log_loss.first == (0,)
    assert found.summary.infinite_log_loss.value_without == pytest.approx(math.log(2) / 2)
    found = evaluate(predict([[1.0, 0.0], [0.5, 0.5]], [1, 0], weights=[1, 0]), PLAIN).summary
    assert found.infinite_log_loss.first == (0,)
    assert np.isnan(found.infinite_log_loss.value_without)


def test_one_class_only_has_no_ranking_and_no_normalization(predict):
    found = evaluate(predict([[0.8, 0.2], [0.6, 0.4]], [0, 0]), Settings(draws=50))
    assert math.isnan(found.estimates["auroc"].value)
    assert math.isnan(found.estimates["normalized_log_loss"].value)
    assert found.estimates["normalized_log_loss"].interval is None
    assert math.isnan(found.summary.per_class[1].recall)


def test_the_same_seed_prints_the_same_figures(predict):
    logits, labels = sample(3)
    asked, rows = Settings(metrics=("log_loss", "ece"), draws=99), predict(logits, labels, "logits")
    runs = [evaluate(rows, replace(asked, seed=seed)).estimates for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0]["log_loss"].interval == runs[2]["log_loss"].interval
    assert runs[0]["ece"].if_calibrated != runs[2]["ece"].if_calibrated


def test_large_data_of_which_all_rows_are_asked_for_skips_what_orders_every_class(predict):
    large = predict(np.zeros((1_000_001, 10), np.float32), np.zeros(1_000_001, int))
    assert default_metrics(large)[1] == []
    names, skipped = default_metrics(large, Settings(rows="all"))
    assert not {"auroc", "relative_calibration_loss"} & set(names)
    assert len(skipped) == 2


def test_clusters_make_intervals_wider_and_leave_tests_out(predict):
    logits, labels = sample(2, n=100)
    ten = np.repeat(np.arange(100), 10)
    copied = replace(predict(logits[ten], labels[ten], "logits"), columns={"patient": ten})
    names = ("log_loss", "auroc", "ece", "calibration_slope", "spiegelhalter_z")
    alone = evaluate(predict(logits, labels, "logits"), Settings(metrics=names)).estimates
    found = evaluate(copied, Settings(metrics=names, cluster="patient")).estimates
    for name in names:
        times = 10**0.5 if name == "spiegelhalter_z" else 1
        assert found[name].value == pytest.approx(alone[name].value * times, rel=1e-6)
    for name, tolerance in [("log_loss", 0.03), ("auroc", 1e-9), ("calibration_slope", 0.2)]:
        wide, plain = found[name].interval, alone[name].interval
        assert wide.high - wide.low == pytest.approx(plain.high - plain.low, rel=tolerance)
    assert found["ece"].if_calibrated is None
    assert found["spiegelhalter_z"].if_calibrated is None
    assert "|cluster:patient|" in found["log_loss"].signature


def test_tests_under_the_null_are_refused_for_clusters(predict):
    predictions = replace(predict(*sample(3), "logits"), columns={"patient": np.arange(400) // 4})
    with pytest.raises(UsageError, match="--test draws independent outcomes, but --cluster patient says"):
        evaluate(predictions, Settings(cluster="patient", test=True))
    with pytest.raises(InputError, match="no column 'patent'; the columns are: patient"):
        evaluate(predictions, Settings(cluster="patent"))


def test_a_summary_holds_no_rows(predict):
    probs = np.tile([0.7, 0.3], (30_000, 1))
    probs[:120] = 1, 0
    costs = (CostWord("abstain", "abstain", 0.1),)
    asked = Settings(("log_loss", "ece", "bayes_risk"), costs=costs, draws=9)
    summary = evaluate(predict(probs, np.arange(30_000) % 2), asked).summary
    assert summary.infinite_log_loss.rows == 60
    assert len(pickle.dumps(replace(summary, settings=None))) < 20_000


@pytest.mark.parametrize("rows", [200, 20_000])
def test_an_area_just_below_one_half_is_backwards_where_rows_prove_it(predict, rows):
    """Of 20,000 rows the standard error is .004 (Hanley & McNeil 1982), of 200 it is .04."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, rows)
    probs = 1 / (1 + np.exp(-rng.normal(-0.1 * labels)))
    summary = evaluate(predict(np.stack([1 - probs, probs], 1), labels), Settings(("auroc",))).summary
    area = sk.roc_auc_score(labels, probs)
    assert 0.4 < area < 0.5
    assert summary.backwards_area == (None if rows == 200 else pytest.approx(area))


@pytest.mark.parametrize("scale", [1, 40, 4000])
def test_logits_are_ranked_by_their_log_odds(scale, predict):
    """Probabilities of log-odds beyond 36.7 are all rounded to 1."""
    rng = np.random.default_rng(0)
    log_odds = scale * rng.normal(size=500)
    labels = (rng.random(500) < 1 / (1 + np.exp(-log_odds / scale))).astype(int)
    logits = np.stack([np.zeros(500), log_odds], axis=1)
    found = evaluate(
        predict(logits, labels, "logits"), replace(PLAIN, metrics=("auroc", "average_precision"))
    )
    expected = sk.roc_auc_score(labels, log_odds), sk.average_precision_score(labels, log_odds)
    assert [one.value for one in found.estimates.values()] == pytest.approx(expected, abs=1e-12)
