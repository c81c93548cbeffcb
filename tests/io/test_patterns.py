"""Patterns that no shell has expanded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.io.dataset import files_of_systems
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat


@pytest.fixture
def lake(tmp_path):
    """Two files in folders of folders: nine rows, then eleven."""
    for day, rows in enumerate([9, 11], start=1):
        folder = tmp_path / f"date=2026-11-0{day}" / "region=eu"
        folder.mkdir(parents=True)
        table = pd.DataFrame({"prob": [0.25] * rows, "label": [day - 1, *([1] * (rows - 1))]})
        table.to_csv(folder / "a.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("pattern", ["*/*/*.csv", "**/*.csv", "*[12]/region=eu/a.csv", "*/*/?.csv"])
def test_patterns_stand_for_their_files_in_order(lake, pattern):
    found = read_concat([lake / pattern])
    assert found.labels.tolist() == [0, *([1] * 19)]


def test_patterns_stand_for_folders(lake):
    assert read_concat([lake / "*"], ReadOptions(concat=True)).n_rows == 20


def test_a_file_may_be_named_like_a_pattern(lake):
    (lake / "a[1].csv").write_text("prob,label\n0.5,0\n0.5,1\n", encoding="utf-8")
    (lake / "a1.csv").write_text("prob,label\n0.5,0\n", encoding="utf-8")
    assert read(lake / "a[1].csv").n_rows == 2


def test_a_pattern_without_files_is_no_file(lake):
    with pytest.raises(InputError, match=r"b\*\.csv: no such file"):
        read(lake / "b*.csv")


def test_files_of_labels_are_no_systems_beside_those_of_scores(tmp_path):
    for name in ("a.npy", "a_labels.npy", "b.npy", "b_labels.npy", "own.npy"):
        np.save(tmp_path / name, np.zeros(3))
    files = [str(tmp_path / name) for name in ("a.npy", "b.npy")]
    options = ReadOptions(labels=str(tmp_path / "own.npy"))
    assert files_of_systems([str(tmp_path / "*.npy")], options) == files
    alone = [str(tmp_path / "a_labels.npy")]
    assert files_of_systems(alone, ReadOptions()) == alone
