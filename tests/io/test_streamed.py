"""Labels and weights of many rows are read with each pass: the same results, and nothing is held."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli import evaluate
from calcli.core.data import arrays
from calcli.core.data.arrays import mapped, pieces, streamed
from calcli.core.language.errors import InputError
from calcli.io.formats.parquet import open_file
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.tables import labels
from calcli.io.tables.values import labels_in
from calcli.report.shown import render

ROWS = 30_000
FEW = 1_000
RNG = np.random.default_rng(5)
SCORE = RNG.random(ROWS).round(6)
TRUTH = RNG.random(ROWS) < SCORE
WEIGHT = RNG.integers(1, 5, ROWS) / 4
LABELS = {
    "numbers": TRUTH.astype(np.int8),
    "apart": np.where(TRUTH, 7, -3),
    "floats": TRUTH.astype(np.float32),
    "booleans": TRUTH,
    "text": np.where(TRUTH, "fraud", "ok"),
}


@pytest.fixture
def many(monkeypatch):
    """Have all rows of the tests count as many, and no array of them held."""

    def stream():
        for module in (arrays, labels):
            monkeypatch.setattr(module, "MANY", FEW)
        monkeypatch.setattr(arrays._Streamed, "__array__", lambda *_, **__: pytest.fail("all are read"))

    return stream


def written(folder, form: str, label) -> str:
    table = pd.DataFrame({"label": label, "fraud": SCORE, "w": WEIGHT})
    path = folder / f"t.{form}"
    if form == "csv":
        table.to_csv(path, index=False)
    elif form == "parquet":
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path, row_group_size=7_000)
    else:
        np.save(path, np.stack([1 - SCORE, SCORE], axis=1))
        np.save(folder / "t_labels.npy", label)
    return str(path)


def results(path: str, **options) -> dict:
    positive = None if path.endswith("npy") else {"positive": options.pop("positive")}
    report = evaluate(path, metrics="log_loss,brier,ece,auroc", **(positive or {}), **options)
    return json.loads(render(report, "json"))["results"][0]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_labels_read_with_the_scores_are_the_labels_in_memory(kind, form, tmp_path, many, monkeypatch):
    if form == "npy" and kind in ("text", "apart"):
        pytest.skip("held, or no numbers of classes")
    monkeypatch.setattr("calcli.core.data.units.UNIT_LIMIT", FEW)
    positive = {"apart": "7", "text": "fraud", "booleans": "true"}.get(kind, "1")
    path = written(tmp_path, form, LABELS[kind])
    held = np.asarray(read(path, ReadOptions(positive=None if form == "npy" else positive)).labels)
    np.testing.assert_array_equal(held, TRUTH)
    many()
    again = read(path, ReadOptions(positive=None if form == "npy" else positive)).labels
    assert isinstance(again, arrays._Streamed)
    np.testing.assert_array_equal(np.concatenate([*pieces(again)]), TRUTH)
    for _ in range(2):  # from the first row on, again and again
        parts = [again[start : start + 4_321] for start in range(0, ROWS, 4_321)]
        np.testing.assert_array_equal(np.concatenate(parts), TRUTH)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_evaluation_of_many_rows_holds_no_label_and_no_weight(form, tmp_path, many, monkeypatch):
    monkeypatch.setattr("calcli.core.evaluating.evaluate.is_sampled", lambda *_: True)
    path = written(tmp_path, form, LABELS["text"])
    held = results(path, positive="fraud", weights="w")
    many()
    assert results(path, positive="fraud", weights="w") == held


def test_weights_of_0_are_left_out_wherever_they_are_read(tmp_path, monkeypatch):
    weights = np.where(np.arange(ROWS) % 3 == 0, 0, WEIGHT)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"label": TRUTH.astype(int), "p": SCORE, "w": weights}), path)
    held = results(str(path), positive="1", weights="w")
    for module in (arrays, labels):
        monkeypatch.setattr(module, "MANY", FEW)
    assert results(str(path), positive="1", weights="w") == held


@pytest.mark.parametrize(("row", "weight"), [(0, -1.0), (29_999, np.nan), (15_000, np.inf), (7, 1e-60)])
def test_a_wrong_weight_is_named_with_its_row(row, weight, tmp_path, many):
    weights = WEIGHT.copy()
    weights[row] = weight
    pq.write_table(
        pa.table({"label": TRUTH.astype(int), "p": SCORE, "w": weights}),
        tmp_path / "t.parquet",
        row_group_size=7_000,
    )
    many()
    with pytest.raises(InputError, match=rf"row {row} has the weight {weight:g}"):
        read(str(tmp_path / "t.parquet"), ReadOptions(weights="w"))


def test_a_fraction_among_labels_is_named_with_its_row(tmp_path, many):
    wrong = LABELS["floats"].copy()
    wrong[20_001] = 0.5
    many()
    with pytest.raises(InputError, match=r"row 20001 has the label 0\.5"):
        labels_in(open_file(written(tmp_path, "parquet", wrong), "t"), "label")


def test_a_stream_is_an_array_to_all_else():
    values = np.arange(10) % 3
    stream = arrays._Streamed(10, lambda: iter(np.split(values, 5)))
    assert len(stream) == 10
    assert stream.dtype == values.dtype
    np.testing.assert_array_equal(stream == 1, values == 1)
    np.testing.assert_array_equal(np.bincount(stream), [4, 3, 3])
    np.testing.assert_array_equal(stream[values > 0], values[values > 0])
    np.testing.assert_array_equal(stream[3:5], values[3:5])
    assert stream.max() == 2
    np.testing.assert_array_equal(mapped(stream, np.square), values**2)
    assert streamed(2, lambda: iter([values[:2]])).tolist() == [0, 1]  # few are held
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(arrays._Streamed(3, list_of_three))), [1, 2, 3])


def list_of_three():
    return iter([np.array([1, 2]), np.array([3])])
