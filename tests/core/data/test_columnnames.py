"""Names of columns: what all begin with is left out, whole numbers that are floats are whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.calibrators.arguments import column_names, order_of


@pytest.mark.parametrize(
    ("names", "wanted", "expected"),
    [
        (["p_b", "p_a"], ["a", "b"], [1, 0]),
        (["x1", "x0"], ["0", "1"], [1, 0]),
        (["11", "10", "12"], ["0", "1", "2"], None),
        (["y2012", "y2011", "y2010"], ["0", "1", "2"], None),
        (["y2012", "y2011", "y2010"], ["2010", "2011", "2012"], [2, 1, 0]),
        (["p1", "p10"], ["", "0"], None),
    ],
)
def test_beginnings_end_before_numbers(names, wanted, expected):
    assert order_of(names, wanted) == expected


def test_whole_numbers_that_are_floats_are_named_as_integers():
    assert column_names(pd.DataFrame(np.eye(3), columns=[2.0, 0.5, np.inf])) == ("2", "0.5", "inf")
