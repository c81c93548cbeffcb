"""Files of a data set are read one by one, and hold all rows once, in their order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import Piece, in_pieces, read, read_piece


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1000, 3))
    table = pa.table({"y_true": logits.argmax(1), **{f"logit_{k}": own for k, own in enumerate(logits.T)}})
    pq.write_table(table, tmp_path / "big.parquet", row_group_size=90)
    return str(tmp_path / "big.parquet")


def scores_of(predictions):
    return np.concatenate([block.copy() for block in predictions.scores.blocks(100)])


def test_files_know_their_rows_where_all_are_parquet(file, tmp_path):
    other, how = str(tmp_path / "other.csv"), ReadOptions()
    Path(other).write_text("label,p\n0,0.5\n")
    assert in_pieces([file, file], how) == [Piece(file, file, (0, 1000)), Piece(file, file, (1000, 2000))]
    assert in_pieces([other, file], how) == [Piece(other, other), Piece(file, file)]
    assert in_pieces([file] * 17, how) == [Piece(file, file)] * 17


def test_names_of_folders_are_columns_of_every_piece(file, tmp_path):
    for day in ("01", "02"):
        folder = tmp_path / "lake" / f"date=2026-11-{day}"
        folder.mkdir(parents=True)
        (folder / "p.parquet").write_bytes(Path(file).read_bytes())
    whole = read(tmp_path / "lake", ReadOptions(concat=True))
    parts = [read_piece(one, ReadOptions()) for one in in_pieces([str(tmp_path / "lake")], ReadOptions())]
    days = np.concatenate([part.column("date") for part in parts])
    assert np.array_equal(days, whole.column("date"))
    assert np.unique(days, return_counts=True)[1].tolist() == [1000, 1000]
    assert np.array_equal(np.concatenate([scores_of(one) for one in parts]), scores_of(whole))
    assert np.array_equal(np.concatenate([one.labels for one in parts]), whole.labels)
