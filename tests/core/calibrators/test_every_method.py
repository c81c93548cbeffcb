"""What is true of every calibrator, as it is by default and with each setting that changes its course."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import special
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.histogram import Isotonic
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import parse_methods
from calcli.core.language.methods import METHODS
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.fitting import fit
from tests.core.samples import SMALL, columns, drawn, log_loss, made

ALONE = [text for name, text in SMALL.items() if METHODS[name].family != "wrapper"]
WRAPPED = [
    *(f"reduced:calibrator={name}" for name in ("temperature", "vector", "beta", "spline", "isotonic")),
    *(
        f"per-predicted-class:min_rows=6:calibrator={name}"
        for name in ("dp", "histogram", "isotonic/lens=top-1")
    ),
    *(f"preserve-top1:calibrator={name}" for name in ("bias", "platt", "spline")),
    "preserve-top1:calibrator=per-predicted-class/min_rows=9/calibrator=platt",
]
MAPS = [name for name, method in METHODS.items() if method.family == "one score"]
LEARNING_OF_CLASSES = ["bias", "dp", "vector", "matrix", "matrix-odir"]
LENSES = [f"{name}:lens={lens}" for name in MAPS for lens in ("class-1", "top-1", "top-2", "top-wise")]
RAW = [f"{name}:input=raw" for name in ("vector", "matrix", "matrix-odir", "platt")]
OTHER_SETTINGS = [
    *(f"{name}:score=brier" for name in ("temperature", "bias", "dp", "vector", "matrix", "platt", "beta")),
    "ensemble-temperature:joint=true", "structured:form=diagonal:penalties=1",
    "platt:target_smoothing=false", "beta:variant=ab", "beta:variant=am", "beta:constrained=false",
    "histogram:binning=equal-width", "isotonic:interpolation=steps",
    "spline:constrained=true:monotone=true", "spline:target=cumulative:constrained=true:monotone=true",
    "spline:monotone=true",
]  # fmt: skip
WITHOUT_SMOOTHING = [
    f"{text}:smoothing=0" for text in ("isotonic", "isotonic:interpolation=steps", "spline", "histogram")
]
WITHIN = ["spline:lens=within-top-2", "isotonic:lens=within-top-2"]  # of more than two classes
FORMS = [*ALONE, *WRAPPED, *LENSES, *RAW, *OTHER_SETTINGS]
BY_ROWS = {"dirichlet", "structured", "pool", "vector-histogram"}  # as the docstring of `fit` says
every_form = pytest.mark.parametrize("text", FORMS)
every_method = pytest.mark.parametrize("text", [*ALONE, *WRAPPED])
of_classes = pytest.mark.parametrize("classes", [2, 4])


@cache
def fitted(text, classes):
    scores, labels = drawn(2000, classes)
    return made(text).fit(scores[:600], labels[:600])


def assert_distributions(log_probs, atol=1e-9):
    assert not np.isnan(log_probs).any()
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1), 1, atol=atol)


def test_all_methods_are_tried():
    assert {text.partition(":")[0] for text in [*ALONE, *WRAPPED]} == METHODS.keys()


@every_form
@of_classes
def test_each_row_gets_a_better_distribution_by_parameters_alone(text, classes):
    """In double precision, whatever batch it is in, and by restored parameters to the last bit."""
    calibrator = fitted(text, classes)
    unseen, truth = (table[600:] for table in drawn(2000, classes))
    found = calibrator.apply(unseen)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert_distributions(found, atol=1e-12)
    before = -special.log_softmax(unseen, axis=1)[np.arange(len(truth)), truth].mean()
    assert log_loss(calibrator, unseen, truth) < before + 1e-3 * (text == "platt:input=raw")  # biased if raw
    batches = np.concatenate([calibrator.apply(part) for part in np.split(unseen, [1, 120])])
    np.testing.assert_allclose(batches, found, rtol=1e-12, atol=1e-14)
    restored = calibrator.fresh({name: np.array(value) for name, value in calibrator.parameters.items()})
    np.testing.assert_array_equal(restored.apply(unseen), found)


def by_rows(text):
    return text.partition(":")[0] in BY_ROWS


@pytest.mark.parametrize("text", [*FORMS, "structured", *WITHIN])
def test_a_row_of_weight_two_is_the_row_twice_unless_rows_are_counted_or_dealt(text):
    """And a row of weight 0 is none, and the order of the rows does not matter."""
    scores, labels = drawn(400, 3)
    often = np.random.default_rng(2).integers(0, 2 if by_rows(text) else 4, 400)
    found = made(text).fit(scores, labels, often.astype(float)).predict_proba(scores)
    kept = np.repeat(np.arange(400), often)
    if not by_rows(text):
        kept = np.random.default_rng(3).permutation(kept)
    expected = made(text).fit(scores[kept], labels[kept]).predict_proba(scores)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", sorted(BY_ROWS))
def test_the_others_are_named(name):
    rows, seed = (60, 8) if name == "dirichlet" else (400, 7)  # where folds choose another penalty
    scores, labels = drawn(rows, 3)
    calibrator = made(name if name == "structured" else SMALL[name])
    times = np.random.default_rng(seed).integers(1, 4, rows)
    weighted, plain = (calibrator.fit(scores, labels, one).predict_proba(scores) for one in (times, None))
    often = np.repeat(np.arange(rows), times)
    repeated = calibrator.fit(scores[often], labels[often]).predict_proba(scores)
    assert min(np.abs(weighted - other).max() for other in (plain, repeated)) > 1e-6
    assert f"`{type(calibrator).__name__}`" in Calibrator.fit.__doc__


@pytest.mark.parametrize("text", [text for text in FORMS if text not in RAW])
def test_a_constant_added_to_each_row_changes_nothing(text):
    scores, labels = drawn(300, 3)
    shifted = scores + 5 * np.random.default_rng(0).standard_normal((300, 1))
    found, expected = (made(text).fit(own, labels).predict_proba(own) for own in (shifted, scores))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@every_form
def test_a_warm_start_ends_at_the_same_place(text):
    scores, labels = (table[:600] for table in drawn(2000, 4))
    start = made(text).fit(scores[:400], labels[:400]).parameters
    warm = made(text).fit(scores, labels, start=start)
    np.testing.assert_allclose(warm.predict_proba(scores), fitted(text, 4).predict_proba(scores), atol=1e-6)


@every_form
@of_classes
def test_a_class_without_rows_a_flat_column_and_zeros_have_an_answer(text, classes):
    scores, labels = drawn(300, classes)
    labels[labels == classes - 1] = 0
    if text in (*MAPS, *LEARNING_OF_CLASSES):
        assert any(f"class {classes - 1}" in note for note in made(text).fit(scores, labels).notes)
    scores[:, 1] = 0.3
    scores[:20, 0] = -np.inf
    scores[20:40, 1:] = -np.inf
    assert_distributions(made(text).fit(scores, labels).apply(scores), atol=1e-12)


@every_method
def test_scores_of_other_classes_and_before_the_fit_are_refused(text):
    calibrator = made(text)
    with pytest.raises(UsageError, match="has not been fitted"):
        calibrator.predict_proba(np.zeros((1, 4)))
    with pytest.raises(InputError, match="3 columns; expected 4"):
        fitted(text, 4).predict_proba(np.zeros((1, 3)))
    if text in (*MAPS, *LEARNING_OF_CLASSES, "bent-dp", "sms") and text != "spline":
        with pytest.raises(InputError, match="fitted on 4 classes, the scores have 3"):
            fitted(text, 4).apply(np.zeros((1, 3)))


@every_form
def test_scores_of_less_precision_are_taken(text):
    scores, labels = drawn(400, 3)
    half = scores.astype(np.float16)
    found = [
        made(text).fit(own, labels).predict_proba(own) for own in (half, half.astype("f4"), half.astype("f8"))
    ]
    np.testing.assert_array_equal(*found[:2])
    assert np.abs(found[1] - found[2]).mean() < 1e-5  # a step may lie between two neighbors


EXTREMES = [0.0, 5e-324, 1e-323, 2.3e-308, 1e-300, 1e-17, 1e-3, 0.5, 1.0]


def probabilities(rows):
    return [np.array(row) / sum(row) if any(row) else np.eye(len(row))[0] for row in rows]


@st.composite
def problems(draw):
    """Draw log-probabilities to fit to, labels, weights or None, and log-probabilities to apply it to."""
    classes, n = draw(st.integers(3, 4)), draw(st.integers(12, 24))
    row = st.lists(st.sampled_from(EXTREMES) | st.floats(0, 1), min_size=classes, max_size=classes)
    probs = np.array(probabilities(draw(st.lists(row, min_size=n + 5, max_size=n + 5))))
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))
    weight = st.lists(st.sampled_from([0.0, 1e-300, 1e-8, 1.0, 1e10]), min_size=n, max_size=n)
    weights = draw(st.none() | weight.filter(lambda own: np.count_nonzero(own) >= 5))  # one for each fold
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
    return logs[:n], np.array(labels), weights, logs


@pytest.mark.parametrize("text", [*FORMS, *WITHOUT_SMOOTHING, *WITHIN])
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(problems())
def test_whatever_the_probabilities_and_weights_there_are_distributions(text, problem):
    scores, labels, weights, unseen = problem
    assert_distributions(made(text).fit(scores, labels, weights).apply(unseen))


@pytest.fixture(scope="module")
def naive_bayes():
    """Return labels of digits and the probabilities of a Gaussian naive Bayes, many exactly 0 or 1."""
    pixels, labels = load_digits(return_X_y=True)
    probs = cross_val_predict(GaussianNB(), pixels, labels, cv=2, method="predict_proba")
    assert (probs == 1).any()
    assert 0 < probs[probs > 0].min() < 1e-307
    return probs, labels


@pytest.mark.parametrize("text", ALONE)
def test_naive_bayes_can_be_recalibrated(naive_bayes, text):
    with np.errstate(divide="ignore"):
        scores = np.log(naive_bayes[0])
    assert_distributions(made(text).fit(scores[::2], naive_bayes[1][::2]).apply(scores))


def test_naive_bayes_can_be_chosen_for(naive_bayes, predict):
    names = ["temperature", "dp", "spline", "spline:lens=class-wise", "isotonic"]
    found = fit(predict(*naive_bayes), parse_methods(names), FitSettings(folds=3))
    assert found.after["log_loss"] < 1


@pytest.mark.parametrize("text", ["isotonic", "spline", *WITHOUT_SMOOTHING])
def test_maps_between_neighboring_smallest_doubles_stay_within_their_values(text):
    scores = columns(np.array([0, 5e-324, 1e-323, 1.5e-323, 1e-310, 1e-300] * 20))
    labels = np.arange(len(scores)) % 6 % 2
    assert_distributions(made(text).fit(scores, labels).apply(scores))


def test_a_row_that_every_map_gives_nothing_keeps_its_probabilities():
    maps = {"scores": np.array([0.4, 0.6] * 3), "values": np.array([0.0, 1.0] * 3), "sizes": np.full(3, 2)}
    calibrator = Isotonic(smoothing=0).fresh({"classes": 3, **maps})
    row = np.array([[0.35, 0.33, 0.32], [0.7, 0.2, 0.1]])
    np.testing.assert_allclose(calibrator.predict_proba(np.log(row)), [row[0], [1, 0, 0]], rtol=1e-12)


@pytest.mark.parametrize("text", [*ALONE, "structured"])
@pytest.mark.parametrize("least", [1e-300, 1e-8])
def test_rows_of_hardly_any_weight_do_no_harm(text, least):
    """Nor where curvature is lost."""
    with np.errstate(divide="ignore"):
        scores = np.log(np.tile(np.eye(4)[0], (16, 1)))
    weights = np.r_[np.full(13, least), np.full(3, 1e10)]
    assert_distributions(made(text).fit(scores, np.zeros(16, int), weights).apply(scores))
    if text == "structured":  # which takes its time
        return
    for seed in (7, 32):
        rng = np.random.default_rng(seed)
        scores, labels = rng.normal(size=(12, 3)) * 0.1, rng.integers(0, 3, 12)
        weights = rng.choice([least**0.1, 1.0, 1e6], 12)
        assert_distributions(made(text).fit(scores, labels, weights).apply(scores))
    steep = np.tile([[-500.0, 0], [0, -1000], [0, -600]], (2, 1))
    assert_distributions(made(text).fit(steep, [0, 1, 0] * 2, [1e6, 1, 0.3] * 2).apply(steep))


@pytest.mark.parametrize("lowest", [-3.4e38, -1e160, -1.7e308])
@pytest.mark.parametrize("text", [*ALONE, "vector:input=raw"])
def test_classes_masked_by_a_low_number_are_those_of_probability_0(text, lowest):
    rng = np.random.default_rng(0)
    logits, labels = rng.standard_normal((80, 3)), np.arange(80) % 3
    masked = rng.random((80, 3)) < 0.1
    masked[np.arange(80), logits.argmax(axis=1)] = False
    found = []
    for low in (lowest, -np.inf):
        scores = np.where(masked, low, logits)
        calibrator = made(text).fit(scores, labels)
        found.append((calibrator.predict_proba(scores), calibrator.predict_proba(logits), calibrator.notes))
    for one, other in zip(*(of[:2] for of in found), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert found[0][2] == found[1][2]
