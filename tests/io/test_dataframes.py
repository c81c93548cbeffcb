"""Stata, SAS, ORC and spreadsheets: read as the same rows of CSV are, written again, refused if damaged."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import orc

import calcli
from calcli.core.language.errors import InputError, UsageError
from calcli.core.recalibrating.fitting import record_of
from calcli.io.apply.apply import recalibrate_file
from calcli.io.formats import dataframes
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import scores_of

ROWS = 200
WRITTEN = ("dta", "xlsx", "ods", *(["orc"] if pa.__version__ >= "20" else []))


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    prob = rng.random(ROWS)
    died = np.where(rng.random(ROWS) < prob, "yes", "no")
    return pd.DataFrame({"id": np.arange(ROWS), "died": died, "prob_yes": prob})


def saved(frame: pd.DataFrame, path):
    ending = path.suffix
    if ending == ".dta":
        frame.assign(died=pd.Categorical(frame.died, ["no", "yes"])).to_stata(path, write_index=False)
    elif ending == ".orc":
        orc.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, stripe_size=1024)
    elif ending == ".xpt":
        pytest.importorskip("pyreadstat").write_xport(frame, path, file_format_version=5)
    else:
        pytest.importorskip({".xlsx": "openpyxl", ".ods": "odf"}[ending])
        frame.to_excel(path, index=False, engine={".xlsx": "openpyxl", ".ods": "odf"}[ending])
    return path


def recalibrated(fitted, path, target) -> None:
    recalibrate_file(record_of(fitted.fit, None), str(path), str(target))


@pytest.mark.parametrize("ending", [*WRITTEN, "xpt"])
def test_the_rows_are_those_of_the_same_table_in_csv(ending, tmp_path):
    frame = rows()
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected, found = read(tmp_path / "t.csv"), read(saved(frame, tmp_path / f"t.{ending}"))
    np.testing.assert_allclose(scores_of(found), scores_of(expected), rtol=1e-14)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.classes == expected.classes == ("no", "yes")


@pytest.mark.parametrize("ending", WRITTEN)
def test_recalibrated_scores_are_written_in_the_same_format(ending, tmp_path):
    path = saved(rows(), tmp_path / f"t.{ending}")
    fitted = calcli.fit(path, method="dp")
    recalibrated(fitted, path, tmp_path / f"out.{ending}")
    found = read(tmp_path / f"out.{ending}")
    np.testing.assert_allclose(scores_of(found), fitted.apply(path), rtol=1e-12)
    np.testing.assert_array_equal(found.labels, read(path).labels)


def test_what_cannot_be_written_names_the_way_out(tmp_path):
    path = saved(rows(), tmp_path / "t.xpt")
    fitted = calcli.fit(path, method="dp")
    with pytest.raises(UsageError, match=r"\.xpt files are only read; choose \.csv or \.parquet"):
        recalibrated(fitted, path, tmp_path / "out.xpt")
    long_name = rows().rename(columns={"id": "a name that Stata does not allow"})
    long_name.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"out\.dta cannot be written: .*choose another format"):
        recalibrated(fitted, tmp_path / "t.csv", tmp_path / "out.dta")
    assert not [*tmp_path.glob("out.*")]


def test_a_sheet_of_a_workbook_is_chosen_by_name(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["made by hand"]}).to_excel(book, sheet_name="about", index=False)
        rows().to_excel(book, sheet_name="scores", index=False)
    assert read(path, ReadOptions(sheet="scores")).n_rows == ROWS
    with pytest.raises(UsageError, match=r"--sheet none: .* has the sheets about, scores"):
        read(path, ReadOptions(sheet="none"))
    rows().to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UsageError, match=r"--sheet scores: .* has no sheets"):
        read(tmp_path / "t.csv", ReadOptions(sheet="scores"))


@pytest.mark.parametrize("ending", [*WRITTEN, "xpt"])
@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_truncated_files_are_refused(share, ending, tmp_path):
    content = saved(rows(), tmp_path / f"t.{ending}").read_bytes()
    (tmp_path / f"t.{ending}").write_bytes(content[: int(share * len(content))])
    try:
        predictions = read(tmp_path / f"t.{ending}")
    except InputError:
        return
    assert ending == "xpt"  # rows have no number in the file
    assert predictions.n_rows < ROWS


@pytest.mark.parametrize("ending", [*WRITTEN, "sas7bdat", "xpt"])
@pytest.mark.parametrize("content", [b"", b"\0" * 3000, b"PK\x03\x04", b"ORC", b"id,p\n1,0.5\n"])
def test_other_content_is_refused(content, ending, tmp_path):
    (tmp_path / f"t.{ending}").write_bytes(content)
    with pytest.raises(InputError, match=rf"t\.{ending} is (not|empty)"):
        read(tmp_path / f"t.{ending}")


def test_flipped_bytes_give_no_traceback(tmp_path):
    rng = np.random.default_rng(4)
    for ending in (*WRITTEN, "xpt"):
        content = bytearray(saved(rows(), tmp_path / f"t.{ending}").read_bytes())
        for trial in range(12):
            damaged = bytearray(content)
            for place in rng.integers(0, min(len(content), 2000), 8):
                damaged[place] = rng.integers(256)
            path = tmp_path / f"d{trial}.{ending}"
            path.write_bytes(damaged)
            with suppress(InputError, UsageError):
                scores_of(read(path))


def test_files_that_are_read_whole_have_a_largest_size(tmp_path, monkeypatch):
    path = saved(rows(), tmp_path / "t.dta")
    monkeypatch.setattr(dataframes, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"read into memory as a whole; .* save it as \.parquet"):
        read(path)
