"""Arrays that Python hands over, with what stands beside them: what is taken, and what is refused how."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import calcli
from calcli.core.language.errors import CalcliError, UsageError

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), 60)
LABELS = RNG.integers(0, 3, 60)
MARKED = np.where(np.arange(60) == 3, 255, LABELS)
FRAME = pd.DataFrame(PROBS, columns=["p_0", "p_1", "p_2"]).assign(label=MARKED)


def log_loss(*data, **options):
    return calcli.evaluate(*data, metrics="log_loss", draws=0, **options)["log_loss"].value


@pytest.mark.parametrize(
    "ignored",
    [255, [255], (-100, 255), np.int64(255), 255.0, np.array([255]), {255}, "255", [-100, "255"]],
)
def test_labels_to_be_ignored_may_be_numbers(ignored):
    kept = np.arange(60) != 3
    expected = log_loss(PROBS[kept], LABELS[kept])
    assert log_loss(PROBS, MARKED, ignore_label=ignored) == pytest.approx(expected)
    assert calcli.read(FRAME, ignore_label=ignored).n_rows == 59
    assert calcli.State.of(PROBS, MARKED, ignore_label=ignored).n_rows == 59
    assert calcli.fit(PROBS, MARKED, method="dp", folds=0, ignore_label=ignored).fit.predictions.n_rows == 59


@pytest.mark.parametrize("ignored", [True, 1.5, b"255", [None], {"255": 1}])
def test_other_labels_to_be_ignored_are_refused(ignored):
    said = f'ignore_label is {ignored!r}; expected text or whole numbers, such as -100 or ["-100"]'
    with pytest.raises(UsageError, match=re.escape(said)):
        calcli.evaluate(PROBS, MARKED, ignore_label=ignored)


IMAGES = np.moveaxis(PROBS.reshape(3, 4, 5, 3), -1, 0)
MANY = "; if axis 0 has the classes, give np.moveaxis(scores, 0, -1)"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: calcli.evaluate(PROBS.T, LABELS),
            "the scores have the shape (3, 60), but the labels (60,); expected one label per row" + MANY,
        ),
        (
            lambda: calcli.evaluate(PROBS.T, np.eye(3)[LABELS]),
            "the scores have the shape (3, 60), but the labels (60, 3); expected one label per row" + MANY,
        ),
        (lambda: calcli.evaluate(IMAGES, LABELS), "but the labels (60,); expected one label per row" + MANY),
        (
            lambda: calcli.evaluate(PROBS, LABELS[:20]),
            "the scores have the shape (60, 3), but the labels (20,); expected one label per row",
        ),
        (lambda: calcli.evaluate(PROBS, 1), "but the labels (); expected one label per row"),
        (lambda: calcli.evaluate(PROBS, "labels.npy"), "labels are text 'labels.npy'; expected an array"),
        (
            lambda: calcli.evaluate(confidence=PROBS.max(1), correct=LABELS[:5] == 1),
            "correct has shape (5,); expected a value for each of 60 rows",
        ),
    ],
)
def test_other_numbers_of_values_are_refused(call, said):
    with pytest.raises(CalcliError, match=re.escape(said) + "$"):
        call()


class Unreadable:
    def __init__(self, fault):
        self.fault = fault

    def __array__(self, *given, **options):
        raise self.fault


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({0, 1}, "they are of type set"),
        ({"a": 1}, "they are of type dict"),
        ((one for one in LABELS), "they are of type generator"),
        (object(), "they are of type object"),
        (Unreadable(KeyError("column")), "'column'"),
        (Unreadable(AssertionError()), "AssertionError()"),
    ],
    ids=["set", "dict", "generator", "object", "key", "assertion"],
)
def test_what_is_no_array_is_refused(values, said):
    sure, right = PROBS.max(1), LABELS == 1
    for call, called in (
        (lambda: calcli.evaluate(confidence=sure, correct=values), "values of correct="),
        (lambda: calcli.evaluate(confidence=values, correct=right), "values of confidence="),
        (lambda: calcli.evaluate(values, LABELS), "scores"),
        (lambda: calcli.evaluate(PROBS, values), "labels"),
        (lambda: calcli.evaluate(PROBS, LABELS, weights=values), "weights"),
    ):
        with pytest.raises(CalcliError, match=re.escape(f"the {called} cannot be read as an array: {said}")):
            call()


@pytest.mark.parametrize("value", [{"right": 1}, frozenset([1]), object()])
def test_objects_that_are_no_outcomes_are_refused(value):
    with pytest.raises(CalcliError, match=r"row 0 has the value .* in correct; expected right or wrong, as"):
        calcli.evaluate(confidence=PROBS.max(1), correct=[value] * 60)
