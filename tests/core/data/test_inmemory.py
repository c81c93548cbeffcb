"""What Python has in memory becomes arrays of numbers or text, whatever it is held in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.dtypes import StringDType

from calcli.core.data.inmemory import as_array
from calcli.core.language.errors import InputError

NA = {"na_object": None}
HIDDEN = np.ma.array([5.0, 6.0], mask=[False, True])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([2, 0, 1], object), np.array([2, 0, 1])),
        (np.array([True, False], object), np.array([True, False])),
        (pd.Series([1, 2], dtype="Int64"), np.array([1, 2])),
        (pd.Series([1, None], dtype="Int64"), np.array([1, np.nan])),
        (pd.array([True, None], dtype="boolean"), np.array([1, np.nan])),
        ([0.5, None], np.array([0.5, np.nan])),
        ([0, "a"], np.array(["0", "a"])),
        (["a", None], np.array(["a", None], object)),
        (np.array(["a", pd.NA], object), np.array(["a", None], object)),
        (pd.Series(["a", "b"], dtype="string"), np.array(["a", "b"])),
        (pd.Series(["a", np.nan], dtype="str"), np.array(["a", None], object)),
        (np.array(["a", "bc"], StringDType()), np.array(["a", "bc"])),
        (np.array(["a", None], StringDType(**NA)), np.array(["a", None], object)),
        (pd.Series([[0.5, 0.5], [0.2, 0.8]]), np.array([[0.5, 0.5], [0.2, 0.8]])),
        (pd.Categorical(["a", "b"]), np.array(["a", "b"])),
        (pa.chunked_array([["a"], ["b"]]), np.array(["a", "b"])),
        ([0, np.ma.masked, 1], np.array([0, np.nan, 1])),
        (["a", np.ma.masked], np.array(["a", None], object)),
        ([[[0, 1], HIDDEN], (HIDDEN, [2, 3])], np.array([[[0, 1], [5, np.nan]], [[5, np.nan], [2, 3]]])),
        (pd.Series([HIDDEN, HIDDEN]), np.array([[5, np.nan], [5, np.nan]])),
        (np.array([["a", "b"]], object), np.array([["a", "b"]])),
    ],
    ids=str,
)
def test_objects_are_what_a_list_of_them_is(values, expected):
    found = as_array(values, "values")
    assert found.dtype.kind == expected.dtype.kind
    assert found.shape == expected.shape
    pd.testing.assert_series_equal(pd.Series(found.ravel()), pd.Series(expected.ravel()))


def test_arrays_of_numbers_stay_as_they_are():
    for values in (np.arange(3), np.array(["a"])):
        assert as_array(values, "values") is values


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[0.5, 0.5], [1.0]], "the scores are lists of different lengths; expected equal ones"),
        (pd.Series([[0.5, 0.5], [1.0]]), "the scores are lists of different lengths; expected equal ones"),
        (
            pd.Series([[0.5, 0.5], None]),
            "the scores cannot be read as an array: some of their lists are missing",
        ),
    ],
)
def test_what_is_no_array_is_refused(values, said):
    with pytest.raises(InputError) as fault:
        as_array(values, "scores")
    assert str(fault.value) == said


def test_tensors_elsewhere_are_refused():
    class Elsewhere:
        def __dlpack__(self, **options):
            raise BufferError("not on this device")

        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(InputError, match="the scores cannot be read as an array: "):
        as_array(Elsewhere(), "scores")
