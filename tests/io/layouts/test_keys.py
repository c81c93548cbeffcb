"""Objects of scores whose keys stand in the order of the scores: that is no order of the classes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calcli.io.formats import spooled
from calcli.io.frames import from_table
from calcli.io.options import ReadOptions
from calcli.io.places.faults import column_of
from calcli.io.read import read
from tests.io.layouts.trips import LABELS, NAMES, THREE, TWO, N
from tests.io.samples import of_true_classes, scores_of

FORMS = ["jsonl", "json", "text.jsonl", "csv"]
SORTED = np.argsort(-THREE, axis=1)
AS_STORED = np.tile([2, 0, 1], (N, 1))


def saved(folder, form, orders, labels, names=NAMES, probs=THREE):
    """Write objects of scores, the keys of each row in an order of its own."""
    rows = [
        {"label": label, "probs": {str(names[k]): float(row[k]) for k in order}}
        for label, row, order in zip(np.asarray(labels).tolist(), probs, orders, strict=True)
    ]
    path = folder / f"t.{form}"
    if form in ("csv", "text.jsonl"):
        rows = [row | {"probs": json.dumps(row["probs"])} for row in rows]
    if form == "csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        path.write_text(json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows)) + "\n")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_keys_sorted_by_score_tell_no_order(form, tmp_path):
    truth = THREE[np.arange(N), LABELS]
    path = saved(tmp_path, form, SORTED, LABELS)
    np.testing.assert_allclose(of_true_classes(path), truth)  # as the values show
    np.testing.assert_allclose(of_true_classes(path, classes=tuple(NAMES)), truth)
    np.testing.assert_allclose(of_true_classes(saved(tmp_path, form, SORTED, NAMES[LABELS])), truth)
    numbered = saved(tmp_path, form, SORTED, LABELS, names=["c0", "c1", "c2"])
    np.testing.assert_allclose(of_true_classes(numbered), truth)


@pytest.mark.parametrize("form", FORMS)
def test_keys_in_one_order_are_in_that_of_the_classes(form, tmp_path):
    path = saved(tmp_path, form, AS_STORED, np.argsort([2, 0, 1])[LABELS])
    found = read(path)
    assert found.classes == tuple(NAMES[[2, 0, 1]])
    np.testing.assert_allclose(of_true_classes(path), THREE[np.arange(N), LABELS])


@pytest.mark.parametrize("form", FORMS)
def test_negative_and_positive_have_the_order_of_custom_or_none(form, tmp_path):
    labels = (LABELS > 0).astype(int)
    for first in (0, 1):
        orders = np.argsort(-TWO, axis=1)
        at = int(np.flatnonzero(orders[:, 0] == first)[0])
        rows = np.roll(np.arange(N), -at)
        path = saved(tmp_path, form, orders[rows], labels[rows], ["neg", "pos"], TWO[rows])
        np.testing.assert_allclose(of_true_classes(path), TWO[rows, labels[rows]])


@pytest.mark.parametrize(
    "turned",
    [
        lambda rows: {key: [row[key] for row in rows] for key in rows[0]},
        lambda rows: {key: {str(n): row[key] for n, row in enumerate(rows)} for key in rows[0]},
        lambda rows: {"columns": list(rows[0]), "data": [list(row.values()) for row in rows]},
    ],
)
def test_keys_in_json_by_columns(turned, tmp_path):
    for orders in (AS_STORED, SORTED):
        path = saved(tmp_path, "json", orders, LABELS)
        path.write_text(json.dumps(turned(json.loads(path.read_text()))))
        np.testing.assert_array_equal(scores_of(read(path)), THREE)
        if orders is SORTED:
            np.testing.assert_array_equal(scores_of(read(path, ReadOptions(classes=tuple(NAMES)))), THREE)


def test_keys_in_data_frames(tmp_path):
    in_one_order = pd.DataFrame(json.loads(saved(tmp_path, "json", AS_STORED, LABELS).read_text()))
    found = from_table(in_one_order, ReadOptions())
    assert found.classes == tuple(NAMES)
    np.testing.assert_array_equal(scores_of(found), THREE)
    by_score = pd.DataFrame(json.loads(saved(tmp_path, "json", SORTED, LABELS).read_text()))
    np.testing.assert_array_equal(scores_of(from_table(by_score, ReadOptions())), THREE)
    named = from_table(by_score, ReadOptions(classes=tuple(map(str, NAMES))))
    np.testing.assert_array_equal(scores_of(named), THREE)


@pytest.mark.parametrize("first", [None, {"b": {"z": 1, "y": 2}, "a": [{"q": 1, "c": 2}]}])
def test_fields_stand_in_the_order_in_which_objects_name_them(first):
    values = [first, {"b": {"z": 1, "y": None, "x": 3}, "a": [{"q": 1, "c": 2}, None]}, None, {"n": 1}]
    inner = pa.struct([("z", pa.int64()), ("y", pa.int64() if first else pa.null()), ("x", pa.int64())])
    listed = pa.list_(pa.struct([("q", pa.int64()), ("c", pa.int64())]))
    found = column_of(values)
    assert found.type == pa.struct([("b", inner), ("a", listed), ("n", pa.int64())])
    assert found.to_pylist()[1] == {
        "b": {"z": 1, "y": None, "x": 3},
        "a": [{"q": 1, "c": 2}, None],
        "n": None,
    }


def test_objects_nested_deeply_beside_scores(tmp_path):
    path = saved(tmp_path, "json", AS_STORED, LABELS)
    deep = '{"a":' * 700 + "1" + "}" * 700
    path.write_text(path.read_text().replace('"label"', f'"more": {deep}, "label"'))
    np.testing.assert_array_equal(scores_of(read(path)), THREE)


def test_keys_of_large_files_and_of_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(spooled, "PART_BYTES", 1000)
    path = saved(tmp_path, "jsonl", SORTED, LABELS)
    np.testing.assert_array_equal(scores_of(read(path)), THREE)
    lines = path.read_text().splitlines(keepends=True)
    path.unlink()
    for n in (0, 1):
        (tmp_path / f"part-{n}.jsonl").write_text("".join(lines[n * 30 : n * 30 + 30]))
    np.testing.assert_array_equal(scores_of(read(tmp_path, ReadOptions(concat=True))), THREE)
