"""Parts of scores: exact sums, closed forms, reference values, and scikit-learn's isotonic regression."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

BINNED = ("binned_calibration_loss", "binned_refinement_loss")
ISOTONIC = ("corp_miscalibration", "corp_discrimination", "corp_uncertainty")


def values(predictions, *names, **settings):
    found = evaluate(predictions, Settings(metrics=names, intervals=False, draws=0, **settings)).estimates
    return [estimate.value for estimate in found.values()]


def test_reference_values(golden, dataset, predict):
    names = [f"{name}{score}" for score in ("", ":score=log_loss") for name in BINNED]
    for name, expected in golden.items():
        found = values(predict(*dataset(name), "logits"), *names)
        of_two = dataset(name)[0].shape[1] == 2  # the Brier score of two classes is (p - y)^2
        halves = (of_two, of_two, False, False)
        keys = ("cl_brier_ew15", "rl_brier_ew15", "cl_log_ew15", "rl_log_ew15")
        assert found == pytest.approx(
            [expected[key] / (2 if halved else 1) for key, halved in zip(keys, halves, strict=True)], abs=1e-9
        ), name


def test_the_binned_brier_losses_are_the_class_wise_error(predict):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(5), 400)
    predictions = predict(q, rng.integers(0, 5, 400), weights=rng.exponential(size=400))
    calibration, error = values(predictions, "binned_calibration_loss:bins=9", "cw_ece_l2:bins=9")
    assert calibration == pytest.approx(5 * error**2, abs=1e-14)


def test_a_sum_of_nothing_but_rounding_is_no_probability(predict):
    """Zeros and a class that they never name, in the first bin; what it holds is found by difference."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        probs = rng.dirichlet(np.full(3, 0.05), 40).round(1)
        probs[:, 0] += 1 - probs.sum(1)
        probs = np.clip(probs, 0, 1)
        calibration, refinement = values(
            predict(probs, rng.integers(0, 3, 40)), *(f"{name}:score=log_loss" for name in BINNED)
        )
        assert calibration > -1
        assert 0 <= refinement < 3


def isotonic(order, outcome, weights):
    fit = IsotonicRegression(out_of_bounds="clip").fit(order, outcome, sample_weight=weights)
    return fit.predict(order)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_agree_with_scikit_learn(weighted, binary):
    rng = np.random.default_rng(1)
    prob, labels = rng.beta(0.5, 0.5, 300).round(2).clip(0.01, 0.99), rng.integers(0, 2, 300)
    weights = rng.integers(1, 4, 300).astype(float) if weighted else None
    predictions = binary(prob, labels, weights)
    frequency = np.average(labels, weights=weights)
    for score, loss in (("log_loss", log_loss), ("brier", brier_score_loss)):
        before, after, constant = (
            loss(labels, answer, sample_weight=weights)
            for answer in (prob, isotonic(prob, labels, weights), np.full(300, frequency))
        )
        found = values(predictions, *(f"{name}:score={score}" for name in ISOTONIC))
        assert found == pytest.approx([before - after, constant - after, constant], abs=1e-12)


def test_more_classes_are_taken_apart_one_by_one(predict):
    rng = np.random.default_rng(2)
    q, labels = rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200)
    after = sum(np.square(isotonic(q[:, k], labels == k, None) - (labels == k)).mean() for k in range(4))
    before = np.square(q - np.eye(4)[labels]).sum(1).mean()
    constant = 1 - np.square(np.bincount(labels) / 200).sum()
    found = values(predict(q, labels), *ISOTONIC)
    assert found == pytest.approx([before - after, constant - after, constant], abs=1e-12)
    with pytest.raises(UsageError, match="use score=brier or lens=top-1"):
        values(predict(q, labels), "corp_miscalibration:score=log_loss")


def test_the_uncertainty_of_a_lens_has_its_own_interval(predict):
    rng = np.random.default_rng(4)
    q, labels = rng.dirichlet(np.ones(3), 400), np.repeat([0, 1, 2], [300, 60, 40])
    settings = Settings(metrics=("corp_uncertainty:lens=class-2",))
    (found,) = evaluate(predict(q, labels), settings).estimates.values()
    assert found.value == pytest.approx(0.1 * 0.9)
    assert 0.04 < found.interval.low < found.value < found.interval.high < 0.13


@pytest.mark.parametrize("lens", ["canonical", "worst-class"])
def test_other_lenses_have_no_isotonic_fit(predict, lens):
    with pytest.raises(UsageError, match=f"the lens {lens}"):
        values(predict(np.eye(3), [0, 1, 2]), f"corp_miscalibration:lens={lens}")


def test_the_isotonic_bound_of_real_predictions(golden, dataset, predict):
    for name in ("sst2_gpt2", "fvcaus_plda"):
        won, uncertainty = values(
            predict(*dataset(name), "logits"),
            "corp_miscalibration:score=log_loss",
            "corp_uncertainty:score=log_loss",
        )
        expected = golden[name]
        assert won == pytest.approx(expected["ce_nats"] - expected["pav_logloss_nats"], abs=1e-9)
        assert uncertainty == pytest.approx(expected["prior_entropy_nats"], abs=1e-9)


