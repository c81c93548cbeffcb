"""States, and runs from many rows that keep sums, say what the rows say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import special
from sklearn.metrics import average_precision_score, roc_auc_score

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data import blocks
from calcli.core.data.derived import select
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import hashed
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.states import merge, state_of
from calcli.core.language.errors import InputError, NeedsRows, UsageError
from calcli.core.language.settings import Settings
from calcli.core.state import sample
from calcli.core.state.random_groups import first_number
from calcli.core.state.state import predictions_of
from calcli.io.saved.states import from_bytes, to_bytes

METRICS = (
    "log_loss", "brier", "normalized_log_loss", "normalized_brier", "accuracy", "normalized_error_rate",
    "mean_confidence", "mean_gap", "top1_brier", "ece", "ece_l2", "mce", "ece:binning=equal-mass",
    "ece:bins=7", "ece_l2:debiased=true", "ks", "smooth_ece", "kde_ece", "mmce", "over_confidence",
    "cw_ece", "cw_ece_l2", "cw_ece:bins=7",
)  # fmt: skip
SETTINGS = Settings(metrics=METRICS, draws=99)


def drawn(n, classes, seed=0, weighted=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    logits = (2 * rng.normal(size=(n, classes))).astype(dtype)
    labels = (0.7 * logits + rng.gumbel(size=logits.shape)).argmax(1)
    weights = rng.gamma(2, size=n) if weighted else None
    return Predictions(ArrayScores(logits, "logits"), labels, tuple(map(str, range(classes))), weights)


def some(rows, chosen):
    return select(rows, np.isin(np.arange(rows.n_rows), chosen))


def parts_of(rows, cuts, settings=SETTINGS):
    ends = pairwise([0, *cuts, rows.n_rows])
    return [state_of(some(rows, np.arange(*pair)), settings) for pair in ends]


def told(state, settings=SETTINGS):
    return evaluate(predictions_of(state), settings)


def same(first, second, atol=0.0, dealt=False):
    """Require the same values, and the same intervals unless other groups of rows were left out."""
    assert first.estimates.keys() == second.estimates.keys()
    for name, estimate in first.estimates.items():
        other = second.estimates[name]
        near = 1e-4 if "|cells|" in other.signature else atol
        assert other.value == pytest.approx(estimate.value, abs=near, rel=0, nan_ok=True), name
        assert other.no_interval == estimate.no_interval, name
        if estimate.interval is not None:  # of which sums of fourth powers tell the degrees of freedom
            low, high = estimate.interval.low, estimate.interval.high
            ends = pytest.approx([low, high], abs=0.1 * (high - low) if dealt else 1000 * atol, rel=0)
            assert [other.interval.low, other.interval.high] == ends, name


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "cuts"), [(900, [100, 101, 700]), (25_000, [29, 12_000])])
def test_a_state_says_what_its_rows_say(n, cuts, classes, weighted):
    rows = drawn(n, classes, weighted=weighted)
    expected, found = evaluate(rows, SETTINGS), told(merge(parts_of(rows, cuts)))
    same(expected, found, 1e-12 if n == 900 else 1e-9, dealt=n > 900)
    tables = [
        [(one.rows, one.frequency, one.recall) for one in e.summary.per_class] for e in (expected, found)
    ]
    assert np.array(tables[1]) == pytest.approx(np.array(tables[0]))
    for name, estimate in expected.estimates.items():
        null, other = estimate.if_calibrated, found.estimates[name].if_calibrated
        if null is None or "smooth" in name or estimate.metric.is_class_wise:  # of which a state tests none
            continue
        if n == 900:
            assert null == other, name
        elif other is not None and not weighted:
            assert (other.p_value, other.mean) == pytest.approx(
                (null.p_value, null.mean), rel=0.02, abs=0.02
            ), name


@pytest.mark.parametrize("n", [4, 8, 16, 25_000])
def test_what_few_rows_carry_has_no_interval_in_a_state_either(n):
    """Also of many rows that are all sure and right: errors that they promise count."""
    rows = drawn(n, 3, seed=n)
    if n > 100:
        rows = replace(rows, scores=ArrayScores(12 * np.eye(3)[rows.labels], "logits"))
    expected = evaluate(rows, SETTINGS)
    assert any(one.no_interval.endswith("an interval needs 5") for one in expected.estimates.values())
    same(expected, told(state_of(rows, SETTINGS)), 1e-9)


def test_infinite_losses_are_counted_and_named(monkeypatch):
    monkeypatch.setattr(blocks, "MOST_ROWS", 5_000)
    rows = drawn(150_000, 2)
    first = [7, 12_000, 149_999]
    rows.scores.array[first] = -np.inf
    rows.scores.array[first, 1 - rows.labels[first]] = 0
    expected = evaluate(rows, SETTINGS).summary.infinite_log_loss
    for cuts, named in (([], tuple(first)), ([9_000], ())):
        found = told(merge(parts_of(rows, cuts))).summary.infinite_log_loss
        assert (found.rows, found.first) == (3, named)
        assert found.value_without == pytest.approx(expected.value_without)
    assert expected.first == tuple(first)


def test_the_default_report_of_a_small_state_has_what_needs_rows():
    rows, usual = drawn(500, 3), Settings(draws=99)
    own, report = evaluate(rows, usual), told(state_of(rows, usual), usual)
    assert report.estimates.keys() == own.estimates.keys()
    assert report.summary.skipped == ()


def test_what_a_state_cannot_tell_is_refused_by_name():
    rows = drawn(21_000, 3)
    with pytest.raises(UsageError, match="--cluster"):
        state_of(rows, Settings(cluster="user"))
    state = state_of(rows, Settings(metrics=("log_loss", "cw_ece"), clip=1e-6))
    assert "clip:1e-06" in told(state, Settings()).summary.metrics["log_loss"].signature
    with pytest.raises(UsageError, match="--clip"):
        told(state, Settings(clip=1e-3))
    with pytest.raises(NeedsRows, match="sums over 15 bins of each class, not 7; "):
        told(state, Settings(metrics=("cw_ece",), bins=7))
    state.body.sample = None  # as slices have it
    for metric, words in (
        ("calibration_loss", "a state cannot give calibration_loss"),
        ("ece:lens=top-2", "made without the lens top-2"),
    ):
        with pytest.raises(NeedsRows, match=words):
            told(state, Settings(metrics=("log_loss", metric)))
    of_two = state_of(drawn(21_000, 2), Settings(metrics=("log_loss", "cw_ece")))
    with pytest.raises(NeedsRows, match=r"^the state has no sums over 7 bins; "):
        told(of_two, Settings(metrics=("cw_ece",), bins=7))


def test_unlike_states_and_the_same_rows_are_refused():
    state = state_of(drawn(500, 3), SETTINGS)
    with pytest.raises(InputError, match="have the same 500 rows"):
        merge([state, state])
    for predictions, more, words in (
        (drawn(500, 2), {}, "classes"),
        (drawn(500, 3, weighted=True), {}, "weights"),
        (drawn(500, 3, 1), {"metrics": ("brier",)}, "metrics"),
        (drawn(500, 3, 1), {"clip": 1e-6}, "clip"),
        (drawn(500, 3, 1), {"precision": "single"}, "precisions"),
    ):
        with pytest.raises(InputError, match=words):
            merge([state, state_of(predictions, replace(SETTINGS, **more))])


@pytest.fixture
def many(monkeypatch):
    """Return 25,000 rows, which shall be so many that a run keeps sums and a sample of them."""
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 40_000)
    return {classes: drawn(25_000, classes, dtype=np.float32) for classes in (2, 4)}


def sampled(rows, size):
    numbers = first_number(rows.labels) + np.arange(rows.n_rows)
    chosen = np.argsort(hashed(numbers))[:size]
    return replace(rows, scores=ArrayScores(rows.scores.array[chosen], "logits"), labels=rows.labels[chosen])


@pytest.mark.parametrize(("classes", "precision"), [(2, "single"), (2, "double"), (4, "double")])
def test_the_default_report_of_a_run_from_many_rows_is_that_of_the_rows(classes, precision, many):
    rows, settings = many[classes], Settings(draws=99, precision=precision)
    found, expected = evaluate(rows, settings), evaluate(rows, replace(settings, rows="all"))
    of_state = told(from_bytes(to_bytes(state_of(rows, settings))), settings)
    assert found.estimates.keys() == expected.estimates.keys() == of_state.estimates.keys()
    for name, estimate in expected.estimates.items():
        own, other = found.estimates[name], of_state.estimates[name]
        if own.rows:
            assert f"n:25000|rows:{own.rows}|" in own.signature
            assert own.value == pytest.approx(estimate.value, abs=5 / own.rows**0.5), name
            continue
        if estimate.metric.entry.family.fits:  # in other folds
            assert own.value == pytest.approx(estimate.value, abs=estimate.parts["standard_error"]), name
        else:
            assert own.value == pytest.approx(
                estimate.value, abs=1e-4 if "|cells|" in own.signature else 1e-7
            )
        if name == "auroc" and classes == 4:  # which a file leaves to its sample
            assert (own.rows, other.rows) == (None, 20_000)
        else:
            assert (other.rows, other.value) == (own.rows, pytest.approx(own.value, rel=1e-9)), name
        if estimate.interval is not None:
            assert own.interval.low == pytest.approx(estimate.interval.low, abs=1e-3), name
        if estimate.if_calibrated is not None:
            assert own.if_calibrated.p_value == pytest.approx(estimate.if_calibrated.p_value, abs=0.02), name
        if not estimate.metric.entry.family.fits:
            assert own.signature.replace("|cells", "") == estimate.signature
    for own, whole in (
        (one.summary.reliability, two.summary.reliability) for one, two in [(found, expected)]
    ):
        assert [one.rows for one in own] == [one.rows for one in whole]
    assert found.summary.per_class[0].rows == expected.summary.per_class[0].rows
    assert found.predictions is rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [3, 20, 21])
def test_areas_of_several_classes_are_those_of_all_rows_up_to_twenty(classes, weighted, monkeypatch):
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 40_000)
    rows = drawn(25_000, classes, dtype=np.float32)
    weights = np.random.default_rng(0).integers(1, 4, rows.n_rows).astype(float) if weighted else None
    rows = replace(rows, weights=weights)
    settings = Settings(("auroc", "average_precision"), draws=0)
    found, whole = (evaluate(rows, replace(settings, rows=of)).estimates for of in ("auto", "all"))
    probs = special.softmax(rows.scores.array.astype(np.float64), axis=1)
    for name, score in (("auroc", roc_auc_score), ("average_precision", average_precision_score)):
        by_class = [score(rows.labels == k, probs[:, k], sample_weight=weights) for k in range(classes)]
        assert (found[name].rows is None) == (classes <= 20) == ("|cells" in found[name].signature)
        if classes <= 20:
            assert found[name].value == pytest.approx(np.mean(by_class), abs=1e-4)
            widths = [e[name].interval.high - e[name].interval.low for e in (found, whole)]
            assert widths[0] == pytest.approx(widths[1], rel=0.03)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_and_parts_agree_in_every_metric_of_the_default_report(dtype, monkeypatch):
    """At a size at which both are states: rows times classes are more than so many."""
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 40_000)
    monkeypatch.setattr("calcli.core.evaluating.measurements.MOST_FITTED", 10_000)
    rows, settings = drawn(30_000, 2, dtype=dtype), Settings(draws=0)
    whole = evaluate(rows, settings).estimates
    states = [state_of(rows, settings), merge(parts_of(rows, [7_000, 9_999, 21_000], settings))]
    for state in states:
        found = told(from_bytes(to_bytes(state)), settings).estimates
        assert found.keys() == whole.keys() >= {"average_precision", "ks", "kuiper"}
        for name, estimate in whole.items():
            of_other_rows = name in ("calibration_slope", "calibration_intercept")  # sampled otherwise
            near = {"abs": 0.05} if of_other_rows else {"rel": 1e-6}
            assert found[name].value == pytest.approx(estimate.value, **near), name
            assert found[name].rows == estimate.rows
    assert whole["relative_calibration_loss"].rows == 10_000


SAMPLED = ("skce:estimator=block", "calibration_slope", "corp_miscalibration",
           "relative_calibration_loss:recalibrator=vector")  # fmt: skip


def test_what_needs_rows_has_a_sample_unless_all_are_asked_for(monkeypatch, many):
    monkeypatch.setattr(sample, "MOST", 5_000)
    rows, settings = many[2], Settings((*SAMPLED, "log_loss", "ks:lens=class-1"), draws=0)
    found = evaluate(rows, settings).estimates
    few = evaluate(sampled(rows, 5_000), replace(settings, rows="all")).estimates
    whole = evaluate(rows, replace(settings, rows="all")).estimates
    for name, own in found.items():
        of_sample = own.metric.text in SAMPLED[:3]
        assert own.rows == (5_000 if of_sample else None)
        assert whole[name].rows is None
        shuffled = "relative" in name or "skce" in name  # which depend on the order of the rows
        expected = few if of_sample else whole
        near = 3e-3 if shuffled else 1e-4 if "|cells|" in own.signature else 1e-7
        assert own.value == pytest.approx(expected[name].value, abs=near), name


def test_what_redraws_rows_redraws_those_of_the_sample(monkeypatch, many):
    monkeypatch.setattr(sample, "MOST", 300)
    settings = Settings(metrics=("mce", "skce:estimator=block"), draws=20, test=True)
    mce, own = evaluate(many[2], settings).estimates.values()
    few = evaluate(sampled(many[2], 300), replace(settings, rows="all"))
    expected = few.estimates["skce:estimator=block"]
    assert (own.rows, mce.rows) == (300, None)
    assert own.value == pytest.approx(expected.value, abs=1e-6)
    null, other = own.if_calibrated, expected.if_calibrated
    assert null.mean == pytest.approx(other.mean, abs=other.sd)
    assert null.sd == pytest.approx(other.sd, rel=0.5)


@pytest.mark.parametrize("paired", [True, False])
def test_systems_are_compared_on_samples_of_their_rows(paired, monkeypatch, many):
    monkeypatch.setattr(sample, "MOST", 2_000)
    first, plan = many[2], Plan(paired=paired)
    second = replace(first, scores=replace(first.scores, array=first.scores.array * np.float32(2)))
    settings = Settings(metrics=("log_loss", "calibration_loss", "ece"), draws=99)
    (found,) = compare([first, second], settings, plan)
    own = found.differences[0]
    assert [own[name].rows for name in settings.metrics] == [(), (2_000, 2_000), ()]
    assert "|rows:2000|" in own["calibration_loss"].signature
    (few,) = compare([sampled(one, 2_000) for one in (first, second)], replace(settings, rows="all"), plan)
    (whole,) = compare([first, second], replace(settings, rows="all"), plan)
    for name, expected in (("calibration_loss", few), ("log_loss", whole), ("ece", whole)):
        other = expected.differences[0][name]
        assert own[name].value == pytest.approx(other.value, abs=1e-6)
        assert own[name].verdict == other.verdict
        assert own[name].p_value == pytest.approx(other.p_value, abs=0.02, nan_ok=True)
        if other.interval is not None:
            assert own[name].interval.low == pytest.approx(other.interval.low, abs=1e-5)
