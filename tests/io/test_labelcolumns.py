"""Labels of very many rows are not kept, and are what they would be if they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.data.labels import StreamedLabels
from calcli.core.evaluating import gathering
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.io import labelcolumns
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import refused

N = 400
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), N).astype(np.float32)
LABELS = np.array([RNG.choice(3, p=row / row.sum()) for row in PROBS.astype(float)])
NAMES = np.array(["cat", "dog", "eel"])
HEADS = [f"prob_{name}" for name in NAMES]


@pytest.fixture(autouse=True)
def _many_are_few(monkeypatch):
    monkeypatch.setattr(labelcolumns, "MANY_ROWS", 100)


def written(path, labels, probs=PROBS, heads=HEADS):
    columns = dict(zip(heads, map(np.ascontiguousarray, probs.T), strict=True))
    pq.write_table(pa.table({**columns, "label": labels}), path, row_group_size=70)
    return path


@pytest.mark.parametrize(
    ("labels", "heads"),
    [
        (pa.array(NAMES[LABELS]), HEADS),
        (pa.array(LABELS.astype(np.int8)), ["prob_0", "prob_1", "prob_2"]),
        (pa.array(LABELS * 100 - 128), ["prob_-128", "prob_-28", "prob_72"]),
        (pa.array(LABELS.astype(np.uint64)), ["prob_2", "prob_1", "prob_0"]),
    ],
)
def test_labels_are_those_that_are_kept(labels, heads, tmp_path, monkeypatch):
    path = written(tmp_path / "t.parquet", labels, heads=heads)
    found = read(path)
    assert isinstance(found.labels, StreamedLabels)
    monkeypatch.setattr(labelcolumns, "MANY_ROWS", N)
    kept = read(path)
    assert isinstance(kept.labels, np.ndarray)
    assert kept.classes == found.classes
    assert found.labels.dtype == kept.labels.dtype
    np.testing.assert_array_equal(found.labels, kept.labels)
    np.testing.assert_array_equal(read(path, ReadOptions(limit=50)).labels, kept.labels[:50])


@pytest.mark.parametrize("positive", [None, "no"])
def test_two_classes_in_either_order(positive, tmp_path):
    yes = LABELS == 1
    path = written(tmp_path / "t.parquet", yes, PROBS[:, :1], ["prob"])
    np.testing.assert_array_equal(read(path).labels, yes)
    pair = np.stack([PROBS[:, 0], 1 - PROBS[:, 0]], 1)
    path = written(tmp_path / "t.parquet", np.where(yes, "yes", "no"), pair, ["prob_no", "prob_yes"])
    found = read(path, ReadOptions(positive=positive))
    assert isinstance(found.labels, StreamedLabels)
    np.testing.assert_array_equal(np.array(found.classes)[found.labels] == "yes", yes)


def test_parts_of_a_folder_and_options(tmp_path):
    for part in range(4):
        rows = slice(100 * part, 100 * part + 100)
        written(tmp_path / f"{part}.parquet", NAMES[LABELS[rows]], PROBS[rows])
    np.testing.assert_array_equal(read(tmp_path).labels, LABELS)
    ignored = read(tmp_path, ReadOptions(ignore_label=("eel",)))
    np.testing.assert_array_equal(ignored.labels, LABELS[LABELS < 2])
    against = read(tmp_path, ReadOptions(against_rest="dog"))
    np.testing.assert_array_equal(against.labels, LABELS == 1)


def test_files_with_the_same_labels_are_systems(tmp_path):
    for part in range(2):
        written(tmp_path / f"{part}.parquet", NAMES[LABELS])
    refused(tmp_path, "holds 2 files with the same 400 labels in the same order")


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("fox", 'row 399 has the label "fox"'),
        (None, "row 399 has no label .null"),
        ("", "row 399 has no label"),
    ],
)
def test_a_wrong_label_is_named(label, message, tmp_path):
    refused(written(tmp_path / "t.parquet", pa.array([*NAMES[LABELS[:-1]], label])), message)


def test_a_run_in_sums_keeps_no_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(gathering, "MANY_ROWS", 100)
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 100)
    path = written(tmp_path / "t.parquet", NAMES[LABELS])
    rows = read(path)
    settings = Settings(("log_loss", "accuracy", "ece", "cw_ece", "mean_gap"), draws=19)
    found = evaluate(rows, settings)
    assert "_whole" not in vars(rows.labels)
    monkeypatch.setattr(labelcolumns, "MANY_ROWS", N)
    expected = evaluate(read(path), settings)
    assert {name: one.value for name, one in found.estimates.items()} == {
        name: one.value for name, one in expected.estimates.items()
    }
