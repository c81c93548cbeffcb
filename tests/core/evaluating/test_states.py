"""A state of predictions says what the rows say, however they were parted."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.gathering import state_of
from calcli.core.language.errors import InputError, NeedsRows, UsageError
from calcli.core.language.settings import Settings
from calcli.core.state import state as states
from calcli.core.state.merging import merge
from calcli.core.state.state import left_of

METRICS = [
    "log_loss",
    "brier",
    "normalized_log_loss",
    "normalized_brier",
    "accuracy",
    "normalized_error_rate",
    "mean_confidence",
    "mean_gap",
    "top1_brier",
    "ece",
    "ece_l2",
    "mce",
    "ece:binning=equal-mass",
    "ece:bins=7",
    "ece_l2:debiased=true",
    "ks",
    "smooth_ece",
    "kde_ece",
    "mmce",
    "over_confidence",
    "cw_ece",
    "cw_ece_l2",
    "cw_ece:bins=7",
]
SETTINGS = Settings(metrics=tuple(METRICS), draws=99)


def drawn(n, classes, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, classes))
    labels = (0.7 * logits + rng.gumbel(size=logits.shape)).argmax(1)
    weights = rng.gamma(2, size=n) if weighted else None
    return Predictions(ArrayScores(logits, "logits"), labels, tuple(map(str, range(classes))), weights)


def part_of(rows, own):
    weights = None if rows.weights is None else rows.weights[own]
    scores = replace(rows.scores, array=rows.scores.array[own])
    return replace(rows, scores=scores, labels=rows.labels[own], weights=weights)


def parts_of(rows, cuts, settings=SETTINGS):
    ends = [0, *cuts, rows.n_rows]
    return [state_of(part_of(rows, slice(*pair)), settings) for pair in pairwise(ends)]


def found(state, settings=SETTINGS):
    return evaluate(left_of(state), settings)


def same(first, second, atol=0.0):
    assert first.estimates.keys() == second.estimates.keys()
    for name, estimate in first.estimates.items():
        other = second.estimates[name]
        assert other.value == pytest.approx(estimate.value, abs=atol, rel=0, nan_ok=True), name
        assert other.no_interval == estimate.no_interval, name
        if estimate.interval is not None:  # of which sums of fourth powers tell the degrees of freedom
            ends = pytest.approx([estimate.interval.low, estimate.interval.high], abs=1000 * atol, rel=0)
            assert [other.interval.low, other.interval.high] == ends, name


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_state_of_few_rows_says_what_they_say(classes, weighted):
    rows = drawn(900, classes, weighted=weighted)
    whole = found(merge(parts_of(rows, [100, 101, 700])))
    expected = evaluate(rows, SETTINGS)
    same(expected, whole, 1e-12)
    for name, estimate in expected.estimates.items():
        rowless = "smooth" in name or estimate.call.is_class_wise  # of which a state tests none
        assert whole.estimates[name].if_calibrated == estimate.if_calibrated or rowless


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_state_of_many_rows_says_what_they_say(classes, weighted):
    rows = drawn(25_000, classes, weighted=weighted)
    same(evaluate(rows, SETTINGS), found(state_of(rows, SETTINGS)), 1e-9)


@pytest.mark.parametrize("n", [4, 8, 16, 25_000])
def test_what_few_rows_carry_has_no_interval_in_a_state_either(n):
    """Also of many rows that are all sure and right: errors that they promise count."""
    rows = drawn(n, 3, seed=n)
    if n > 100:
        right = 12 * np.eye(3)[rows.labels]
        rows = replace(rows, scores=ArrayScores(right, "logits"))
    expected = evaluate(rows, SETTINGS)
    assert any(one.no_interval.startswith("effective sample size") for one in expected.estimates.values())
    same(expected, found(state_of(rows, SETTINGS)), 1e-9)


def test_tests_from_exact_cells_are_those_of_the_rows():
    rows = drawn(25_000, 3)
    first, second = evaluate(rows, SETTINGS), found(state_of(rows, SETTINGS))
    for name in ("ece", "mce", "ks", "ece:binning=equal-mass"):
        mine, others = (one.summary.metrics[name].if_calibrated for one in (first, second))
        assert others.p_value == pytest.approx(mine.p_value)
        assert others.mean == pytest.approx(mine.mean, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_give_the_bits_of_the_whole(weighted):
    rows = drawn(30_000, 3, weighted=weighted)
    whole = state_of(rows, SETTINGS)
    for cuts in ([29_990], [10, 20_005, 20_006], [12_000, 24_000]):
        parts = merge(parts_of(rows, cuts))
        for name, own in whole.body.deals.statistics.items():
            np.testing.assert_allclose(
                parts.body.deals.statistics[name].sums, own.sums, rtol=1e-12 * weighted
            )
        for lens, cells in whole.body.cells.items():
            for name, values in cells.arrays().items():
                np.testing.assert_allclose(
                    parts.body.cells[lens].arrays()[name], values, rtol=1e-12 * weighted
                )
        assert np.array_equal(parts.body.deals.digest, whole.body.deals.digest)
        same(found(whole), found(parts), 1e-12)


def test_merging_is_associative():
    a, b, c = parts_of(drawn(24_000, 2), [1_000, 22_500])
    one, other = merge([merge([a, b]), c]), merge([a, merge([b, c])])
    same(found(one), found(other), 1e-12)  # sums over bins of the classes are of doubles
    assert [part.rows for part in one.parts] == [1_000, 21_500, 1_500]


def test_merging_leaves_its_parts_as_they_are():
    a, b = parts_of(drawn(60_000, 3), [30_000])
    before = found(a)
    merge([a, b])
    merge([b, a])
    same(before, found(a))


def test_on_the_grid_errors_stay_near_those_of_the_rows(monkeypatch):
    monkeypatch.setattr(states, "CELLS", 100)
    rows = drawn(25_000, 2)
    expected, coarse = evaluate(rows, SETTINGS), found(state_of(rows, SETTINGS))
    for name in METRICS:
        exact = name in ("ece", "ece_l2", "mce", "cw_ece", "cw_ece:bins=7", "log_loss", "accuracy")
        bound = 1e-9 if exact else 2e-4  # half a cell's share of the rows
        assert coarse.summary.metrics[name].value == pytest.approx(
            expected.summary.metrics[name].value, abs=bound
        ), name
    assert "cells:grid" in coarse.summary.metrics["ks"].signature
    assert "cells:grid" not in coarse.summary.metrics["log_loss"].signature


def test_infinite_losses_are_counted_and_named():
    rows = drawn(25_000, 2)
    array = rows.scores.array
    array[[7, 12_000, 24_999]] = -np.inf
    array[[7, 12_000, 24_999], 1 - rows.labels[[7, 12_000, 24_999]]] = 0
    expected = evaluate(rows, SETTINGS).summary.infinite_log_loss
    state = merge(parts_of(rows, [9_000]))
    assert found(state).summary.infinite_log_loss.first == expected.first == (7, 12_000, 24_999)
    assert found(state).summary.infinite_log_loss.value_without == pytest.approx(expected.value_without)


def test_the_default_report_of_a_small_state_has_what_needs_rows():
    rows = drawn(500, 3)
    own, report = (
        evaluate(rows, Settings(draws=99)),
        found(state_of(rows, Settings(draws=99)), Settings(draws=99)),
    )
    assert report.estimates.keys() == own.estimates.keys()
    assert report.summary.skipped == ()


def test_without_a_sample_what_needs_rows_is_refused_by_name():
    state = state_of(drawn(500, 3), Settings(draws=99))
    state.body.sample = None  # as slices have it
    with pytest.raises(NeedsRows, match="a state cannot give calibration_loss"):
        found(state, Settings(metrics=("log_loss", "calibration_loss")))
    with pytest.raises(NeedsRows, match="made without the lens top-2"):
        found(state, Settings(metrics=("ece:lens=top-2",)))


@pytest.mark.parametrize(
    ("classes", "words"),
    [(2, "^the state has no sums over 7 bins; "), (3, "sums over 15 bins of each class, not 7; ")],
)
def test_bins_that_a_state_does_not_have_are_named(classes, words):
    state = state_of(drawn(500, classes), Settings(metrics=("log_loss", "cw_ece")))
    with pytest.raises(NeedsRows, match=words):
        found(state, Settings(metrics=("cw_ece",), bins=7))


def test_unlike_states_and_the_same_rows_are_refused():
    rows = drawn(500, 3)
    state = state_of(rows, SETTINGS)
    with pytest.raises(InputError, match="have the same 500 rows"):
        merge([state, state])
    others = [
        (drawn(500, 2), SETTINGS, "classes"),
        (drawn(500, 3, weighted=True), SETTINGS, "weights"),
        (drawn(500, 3, 1), replace(SETTINGS, metrics=("brier",)), "metrics"),
        (drawn(500, 3, 1), replace(SETTINGS, clip=1e-6), "clip"),
        (drawn(500, 3, 1), replace(SETTINGS, precision="single"), "precisions"),
    ]
    for predictions, settings, words in others:
        with pytest.raises(InputError, match=words):
            merge([state, state_of(predictions, settings)])


def test_settings_that_states_cannot_hold_are_refused():
    rows = drawn(500, 3)
    with pytest.raises(UsageError, match="--cluster"):
        state_of(rows, Settings(cluster="user"))
    state = state_of(rows, Settings(metrics=("log_loss",), clip=1e-6))
    with pytest.raises(UsageError, match="--clip"):
        found(state, Settings(clip=1e-3))
    with pytest.raises(UsageError, match="--sd"):
        found(state, Settings(sd=True))
    assert "clip:1e-06" in found(state, Settings()).summary.metrics["log_loss"].signature
