"""Folders of systems on the same rows are not pooled."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat


def fill(folder, labels, ids=None, ending="csv"):
    """Write a file of other scores for each array of labels, with ids if given."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for n, own in enumerate(labels):
        p = rng.random(len(own)).round(6)
        table = pd.DataFrame({"label": own, "prob_0": 1 - p, "prob_1": p})
        if ids is not None:
            table["id"] = ids[n]
        target = folder / f"m{n}.{ending}"
        table.to_csv(target, index=False) if ending == "csv" else table.to_parquet(target)
    return folder


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_with_the_same_labels_are_systems(tmp_path, ending):
    labels = np.random.default_rng(1).integers(0, 2, 30)
    folder = fill(tmp_path / "nightly", [labels] * 3, ending=ending)
    with pytest.raises(InputError, match=r"3 files with the same 30 labels in the same order") as fault:
        read(folder)
    assert f"calcli evaluate {folder}/*.{ending}" in str(fault.value)
    assert f"calcli evaluate {folder} --concat" in str(fault.value)
    pooled = read(folder, ReadOptions(concat=True))
    assert pooled.n_rows == 90
    assert "90 rows of 2 classes in 3 files, parts of one data set" in pooled.reading[0]
    assert read_concat(sorted(folder.iterdir())).n_rows == 90


def test_systems_in_folders_of_folders_are_named_by_a_pattern(tmp_path):
    labels = np.random.default_rng(1).integers(0, 2, 30)
    for day in "12":
        fill(tmp_path / f"date={day}", [labels])
    with pytest.raises(InputError, match="2 files with the same 30 labels") as fault:
        read(tmp_path)
    assert f"calcli evaluate '{tmp_path}/**/*.csv'" in str(fault.value)


def test_files_of_arrays_are_looked_at_as_well(tmp_path):
    labels = np.arange(40) % 3
    for n in range(2):
        np.save(tmp_path / f"m{n}.npy", np.random.default_rng(n).normal(size=(40, 3)))
        np.save(tmp_path / f"m{n}_labels.npy", labels)
    with pytest.raises(InputError, match="2 files with the same 40 labels"):
        read(tmp_path)


@pytest.mark.parametrize(
    "labels",
    [
        [np.arange(19) % 2] * 3,
        [np.zeros(30, int), np.zeros(30, int)],
        [np.arange(30) % 2, np.arange(40) % 2],
        [np.arange(30) % 2, np.arange(30) // 15],
    ],
    ids=["few rows", "one class", "other sizes", "other labels"],
)
def test_parts_of_one_data_set_are_pooled(tmp_path, labels):
    assert read(fill(tmp_path / "parts", labels)).n_rows == sum(map(len, labels))


def test_files_with_the_same_ids_in_any_order_are_systems(tmp_path):
    rng = np.random.default_rng(2)
    labels, ids = rng.integers(0, 2, 12), np.arange(12)
    orders = [rng.permutation(12) for _ in range(3)]
    folder = fill(tmp_path / "systems", [labels[o] for o in orders], [ids[o] for o in orders])
    with pytest.raises(InputError, match="3 files with the same ids in column 'id'"):
        read(folder)
    other = fill(tmp_path / "other", [labels[o] for o in orders], [ids, ids + 12, ids + 24])
    assert read(other).n_rows == 36
    wrong = fill(tmp_path / "wrong", [labels, 1 - labels], [ids, ids])
    assert read(wrong).n_rows == 24
