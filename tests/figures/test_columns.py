"""Tables behind figures as CSV."""

from __future__ import annotations

import csv
import io

import numpy as np
from matplotlib.figure import Figure

from calcli.figures import Drawing
from calcli.report.shown import csv_text


def test_tables_stand_below_each_other():
    tables = {
        "a, b.csv": {"score": np.array([0.1, 1 / 3]), "rows": np.array([1, 2])},
        "c": {"score": np.array([np.nan], np.float64), "class": np.array(["cat"])},
    }
    text = csv_text(Drawing(Figure(), tables).records())
    assert text.splitlines()[0] == "name,score,rows,class"
    rows = list(csv.reader(io.StringIO(text)))[1:]
    assert rows[:2] == [["a, b.csv", "0.1", "1", ""], ["a, b.csv", repr(1 / 3), "2", ""]]
    assert rows[2] == ["c", "nan", "", "cat"]
