"""What a file shows of rows that depend on each other is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read

RNG = np.random.default_rng(5)
PROB = RNG.random(100)
LABEL = (RNG.random(100) < PROB).astype(int)


def told(folder, columns, **options):
    pd.DataFrame(columns).to_csv(folder / "t.csv", index=False)
    return read(folder / "t.csv", ReadOptions(**options)).provenance.repeats


@pytest.mark.parametrize("name", ["id", "patient_id", "question", "row_index", "userId", "Document ID"])
def test_identifiers_that_repeat_are_told(name, tmp_path):
    times = np.repeat(np.arange(100), 5)
    noise = np.clip(PROB[times] + RNG.normal(0, 0.01, 500), 0, 1)
    (sentence,) = told(tmp_path, {name: times, "label": LABEL[times], "prob": noise})
    assert sentence.startswith(f"{name} repeats: 500 rows share 100 values")
    quoted = f"'{name}'" if " " in name else name
    assert f"--cluster {quoted}, or" in sentence


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", np.arange(100)),
        ("class_id", np.arange(100) % 30),
        ("run_id", np.arange(100) % 25),
        ("country", np.arange(100) % 30),
        ("user_id", np.arange(100) % 3),
    ],
)
def test_what_names_no_case_or_repeats_nothing_is_not_told(name, values, tmp_path):
    assert told(tmp_path, {name: values, "label": LABEL, "prob": PROB}) == ()


def test_copies_are_told_where_scores_are_not_equal_anyway(tmp_path):
    twice = np.tile(np.arange(100), 2)
    (sentence,) = told(tmp_path, {"age": twice, "label": LABEL[twice], "prob": PROB[twice]})
    assert sentence.startswith("100 of the 200 rows looked at are copies of others")
    coarse = np.round(PROB, 1)
    many = np.tile(coarse, 2)
    labels = (RNG.random(200) < many).astype(int)
    assert told(tmp_path, {"label": labels, "prob": many}) == ()
