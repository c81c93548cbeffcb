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
    assert sentence.startswith("100 of the 200 rows looked at are equal to another row in every column: were")
    coarse = np.round(PROB, 1)
    many = np.tile(coarse, 2)
    labels = (RNG.random(200) < many).astype(int)
    assert told(tmp_path, {"label": labels, "prob": many}) == ()


@pytest.mark.parametrize(
    "prob", [RNG.random(200).round(3), RNG.random(200).round(2), RNG.beta(1, 40, 200).round(3)]
)
@pytest.mark.parametrize("label", ["drawn", "one"])
def test_equal_rows_of_rounded_scores_are_chance(prob, label, tmp_path):
    labels = (RNG.random(200) < prob).astype(int) if label == "drawn" else 1
    assert told(tmp_path, {"prob": prob, "label": labels}, classes=("0", "1")) == ()


def test_equal_rows_of_stated_confidences_are_chance(tmp_path):
    columns = {"confidence": RNG.choice([90, 95, 100], 120), "correct": 1}
    assert told(tmp_path, columns) == ()
    columns = {"y_prob": np.tile([0.01, 0.99], 60), "y_true": np.tile([0, 1], 60)}
    assert told(tmp_path, columns, scores="y_prob", label_column="y_true") == ()
