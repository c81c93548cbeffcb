"""Fits to parts have the optimum of the rows in one place, and the safeguards of such fits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import parse_methods
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.fitting import fit
from calcli.core.recalibrating.summed import fit_parts

METHODS = ("temperature", "bias", "dp", "vector", "vector:input=raw")
WITHOUT_FOLDS = FitSettings(folds=0)


class Cut:
    """Passes over rows cut in parts, by functions that go through pickles."""

    def __init__(self, whole, pieces):
        self.parts = [
            Predictions(
                ArrayScores(whole.scores.array[rows], whole.kind),
                whole.labels[rows],
                whole.classes,
                None if whole.weights is None else whole.weights[rows],
            )
            for rows in pieces
        ]

    def total(self, of, add):
        sums = [pickle.loads(pickle.dumps(of))(part) for part in self.parts]
        return add([add(sums[:2]), *sums[2:]]) if len(sums) > 2 else add(sums)


def drawn(classes, n=3000, seed=0, kind="logits", weighted=False):
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, classes)) + np.arange(classes) / 3
    labels = (0.6 * logits + rng.gumbel(size=logits.shape)).argmax(1)
    if kind == "probs":
        logits = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    return Predictions(ArrayScores(logits, kind), labels, tuple(map(str, range(classes))), weights)


def both(whole, method, pieces=None):
    (call,) = parse_methods([method], {})
    cut = Cut(whole, np.split(np.arange(whole.n_rows), [700, 1500]) if pieces is None else pieces)
    return fit_parts(cut, cut.parts[0], call, WITHOUT_FOLDS, "parts"), fit(whole, [call], WITHOUT_FOLDS)


def loss(calibrator, whole):
    rows = rows_of(whole)
    log_probs = calibrator.apply(rows.scores)[np.arange(whole.n_rows), rows.labels]
    return -np.average(log_probs, weights=whole.weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 5, 20])
@pytest.mark.parametrize("method", METHODS)
def test_the_optimum_is_that_of_all_rows(method, classes, weighted):
    whole = drawn(classes, weighted=weighted)
    found, expected = both(whole, method)
    assert loss(found.calibrator, whole) == pytest.approx(loss(expected.calibrator, whole), abs=1e-9)
    for name, value in expected.calibrator.parameters.items():
        np.testing.assert_allclose(found.calibrator.parameters[name], value, rtol=1e-4, atol=1e-5)
    assert found.calibrator.notes == expected.calibrator.notes
    for own, other in ((found.before, expected.before), (found.after, expected.after)):
        assert own == pytest.approx(other, abs=1e-6)
    assert (found.changed_rows, found.new_ties) == (expected.changed_rows, expected.new_ties)
    assert found.weight == expected.weight
    np.testing.assert_allclose(found.priors, expected.priors)
    assert np.array_equal(found.class_rows, expected.class_rows)


@pytest.mark.parametrize("of_label", [False, True])
@pytest.mark.parametrize("method", METHODS[:4])
def test_probabilities_of_zero_count_as_in_one_place(method, of_label):
    whole = drawn(4, kind="probs")
    rows = np.arange(2000, 2040)  # of the last part alone
    columns = whole.labels[rows] if of_label else (whole.labels[rows] + 1) % 4
    whole.scores.array[rows, columns] = 0
    whole.scores.array[rows] /= whole.scores.array[rows].sum(1, keepdims=True)
    found, expected = both(whole, method)
    assert loss(found.calibrator, whole) == pytest.approx(loss(expected.calibrator, whole), abs=1e-9)
    assert found.calibrator.notes == expected.calibrator.notes
    assert found.calibrator.parameters.get("floor") == pytest.approx(
        expected.calibrator.parameters.get("floor")
    )


@pytest.mark.parametrize("method", METHODS[:4])
def test_safeguards_are_those_of_one_place(method):
    whole = drawn(4)
    scores = whole.scores.array.copy()
    sure = np.full_like(scores, -1.0)
    sure[np.arange(len(sure)), whole.labels] = 1.0
    separable = Predictions(ArrayScores(sure, "logits"), whole.labels, whole.classes)
    present = whole.labels != 3
    absent = Predictions(ArrayScores(scores[present], "logits"), whole.labels[present], whole.classes)
    for rows in (separable, absent):
        found, expected = both(rows, method)
        assert found.calibrator.notes == expected.calibrator.notes
        # not the loss is at its least, but its sum with the penalty
        assert loss(found.calibrator, rows) == pytest.approx(loss(expected.calibrator, rows), abs=1e-7)


def test_parts_without_some_of_the_classes_do_no_harm():
    whole = drawn(5)
    order = np.argsort(whole.labels, kind="stable")
    found, expected = both(whole, "dp", np.split(order, [400, 2000]))
    assert loss(found.calibrator, whole) == pytest.approx(loss(expected.calibrator, whole), abs=1e-9)


def test_what_is_no_sum_is_refused():
    for method in ("isotonic", "dp:score=brier", "matrix", "temperature:score=ece"):
        with pytest.raises(UsageError, match="--engine"):
            both(drawn(3), method)
    with pytest.raises(InputError, match="the same 700 rows"):
        both(drawn(3), "dp", [np.arange(700)] * 2)
