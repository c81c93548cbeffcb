"""Calibration losses from cells of the log-odds are those of the rows, up to what their signatures say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calcli.core.data.chance import Stream, generator
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.core.state.hashing import dealt

AFFINE = (
    "calibration_loss",
    "calibration_loss:score=brier",
    "relative_calibration_loss:recalibrator=temperature",
    "calibration_loss:recalibrator=bias:score=brier",
    "calibration_loss:training=test",
)
PAV = "calibration_loss:recalibrator=pav:training=test"


@pytest.fixture(autouse=True)
def _many_are_few(monkeypatch):
    monkeypatch.setattr("calcli.core.evaluating.evaluate.MANY_ROWS", 900)
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 1_000)
    monkeypatch.setattr("calcli.core.evaluating.usual.COUNTED", 500)


def drawn(n, seed=0, kind="logits", dtype=np.float32, weighted=False, scale=2.0):
    rng = np.random.default_rng(seed)
    odds = scale * rng.standard_normal(n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-0.7 * odds - 0.3))).astype(np.int64)
    scores = np.stack([np.zeros(n), odds], axis=1)
    if kind != "logits":
        scores = -np.stack([np.logaddexp(0, odds), np.logaddexp(0, -odds)], axis=1)
    if kind == "probs":
        scores = np.exp(scores)
    weights = rng.gamma(2, size=n) if weighted else None
    folds = dealt(int(generator(0, Stream.FOLDS).integers(1 << 62)), n, 5)
    return Predictions(
        ArrayScores(scores.astype(dtype), kind), labels, ("no", "yes"), weights, columns={"fold": folds}
    )


def both(rows, metrics, **more):
    """Return the estimates from cells, and those from all rows in the same folds."""
    asked = Settings(metrics=metrics, **more)
    found = evaluate(rows, asked).estimates
    return found, evaluate(rows, replace(asked, rows="all", fold_column="fold")).estimates


@settings(max_examples=12, deadline=None)
@given(
    st.integers(501, 3_000),
    st.integers(0, 999),
    st.sampled_from(["logits", "log-probs", "probs"]),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.sampled_from([0.1, 2.0, 6.0]),
)
def test_affine_recalibrations_win_what_they_win_of_the_rows(n, seed, kind, dtype, weighted, scale):
    rows = drawn(n, seed, kind, dtype, weighted, scale)
    found, expected = both(rows, AFFINE)
    for name, own in found.items():
        other = expected[name]
        assert own.rows is None
        assert own.grid.bound < 1e-5
        # the fits differ in second order too, and rounding in single precision
        assert own.value == pytest.approx(other.value, abs=2 * own.grid.bound + 1e-6), name
        for part in ("before", "after"):
            assert own.parts[part] == pytest.approx(other.parts[part], abs=2e-6), name
        for key, far in (("standard_error", 0.01), ("relative_standard_error", 0.04)):
            assert own.parts[key] == pytest.approx(other.parts[key], rel=far), name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [2_000, 100_000])
def test_isotonic_fits_are_within_their_bound(n, weighted):
    found, expected = both(drawn(n, weighted=weighted), (PAV, f"relative_{PAV}"))
    for name, own in found.items():
        assert abs(own.value - expected[name].value) <= own.grid.bound + 1e-9
        assert own.grid.bound < 1e-3
        assert f"|cells:log-odds|bound:{own.grid.bound:.2g}|" in own.signature
        assert f"|n:{n}|" in own.signature
        assert ("weighted" in own.signature, "cells" in expected[name].signature) == (weighted, False)


def test_cells_tell_losses_before_other_metrics_look_at_a_sample(monkeypatch):
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 1_000_000)
    rows, others = drawn(2_000), (PAV, "log_loss", "unexplained")
    found, expected = both(rows, (*AFFINE, *others))
    for name, own in found.items():
        assert (own.grid is None) == (name in others), name
        assert own.rows is None
        bound = 2 * own.grid.bound + 1e-6 if own.grid else 0
        if name != "unexplained":  # its folds are dealt several times
            assert own.value == pytest.approx(expected[name].value, abs=bound), name
    few = evaluate(drawn(400), Settings(metrics=AFFINE[:1])).estimates[AFFINE[0]]
    assert few.grid is None


def test_infinite_losses_have_no_interval():
    rows = drawn(3_000, kind="probs", dtype=np.float64)
    rows.scores.array[0] = np.where(rows.labels[0] == [0, 1], 0.0, 1.0)
    found, expected = both(rows, AFFINE[:1])
    for own in (found, expected):
        assert np.isnan(own["calibration_loss"].value)
        assert own["calibration_loss"].interval is None


@pytest.mark.parametrize("kind", ["logits", "probs"])
def test_few_distinct_scores_have_cells_of_their_own(kind):
    """Then the cells are the rows."""
    rows = drawn(3_000, kind=kind, dtype=np.float64)
    scores = np.round(rows.scores.array, 1)
    if kind == "probs":
        scores = np.clip(scores, 0.1, 0.9)
    found, expected = both(replace(rows, scores=ArrayScores(scores, kind)), (*AFFINE, PAV))
    for name, own in found.items():
        assert own.value == pytest.approx(expected[name].value, abs=1e-9), name


def test_certain_rows_stay_certain():
    """Odds beyond all numbers, right and wrong."""
    rows = drawn(3_000, kind="probs", dtype=np.float64)
    for wrong in (0, 3):
        scores, labels = rows.scores.array.copy(), rows.labels.copy()
        scores[:50] = np.where(labels[:50, None] == [0, 1], 1.0, 0.0)
        labels[:wrong] = 1 - labels[:wrong]
        sure = replace(rows, scores=ArrayScores(scores, "probs"), labels=labels)
        found, expected = both(sure, (*AFFINE, PAV))
        for name, own in found.items():
            other = expected[name]
            assert np.isinf(own.parts["before"]) == np.isinf(other.parts["before"]), name
            assert own.parts["before"] == pytest.approx(other.parts["before"], abs=2e-6), name
            assert own.parts["after"] == pytest.approx(other.parts["after"], abs=1e-4), name


@pytest.mark.parametrize(
    ("metric", "more"),
    [
        ("calibration_loss:recalibrator=vector", {}),
        ("calibration_loss:score=beta_score", {}),
        ("calibration_loss:recalibrator=pav", {}),
        ("calibration_loss", {"clip": 0.01}),
        ("calibration_loss", {"folds": 100}),
        ("score_divergence", {}),
    ],
)
def test_what_cells_do_not_tell_comes_from_the_sample(metric, more, monkeypatch):
    monkeypatch.setattr("calcli.core.state.sample.MOST", 800)
    (own,) = evaluate(drawn(2_000), Settings(metrics=(metric,), **more)).estimates.values()
    assert (own.rows, own.grid) == (800, None)


def test_folds_are_of_equal_size_and_without_a_pattern():
    n = 200_000
    folds = dealt(12_345, n, 5)
    assert np.array_equal(folds, np.concatenate([dealt(12_345, 777, 5), dealt(12_345 + 777, n - 777, 5)]))
    for own in (folds, folds[::5], folds[::1999], folds[: n // 2]):
        counts = np.bincount(own, minlength=5)
        assert ((counts - len(own) / 5) ** 2 / (len(own) / 5)).sum() < 20  # chi-square of 4 degrees, 0.0005
    pairs = np.bincount(folds[:-1] * 5 + folds[1:], minlength=25)
    assert ((pairs - (n - 1) / 25) ** 2 / ((n - 1) / 25)).sum() < 60  # of 24 degrees, 0.0001
