"""A target that is a folder is found before anything is written elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.io.options import ReadOptions
from calcli.work.evaluate import evaluate_files
from calcli.work.fit import fit_file

TEST = str(Path(__file__).resolve().parents[2] / "sample_data/iris_logistic_test.csv")


def test_folders_in_place_of_files(tmp_path):
    (tmp_path / "folder").mkdir()
    folder, other = (str(tmp_path / name) for name in ("folder", "other"))
    with pytest.raises(InputError, match="folder is a folder; expected the name of a file"):
        evaluate_files([TEST], ReadOptions(), Settings(), state=folder, folder=other)
    with pytest.raises(InputError, match="folder is a folder"):
        fit_file(TEST, ReadOptions(), "temperature", output=folder)
    assert not list((tmp_path / "folder").iterdir())
    assert not Path(other).exists()
