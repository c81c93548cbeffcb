"""Calibrators take lists as well as arrays, and refuse what is neither rows nor labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.dtypes import StringDType
from sklearn.base import clone

from calcli.core.calibrators.histogram import Histogram
from calcli.core.calibrators.temperature import Temperature
from calcli.core.calibrators.wrappers import PerPredictedClass
from calcli.core.language.errors import InputError, UsageError

SCORES = [[2.0, 0.0], [0.0, 1.0], [3.0, 1.0], [0.0, 1.0]]
LABELS = [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("scores", "labels", "weights", "message"),
    [
        ([0.2, 0.8], [0, 1], None, "lie between 0 and 1, as probabilities do; expected log-odds"),
        ([-np.inf, 2.0], [0, 1], None, "log-odds of row 0 are -inf"),
        (
            [[0.2, 0.8], [1, 0]],
            [0, 1],
            None,
            "are probabilities, .*; expected logits or .*scores_are='probs'",
        ),
        (np.float32([[0.2, 0.3, 0.5]]), [0], None, "constructor takes probabilities"),
        (np.empty((0, 2)), [], None, r"scores are of shape \(0, 2\)"),
        (np.zeros((2, 2, 2)), [0, 0], None, r"scores are of shape \(2, 2, 2\)"),
        ([["a", "b"]], [0], None, "scores are of shape .* and type <U1; expected numbers"),
        ([[1.0, np.nan]], [0], None, "class 1 in row 0 is nan; expected a number or -inf"),
        ([[1.0, 2.0], [np.inf, 0.0]], [0, 1], None, "class 0 in row 1 is inf"),
        (SCORES, [0, 1], None, r"labels are of shape \(2,\) .* expected 4 integers"),
        (SCORES, [0.0, 1, 1, 0], None, "labels are of shape .* float64; expected 4 integers"),
        (SCORES, [0, 2, 2, 1], None, "label of row 1 is 2; expected 0 to 1"),
        (SCORES, [2, 2, 2, 2], None, "label of row 0 is 2; expected 0 to 1"),
        (SCORES, ["a", "b", "c", "a"], None, "name 3 classes, 'a', 'b', 'c', and the scores have 2 columns"),
        (SCORES, ["a", "b", None, "a"], None, "label of row 2 is missing; expected one in each row"),
        (SCORES, [0, 1, np.nan, 0], None, "label of row 2 is missing"),
        (np.ma.masked_equal(SCORES, 3), LABELS, None, "class 0 in row 2 is nan"),
        (SCORES, np.ma.array(LABELS, mask=[0, 1, 0, 0]), None, "label of row 1 is missing"),
        (SCORES, np.ma.array(list("abba"), mask=[0, 1, 0, 0]), None, "label of row 1 is missing"),
        (SCORES, LABELS, np.ma.array([1, 1, 1, 1], mask=[0, 1, 0, 0]), "weights must be finite"),
        (SCORES, [0, -1, 1, 0], None, "label of row 1 is -1"),
        ([[0.0, 1.0], [-np.inf, -np.inf]], [0, 1], None, "all scores of row 1 are -inf"),
        (SCORES, LABELS, [1.0], r"weights are of shape \(1,\)"),
        (SCORES, LABELS, [1, -1, 1, 1], "at least 0"),
        (SCORES, LABELS, [0, 0, 0, 0], "not all 0"),
        (SCORES, LABELS, np.ones(4) + 1j, "weights are of shape .* type complex128; expected 4 numbers"),
        (SCORES, LABELS, np.ones(4, "M8[D]"), "weights are of shape .* type datetime64"),
        (SCORES, LABELS, np.ones(4, "m8[s]"), "weights are of shape .* type timedelta64"),
        (SCORES, LABELS, ["1"] * 4, "weights are of shape .* type <U1"),
        (SCORES, LABELS, "balanced", r"weights are of shape \(\) and type <U8"),
        (SCORES, LABELS, {0: 1.0}, "the weights cannot be read as an array: they are of type dict"),
        (SCORES, LABELS, [[1], [1, 2]], "weights are lists of different lengths"),
        (SCORES, [[1], [1, 2]], None, "labels are lists of different lengths"),
        ([[1.0, 2.0], [1.0]], LABELS, None, "scores are lists of different lengths"),
        (SCORES, [2**70, 2**71] * 2, None, "labels are of shape .* type object"),
        (SCORES, pd.Series([np.array([1, 2])] * 4), None, r"labels are of shape \(4, 2\)"),
        *(
            (SCORES, labels, None, "label of row 0 is missing")
            for labels in (
                pd.Series([None, *"aba"], dtype="string"),
                np.array([pd.NA, *"aba"], object),
                *(np.array([na, *"aba"], StringDType(na_object=na)) for na in (np.nan, pd.NA, None)),
            )
        ),
    ],
)
def test_what_is_not_rows_is_refused(scores, labels, weights, message):
    with pytest.raises(InputError, match=message):
        Temperature().fit(scores, labels, weights)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (5, r"classes= is of shape \(\); expected 2 names, one for each column"),
        ([["a", "b"]], r"classes= is of shape \(1, 2\)"),
        (["a", ["b"]], "classes are lists of different lengths"),
        (["a", "a"], "classes= has 'a' twice; expected every class once"),
        (b"a,b", "classes= is bytes; expected text or a list"),
    ],
)
def test_classes_that_are_no_names_are_refused(classes, message):
    with pytest.raises((InputError, UsageError), match=message):
        Temperature().fit(SCORES, list("abba"), classes=classes)


NO_STARTS = [5, [1], "x", np.ones(2), {"scale": 1}, *({"temperature": t} for t in ("x", [1, 2], 0))]


@pytest.mark.parametrize("start", NO_STARTS, ids=str)
def test_a_start_that_no_fit_gives_is_refused(start):
    with pytest.raises(UsageError, match="start is not the parameters of a Temperature of 2 classes; expe"):
        Temperature().fit(SCORES, LABELS, start=start)


@pytest.mark.parametrize("scores", [np.array(SCORES), pd.DataFrame(SCORES).astype("Float64"),
                                    pd.DataFrame(SCORES).astype("double[pyarrow]"),
                                    pd.DataFrame(SCORES).astype(object)], ids=type)  # fmt: skip
@pytest.mark.parametrize("labels", [np.array(LABELS), np.array(LABELS, bool)], ids=lambda own: str(own.dtype))
def test_arrays_and_frames_are_as_good_as_lists(scores, labels):
    expected = Temperature().fit(SCORES, LABELS, [1, 1, 2, 1], start={})
    found = Temperature().fit(scores, labels, np.array([1.0, 1, 2, 1]))
    assert found.parameters == expected.parameters
    np.testing.assert_array_equal(found.predict_proba(scores), expected.predict_proba(SCORES))


def test_classes_may_be_an_array_of_any_kind():
    for classes in (pa.array(["b", "a"]), pd.Series(["b", "a"]), "b,a"):
        fitted = Temperature().fit(pd.DataFrame(SCORES, columns=["b", "a"]), list("abba"), classes=classes)
        assert fitted.classes_.tolist() == ["b", "a"]


def test_only_probabilities_are_refused_as_logits():
    for scores in ([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.4], [0.2, 0.8]], [[-0.5, 1.5], [0.5, 0.5]]):
        fitted = Temperature().fit(scores, [0, 1])
        np.testing.assert_array_equal(fitted.predict_proba(scores), np.exp(fitted.apply(np.array(scores))))
    with pytest.raises(InputError, match="the scores are probabilities"):
        fitted.predict_proba([[0.25, 0.75]])


def test_scikit_learn_clones_a_calibrator():
    wrapped = PerPredictedClass(calibrator=Histogram(bins=7), min_rows=50).fit(SCORES, LABELS)
    copied = clone(wrapped)
    assert copied.get_params(deep=True).items() >= {"min_rows": 50, "calibrator__bins": 7}.items()
    assert copied.calibrator is not wrapped.calibrator
    assert (copied.parameters, repr(copied)) == ({}, repr(wrapped).partition(" fitted")[0])


def test_settings_are_changed_by_name():
    wrapped = PerPredictedClass(calibrator=Histogram(bins=7))
    assert wrapped.set_params(min_rows=2, calibrator__bins=3) is wrapped
    assert (wrapped.min_rows, wrapped.calibrator.bins) == (2, 3)
    with pytest.raises(
        UsageError, match="no setting bins; it has: scores_are, min_rows, calibrator, calibrator__"
    ):
        wrapped.set_params(bins=3)
    with pytest.raises(UsageError, match="min_rows must be a whole number"):
        wrapped.set_params(min_rows=0)
    with pytest.raises(UsageError, match="bins must be a whole number"):
        wrapped.set_params(calibrator__bins=0)
    assert (wrapped.min_rows, wrapped.calibrator.bins) == (2, 3)
