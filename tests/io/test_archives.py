"""Archives of arrays are read block by block, whatever way they are packed."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat
from tests.io.samples import random_logits, random_probs, refused, scores_of

SAMPLE = random_logits()
PACKED = pytest.mark.parametrize("save", [np.savez, np.savez_compressed])


@PACKED
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["f2", ">f4", "f8"])
def test_blocks_are_the_rows(save, order, kind, tmp_path):
    scores = np.array(SAMPLE.scores.astype(kind), order=order)
    save(tmp_path / "a.npz", logits=scores, labels=SAMPLE.labels)
    predictions = read(tmp_path / "a.npz")
    for rows in (1, 7, 100):
        np.testing.assert_array_equal(scores_of(predictions, rows), scores)
    assert predictions.scores.dtype.isnative


@PACKED
def test_columns_follow_the_order_of_classes(save, tmp_path):
    names = ["b", "a", "c"]
    told, options = np.array(names)[SAMPLE.labels % 3], ReadOptions(classes=("a", "b", "c"))
    save(tmp_path / "a.npz", logits=SAMPLE.scores[:, :3], labels=told, classes=names)
    predictions = read(tmp_path / "a.npz", options)
    np.testing.assert_array_equal(scores_of(predictions, 7), SAMPLE.scores[:, [1, 0, 2]])
    np.testing.assert_array_equal(np.array(options.classes)[predictions.labels], told)
    for labels, kind in ((SAMPLE.labels % 3, "numbers"), (np.eye(3)[SAMPLE.labels % 3], "one-hot")):
        save(tmp_path / "a.npz", logits=SAMPLE.scores[:, :3], labels=labels, classes=names)
        np.testing.assert_array_equal(read(tmp_path / "a.npz").labels, SAMPLE.labels % 3)
        with pytest.raises(InputError, match=f"labels are {kind}, .* order of the file or in"):
            read(tmp_path / "a.npz", options)


@PACKED
def test_scores_are_not_held(save, tmp_path):
    scores = np.zeros((300_000, 20))
    scores[:, 3] = 2
    save(tmp_path / "a.npz", logits=scores, labels=np.zeros(300_000, np.int8))
    tracemalloc.start()
    predictions = read(tmp_path / "a.npz")
    total = sum(float(block.sum()) for block in predictions.scores.blocks(1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == 600_000
    assert peak < scores.nbytes / 2, "labels and buffers, and the check of the labels"


@PACKED
def test_damage_that_is_met_on_the_way(save, tmp_path):
    path = tmp_path / "a.npz"
    rng = np.random.default_rng(0)
    save(path, labels=SAMPLE.labels, logits=rng.normal(size=(len(SAMPLE.labels), 9000)))
    predictions = read(path)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 255
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"a.npz is truncated or damaged; copy it again"):
        scores_of(predictions, 1)


def test_damage_of_columns(tmp_path):
    path = tmp_path / "a.npz"
    scores = np.random.default_rng(0).normal(size=(len(SAMPLE.labels), 9000))
    np.savez(path, labels=SAMPLE.labels, logits=np.asfortranarray(scores))
    np.testing.assert_array_equal(scores_of(read(path), 1), scores)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 255
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"a.npz is truncated or damaged; copy it again"):
        read(path)


@pytest.mark.parametrize("shape", [(40,), (40, 1), (1, 40)])
def test_an_array_with_one_axis_of_rows_is_a_column(shape, tmp_path):
    place = np.arange(40).reshape(shape)
    np.savez(tmp_path / "a.npz", logits=SAMPLE.scores[:40], labels=SAMPLE.labels[:40], place=place)
    np.testing.assert_array_equal(read(tmp_path / "a.npz").columns["place"], np.arange(40))
    first = read(tmp_path / "a.npz", ReadOptions(limit=7))
    np.testing.assert_array_equal(first.columns["place"], np.arange(7))


@pytest.mark.parametrize("shape", [(7,), (40, 3), ()])
def test_a_column_has_a_value_for_each_row(shape, tmp_path):
    arrays = {"logits": SAMPLE.scores[:40], "labels": SAMPLE.labels[:40], "place": np.zeros(shape)}
    np.savez(tmp_path / "a.npz", **arrays)
    columns = read(tmp_path / "a.npz").columns
    message = f"a.npz: place has shape {shape}; expected a value for each of 40 rows"
    with pytest.raises(InputError, match=re.escape(message)):
        columns["place"]


@pytest.mark.parametrize("shape", [(40, 10), (20, 20), (4, 100)])
def test_values_in_other_axes_than_the_rows_are_refused(shape, tmp_path):
    scores = np.random.default_rng(0).normal(size=(10, 40, 3))
    labels, other = np.arange(400).reshape(10, 40) % 3, np.arange(400).reshape(shape)
    said = rf"has (labels|values) of shape \({shape[0]}, {shape[1]}\), but the rows .* shape \(10, 40\)"
    np.savez(tmp_path / "a.npz", logits=scores, labels=other % 3)
    np.save(tmp_path / "b.npy", scores)
    np.save(tmp_path / "b_labels.npy", other % 3)
    for file in ("a.npz", "b.npy"):
        refused(tmp_path / file, said)
    refused(tmp_path / "b.npy", said, labels=str(tmp_path / "b_labels.npy"))
    np.savez(tmp_path / "c.npz", logits=scores, labels=labels, other=other)
    refused(tmp_path / "c.npz", said, weights="other")
    predictions = read(tmp_path / "c.npz")
    assert predictions.labels.tolist() == labels.reshape(-1).tolist()
    with pytest.raises(InputError, match=said):
        predictions.columns["other"]


def test_labels_of_several_parts_have_the_axes_of_all(tmp_path):
    scores, labels = np.random.default_rng(0).normal(size=(10, 4, 3)), np.arange(40).reshape(10, 4) % 3
    for name, part in (("0", slice(0, 6)), ("1", slice(6, 10))):
        np.savez(tmp_path / f"{name}.npz", logits=scores[part])
    np.save(tmp_path / "labels.npy", labels)
    files, options = (
        [tmp_path / "0.npz", tmp_path / "1.npz"],
        ReadOptions(labels=str(tmp_path / "labels.npy")),
    )
    assert read_concat(files, options).labels.tolist() == labels.reshape(-1).tolist()
    np.save(tmp_path / "labels.npy", labels.T)
    with pytest.raises(InputError, match=r"labels of shape \(4, 10\), .* the shape \(10, 4\)"):
        read_concat(files, options)


@pytest.mark.parametrize("array", ["labels", "w", "site"])
def test_each_part_has_a_value_for_each_row(array, tmp_path):
    """Too many in one part do not stand in for those that another lacks."""
    for name, number in (("0", 35), ("1", 25)):
        arrays = {"labels": SAMPLE.labels[:30], "w": np.ones(30), "site": np.zeros(30)}
        arrays[array] = np.resize(arrays[array], number)
        np.savez(tmp_path / f"{name}.npz", logits=SAMPLE.scores[:30], **arrays)
    told = f"0.npz: {array} has shape (35,); expected a value for each of 30 rows"
    if array == "labels":
        told = 'scores, but array "labels" has 35 labels; expected one label per row'
    with pytest.raises(InputError, match=re.escape(told)):
        read(tmp_path, ReadOptions(concat=True, weights="w")).column("site")


def test_labels_beside_each_part_are_those_of_its_rows(tmp_path):
    for name, number in (("0", 35), ("1", 25)):
        np.save(tmp_path / f"{name}.npy", SAMPLE.scores[:30])
        np.save(tmp_path / f"{name}_labels.npy", SAMPLE.labels[:number])
    with pytest.raises(
        InputError, match=r"0.npy has 30 rows of \d+ scores, but .*0_labels.npy has 35 labels"
    ):
        read(tmp_path, ReadOptions(concat=True))


@pytest.mark.parametrize("array", ["logits", "w"])
def test_weights_are_one_for_each_row(array, tmp_path):
    np.savez(tmp_path / "a.npz", logits=SAMPLE.scores[:30], labels=SAMPLE.labels[:30], w=np.ones(29))
    told = rf"a.npz: {array} has shape \(.*\); expected a value for each of 30 rows|a.npz has no"
    with pytest.raises(InputError, match=told):
        read(tmp_path / "a.npz", ReadOptions(weights=array))


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (np.zeros(40, [("a", "f8"), ("b", "f8")]), "values of type"),
        (np.zeros(40, "V4"), "values of type"),
        (np.arange(40).astype("M8"), "dates"),
        (np.zeros(40, complex), "complex numbers"),
    ],
)
def test_arrays_of_what_is_no_single_value_are_no_columns(values, held, tmp_path):
    probs, labels = random_probs()
    np.savez(tmp_path / "t.npz", probs=probs, labels=labels, country=values)
    with pytest.raises(
        InputError, match=rf"country holds {held}.*; expected one number, text or time in each row"
    ):
        read(tmp_path / "t.npz").columns["country"]
    np.savez(tmp_path / "t.npz", confidence=probs[:, 0], correct=values)
    refused(tmp_path / "t.npz", f'"correct" holds {held}|has no label column')
