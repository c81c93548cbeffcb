"""Whole numbers of CSV that begin with a zero are codes, and keep it where rows are told apart by them."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from calcli.io.formats import spooled
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat

ROWS = 40
SITES = ["01", "1", "10", "-07"] * (ROWS // 4)
FRAME = pd.DataFrame(
    {
        "site": SITES,
        "id": [f"{row:020d}" for row in range(ROWS)],
        "count": [str(row) for row in range(ROWS)],
        "late": ["7"] * (ROWS - 1) + ["07"],
        "gaps": ["", "NA", "03", "4"] * (ROWS // 4),
        "label": ["01", "00"] * (ROWS // 2),
        "prob": np.linspace(0, 1, ROWS),
    }
)


def save(path, frame=FRAME):
    text = frame.to_csv(index=False, sep="\t" if ".tsv" in path.name else ",").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.fixture(params=[1 << 25, 200])
def _parts(request, monkeypatch):
    monkeypatch.setattr(spooled, "PART_BYTES", request.param)


def assert_codes(columns, rows=slice(None)):
    for name in ("site", "id", "late"):
        assert columns[name].tolist() == FRAME[name][rows].tolist()
    assert columns["gaps"].tolist() == FRAME["gaps"][rows].replace("NA", "").tolist()
    assert columns["count"].dtype.kind == "i"
    np.testing.assert_array_equal(columns["count"], np.arange(ROWS)[rows])


@pytest.mark.usefixtures("_parts")
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
def test_codes_are_text(tmp_path, ending):
    found = read(save(tmp_path / f"t.{ending}"))
    assert_codes(found.columns)
    np.testing.assert_array_equal(found.labels, [1, 0] * (ROWS // 2))


@pytest.mark.usefixtures("_parts")
def test_codes_of_standard_input_are_text(tmp_path, monkeypatch):
    data = save(tmp_path / "t.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert_codes(read("-").columns)


def test_codes_of_the_rows_that_are_read_are_text(tmp_path):
    frame = FRAME.copy()
    frame.loc[[3, 7], "label"] = ""
    found = read(save(tmp_path / "t.csv", frame), ReadOptions(drop_missing=True))
    assert_codes(found.columns, np.delete(np.arange(ROWS), [3, 7]))


@pytest.mark.parametrize("other", ["t.csv", "t.parquet"])
def test_codes_in_one_part_are_text_in_all(tmp_path, other):
    first, second = save(tmp_path / "0.csv", FRAME[["site", "label", "prob"]]), tmp_path / other
    plain = pd.DataFrame({"site": range(ROWS), "label": [0, 1] * (ROWS // 2), "prob": FRAME["prob"]})
    plain.to_csv(second, index=False) if other == "t.csv" else plain.to_parquet(second)
    found = read_concat([first, second], ReadOptions(concat=True)).columns["site"]
    assert found.tolist() == SITES + list(map(str, range(ROWS)))


def test_codes_are_known_when_the_file_is_gone(tmp_path):
    found = read(path := save(tmp_path / "t.csv"))
    path.unlink()
    assert_codes(found.columns)
