"""Where metrics end: what is undefined, refused, without a test or without an interval."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data.predictions import ArrayScores
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays
from calcli.report.estimates import without_interval
from tests.core.samples import newcombe_low


def errors(predictions, *names, **settings):
    asked = Settings(metrics=names, intervals=False, **{"draws": 0, **settings})
    return evaluate(predictions, asked).estimates


def test_a_region_reaches_up_to_one(binary):
    names = ("ece:lens=class-1:region=0.9..1", "ece:lens=class-1:region=0.5..0.9")
    found = errors(binary([1.0, 1.0, 0.9, 0.5], [0, 0, 0, 0]), *names)
    assert [found[name].value for name in names] == pytest.approx([2.9 / 3, 0.5])


def test_a_region_without_rows_has_no_error(binary):
    found = errors(binary([0.4, 0.6], [0, 1]), "ks:region=0.9..1", "ks:lens=top-1", draws=9)
    assert math.isnan(found["ks:region=0.9..1"].value)
    assert found["ks:region=0.9..1"].if_calibrated is None
    assert found["ks:lens=top-1"].value == pytest.approx(0.4)


def test_pairs_need_two_rows(predict):
    names = ("skce", "skce:estimator=block")
    for rows, defined in [(1, [False, False]), (2, [True, True])]:
        found = errors(predict([[0.6, 0.4]] * rows, [0] * rows), *names, draws=9)
        assert [not math.isnan(found[name].value) for name in names] == defined
        assert [found[name].if_calibrated is not None for name in names] == defined


def test_gaps_of_one_sign_add_up_to_the_mean_gap(binary):
    rng = np.random.default_rng(1)
    score = np.repeat([0.6, 0.7, 0.8, 0.9], 200)
    outcome = np.concatenate([rng.permutation(200) < rate * 200 for rate in (0.5, 0.65, 0.7, 0.9)])
    for hits, sign in [(outcome, 1), (np.ones(800), -1)]:
        found = errors(binary(score, hits.astype(int)), "ks", "mean_gap")
        # Gupta et al. 2021, equation 8
        assert found["ks"].value == pytest.approx(abs(found["mean_gap"].value), abs=1e-12)
        assert found["ks"].parts["signed"] == pytest.approx(found["mean_gap"].value, abs=1e-12)
        assert found["ks"].parts["signed"] * sign > 0


NAMES = ("oe_ratio", "calibration_intercept", "calibration_slope", "spiegelhalter_z")


def measures(predictions, **settings):
    return evaluate(predictions, Settings(metrics=NAMES, **settings)).estimates


def over_confident(n=4000):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-truth))).astype(int)
    return np.stack([np.zeros(n), 2 * truth], axis=1), labels


def test_an_intercept_makes_the_mean_right_and_spiegelhalter_has_a_p_value(predict):
    logits, labels = over_confident()
    z = measures(predict(logits, labels, "logits"))["spiegelhalter_z"]
    assert z.value > 5
    assert (z.if_calibrated.mean, z.if_calibrated.sd) == (0, 1)
    assert z.if_calibrated.p_value < 1e-6
    intercept = measures(predict(logits, labels, "logits"))["calibration_intercept"]
    moved = 1 / (1 + np.exp(-logits[:, 1] - intercept.value))
    assert moved.mean() == pytest.approx(labels.mean(), abs=1e-9)  # that is what it is
    assert intercept.interval.low < 0 < intercept.interval.high
    right = measures(predict(logits / 2, labels, "logits"))["spiegelhalter_z"]
    assert right.if_calibrated.p_value > 0.01


def test_sure_probabilities_have_no_log_odds_unless_clipped(predict):
    logits, labels = over_confident(200)
    probs = np.exp(logits - np.logaddexp(*logits.T)[:, None])
    probs[0] = [0, 1]
    estimates = measures(predict(probs, labels))
    assert np.isnan([estimates[name].value for name in NAMES[1:3]]).all()
    assert np.isfinite([estimates[name].value for name in (NAMES[0], NAMES[3])]).all()
    clipped = measures(predict(probs, labels), clip=1e-6).values()
    assert np.isfinite([estimate.value for estimate in clipped]).all()


def test_more_classes_are_refused(predict):
    with pytest.raises(UsageError, match="calibration_intercept is for two classes, and there are 3"):
        measures(predict(np.full((4, 3), 1 / 3), [0, 1, 2, 0]))


def test_without_variance_there_is_no_test(predict):
    z = measures(predict(np.full((6, 2), 0.5), [0, 1] * 3))["spiegelhalter_z"]
    assert np.isnan(z.value)
    assert z.if_calibrated is None


NORMALIZED = Settings(metrics=("log_loss", "normalized_log_loss", "normalized_brier"), draws=0)


@pytest.fixture
def favouring(predict):
    """Return calibrated predictions: a favourite with probability `sure`, and the rest shared by all."""

    def make(rows, classes, sure, seed=0):
        rng = np.random.default_rng(seed)
        favourite, labels = rng.integers(0, classes, (2, rows))
        labels = np.where(rng.random(rows) < sure, favourite, labels)
        probs = np.full((rows, classes), (1 - sure) / classes)
        probs[np.arange(rows), favourite] += sure
        return predict(probs, labels)

    return make


def test_five_rows_a_class_leave_the_value_in_its_interval(favouring):
    found = evaluate(favouring(5000, 1000, 0.6), NORMALIZED).estimates
    for name in NORMALIZED.metrics:
        one = found[name]
        assert one.interval.low < one.value < one.interval.high
    normalized = found["normalized_log_loss"]
    # the entropy of the frequencies is too low: the truth is rather in the lower part
    assert normalized.value > (normalized.interval.low + normalized.interval.high) / 2
    assert without_interval(found.values()) == []


def test_frequencies_of_classes_with_hardly_a_row_give_no_interval(favouring):
    found = evaluate(favouring(400, 4000, 0.1), NORMALIZED).estimates
    assert found["normalized_log_loss"].interval is None
    assert found["log_loss"].interval is not None
    (said,) = without_interval([found["log_loss"], found["normalized_log_loss"]])
    assert said.startswith("No interval for normalized_log_loss: its bias is more than half")


def test_differences_of_normalized_scores_have_the_same_interval_or_none(favouring):
    sure = favouring(400, 2000, 0.9)
    guessing = replace(sure, scores=ArrayScores(np.full((400, 2000), 1 / 2000), sure.kind))
    (found,) = compare([sure, guessing], NORMALIZED, Plan())
    plain, normalized = (found.differences[0][name] for name in ("log_loss", "normalized_log_loss"))
    assert (plain.verdict, normalized.verdict) == ("worse", "untested")
    assert plain.interval.contains(plain.value)
    assert normalized.interval is None
    (found,) = compare([sure, favouring(400, 2000, 0.9)], NORMALIZED, Plan())
    assert found.differences[0]["normalized_log_loss"].verdict == "equal"


@pytest.mark.parametrize("rows", [(6, 6, 4, 5), (12, 8, 5, 4), (20, 20, 20, 1), (3, 50)])
@pytest.mark.parametrize("more", [1, 3])
def test_without_a_fault_it_rests_on_the_rows_of_a_class_in_the_harmonic_mean(rows, more):
    """Clusters of equal rows count once, and of two classes the rarer one."""
    labels = np.repeat(np.arange(len(rows)), rows)
    cluster = np.arange(len(labels))
    found = from_arrays(
        np.repeat(20.0 * np.eye(len(rows))[labels], more, axis=0),
        np.repeat(labels, more),
        weights=np.full(more * len(labels), 2.0),
        columns={"case": np.repeat(cluster, more)},
    )
    settings = Settings(("auroc",), cluster="case" if more > 1 else None)
    estimate = evaluate(found, settings).estimates["auroc"]
    carried = stats.hmean([min(own, sum(rows) - own) for own in rows])
    assert (estimate.value, estimate.interval.high) == (1, 1)
    score = newcombe_low(carried, sum(rows) - carried)
    assert estimate.interval.low == pytest.approx(max(0.025 ** (1 / carried), score))


@pytest.mark.parametrize("rows", [(40, 40, 40), (30, 9, 9), (60, 3, 3)])
def test_shown_intervals_of_the_mean_area_miss_rarely(rows):
    """Of three normal classes whose pairs are ranked alike, the mean area is told by simulation."""
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(3), rows)

    def area(labels, **asked):
        scores = rng.normal(size=(len(labels), 3)) + 1.5 * np.eye(3)[labels]
        return evaluate(from_arrays(scores, labels), Settings(("auroc",), **asked)).estimates["auroc"]

    truth = area(np.repeat(labels, 2000), intervals=False).value
    missed = sum(not area(labels).interval.contains(truth) for _ in range(150))
    assert missed <= stats.binom.ppf(0.999, 150, 0.06)
