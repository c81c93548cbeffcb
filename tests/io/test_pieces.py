"""Large Parquet files are read in pieces that hold all rows once, in their order."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import UsageError
from calcli.io import read as reading
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


@pytest.mark.parametrize(("rows", "number"), [(1 << 20, 1), (400, 3), (200, 6), (1, 12)])
def test_pieces_hold_all_rows_in_their_order(file, rows, number, monkeypatch):
    monkeypatch.setattr(reading, "PIECE_ROWS", rows)
    parts = in_pieces([file], ReadOptions())
    assert len(parts) == number
    whole, read_parts = read(file), [read_piece(part, ReadOptions()) for part in parts]
    assert np.array_equal(np.concatenate([scores_of(one) for one in read_parts]), scores_of(whole))
    assert np.array_equal(np.concatenate([one.labels for one in read_parts]), whole.labels)
    assert {one.classes for one in read_parts} == {whole.classes}
    ends = np.cumsum([0, *(one.n_rows for one in read_parts)]).tolist()
    assert [part.rows for part in parts] == [*pairwise(ends)]


def test_only_large_parquet_files_are_cut(file, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PIECE_ROWS", 500)
    other = str(tmp_path / "other.csv")
    (tmp_path / "other.csv").write_text("label,p\n0,0.5\n")
    groups, how = [(0, 4), (5, 9), (10, 11)], ReadOptions()
    rows = [(0, 450), (450, 900), (900, 1000)]
    known = [Piece(file, file, *both) for both in zip(groups, rows, strict=True)]
    unknown = [Piece(file, file, own) for own in groups]  # as the rows of text before them are not counted
    assert in_pieces([file], how) == known
    assert in_pieces([other, file], how) == [Piece(other, other), *unknown]
    assert in_pieces([file] * 17, how) == [Piece(file, file)] * 17
    monkeypatch.setattr(reading, "PIECE_ROWS", 1 << 20)
    monkeypatch.setattr(reading, "PIECE_BYTES", 1)
    assert len(in_pieces([file], how)) == 12


def test_faults_name_the_piece(file):
    with pytest.raises(UsageError, match=r"big\.parquet \(row groups 2 to 3\) has no column"):
        read_piece(Piece(file, file, (2, 3)), ReadOptions(label_column="y"))
    assert str(Piece(file, file, (2, 2))).endswith("big.parquet (row group 2)")


@pytest.mark.parametrize("rows", [1 << 20, 400])
def test_names_of_folders_are_columns_of_every_piece(file, tmp_path, monkeypatch, rows):
    monkeypatch.setattr(reading, "PIECE_ROWS", rows)
    for day in ("01", "02"):
        folder = tmp_path / "lake" / f"date=2026-11-{day}"
        folder.mkdir(parents=True)
        (folder / "p.parquet").write_bytes(Path(file).read_bytes())
    whole = read(tmp_path / "lake", ReadOptions(concat=True))
    parts = [read_piece(one, ReadOptions()) for one in in_pieces([str(tmp_path / "lake")], ReadOptions())]
    days = np.concatenate([part.column("date") for part in parts])
    assert np.array_equal(days, whole.column("date"))
    assert np.unique(days, return_counts=True)[1].tolist() == [1000, 1000]
