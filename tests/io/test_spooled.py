"""Text that is parsed in parts is the same table as if it were parsed at once."""

from __future__ import annotations

import gzip
import io
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calcli.core.language.errors import InputError
from calcli.io.formats import csv, spooled
from calcli.io.formats.spooled import parsed, reader_of
from calcli.io.read import read
from calcli.io.tables.table import Table
from tests.io.samples import random_probs, refused, scores_of

PROBS, LABELS = random_probs()
FRAME = pd.DataFrame(
    {"id": range(len(PROBS)), "label": LABELS} | {f"prob_{k}": column for k, column in enumerate(PROBS.T)}
)


@pytest.fixture(params=["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz"])
def path(request, tmp_path, monkeypatch):
    monkeypatch.setattr(spooled, "PART_BYTES", 100)
    path = tmp_path / f"t.{request.param}"
    if "json" in request.param:
        text = FRAME.to_json(orient="records", lines=True, double_precision=15)
    else:
        text = FRAME.to_csv(index=False, sep="\t" if request.param == "tsv" else ",")
    packed = gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode()
    path.write_bytes(packed)
    return path


def test_parts_are_the_rows(path):
    predictions = read(path)
    np.testing.assert_allclose(scores_of(predictions, 7), PROBS, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(predictions.labels, LABELS)
    np.testing.assert_array_equal(predictions.columns["id"], FRAME["id"])


def test_the_file_is_not_needed_any_more(path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    if path.suffix == ".tsv" or path.suffix == ".gz":
        predictions = read(path)
        path.unlink()
    else:
        predictions = read("-")
    np.testing.assert_allclose(scores_of(predictions), PROBS, rtol=0, atol=1e-15)


def test_what_threads_of_a_parser_read_is_no_object_of_python():
    data = bytearray(b"a,b\n1,2\n")
    reader = reader_of(data)
    data.clear()  # an error while something holds it
    assert reader.read() == b"a,b\n1,2\n"


def table(text: str, parse) -> Table:
    return parsed(iter(line.encode() for line in text.splitlines(keepends=True)), "t", parse)


def json_part(part, first):
    return pa.json.read_json(pa.BufferReader(part))


@pytest.mark.parametrize(
    "rows",
    [
        [{"a": 1}, {"a": 0.5}, {"a": None}],
        [{"a": None}, {"a": "x"}],
        [{"a": 1}, {"b": "x"}, {"a": 2, "b": None}],
        [{"a": [1, 2]}, {"a": [0.5]}],
        [{"a": {"x": 1}}, {"a": {"x": 0.5}}],
        [{"a": 2**53 + 1}, {"a": 0.5}],
    ],
)
def test_values_of_different_types(rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    found = table(text, json_part)
    whole = pa.json.read_json(pa.BufferReader(text.encode()))
    assert found.schema == whole.schema
    assert pa.Table.from_batches(found.batches(found.columns)).equals(whole)
    last = whole.column_names[-1]
    assert found.column(last).to_pylist() == whole.column(last).to_pylist()
    assert found.place.row(1) == "t: row 1"


def test_types_that_only_the_whole_text_tells(tmp_path, monkeypatch):
    """A label that is a number first and a name later is a name throughout."""
    text = "label,prob_7,prob_x\n" + "7,0.5,0.5\n" * 30 + "x,0.5,0.5\n" * 3
    (tmp_path / "t.csv").write_text(text)
    monkeypatch.setattr(spooled, "PART_BYTES", 100)
    predictions = read(tmp_path / "t.csv")
    assert predictions.classes == ("7", "x")
    assert predictions.labels.sum() == 3


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("t.csv", "1,0.5\n", "line 42 has 2 fields; expected 3"),
        ("t.csv", "1,0.5,é\n", "prob_1 is not text in UTF-8"),
        ("t.jsonl", "null\n", "line 41 is null"),
        ("t.jsonl", " null\n", "line 41 is null"),
        ("t.jsonl", '{"a": ' + "[" * 600 + "]" * 600 + "}\n", "line 41 is nested more than 500 levels deep"),
        ("t.jsonl", '{"label": \n', "line 41 is not complete and valid JSON"),
    ],
)
def test_damage_in_a_later_part_is_told_as_in_one(name, line, message, tmp_path, monkeypatch):
    row = '{"label": 1, "probs": [0.5, 0.5]}\n' if name == "t.jsonl" else "1,0.5,0.5\n"
    head = "" if name == "t.jsonl" else "label,prob_0,prob_1\n"
    (tmp_path / name).write_text(head + row * 40 + line + row * 9, encoding="latin-1")
    refused(tmp_path / name, message)
    monkeypatch.setattr(spooled, "PART_BYTES", 100)
    refused(tmp_path / name, message)


def test_no_room_for_the_parts(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spooled, "PART_BYTES", 100)
    monkeypatch.setattr(spooled._Spool, "written", full)
    (tmp_path / "t.csv").write_text("label,prob_0,prob_1\n" + "1,0.5,0.5\n" * 40)
    with pytest.raises(InputError, match=re.escape("No space left on device; set TMPDIR")):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("size", [50, 1000, 1 << 25])
def test_rows_in_quotes_are_text(size, tmp_path, monkeypatch):
    monkeypatch.setattr(spooled, "PART_BYTES", size)
    monkeypatch.setattr(csv, "BLOCK_BYTES", 400)
    probs = random_probs(60, 2)[0]
    text = ["1,0.25,0.75\n" * (n % 5) + "the end" for n in range(60)]
    columns = {"label": np.arange(60) % 2, "prob_0": probs[:, 0], "prob_1": probs[:, 1], "text": text}
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    found = read(tmp_path / "t.csv")
    np.testing.assert_allclose(scores_of(found), probs, rtol=1e-15)
    assert found.columns["text"].tolist() == text
