"""Columns of data frames are told by their names, those of arrays by their order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.dtypes import StringDType

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
@pytest.mark.parametrize("dtype", [str, object, StringDType()], ids=str)
def test_columns_named_as_the_labels_are_these_classes_in_ascending_order(frame, dtype):
    fitted = VectorScaling().fit(frame, NAMES.astype(dtype))
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    found = fitted.predict_proba(frame)
    np.testing.assert_allclose(found, EXPECTED[:, [1, 2, 0]], rtol=1e-4)
    np.testing.assert_array_equal(fitted.predict_proba(FRAME), found)
    assert fitted.predict(frame)[0] == CLASSES[EXPECTED[0].argmax()]


def named(*names):
    return np.array(names)[NUMBERS]


@pytest.mark.parametrize(
    ("columns", "labels", "classes"),
    [
        *((each, named(*each), sorted(each)) for each in ([3, 1, 2], [2, 0, 1], [12, 10, 11])),
        ([2.0, 0.0, 1.0], named(2, 0, 1), [0, 1, 2]),
        (["p_2", "p_0", "p_1"], named(2, 0, 1), [0, 1, 2]),
        *((each, named("f", "d", "e"), ["d", "e", "f"]) for each in ([2, 0, 1], ["p_2", "p_0", "p_1"])),
    ],
)
def test_columns_named_by_numbers_are_these_labels_or_their_places(columns, labels, classes):
    frame = pd.DataFrame(SCORES, columns=columns)
    fitted = VectorScaling().fit(frame, labels)
    assert fitted.classes_.tolist() == classes
    found = fitted.predict_proba(frame)
    np.testing.assert_allclose(found, EXPECTED[:, [1, 2, 0]], rtol=1e-4)
    if labels.dtype.kind == "U":
        by_array = VectorScaling().fit(SCORES[:, [1, 2, 0]], labels)
        np.testing.assert_array_equal(by_array.predict_proba(frame), found)
        with pytest.raises(InputError, match="but the classes= are 'd', 'e', 'f'; expected the same"):
            VectorScaling().fit(frame, labels, classes=classes)


@pytest.mark.parametrize(
    ("first", "second", "labels"),
    [
        ("prob_neg", "prob_pos", ["neg", "pos"]),
        ("neg_prob", "pos_prob", ["neg", "pos"]),
        ("y_pred_p not pos", "y_pred_p pos", ["not pos", "pos"]),
        ("neg", "pos", ["neg", "pos"]),
        ("prob_0", "prob_1", [0, 1]),
        ("False", "True", [False, True]),
    ],
)
@pytest.mark.parametrize("scores_are", ["probs", "logits"])
def test_a_single_column_with_the_name_of_the_first_class_is_its_score(first, second, labels, scores_are):
    y = np.array(labels)[(SCORES[:, 0] + SCORES[:, 1] > 0).astype(int)]
    score = SCORES[:, 1] if scores_are == "logits" else 1 / (1 + np.exp(-SCORES[:, 1]))
    other = -score if scores_are == "logits" else 1 - score
    frame = pd.DataFrame({first: other, second: score})
    by_array = VectorScaling(scores_are=scores_are).fit(score, y)
    expected = by_array.predict_proba(score)
    for name in (first, second):
        fitted = VectorScaling(scores_are=scores_are).fit(frame[[name]], y)
        for one in (fitted, by_array):
            for again in (first, second):
                np.testing.assert_allclose(one.predict_proba(frame[[again]]), expected, rtol=1e-3)
    if scores_are == "probs":
        both = VectorScaling(scores_are=scores_are).fit(frame, y)
        np.testing.assert_allclose(both.predict_proba(frame[[first]]), expected, rtol=1e-3)
    with pytest.raises(InputError, match="in another order than `classes_`; expected one with the columns"):
        VectorScaling(scores_are=scores_are).fit(frame[[first]], y).predict_proba(score)


@pytest.mark.parametrize("name", [0, 1, "not_neg", "p_not_neg", "score"])
def test_a_single_column_of_another_name_is_the_score_of_the_second_class(name):
    y = np.where(SCORES[:, 0] + SCORES[:, 1] > 0, "pos", "neg")
    for labels in (y, (y == "pos").astype(int)):
        expected = VectorScaling().fit(SCORES[:, 1], labels)
        frame = pd.DataFrame({name: SCORES[:, 1]})
        found = VectorScaling().fit(frame, labels).predict_proba(frame)
        np.testing.assert_array_equal(found, expected.predict_proba(SCORES[:, 1]))


@pytest.mark.parametrize("dtype", [bool, object, int])
def test_columns_may_be_named_by_truth(dtype):
    frame = pd.DataFrame(SCORES[:, :2], columns=[True, False])
    labels = NUMBERS == 0
    expected = VectorScaling().fit(SCORES[:, [1, 0]], labels).predict_proba(SCORES[:, [1, 0]])
    fitted = VectorScaling().fit(frame, labels.astype(dtype))
    assert fitted.classes_.tolist() == [False, True]
    np.testing.assert_array_equal(fitted.predict_proba(frame), expected)


@pytest.mark.parametrize("columns", [range(3), ["x", "y", "z"], [1, 2, 3], ["c2", "c9", "c10"], [7, 8, 9]])
def test_labels_in_numbers_count_columns_of_other_names(columns):
    frame = pd.DataFrame(SCORES, columns=columns)
    fitted = VectorScaling().fit(frame, NUMBERS)
    assert fitted.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(fitted.predict_proba(frame), EXPECTED)


@pytest.mark.parametrize(
    ("columns", "labels", "said"),
    [
        (["p1", "p2", "p3"], named(1, 1, 2), "labels 1, 2 are names of columns, but may be their places"),
        (["d", "a", "b"], NAMES, "labels are 'a', 'b', 'c', but the columns of the scores are 'd', 'a', 'b'"),
        (CLASSES, NUMBERS, "labels are numbers, but the columns of the scores, 'c', 'a', 'b', do not ascend"),
        (CLASSES, NUMBERS == 0, "'c', 'a', 'b', do not ascend; expected labels with the names of columns"),
        ([11, 10, 12], NUMBERS, "'11', '10', '12', do not ascend"),
        (["--1", "1", "0"], NUMBERS, "'--1', '1', '0', do not ascend"),
        (["p_3", "p_1", "p_2"], NAMES, "'p_3', 'p_1', 'p_2', are neither named as the labels 'a', "),
        (["p_d", "p_a", "p_b"], NAMES, "labels are 'a', 'b', 'c', but the columns of the scores are 'p_d', "),
    ],
)
def test_numbers_that_may_be_names_or_places_are_refused(columns, labels, said):
    with pytest.raises(InputError, match=said):
        VectorScaling().fit(pd.DataFrame(SCORES, columns=columns), labels)


def test_arrays_are_refused_where_the_fit_was_to_columns_in_another_order():
    fitted = VectorScaling().fit(FRAME, NAMES)
    for scores in (SCORES, pd.DataFrame(SCORES)):
        with pytest.raises(InputError, match="in another order than `classes_`; expected one with the col"):
            fitted.predict_proba(scores)
    assert VectorScaling().fit(FRAME, NAMES).fit(SCORES, NAMES).predict(SCORES).shape == (200,)


def test_labels_may_be_some_of_the_columns_or_name_columns_of_other_names():
    for frame, kept in ((FRAME, NUMBERS > 0), (FRAME.set_axis(["x", "y", "z"], axis=1), NUMBERS >= 0)):
        fitted = VectorScaling().fit(frame[kept], NAMES[kept])
        assert fitted.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("fitted_to", [FRAME, SCORES])
def test_columns_in_another_order_are_taken_by_name(fitted_to):
    fitted = VectorScaling().fit(fitted_to, NAMES, classes=CLASSES)
    np.testing.assert_array_equal(fitted.predict_proba(FRAME[["a", "b", "c"]]), EXPECTED)


def test_columns_other_than_those_of_the_fit_are_refused():
    said = "columns of the scores are 'd', 'a', 'b', but the fit was to 'a', 'b', 'c'; expected"
    with pytest.raises(InputError, match=said):
        VectorScaling().fit(FRAME, NAMES).predict_proba(FRAME.rename(columns={"c": "d"}))


def test_a_data_frame_made_of_an_array_has_its_order():
    fitted = VectorScaling().fit(SCORES, NUMBERS + 1)
    np.testing.assert_array_equal(fitted.predict_proba(pd.DataFrame(SCORES)), EXPECTED)
