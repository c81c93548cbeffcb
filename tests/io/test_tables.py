"""Every table format gives back the arrays that went in."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from calcli.core.language.errors import InputError
from calcli.io.formats import known_format
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat
from tests.io.samples import random_logits, random_probs, refused, scores_of, table_of, to_parquet

COLORS = ["red", "green", "blue"]


def write_csv(table: pa.Table, path: Path) -> None:
    csv.write_csv(table, path, csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ","))


def write_gzip(table: pa.Table, path: Path) -> None:
    buffer = io.BytesIO()
    csv.write_csv(table, buffer)
    path.write_bytes(gzip.compress(buffer.getvalue()))


def write_jsonl(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=9)


WRITERS = {
    "t.csv": write_csv,
    "t.tsv": write_csv,
    "t.csv.gz": write_gzip,
    "t.jsonl": write_jsonl,
    "t.ndjson": write_jsonl,
    "t.parquet": lambda table, path: pq.write_table(table, path, row_group_size=11),
    "t.feather": lambda table, path: feather.write_feather(table, path, chunksize=9),
    "t.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_arrays(name, tmp_path):
    sample = random_probs()
    table = table_of(sample.scores, np.array(COLORS)[sample.labels], [f"prob_{c}" for c in COLORS])
    WRITERS[name](table, tmp_path / name)
    predictions = read(tmp_path / name)
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    assert predictions.classes == ("red", "green", "blue")
    assert predictions.kind == "probs"
    assert predictions.scores.dtype == np.float64
    assert list(predictions.columns) == ["id"]
    np.testing.assert_array_equal(predictions.columns["id"], np.arange(40))
    assert predictions.provenance.labels == 'column "label"'
    assert predictions.provenance.files == (str(tmp_path / name),)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_binary_formats_keep_single_precision(name, tmp_path):
    sample = random_logits()
    WRITERS[name](table_of(sample.scores, sample.labels, [f"logit_{k}" for k in range(12)]), tmp_path / name)
    predictions = read(tmp_path / name)
    assert predictions.scores.dtype == np.float32
    scores = scores_of(predictions)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, sample.scores)


@pytest.mark.parametrize("kind", ["float16", "int8", "uint16", "int64"])
def test_other_numbers_become_floats(kind, tmp_path):
    values = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]]).astype(kind)
    pq.write_table(table_of(values, [0, 1, 2], ["prob_0", "prob_1", "prob_2"]), tmp_path / "t.parquet")
    scores = scores_of(read(tmp_path / "t.parquet"))
    assert scores.dtype == (np.float32 if kind == "float16" else np.float64)
    np.testing.assert_array_equal(scores, values.astype(float))


def test_columns_of_mixed_types_are_read_as_doubles(tmp_path):
    table = pa.table(
        {
            "label": ["b", "a"],
            "prob_a": pa.array([0, 1], pa.int64()),
            "prob_b": pa.array([1.0, 0.0], pa.float32()),
            "prob_c": pa.array(["0.00", "0.00"]).cast(pa.decimal128(4, 2)),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    np.testing.assert_array_equal(scores_of(read(tmp_path / "t.parquet")), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize("classes", [3, 80])
def test_many_classes_and_few_are_laid_out_alike(classes, tmp_path):
    sample = random_logits(200, classes)
    table = table_of(sample.scores, sample.labels, [f"logit_{k}" for k in range(classes)])
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=64)
    np.testing.assert_array_equal(scores_of(read(tmp_path / "t.parquet"), rows=23), sample.scores)


def test_a_large_row_group_is_read_in_slices(tmp_path, monkeypatch):
    sample = random_logits(300)
    table = table_of(sample.scores, sample.labels, [f"logit_{k}" for k in range(12)])
    pq.write_table(table, tmp_path / "t.parquet")
    monkeypatch.setattr("calcli.io.formats.parquet.GROUP_BYTES", 0)
    monkeypatch.setattr("calcli.io.formats.parquet.SLICE_ROWS", 64)
    monkeypatch.setattr("calcli.io.formats.parquet.SLICE_VALUES", 64)
    predictions = read(tmp_path / "t.parquet")
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    source = predictions.scores.raw.table
    assert [batch.num_rows for batch in source.batches(["id"])] == [64, 64, 64, 64, 44]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.jsonl"])
@pytest.mark.parametrize("fixed", [True, False])
def test_a_list_column_holds_all_scores(name, fixed, tmp_path):
    sample = random_probs()
    kind = pa.list_(pa.float64(), 3) if fixed else pa.list_(pa.float64())
    table = pa.table({"label": sample.labels, "probs": pa.array(sample.scores.tolist(), kind)})
    WRITERS[name](table, tmp_path / name)
    predictions = read(tmp_path / name)
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    assert (predictions.kind, predictions.scores.kind_reason) == ("probs", "the scores are named probs")
    assert predictions.classes == ("0", "1", "2")


def test_json_lines_may_hold_an_object_of_scores(tmp_path):
    sample = random_probs()
    lines = [
        {"user": {"id": 1}, "label": COLORS[label], "probs": dict(zip(COLORS, row, strict=True))}
        for label, row in zip(sample.labels, sample.scores.tolist(), strict=True)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    predictions = read(tmp_path / "t.jsonl")
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    assert (predictions.classes, predictions.kind) == (tuple(COLORS), "probs")
    assert list(predictions.columns) == ["user"]


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view(), "dictionary"])
def test_text_of_every_arrow_type(text, tmp_path):
    sample = random_probs()
    names = pa.array(np.array(COLORS)[sample.labels])
    names = names.dictionary_encode() if text == "dictionary" else names.cast(text)
    table = table_of(sample.scores, names, [f"prob_{c}" for c in COLORS], site=names)
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    predictions = read(tmp_path / "t.arrow")
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    np.testing.assert_array_equal(predictions.columns["site"], np.array(COLORS)[sample.labels])


SCORES = random_probs().scores
TEXTS = np.array(COLORS)[random_probs().labels].tolist()
VIEWS = {
    "text": (pa.string_view(), TEXTS),
    "codes": (pa.dictionary(pa.int8(), pa.string_view()), TEXTS),
    "bytes": (pa.binary_view(), [text.encode() for text in TEXTS]),
    "list": (pa.list_(pa.string_view()), [[text] for text in TEXTS]),
    "pair": (pa.list_(pa.string_view(), 2), [[text, None] for text in TEXTS]),
    "struct": (pa.struct([("x", pa.large_list(pa.string_view()))]), [{"x": [text]} for text in TEXTS]),
    "nothing": (
        pa.struct([("x", pa.string_view()), ("y", pa.list_(pa.null()))]),
        [{"x": text, "y": [None, None]} for text in TEXTS],
    ),
}


def stored_in(folder, form: str, table: pa.Table) -> Path:
    if form == "parquet":
        to_parquet(table, folder / "t.parquet")
    else:
        with pa.ipc.new_file(folder / "t.arrow", table.schema) as file:
            file.write_table(table)
    return folder / f"t.{form}"


def viewed(name: str, *, missing: bool = False) -> pa.Array:
    """Return views, as polars and others write them; if asked, the first is missing."""
    kind, values = VIEWS[name]
    values = [None, *values[1:]] if missing else values
    if name == "codes":
        return pa.DictionaryArray.from_arrays(
            pa.array([None if value is None else COLORS.index(value) for value in values], pa.int8()),
            pa.array(COLORS, pa.string_view()),
        )
    return pa.array(values, kind)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_views_are_what_they_show(form, tmp_path):
    columns = {name: viewed(name) for name in VIEWS if form == "arrow" or name != "codes"}
    table = table_of(SCORES, viewed("text"), [f"prob_{c}" for c in COLORS], **columns)
    opened = known_format(stored_in(tmp_path, form, table)).module.open_file(tmp_path / f"t.{form}", "t")
    for name in columns:
        found = pa.Table.from_batches(opened.batches([name]), pa.schema([opened.schema.field(name)]))
        assert "view" not in str(opened.schema.field(name).type)
        assert found.column(0).to_pylist() == VIEWS[name][1]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("name", ["text", "codes"])
def test_rows_are_left_out_of_views(name, form, tmp_path):
    if (name, form) == ("codes", "parquet"):
        pytest.skip("pyarrow does not write codes of views")
    table = table_of(SCORES, viewed(name, missing=True), [f"prob_{c}" for c in COLORS], site=viewed("text"))
    found = read(stored_in(tmp_path, form, table), ReadOptions(drop_missing=True, label_column="label"))
    np.testing.assert_array_equal(scores_of(found), SCORES[1:])
    np.testing.assert_array_equal(np.array(found.classes)[found.labels], TEXTS[1:])
    np.testing.assert_array_equal(found.columns["site"], TEXTS[1:])


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_scores_in_views_of_text(form, tmp_path):
    lists = pa.array([str(row) for row in SCORES.tolist()], pa.string_view())
    path = stored_in(tmp_path, form, pa.table({"label": viewed("text"), "probs": lists}))
    np.testing.assert_array_equal(scores_of(read(path, ReadOptions(classes=tuple(COLORS)))), SCORES)


def test_views_beside_text_in_other_parts(tmp_path):
    names = [f"prob_{c}" for c in COLORS]
    pq.write_table(table_of(SCORES, pa.array(TEXTS), names), tmp_path / "a.parquet")
    to_parquet(table_of(SCORES, viewed("text"), names), tmp_path / "b.parquet")
    found = read_concat([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    np.testing.assert_array_equal(np.array(found.classes)[found.labels], TEXTS * 2)


def test_integer_labels_kept_as_a_dictionary(tmp_path):
    sample = random_probs()
    labels = pa.array(sample.labels).dictionary_encode()
    feather.write_feather(
        table_of(sample.scores, labels, ["prob_0", "prob_1", "prob_2"]), tmp_path / "t.feather"
    )
    np.testing.assert_array_equal(read(tmp_path / "t.feather").labels, sample.labels)


def test_other_columns_keep_their_types_and_say_what_is_missing(tmp_path):
    table = table_of(
        np.full((3, 2), 0.5),
        [0, 1, 0],
        ["prob_0", "prob_1"],
        key=pa.array([2**60 + 1, 1, 2]),
        count=pa.array([1, None, 3]),
        site=pa.array(["a", None, "b"]),
        seen=pa.array([True, False, True]),
        day=pa.array(np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "M8[D]")),
    )
    pq.write_table(table, tmp_path / "t.parquet")
    columns = read(tmp_path / "t.parquet").columns
    assert columns["key"].tolist() == [2**60 + 1, 1, 2]
    np.testing.assert_array_equal(columns["count"], [1, np.nan, 3])
    assert columns["site"].tolist() == ["a", "", "b"]
    assert columns["seen"].tolist() == [1, 0, 1]
    assert columns["day"].astype("M8[D]").tolist() == table["day"].to_pylist()
    with pytest.raises(KeyError):
        columns["label"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl", "t.feather"])
def test_parts_in_a_folder_are_one_data_set(name, tmp_path):
    """Twelve parts: sorted as text, part-10 would come before part-2."""
    sample = random_logits(60)
    table = table_of(sample.scores, sample.labels, [f"score_{k}" for k in range(12)], w=np.arange(60.0))
    for part in range(12):
        name_of_part = f"part-{part}{Path(name).suffix}"
        WRITERS[name](table.slice(5 * part, 5), tmp_path / name_of_part)
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "_SUCCESS.csv").write_text("not data")
    whole = read(tmp_path, ReadOptions(weights="w"))
    np.testing.assert_array_equal(scores_of(whole).astype(np.float32), sample.scores)
    np.testing.assert_array_equal(whole.labels, sample.labels)
    np.testing.assert_array_equal(whole.columns["id"], np.arange(60))
    np.testing.assert_array_equal(whole.weights, np.arange(60.0))
    assert len(whole.provenance.files) == 12


def test_parts_whose_types_differ_are_unified(tmp_path):
    """Text formats guess the types file by file: a part where all is 0 or 1 looks like integers."""
    (tmp_path / "a.csv").write_text("label,prob_0,prob_1\n0,1,0\n1,0,1\n")
    (tmp_path / "b.csv").write_text("prob_1,prob_0,label\n0.25,0.75,0\n")
    predictions = read_concat([tmp_path / "a.csv", tmp_path / "b.csv"])
    np.testing.assert_array_equal(scores_of(predictions), [[1, 0], [0, 1], [0.75, 0.25]])
    np.testing.assert_array_equal(predictions.labels, [0, 1, 0])


def test_a_part_may_lack_a_class(tmp_path):
    (tmp_path / "a.csv").write_text("label,cat,dog\ncat,0.9,0.1\n")
    (tmp_path / "b.csv").write_text("label,cat,dog\ndog,0.2,0.8\n")
    predictions = read(tmp_path)
    assert predictions.classes == ("cat", "dog")
    np.testing.assert_array_equal(predictions.labels, [0, 1])


@pytest.mark.parametrize("limit", [1, 9, 40, 1000])
def test_limit_reads_the_first_rows(limit, tmp_path):
    sample = random_probs()
    table = table_of(sample.scores, sample.labels, ["prob_0", "prob_1", "prob_2"], w=np.arange(1.0, 41))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=6)
    predictions = read(tmp_path / "t.parquet", ReadOptions(limit=limit, weights="w"))
    np.testing.assert_array_equal(scores_of(predictions), sample.scores[:limit])
    np.testing.assert_array_equal(predictions.labels, sample.labels[:limit])
    np.testing.assert_array_equal(predictions.columns["id"], np.arange(40)[:limit])
    assert len(predictions.weights) == predictions.n_rows == min(limit, 40)


def test_weights_of_rows_beyond_the_limit_are_not_looked_at(tmp_path):
    sample = random_probs()
    names = [f"prob_{c}" for c in COLORS]
    weights = np.r_[np.zeros(10), np.full(10, 2.0), np.full(19, 1e-60), np.nan]
    labels = np.array(COLORS)[sample.labels]
    pq.write_table(table_of(sample.scores, labels, names, w=weights), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "all weights of the first 10 rows are 0;", weights="w", limit=10)
    refused(tmp_path / "t.parquet", "row 20 has the weight 1e-60; expected 0", weights="w", limit=30)
    refused(tmp_path / "t.parquet", "row 39 has the weight nan; expected a finite", weights="w")
    predictions = read(tmp_path / "t.parquet", ReadOptions(limit=20, weights="w"))
    np.testing.assert_array_equal(predictions.weights, weights[:20])


def test_labels_may_be_in_a_file_of_their_own(tmp_path):
    sample = random_probs()
    table = table_of(sample.scores, sample.labels, ["prob_0", "prob_1", "prob_2"]).drop_columns("label")
    pq.write_table(table, tmp_path / "t.parquet")
    np.save(tmp_path / "truth.npy", sample.labels)
    predictions = read(tmp_path / "t.parquet", ReadOptions(labels=str(tmp_path / "truth.npy")))
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    assert predictions.provenance.labels == str(tmp_path / "truth.npy")


def piped(data: bytes, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    return read("-")


def arrow_bytes(table: pa.Table, writer) -> bytes:
    sink = io.BytesIO()
    with writer(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "stream", "file"])
def test_standard_input_is_known_by_its_first_bytes(form, monkeypatch):
    sample = random_probs()
    table = table_of(sample.scores, np.array(COLORS)[sample.labels], [f"prob_{c}" for c in COLORS])
    text = io.BytesIO()
    csv.write_csv(table, text, csv.WriteOptions(delimiter="\t" if form == "tsv" else ","))
    data = {
        "csv": text.getvalue(),
        "tsv": text.getvalue(),
        "jsonl": "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode(),
        "stream": arrow_bytes(table, pa.ipc.new_stream),
        "file": arrow_bytes(table, pa.ipc.new_file),
    }
    predictions = piped(data[form], monkeypatch)
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    np.testing.assert_array_equal(scores_of(predictions), sample.scores, "a second pass sees the same")
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    assert predictions.provenance.path == "-"
    assert predictions.provenance.files == ()


def test_csv_and_parquet_load_no_pandas(tmp_path):
    sample = random_probs()
    table = table_of(sample.scores, sample.labels, ["prob_0", "prob_1", "prob_2"])
    pq.write_table(table, tmp_path / "t.parquet")
    write_csv(table, tmp_path / "t.csv")
    code = (
        "import sys\nfrom calcli.io.read import read\n"
        "for name in sys.argv[1:]:\n    sum(len(block) for block in read(name).scores.blocks(9))\n"
        "assert 'pandas' not in sys.modules"
    )
    run = [sys.executable, "-c", code, tmp_path / "t.parquet", tmp_path / "t.csv"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("label", "--weights label is the column of the labels"),
        ("site", "--weights site holds text; expected numbers"),
        ("pair", "the column pair holds list<element: int64>; expected one number, text or time in each row"),
        ("day", "--weights day holds dates; expected numbers"),
    ],
)
def test_weights_are_numbers_of_their_own(column, said, tmp_path):
    sample = random_probs()
    rows = len(sample.labels)
    others = {"site": ["x"] * rows, "pair": [[1, 2]] * rows, "day": np.full(rows, "2020-01-01", "M8[ms]")}
    pq.write_table(
        table_of(sample.scores, sample.labels, ["p_0", "p_1", "p_2"], **others), tmp_path / "t.parquet"
    )
    with pytest.raises(InputError, match=said):
        read(tmp_path / "t.parquet", ReadOptions(weights=column))
