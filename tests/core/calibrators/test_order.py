"""Maps that keep an order keep it on rows that their fit has not seen, exact 0s and 1s among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import calcli
from calcli.core.calibrators.base import ORDER
from calcli.core.language.methods import METHODS
from tests.conftest import REFERENCE
from tests.core.samples import SMALL, columns, made

ROWS = "with two classes, the order of the rows"
ROUNDING = 1e-8  # by which log-odds of a map that rises may fall
EXTREMES = [0.0, 5e-324, 1e-300, 1e-40, 1e-17, 1e-9, 1e-6, 1e-4]
SET = [
    "platt:lens=top-1:keep_top=false",
    "isotonic:lens=top-1:keep_top=false",
    "isotonic:lens=top-wise",
    "histogram:lens=class-0",
    "histogram:binning=equal-width",
    "isotonic:smoothing=0:interpolation=steps",
    "beta:constrained=false",
    "spline:monotone=true",
    "beta:lens=top-1",
    "reduced:calibrator=histogram",
    "reduced:keep_top=false:calibrator=beta",
    "preserve-top1:calibrator=bbq",
    "pool:members=platt+histogram:weights=0.5/0.5",
]
OF_CLASSES = [
    *(name for name, method in METHODS.items() if method.keeps == ORDER),
    "spline",
    "platt:lens=top-1",
    "isotonic:lens=within-top-2",
]


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
    return made(text).set_params(scores_are="probs").fit(probs, labels)


def log_odds(calibrator, second):
    """Return the log-odds after calibration of (n,) probabilities of the second of two classes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = calibrator.apply(columns(second))
        return found[:, 1] - found[:, 0]


def log_odds_of(calibrator, scores):
    found = calibrator.apply(scores)
    return found[:, 1] - found[:, 0]


def falls(values):
    """Return by how much ascending values fall at most; infinite ones may be equal."""
    highest = np.maximum.accumulate(values)
    below = values < highest
    return float((highest[below] - values[below]).max(initial=0.0))


def two_classes(seed, exact, reversed_):
    """Return probabilities to fit to, labels, and those of the second class in old and new rows."""
    probs, labels, finer = rounded_scores(seed, exact, (150, 2))
    ends = np.array(EXTREMES)
    second = np.unique(np.concatenate([probs[:, 1], finer[:, 1], ends, 1 - ends]))
    return (probs[:, ::-1] if reversed_ else probs), labels, second


@pytest.mark.parametrize("text", [*SMALL.values(), *SET])
@settings(max_examples=4)
@given(st.integers(0, 10**6), st.sampled_from([0, 1]), st.booleans())
@example(0, 1, False)
@example(0, 0, True)
def test_what_a_fit_tells_of_the_order_of_rows_is_true_of_new_ones(text, seed, exact, reversed_):
    probs, labels, second = two_classes(seed, exact, reversed_)
    calibrator = fitted(text, probs, labels)
    found = calibrator.order(2)
    if found.kept == "kept":
        assert falls(log_odds(calibrator, second)) < ROUNDING
    elif found.kept == "turned":
        inner = second[(second > 0) & (second < 1)]
        assert falls(-log_odds(calibrator, inner)) < ROUNDING < np.ptp(log_odds(calibrator, inner))
    else:
        assert falls(log_odds(calibrator, np.linspace(found.low, found.high, 20_001))) > ROUNDING
        assert falls(log_odds(calibrator, np.append(second[second < found.low], found.low))) < ROUNDING
        assert falls(log_odds(calibrator, np.append(found.high, second[second > found.high]))) < ROUNDING
    assert (found.kept == "kept") == (found.says not in calibrator.notes)
    if METHODS[calibrator.name].keeps in (ORDER, ROWS, f"{ROWS}, up to ties") and text in SMALL.values():
        assert found.kept == "kept"


@pytest.mark.parametrize("text", OF_CLASSES)
@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([0, 1]), st.sampled_from([3, 5]), st.booleans())
def test_classes_keep_their_order_in_new_rows(text, seed, exact, classes, reversed_):
    probs, labels, finer = rounded_scores(seed, exact, (150, classes))
    labels = classes - 1 - labels if reversed_ else labels
    calibrator = fitted(text, probs, labels)
    assert calibrator.order(classes).kept == "kept"
    small = 10.0 ** np.random.default_rng(seed).uniform(-12, -2, (100, classes))
    small[:, 0] = 0
    small[:, -1] = 1
    new = np.concatenate([probs, finer, small / small.sum(axis=1, keepdims=True)])
    order = np.argsort(new, axis=1)
    before, after = (np.take_along_axis(of, order, axis=1) for of in (new, calibrator.predict_proba(new)))
    assert (np.diff(after, axis=1)[np.diff(before, axis=1) > 0] > -1e-12).all()


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("dp", "alpha"),
        ("platt", "slope"),
        ("vector", "scale"),
        ("matrix", "matrix"),
        ("scaling-binning", "slope"),
        ("structured", "slopes"),
    ],
)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_map_of_scores_that_rank_the_wrong_way_round_is_told(text, turned, classes):
    probs, labels, _ = rounded_scores(7, 0, (600, classes))
    odds = -np.log(probs)
    calibrator = made(text).fit(odds, labels)
    assert np.min(calibrator.parameters[turned]) < 0
    assert calibrator.order(classes).kept == "turned"
    assert "the map reverses the order" in calibrator.notes[-1]
    right = made(text).fit(-odds, labels)
    assert right.order(classes).kept != "turned"
    assert not any("turns" in note for note in right.notes)


def test_raw_logits_that_give_the_same_probabilities_may_become_unequal():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(300, 2)) + rng.normal(size=(300, 1))
    labels = (logits[:, 1] - logits[:, 0] + rng.logistic(size=300) > 0).astype(int)
    calibrator = made("vector:input=raw").fit(logits, labels)
    assert calibrator.order(2).kept == "changed"
    assert "raw logits of equal probabilities" in calibrator.notes[-1]
    assert np.ptp(log_odds_of(calibrator, np.array([[0.0, 1.0], [5.0, 6.0]]))) > 1e-3
    assert made("vector").fit(logits, labels).order(2).kept == "kept"


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
