"""Labels of very many rows are not kept, and are what they would be if they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.data.labels import StreamedLabels
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings
from calcli.io import arraylabels, labelcolumns, storedarrays
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
    monkeypatch.setattr(arraylabels, "MANY_ROWS", 100)
    monkeypatch.setattr(storedarrays, "TOGETHER", 70)


def pair(folder, labels, stem="t", probs=PROBS):
    np.save(folder / f"{stem}.npy", probs)
    np.save(folder / f"{stem}_labels.npy", labels)
    return folder / f"{stem}.npy"


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
    monkeypatch.setattr("calcli.core.evaluating.evaluate.MANY_ROWS", 100)
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


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (LABELS, None),
        (LABELS.astype(">i4"), None),
        (LABELS.astype(np.uint8) * 100 + 55, ("55", "155", "255")),
        (LABELS.astype(np.int16) - 1, ("1", "0", "-1")),
    ],
)
def test_labels_beside_an_array_are_those_that_are_kept(labels, classes, tmp_path, monkeypatch):
    path, options = pair(tmp_path, labels), ReadOptions(classes=classes)
    found = read(path, options)
    assert isinstance(found.labels, StreamedLabels)
    limited = read(path, ReadOptions(classes=classes, limit=50)).labels
    ignored = read(path, ReadOptions(classes=classes, ignore_label=(str(labels[0]),))).labels
    monkeypatch.setattr(arraylabels, "MANY_ROWS", N)
    kept = read(path, options).labels
    assert isinstance(kept, np.ndarray)
    assert found.labels.dtype == kept.dtype
    np.testing.assert_array_equal(found.labels, kept)
    np.testing.assert_array_equal(limited, kept[:50])
    np.testing.assert_array_equal(ignored, kept[LABELS[0] != LABELS])
    named = tmp_path / "named.npy"
    (tmp_path / "t_labels.npy").rename(named)
    monkeypatch.setattr(arraylabels, "MANY_ROWS", 100)
    of_option = read(path, ReadOptions(classes=classes, labels=str(named))).labels
    assert isinstance(of_option, StreamedLabels)
    np.testing.assert_array_equal(of_option, kept)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    ("labels", "classes"), [(LABELS, None), (LABELS.astype(">i2") - 1, ("1", "0", "-1"))]
)
def test_labels_in_an_archive_are_those_that_are_kept(save, labels, classes, tmp_path, monkeypatch):
    path, options = tmp_path / "t.npz", ReadOptions(classes=classes)
    save(path, probs=PROBS, labels=labels)
    found = read(path, options).labels
    assert isinstance(found, StreamedLabels)
    assert isinstance(read(path, replace(options, drop_missing=True)).labels, np.ndarray)
    monkeypatch.setattr(arraylabels, "MANY_ROWS", N)
    kept = read(path, options).labels
    assert isinstance(kept, np.ndarray)
    np.testing.assert_array_equal(found, kept)


@pytest.mark.parametrize("labels", [LABELS.astype(float), NAMES[LABELS], np.eye(3)[LABELS], LABELS[:, None]])
def test_other_labels_beside_an_array_are_kept(labels, tmp_path):
    found = read(
        pair(tmp_path, labels), ReadOptions(classes=tuple(NAMES) if labels.dtype.kind == "U" else None)
    )
    assert isinstance(found.labels, np.ndarray)
    np.testing.assert_array_equal(found.labels, LABELS)


def test_arrays_of_a_folder_are_joined_with_their_labels(tmp_path):
    for part, rows in enumerate((slice(0, 250), slice(250, N))):
        pair(tmp_path, LABELS[rows], str(part), PROBS[rows])
    np.testing.assert_array_equal(read(tmp_path).labels, LABELS)


@pytest.mark.parametrize(
    ("label", "message"),
    [(3, "row 399 has the label 3"), (-100, "row 399 has no label"), (1 << 40, "row 399 has the label")],
)
def test_a_wrong_label_beside_an_array_is_named(label, message, tmp_path):
    refused(pair(tmp_path, np.array([*LABELS[:-1], label])), message)


def test_labels_that_are_cut_off_are_refused(tmp_path):
    path = pair(tmp_path, LABELS)
    labels = tmp_path / "t_labels.npy"
    labels.write_bytes(labels.read_bytes()[:-9])
    refused(path, "t_labels.npy is truncated")


def test_a_run_in_sums_keeps_no_labels_of_arrays(tmp_path, monkeypatch):
    monkeypatch.setattr("calcli.core.evaluating.evaluate.MANY_ROWS", 100)
    monkeypatch.setattr("calcli.core.evaluating.usual.MANY", 100)
    rows = read(pair(tmp_path, LABELS))
    found = evaluate(rows, Settings(("log_loss", "accuracy", "cw_ece"), draws=0))
    assert "_whole" not in vars(rows.labels)
    assert found.estimates["accuracy"].value == pytest.approx((PROBS.argmax(1) == LABELS).mean(), abs=1e-12)
