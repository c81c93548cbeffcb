"""Maps that keep an order keep it on rows that their fit has not seen, exact 0s and 1s among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import calcli
from calcli.core.calibrators.methods import make
from calcli.core.language.expressions import parse_method
from calcli.core.language.methods import METHODS
from tests.conftest import REFERENCE

ROUNDING = 1e-12  # by which equal log-odds may differ
EXTREMES = [0.0, 5e-324, 1e-300, 1e-40, 1e-17, 1e-9, 1e-6, 1e-4]
EXPRESSIONS = [f"{name}:calibrator=platt" if m.family == "wrapper" else name for name, m in METHODS.items()]
FREE = ["quadratic", "vector", "matrix", "spline", "histogram", "bbq", "vector-histogram", "pool"]
RISING = [text for text in EXPRESSIONS if text not in [*FREE, "per-predicted-class:calibrator=platt"]]
ORDERED = ["temperature", "temperature-mix", "ensemble-temperature"]


def rounded_scores(seed, exact, shape):
    """Return probabilities, some exactly 0 and 1, labels that follow them, and new, finer ones."""
    rng = np.random.default_rng(seed)
    logits = 2.5 * rng.standard_normal(shape)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1)[:, :-1] < rng.random((len(probs), 1))).sum(axis=1)
    labels[: shape[1]] = np.arange(shape[1])
    coarse = np.round(probs, 2 - exact) if exact else np.clip(probs, 0.02, None)
    coarse[coarse.sum(axis=1) == 0] = 1.0
    return coarse / coarse.sum(axis=1, keepdims=True), labels, probs


def fitted(text, probs, labels):
    calibrator = make(parse_method(text))
    calibrator.scores_are = "probs"
    return calibrator.fit(probs, labels)


def log_odds(calibrator, second):
    """Return the log-odds after calibration of (n,) probabilities of the second of two classes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = calibrator.apply(np.log(np.column_stack([1 - second, second])))
        return found[:, 1] - found[:, 0]


def falls(values):
    """Return by how much ascending values fall at most; infinite ones may be equal."""
    highest = np.maximum.accumulate(values)
    below = values < highest
    return float((highest[below] - values[below]).max(initial=0.0))


@pytest.mark.parametrize("text", RISING)
@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([0, 1]))
@example(0, 1)
def test_two_classes_keep_the_order_of_new_rows(text, seed, exact):
    probs, labels, finer = rounded_scores(seed, exact, (150, 2))
    calibrator = fitted(text, probs, labels)
    ends = np.array(EXTREMES)
    second = np.unique(np.concatenate([probs[:, 1], finer[:, 1], ends, 1 - ends]))
    assert falls(log_odds(calibrator, second)) < ROUNDING


@pytest.mark.parametrize("text", ORDERED)
@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([0, 1]), st.sampled_from([3, 5]))
def test_classes_keep_their_order_in_new_rows(text, seed, exact, classes):
    probs, labels, finer = rounded_scores(seed, exact, (150, classes))
    calibrator = fitted(text, probs, labels)
    small = 10.0 ** np.random.default_rng(seed).uniform(-12, -2, (100, classes))
    small[:, 0] = 0
    small[:, -1] = 1
    new = np.concatenate([probs, finer, small / small.sum(axis=1, keepdims=True)])
    after = calibrator.predict_proba(new)
    order = np.argsort(new, axis=1)
    steps = np.diff(np.take_along_axis(after, order, axis=1), axis=1)
    assert steps.min() > -ROUNDING


@pytest.mark.parametrize("text", ["platt", "dp", "temperature", "beta", "vector", "matrix"])
def test_saved_calibrators_keep_it_too(text, tmp_path):
    probs, labels, _ = rounded_scores(1, 1, (300, 2))
    second = np.sort(np.concatenate([EXTREMES, probs[:, 1]]))
    found = calcli.fit(probs[:, 1], labels, method=text)
    for ending in ("json", "npz"):
        found.save(tmp_path / f"cal.{ending}")
        calibrator = calcli.load(tmp_path / f"cal.{ending}")
        assert falls(log_odds(calibrator, second)) < ROUNDING


def case(name):
    path = REFERENCE / "cases" / name
    if not path.exists():
        pytest.skip(f"not beside this checkout: {name}")
    return path


@pytest.mark.parametrize("text", ["platt", "temperature", "dp", "beta", "scaling-binning", "isotonic"])
def test_no_row_of_a_forest_falls_below_its_zeros(text):
    table = np.genfromtxt(case("zeros_forest_val.csv"), delimiter=",", names=True)
    new = np.genfromtxt(case("zeros_forest_test.csv"), delimiter=",", names=True)["prob"]
    after = calcli.fit(table["prob"], table["target"].astype(int), method=text).apply(new)[:, 1]
    assert (new == 0).any()
    assert after[new > 0].min() >= after[new == 0].max()


def test_a_smaller_probability_than_that_which_stands_for_zero_stays_below_the_largest():
    known, new = np.load(case("zeros_t3_fit.npz")), np.load(case("zeros_t3_new.npz"))["probs"]
    after = calcli.fit(known["probs"], known["labels"], method="temperature").apply(new)
    assert np.diff(after, axis=1).min() >= 0  # as each of these rows ascends


def test_a_fit_without_zeros_leaves_smaller_probabilities_to_the_formula():
    probs, labels, _ = rounded_scores(3, 0, (400, 2))
    calibrator = fitted("platt", probs, labels)
    slope, intercept = (float(calibrator.parameters[name][0]) for name in ("slope", "intercept"))
    second = np.array([1e-9, 1e-6, 1e-3, 0.5, 1 - 1e-9])
    expected = slope * (np.log(second) - np.log1p(-second)) + intercept
    np.testing.assert_allclose(log_odds(calibrator, second), expected, rtol=1e-7)
    lowest = log_odds(calibrator, np.array([0.0]))
    assert -60 * slope < lowest[0] < expected[0]  # a wrong 0 costs what a double makes of it, and not more
