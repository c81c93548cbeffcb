"""Columns of data frames are told by their names, those of arrays by their order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calcli.core.calibrators.softmax import VectorScaling
from calcli.core.language.errors import InputError

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(200, 3))
NUMBERS = RNG.integers(3, size=200)
CLASSES = ["c", "a", "b"]
NAMES = np.array(CLASSES)[NUMBERS]
FRAME = pd.DataFrame(SCORES, columns=CLASSES)
EXPECTED = VectorScaling().fit(SCORES, NUMBERS).predict_proba(SCORES)


@pytest.mark.parametrize(
    "frame", [FRAME, FRAME.add_prefix("p_"), pa.table(FRAME)], ids=["plain", "prefixed", "arrow"]
)
def test_columns_named_as_the_labels_are_these_classes(frame):
    fitted = VectorScaling().fit(frame, NAMES)
    assert fitted.classes_.tolist() == CLASSES
    np.testing.assert_array_equal(fitted.predict_proba(SCORES), EXPECTED)
    assert fitted.predict(frame)[0] == CLASSES[EXPECTED[0].argmax()]


@pytest.mark.parametrize(
    ("columns", "labels"),
    [([3, 1, 2], np.array([3, 1, 2])[NUMBERS]), ([2, 0, 1], np.array([2, 0, 1])[NUMBERS])],
)
def test_columns_named_by_numbers_are_these_labels(columns, labels):
    fitted = VectorScaling().fit(pd.DataFrame(SCORES, columns=columns), labels)
    assert fitted.classes_.tolist() == columns
    np.testing.assert_array_equal(fitted.predict_proba(SCORES), EXPECTED)


@pytest.mark.parametrize("columns", [range(3), CLASSES, ["x", "y", "z"], [1, 2, 3]])
def test_labels_in_numbers_count_columns_of_other_names(columns):
    frame = pd.DataFrame(SCORES, columns=columns)
    fitted = VectorScaling().fit(frame, NUMBERS)
    assert fitted.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(fitted.predict_proba(frame), EXPECTED)


def test_names_that_are_no_columns_are_in_ascending_order():
    fitted = VectorScaling().fit(FRAME.set_axis(["x", "y", "z"], axis=1), NAMES)
    assert fitted.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("fitted_to", [FRAME, SCORES])
def test_columns_in_another_order_are_taken_by_name(fitted_to):
    fitted = VectorScaling().fit(fitted_to, NAMES, classes=CLASSES)
    np.testing.assert_array_equal(fitted.predict_proba(FRAME[["a", "b", "c"]]), EXPECTED)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: VectorScaling().fit(FRAME, NAMES, classes=["a", "b", "c"]),
            "columns of the scores are 'c', 'a', 'b', but the classes= are .*; expected the same",
        ),
        (
            lambda: VectorScaling().fit(FRAME.rename(columns={"c": "d"}), NAMES),
            "labels are 'a', 'b', 'c', but the columns of the scores are 'd', 'a', 'b'; expected",
        ),
        (
            lambda: VectorScaling().fit(FRAME, NAMES).predict_proba(FRAME.rename(columns={"c": "d"})),
            "columns of the scores are 'd', 'a', 'b', but the fit was to 'c', 'a', 'b'; expected",
        ),
    ],
)
def test_names_of_columns_that_contradict_are_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()
