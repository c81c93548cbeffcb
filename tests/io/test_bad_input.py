"""What cannot be evaluated is refused by a sentence: file, row or column, what was found, what mends it."""

from __future__ import annotations

import io
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from calcli.core.language.errors import InputError, UsageError
from calcli.io.read import read, read_concat
from calcli.io.saved.policies import read_policy, read_report
from tests.io.samples import csv_file, pair, parquet_file, random_logits, random_probs, refused


class Trap:
    """Pickled, it would make a file when loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["t.npy", "t.npz", "t.csv", "t.parquet", "t.arrow", "t.jsonl"])
def test_missing_and_empty_files(name, tmp_path):
    refused(tmp_path / name, rf"{name}: no such file")
    (tmp_path / name).touch()
    refused(tmp_path / name, rf"{name} is empty \(0 bytes\)")


@pytest.mark.parametrize("name", ["t.npy", "t.npz", "t.parquet", "t.arrow"])
def test_content_that_is_not_what_the_ending_says(name, tmp_path):
    (tmp_path / name).write_text("label,prob_0,prob_1\n0,0.5,0.5\n")
    refused(tmp_path / name, f"{name} is not .*, as its ending says")


def test_a_table_without_columns(tmp_path):
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema([])):
        pass
    refused(tmp_path / "t.arrow", "t.arrow has no score columns: found none")


def test_wrong_endings(tmp_path):
    (tmp_path / "t.xyz").write_bytes(b"x")
    refused(tmp_path / "t.xyz", r't.xyz: the ending ".xyz" is not known; expected one of .npy, .npz, .csv')
    parquet_file(tmp_path, label=[0], prob_0=[0.5], prob_1=[0.5]).rename(tmp_path / "t.npy")
    refused(tmp_path / "t.npy", "t.npy is not npy, as its ending says: it looks like parquet; rename it")


@pytest.mark.parametrize("kept", [0.3, 0.9])
@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.npy", "t.npz", "t_labels.npy", "stream.arrow"])
def test_truncated_files(name, kept, tmp_path):
    sample = random_logits(2000)
    columns = {"label": sample.labels} | {f"logit_{k}": column for k, column in enumerate(sample.scores.T)}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as file:
        file.write_table(table)
    pair(tmp_path, sample.scores, sample.labels)
    np.savez(tmp_path / "t.npz", logits=sample.scores, label=sample.labels)
    path = tmp_path / name
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])
    read_path = tmp_path / "t.npy" if name == "t_labels.npy" else path
    refused(read_path, rf"{name} is (truncated|not a complete and valid)")


def test_parquet_with_damaged_pages(tmp_path):
    sample = random_logits(2000)
    columns = {"label": sample.labels} | {f"logit_{k}": column for k, column in enumerate(sample.scores.T)}
    path = parquet_file(tmp_path, **columns)
    data = bytearray(path.read_bytes())
    data[1000 : len(data) // 2] = bytes(len(data) // 2 - 1000)
    path.write_bytes(data)
    refused(path, "t.parquet is not a complete and valid parquet file")


@pytest.mark.parametrize("name", ["t.npy", "t_labels.npy"])
def test_a_pickle_is_never_loaded(name, tmp_path):
    pair(tmp_path, random_logits().scores, random_logits().labels)
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    np.save(tmp_path / name, trap, allow_pickle=True)
    refused(
        tmp_path / "t.npy",
        f"{name} holds Python objects .a pickle.* never loaded; expected an array of numbers",
    )
    (tmp_path / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    refused(tmp_path / "t.npy", f"{name} is not npy")
    np.savez(tmp_path / "t.npz", scores=trap, label=[0])
    refused(tmp_path / "t.npz", "array scores holds Python objects .a pickle.* never loaded")
    assert not (tmp_path / "sprung").exists()


def test_a_damaged_head(tmp_path):
    path = pair(tmp_path, random_logits().scores, random_logits().labels)
    data = path.read_bytes()
    path.write_bytes(data[:12] + b"!" + data[13:])
    refused(path, "the head of this .npy file is damaged")


def test_a_version_of_npy_that_is_not_known(tmp_path):
    path = pair(tmp_path, random_logits().scores, random_logits().labels)
    data = path.read_bytes()
    for version in (b"\x00\x00", b"\x09\x09", b"\x01\xff"):
        path.write_bytes(data[:6] + version + data[8:10] + b"\0\0" + data[10:])  # as version 2 has lengths
        refused(path, "the head of this .npy file is damaged")


def test_ragged_csv(tmp_path):
    path = csv_file(tmp_path, "label,prob_a,prob_b\na,0.5,0.5\nb,0.5\n")
    refused(
        path,
        "t.csv: line 3 has 2 fields; expected 3, as in the header; put fields that hold a comma in quotes",
    )


def test_csv_of_a_spreadsheet_with_other_habits(tmp_path):
    text = "label,prob_röd,prob_blå\nröd,0.5,0.5\n"
    for found, message in (
        (b"label;prob_a\nr,0.5\n", "the fields are separated by semicolons, expected commas"),
        (text.encode("latin-1"), "the line of headings is not text in UTF-8"),
        (text.encode("utf-16"), "the line of headings is not text in UTF-8"),
        (b"label,prob_a,prob_b\nr\xf6d,0.5,0.5\n", "the column label is not text in UTF-8"),
    ):
        (tmp_path / "t.csv").write_bytes(found)
        refused(tmp_path / "t.csv", f"t.csv: {message}")
    for mark in ",;\t":
        (tmp_path / "t.csv").write_bytes(text.replace(",", mark).encode("utf-8-sig"))
        assert read(tmp_path / "t.csv").classes == ("röd", "blå")


def test_damaged_json(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"label": 0, "probs": [0.5, 0.5]}\n{"label": 0, "probs": [0.5,\n')
    refused(tmp_path / "t.jsonl", "t.jsonl: line 2 is not complete and valid JSON")


def test_csv_without_a_header(tmp_path):
    refused(
        csv_file(tmp_path, "0,0.5,0.25\n1,0.5,0.75\n"),
        "first line, 0, 0.5, 0.25, looks like numbers; expected a",
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("id,prob_a,prob_b\nx1,0,1\nx2,1,0\n", "no label column: found id, prob_a, .* --label-column"),
        ("label,class,prob_a,prob_b\na,b,0,1\nb,a,0,1\n", r"which column is the label\?"),
        ("label,prob_a,prob_a\n0,0,0\n", "more than one column named prob_a; rename"),
        ("label,x,z\n0,0,0\n", "no score columns: found label, x, z"),
    ],
)
def test_columns_that_are_missing_or_ambiguous(table, message, tmp_path):
    refused(csv_file(tmp_path, table), message)


def test_text_among_the_scores(tmp_path):
    path = csv_file(tmp_path, "label,prob_a,prob_b\na,0.5,0.5\nb,0.5,?\n")
    refused(
        path,
        r"prob_b holds words, no numbers: 0.5, \?|prob_b beside it holds text among numbers",
    )


def test_counts_of_labels_and_scores_differ(tmp_path):
    path = pair(tmp_path, random_logits().scores, random_logits().labels[:-1])
    refused(
        path,
        "t.npy has 57 rows of 12 scores, but .*t_labels.npy has 56 labels; expected one .*; name .*",
    )


def test_classes_before_the_places_of_an_image(tmp_path):
    path = pair(tmp_path, np.zeros((2, 5, 3, 4)), np.zeros((2, 3, 4), int))
    refused(
        path,
        r"labels of shape \(2, 3, 4\), .*; if axis 1 has the classes, say --class-axis 1, or",
        class_axis=3,
    )


def test_no_labels_or_too_many(tmp_path):
    np.save(tmp_path / "t.npy", random_logits().scores)
    refused(
        tmp_path / "t.npy",
        "t.npy has no labels: expected t_labels.npy or a labels.npy beside it; .* --labels",
    )
    refused(tmp_path / "t.npy", "gone.npy: no such file", labels=str(tmp_path / "gone.npy"))
    np.save(tmp_path / "a_labels.npy", random_logits().labels)
    np.save(tmp_path / "a.npy", random_logits().scores)
    refused(
        tmp_path / "t.npy",
        r"t.npy has no labels: expected t_labels.npy .* beside it \(a_labels.npy is that of a.npy\); name",
    )
    (tmp_path / "a.npy").unlink()
    np.save(tmp_path / "b_labels.npy", random_logits().labels)
    refused(
        tmp_path / "t.npy",
        "several files of labels beside it, a_labels.npy, b_labels.npy; choose .* --labels",
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2, 12], r"row 3 has the label 12, which is not one of the classes"),
        (
            [0, -1, 2, 3],
            r"row 1 has no label \(-1 marks a missing one\); leave such rows out with --ignore-label -1",
        ),
        ([0, np.nan, 2, 3], r"row 1 has no label \(nan"),
        (
            ["a", "b", "a", "b"],
            "the labels are text .a, b., but the scores have no class names; .* --classes",
        ),
        (np.tri(4, 12, -1, int) * np.eye(4, 12, -1, int), "one-hot or multi-label"),
    ],
)
def test_labels_in_numpy_files(labels, message, tmp_path):
    refused(pair(tmp_path, random_logits(4).scores, labels), message)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["a", "b", "c"],
            't.parquet: row 2 has the label "c", which is not one of the classes a, b; .* --classes',
        ),
        (["a", None, "b"], r"t.parquet: row 1 has no label \(null"),
        ([0, None, 1], r"t.parquet: row 1 has no label \(nan"),
        ([1, 2, 1], "nothing says the order of the classes a, b"),
        (
            [[0, 1], [1, 1], [0, 0]],
            "label column label holds lists|has no label column|holds no labels for",
        ),
        ([b"a", b"b", b"a"], "label column label holds binary|has no label column|holds no labels for"),
    ],
)
def test_labels_in_tables(labels, message, tmp_path):
    refused(parquet_file(tmp_path, label=labels, prob_a=[0.5] * 3, prob_b=[0.5] * 3), message)


def test_zero_rows(tmp_path):
    refused(pair(tmp_path, np.empty((0, 3)), np.empty(0, int)), "t.npy has no rows, its shape is .0, 3.; ")
    refused(pair(tmp_path, np.empty(0), np.empty(0, int)), "t.npy has no rows")
    refused(csv_file(tmp_path, "label,prob_a,prob_b\n"), "t.csv has no rows")
    refused(parquet_file(tmp_path, label=[], prob_a=[], prob_b=[]), "t.parquet has no rows")
    empty = pa.array([], pa.list_(pa.float32()))
    refused(parquet_file(tmp_path, label=[], probs=empty), "t.parquet has no rows")


def test_one_class(tmp_path):
    refused(
        pair(tmp_path, np.ones((5, 1)), np.zeros(5, int)),
        "scores for one class only: each of them is 1, .* --positive",
    )
    refused(parquet_file(tmp_path, label=[0], probs=[[1.0]]), "scores for one class only|holds no labels for")
    refused(pair(tmp_path, np.ones((5, 0)), np.zeros(5, int)), "no scores in its rows")


def test_absent_classes_are_allowed(tmp_path):
    path = csv_file(tmp_path, "label,prob_a,prob_b,prob_c\nb,0.5,0.5,0\nb,0.25,0.75,0\n")
    predictions = read(path)
    assert predictions.labels.tolist() == [1, 1]
    assert predictions.classes == ("a", "b", "c")


def test_options_that_do_not_fit(tmp_path):
    path = pair(tmp_path, random_probs().scores, random_probs().labels)
    refused(path, "--label-column x: .*t.npy has no columns", label_column="x")
    refused(
        path, "--scores x: .*t.npy has no columns; leave it out, or save all arrays in one .npz", scores="x"
    )
    refused(path, "--weights x: .*t.npy has no columns", weights="x")
    refused(path, "--classes names 2 classes .a, b., but .*t.npy has scores for 3", classes=("a", "b"))
    np.savez(tmp_path / "t.npz", a=[[0.5, 0.5]], b=[0])
    refused(tmp_path / "t.npz", "which array holds the labels|cannot be read as predictions")
    refused(tmp_path / "t.npz", '--scores: .*t.npz has no array "c"; it has a, b', scores="c")
    refused(tmp_path / "t.npz", "which array holds the labels|cannot be read as predictions", scores="a")
    refused(tmp_path / "t.npz", '--weights: .*t.npz has no array "w"', scores="a", labels="b", weights="w")
    np.savez(tmp_path / "t.npz", a=["x", "y"], b=[0, 1])
    refused(
        tmp_path / "t.npz",
        "array a holds text|has no|no labels",
        scores="a",
        labels="b",
    )


def test_a_column_that_is_given_as_a_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("prob_a,prob_b,is fraud\n0.2,0.8,b\n0.6,0.4,a\n")
    refused(path, r"--labels is fraud: no such file, .*--label-column 'is fraud'", labels="is fraud")
    refused(path, "gone.npy: no such file", labels=str(tmp_path / "gone.npy"))


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_arrays_of_samples_without_a_score(shape, tmp_path):
    np.savez(tmp_path / "t.npz", logits=np.zeros(shape), labels=np.zeros(shape[:2], int))
    refused(tmp_path / "t.npz", "holds no score|has no rows|no labels")


def test_labels_beside_samples_of_one_class(tmp_path):
    arrays = {
        "y": np.zeros((60, 3, 1), np.float32),
        "labels": np.zeros(60, int),
        "probs": np.zeros((60, 3), bool),
    }
    np.savez(tmp_path / "t.npz", **arrays)
    refused(tmp_path / "t.npz", "probs|labels", labels="probs")


@pytest.mark.parametrize("options", [{}, {"scores": "cat,dog"}])
def test_a_table_of_labels_has_to_be_joined(options, tmp_path):
    path, labels = tmp_path / "scores.csv", tmp_path / "labels.csv"
    path.write_text("id,cat,dog\n0,0.25,0.75\n1,0.5,0.5\n")
    labels.write_text("id,label\n1,cat\n0,dog\n")
    said = "labels.csv: say by which column its rows are those of"
    refused(path, said, labels=str(labels), **options)


def test_parts_that_do_not_go_together(tmp_path):
    (tmp_path / "a.csv").write_text("label,prob_a,prob_b\na,0.5,0.5\n")
    (tmp_path / "b.csv").write_text("label,prob_a,prob_c\na,0.5,0.5\n")
    refused(tmp_path, "do not have the same columns: prob_b, prob_c in one only; .* without --concat")
    (tmp_path / "b.csv").write_text("label,prob_a,prob_b\n0,0.5,0.5\n")
    refused(tmp_path, r"b.csv: row 0 has the label \"0\", which is not one of the classes a, b")
    (tmp_path / "c.jsonl").write_text("{}\n")
    refused(tmp_path, r"folder with files of several formats \(csv, jsonl\)")
    np.save(tmp_path / "d.npy", np.ones((2, 2)))
    with pytest.raises(InputError, match=r"holds arrays and .* a table; parts of one data set must be alike"):
        read_concat([tmp_path / "a.csv", tmp_path / "d.npy"])
    with pytest.raises(UsageError, match=r"standard input. cannot be joined"):
        read_concat([tmp_path / "a.csv", "-"])
    (tmp_path / "none").mkdir()
    refused(tmp_path / "none", "folder without files of predictions")


def test_arrays_that_do_not_go_together(tmp_path):
    for stem, classes in (("a", 2), ("b", 3)):
        np.save(tmp_path / f"{stem}.npy", np.full((4, classes), 1 / classes))
        np.save(tmp_path / f"{stem}_labels.npy", np.zeros(4, int))
    refused(tmp_path, "b.npy and .*a.npy differ in their scores in a row: 3 and 2")
    np.save(tmp_path / "b.npy", np.full((4, 2), 0.5))
    (tmp_path / "b_labels.npy").unlink()
    refused(tmp_path, "differ in their labels beside the scores")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "standard input is empty; expected CSV, JSON lines or an Arrow stream"),
        (
            b"\x93NUMPY",
            "standard input is npy; expected CSV, JSON lines or an Arrow stream; give other formats as files",
        ),
        (b"\0" * 100_000, "standard input is null bytes; expected CSV, JSON lines or an Arrow stream"),
        (b"\xff\xff\xff\xff\x00", "standard input is not a complete and valid Arrow stream"),
        (b"label,prob_a,prob_b\na,1\n", "standard input: line 2 has 2 fields; expected 3"),
        (
            b"label,prob_a,prob_b\na,1,1\n",
            "standard input cannot .* the rows do not sum to 1: one of them to 2",
        ),
    ],
)
def test_standard_input(data, message, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    refused("-", message)


def test_standard_input_that_fills_the_disk(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"label,prob_a,prob_b\n" * 10_000)))
    monkeypatch.setattr("calcli.io.read.tempfile.NamedTemporaryFile", lambda: open("/dev/full", "wb"))  # noqa: SIM115
    refused("-", "standard input is copied to .*, which has no room for it: No space left on device; set TMP")


@pytest.mark.parametrize("place", ["-", "/dev/zero"])
def test_small_files_that_never_end(place, monkeypatch):
    monkeypatch.setattr("calcli.io.places.small.MOST_BYTES", 1_000_000)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x" * 1_000_001)))
    with pytest.raises(InputError, match="has more than 1 MB; expected a small file"):
        read_policy(place)


def test_a_report_of_endless_nesting(tmp_path):
    (tmp_path / "r.json").write_text('{"schema": "calcli.report/1", "results": ' + "[" * 100_000)
    with pytest.raises(InputError, match=r"r\.json is not a report: .* nested too deeply"):
        read_report(tmp_path / "r.json")


@pytest.mark.parametrize("data", [b"label,prob_a,prob_b\na,1\n", b"label,prob_a,prob_b\na,1,nan\n"])
def test_threads_of_the_csv_parser_hold_nothing_of_python(data, monkeypatch):
    """A thread that lets go of a Python object while the interpreter is ending aborts the process."""
    parsed = []

    def watched(source, reading, parsing, converting=None):
        parsed.append(parsing)
        plain = pa.OSFile | pa.CompressedInputStream | pa.BufferReader
        held = parsing.invalid_row_handler is not None or not isinstance(source, plain)
        assert not (reading.use_threads and held)
        return read_csv(source, reading, parsing, converting)

    read_csv = csv.read_csv
    monkeypatch.setattr(csv, "read_csv", watched)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    refused("-", "standard input: ")
    assert parsed


def test_columns_beyond_number_are_told_by_some(monkeypatch):
    row = {"label": 0} | {f"confidence ({n})": [n / 2400, 1 - n / 2400] for n in range(1200)}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((json.dumps(row) + "\n").encode())))
    with pytest.raises(InputError, match=r"which columns are the scores\?") as told:
        read("-")
    assert str(told.value).count("calcli evaluate - --scores 'confidence (") == 3
    assert len(str(told.value)) < 2000


def test_classes_beyond_number_are_told_by_some(tmp_path):
    row = {"label": "c9"} | {f"c{n}": 0.5 for n in range(300)}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=r"no score columns: found label, c0, .*, c299 \(301 in all\)"):
        read(tmp_path / "t.jsonl")


def test_a_command_for_the_parts_of_a_folder_names_it(tmp_path):
    for name in "ab":
        part = tmp_path / f"class={name}"
        part.mkdir()
        (part / "0.csv").write_text(f"label,rf_prob,lr_prob\n{int(name == 'a')},0.3,0.6\n")
    with pytest.raises(InputError, match=f"calcli evaluate {tmp_path} --scores rf_prob\n"):
        read(tmp_path)


def test_bfloat16_is_named_with_the_line_that_converts_it(tmp_path):
    values = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)
    stored = (values.view(np.uint32) >> 16).astype(np.uint16).view("V2")
    np.save(tmp_path / "t.npy", stored)
    np.save(tmp_path / "t_labels.npy", [0, 1])
    line = r"(values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)"
    refused(tmp_path / "t.npy", f"holds bfloat16, .* {re.escape(line)}")
    np.testing.assert_array_equal(eval(line, {"np": np, "values": stored}), values)
