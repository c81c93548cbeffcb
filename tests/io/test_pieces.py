"""Files of a data set are read one by one, and hold all rows once, in their order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.states import merge, state_of
from calcli.core.language.settings import Settings
from calcli.core.state.state import predictions_of
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


def test_large_parquet_files_are_read_in_parts_of_row_groups(file, tmp_path, monkeypatch):
    other, how = str(tmp_path / "other.csv"), ReadOptions()
    Path(other).write_text("label,p\n0,0.5\n")
    assert in_pieces([file, file], how) == [Piece(file, file)] * 2
    monkeypatch.setattr("calcli.io.read.PART_ROWS", 500)
    pieces = in_pieces([file], how)
    assert pieces == [Piece(file, file, groups) for groups in ((0, 5), (5, 10), (10, 12))]
    assert str(pieces[1]) == f"{file} (row groups 6 to 10)"
    for whole in ([other, file], [file] * 17):
        assert in_pieces(whole, how) == [Piece(path, path) for path in whole]
    for more in ({"labels": file}, {"limit": 9}):  # which are of all rows
        assert in_pieces([file], ReadOptions(**more)) == [Piece(file, file)]
    rows, parts = read(file), [read_piece(one, how) for one in pieces]
    assert [part.n_rows for part in parts] == [450, 450, 100]
    assert np.array_equal(np.concatenate([scores_of(part) for part in parts]), scores_of(rows))
    assert np.array_equal(np.concatenate([part.labels for part in parts]), rows.labels)
    settings = Settings(metrics=("log_loss", "brier", "ece", "accuracy"), draws=0)
    merged = evaluate(predictions_of(merge([state_of(part, settings) for part in parts])), settings).estimates
    for name, expected in evaluate(rows, settings).estimates.items():
        assert merged[name].value == pytest.approx(expected.value, rel=1e-9)


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