rows = st.lists(
    st.tuples(st.lists(st.integers(1, 6), min_size=3, max_size=3), st.integers(0, 2), st.integers(0, 3)),
    min_size=1,
    max_size=20,
).filter(lambda found: any(row[2] for row in found))


@given(rows, st.sampled_from(["class-wise", "top-1"]), st.sampled_from(["brier", "log_loss"]))
def test_the_parts_add_up_and_are_not_negative(found, lens, score):
    if lens == "class-wise":
        score = "brier"
    counts = np.array([row[0] for row in found], float)
    probs, labels = counts / counts.sum(1, keepdims=True), np.array([row[1] for row in found])
    weights = np.array([float(row[2]) for row in found])
    predictions = Predictions(ArrayScores(probs, "probs"), labels, ("a", "b", "c"), weights)
    name = f"corp_miscalibration:score={score}:lens={lens}"
    (estimate,) = evaluate(
        predictions, Settings(metrics=(name,), intervals=False, draws=0)
    ).estimates.values()
    parts = estimate.parts
    total = parts["miscalibration"] - parts["discrimination"] + parts["uncertainty"]
    assert total == pytest.approx(parts["score"], abs=1e-12)
    assert min(parts["miscalibration"], parts["discrimination"], parts["uncertainty"]) > -1e-12
    if lens == "class-wise":
        assert parts["score"] == pytest.approx(values(predictions, "brier")[0], abs=1e-12)
    elif score == "brier":
        assert parts["score"] == pytest.approx(values(predictions, "top1_brier")[0], abs=1e-12)


THESIS = (*BINNED, "binned_estimated_score", "binned_remainder")


@pytest.mark.parametrize("score", ["brier", "log_loss"])
@pytest.mark.parametrize("estimator", ["bins", "kernel"])
@pytest.mark.parametrize("classes", [2, 4])
def test_parts_of_the_classes_are_those_of_all(score, estimator, classes, predict):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(classes), 300)
    weights = rng.exponential(size=300)
    predictions = predict(probs, rng.integers(0, classes, 300), weights=weights)
    for name in THESIS:
        whole, *parts = values(
            predictions,
            f"{name}:score={score}:estimator={estimator}",
            *(f"{name}:score={score}:estimator={estimator}:lens=class-{k}" for k in range(classes)),
        )
        assert sum(parts) == pytest.approx(whole, abs=1e-12)
        halves = [f"{name}:score={score}:lens=class-1:bins=10:region={ends}" for ends in ("0..0.3", "0.3..1")]
        whole, *parts = values(predictions, f"{name}:score={score}:lens=class-1:bins=10", *halves)
        assert sum(parts) == pytest.approx(whole, abs=1e-12)  # shares of the whole, where edges are bins'


def test_the_remainder_is_what_varies_within_bins(predict):
    rng = np.random.default_rng(1)
    probs, labels = rng.dirichlet(np.ones(3), 500), rng.integers(0, 3, 500)
    expected = 0.0
    for k in range(3):
        prob, hit = probs[:, k], labels == k
        cells = np.minimum((prob * 15).astype(int), 14)
        for cell in np.unique(cells):
            z, y = prob[cells == cell], hit[cells == cell].astype(float)
            expected += len(z) / 500 * (z.var() - 2 * np.mean((z - z.mean()) * (y - y.mean())))
    score, estimated, remainder = values(predict(probs, labels), "brier", *THESIS[2:])
    assert remainder == pytest.approx(expected, abs=1e-13)
    assert estimated + remainder == pytest.approx(score)


def test_the_kernel_loss_is_the_squared_kernel_error(predict):
    rng = np.random.default_rng(2)
    predictions = predict(rng.dirichlet(np.ones(3), 400), rng.integers(0, 3, 400))
    loss, error = values(
        predictions, "binned_calibration_loss:estimator=kernel", "kde_ece:norm=2:lens=class-wise"
    )
    assert loss == pytest.approx(3 * error**2, rel=1e-9)


def test_lenses_and_regions_that_have_no_parts(predict):
    predictions = predict([[0.5, 0.3, 0.2]] * 4, [0, 1, 2, 0])
    with pytest.raises(UsageError, match="expected class-wise, one such as class-0, or canonical"):
        values(predictions, "binned_calibration_loss:lens=top-1")
    with pytest.raises(UsageError, match="expected class-wise, one such as class-0, or canonical"):
        values(predictions, "binned_calibration_loss:lens=worst-class")
    with pytest.raises(UsageError, match="name the class"):
        values(predictions, "binned_calibration_loss:region=0..0.5")
    assert np.isnan(values(predictions, "binned_refinement_loss:lens=class-0:region=0.9..1"))
