"""Large Parquet files are read in pieces that hold all rows once, in their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import UsageError
from calcli.io import pieces
from calcli.io.options import ReadOptions
from calcli.io.pieces import Piece, in_pieces, read_part
from calcli.io.read import read


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1000, 3))
    table = pa.table({"label": logits.argmax(1), **{f"logit_{k}": own for k, own in enumerate(logits.T)}})
    pq.write_table(table, tmp_path / "big.parquet", row_group_size=90)
    return str(tmp_path / "big.parquet")


def scores_of(predictions):
    return np.concatenate([block.copy() for block in predictions.scores.blocks(100)])


@pytest.mark.parametrize(("rows", "number"), [(1 << 20, 1), (400, 3), (200, 6), (1, 12)])
def test_pieces_hold_all_rows_in_their_order(file, rows, number, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_ROWS", rows)
    parts = in_pieces([file])
    assert len(parts) == number
    whole, read_parts = read(file), [read_part(part, ReadOptions()) for part in parts]
    assert np.array_equal(np.concatenate([scores_of(one) for one in read_parts]), scores_of(whole))
    assert np.array_equal(np.concatenate([one.labels for one in read_parts]), whole.labels)
    assert {one.classes for one in read_parts} == {whole.classes}


def test_only_large_parquet_files_are_cut(file, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_ROWS", 500)
    other = str(tmp_path / "other.csv")
    (tmp_path / "other.csv").write_text("label,p\n0,0.5\n")
    assert in_pieces([other, file]) == [other, Piece(file, 0, 4), Piece(file, 5, 9), Piece(file, 10, 11)]
    assert in_pieces([file] * 17) == [file] * 17
    monkeypatch.setattr(pieces, "PIECE_ROWS", 1 << 20)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1)
    assert len(in_pieces([file])) == 12


def test_faults_name_the_piece(file):
    with pytest.raises(UsageError, match=r"big\.parquet \(row groups 2 to 3\) has no column"):
        read_part(Piece(file, 2, 3), ReadOptions(label_column="y"))
    assert str(Piece(file, 2, 2)).endswith("big.parquet (row group 2)")
