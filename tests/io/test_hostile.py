"""Archives, columns and small files made to break a reader are refused by a sentence."""

from __future__ import annotations

import errno
import gzip
import zipfile
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.core.language.errors import InputError, UsageError
from calcli.io.apply.apply import recalibrate_file
from calcli.io.formats.csv import BLOCK_BYTES, MOST_COLUMNS
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import atomic_path
from calcli.io.places.paths import path_of
from calcli.io.places.small import lines_of, tree
from calcli.io.read import read
from calcli.io.saved.calibrators import load_calibrator, save_calibrator
from calcli.io.saved.policies import read_policy
from tests.io.samples import pair, parquet_file, random_probs, refused, scores_of

ODD = {"lists": [[1, 2]] * 40, "bytes": [b"\xff\x00"] * 40, "objects": [{"a": 1}] * 40}


def columns() -> dict:
    probs, labels = random_probs()
    return {"label": labels, "prob_0": probs[:, 0], "prob_1": probs[:, 1], "prob_2": probs[:, 2]}


def test_no_labels_at_all(tmp_path):
    refused(pair(tmp_path, random_probs().scores, np.zeros(0, int)), "has 40 rows .* has 0 labels")


@pytest.mark.parametrize("name", ODD)
def test_columns_that_hold_no_single_values(name, tmp_path):
    predictions = read(parquet_file(tmp_path, **columns(), **ODD))
    with pytest.raises(InputError, match=f"the column {name} holds .*; expected one number, text or time"):
        predictions.columns[name]


def test_months_and_days_have_no_order(tmp_path):
    months = pa.array([(1, 2, 3), (2, 3, 4)] * 20, pa.month_day_nano_interval())
    table = pa.table(columns() | {"months": months})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    with pytest.raises(
        InputError, match="the column months holds month_day_nano_interval; expected one number"
    ):
        read(tmp_path / "t.arrow").columns["months"]


def test_half_floats_beside_doubles(tmp_path):
    mixed = columns()
    mixed["prob_1"] = pa.array(mixed["prob_1"].astype(np.float16))
    found = scores_of(read(parquet_file(tmp_path, **mixed)))
    np.testing.assert_array_equal(found[:, 0], mixed["prob_0"])
    np.testing.assert_array_equal(found[:, 1], mixed["prob_1"].to_numpy().astype(float))


def test_half_floats_with_gaps(tmp_path):
    values = pa.array(np.array([0.5, 0.25], np.float16), mask=np.array([False, True]))
    pq.write_table(
        pa.table({"label": [0, 1], "prob_0": [0.5, 0.75], "prob_1": values}), tmp_path / "t.parquet"
    )
    refused(tmp_path / "t.parquet", "row 1.*missing")


def archive(path, **members: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("_dot_", "."), content)


def test_members_that_are_no_arrays(tmp_path):
    probs, labels = random_probs()
    np.savez(tmp_path / "t.npz", scores=probs, labels=labels)
    with zipfile.ZipFile(tmp_path / "t.npz", "a") as file:
        file.writestr("notes.txt", "hello")
    np.testing.assert_array_equal(scores_of(read(tmp_path / "t.npz")), probs)
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as file:
        file.writestr("notes.txt", "hello")
    refused(tmp_path / "v.npz", "v.npz has no score columns: found none")
    archive(tmp_path / "u.npz", scores_dot_npy=b"hello", labels_dot_npy=b"")
    refused(tmp_path / "u.npz", "u.npz: .* head of this .npy file is damaged")


def test_labels_without_rows_or_classes_beside_scores_without_labels(tmp_path):
    probs, _ = random_probs()
    np.savez(tmp_path / "in.npz", probs=probs, labels=np.empty((0, 0)))
    with pytest.raises(InputError, match=r"has 40 rows of 1 scores, but array .labels. has 0 labels"):
        read(tmp_path / "in.npz")
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 2.0}
    record = CalibratorRecord(calibrator, ("0", "1", "2"), False, (0.2, 0.3, 0.5), {})
    written = recalibrate_file(record, str(tmp_path / "in.npz"), str(tmp_path / "out.npz"))
    assert any("labels could not be passed on" in note for note in written.notes)
    expected = np.sqrt(probs) / np.sqrt(probs).sum(1, keepdims=True)
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["probs"], expected, rtol=1e-12)


def test_a_list_of_classes_that_names_none(tmp_path):
    probs, labels = random_probs()
    np.savez(tmp_path / "a.npz", probs=probs, labels=labels, classes=np.empty(0, "U1"))
    with pytest.raises(InputError, match=r"classes has shape \(0,\) .* expected the names of the classes"):
        read(tmp_path / "a.npz")


def test_bytes_that_are_no_text(tmp_path):
    rows = np.arange(40)
    said = np.where(rows % 2, b"\xff", b"no")
    np.savez(tmp_path / "x.npz", probs=(rows + 1) / 50, y=(rows % 7 < rows / 6), predict=said)
    assert read(tmp_path / "x.npz").n_rows == 40


def test_packed_bytes_that_cannot_be_unpacked(tmp_path):
    probs, labels = random_probs()
    np.savez_compressed(tmp_path / "t.npz", scores=probs, labels=labels)
    whole = (tmp_path / "t.npz").read_bytes()
    rng = np.random.default_rng(3)
    path = tmp_path / "d.npz"
    for place in rng.integers(60, len(whole) - 200, size=60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        with suppress(InputError):  # anything else is a fault
            scores_of(read(path, ReadOptions(scores="scores", labels="labels")))
    path.write_bytes(whole[:90] + bytes(200) + whole[290:])
    refused(path, "d.npz is truncated or damaged; copy it again")


def test_an_archive_that_would_fill_memory(tmp_path):
    """300 MB of zeros in 300 kB are not unpacked."""
    with (
        zipfile.ZipFile(tmp_path / "t.npz", "w", zipfile.ZIP_DEFLATED) as archived,
        archived.open("scores.npy", "w") as file,
    ):
        head = {"descr": "<f8", "fortran_order": False, "shape": (18_750_000, 2)}
        np.lib.format.write_array_header_1_0(file, head)
        for _ in range(300):
            file.write(bytes(1_000_000))
    refused(tmp_path / "t.npz", "scores would have 0.3 GB, packed into 0.3 MB", labels="scores")


def test_gzip_that_would_fill_memory(tmp_path):
    (tmp_path / "u.csv.gz").write_bytes(gzip.compress(bytes(300_000_000)))
    refused(tmp_path / "u.csv.gz", "u.csv.gz would have 0.3 GB, packed into 0.3 MB")
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(b"label,prob_0,prob_1\n" + b"0,0.5,0.5\n" * 9))
    assert read(tmp_path / "s.csv.gz").n_rows == 9


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_gzip_that_is_truncated(form, tmp_path):
    """Whatever its last four bytes say of its size."""
    row = "0,{},{}\n" if form == "csv" else '{{"label": 0, "prob_0": {}, "prob_1": {}}}\n'
    text = "".join(row.format(n / 9999, 1 - n / 9999) for n in range(9999))
    if form == "csv":
        text = "label,prob_0,prob_1\n" + text
    packed = gzip.compress(text.encode())
    start, path = packed[: len(packed) // 2], tmp_path / f"t.{form}.gz"
    path.write_bytes(start + b"\xff" * 4)
    refused(path, rf"t.{form}.gz is truncated or damaged; copy it again")
    path.write_bytes(start + b"\0" * 4)
    refused(path, rf"t.{form}.gz is not a complete and valid .*: Truncated compressed stream")
    path.write_bytes(packed)
    np.testing.assert_array_equal(scores_of(read(path))[:, 0], np.arange(9999) / 9999)


def test_more_columns_than_memory_may_hold(tmp_path):
    names = ",".join(f"prob_{k}" for k in range(MOST_COLUMNS))
    (tmp_path / "t.csv").write_text(f"label,{names}\n0{',0.5' * MOST_COLUMNS}\n")
    refused(tmp_path / "t.csv", "t.csv has 50,001 columns; expected at most 50,000 in CSV; save the scores")


def test_lines_longer_than_what_is_parsed_at_once(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a," * BLOCK_BYTES)
    refused(tmp_path / "t.csv", "t.csv: line 1 is longer than 17 MB; expected a line for each row")


def test_texts_that_are_no_names(tmp_path):
    long = ["x" * 2000] * 39 + ["x" * 5_000_000]
    predictions = read(parquet_file(tmp_path, **columns(), text=long, short=["x" * 2000] * 40))
    with pytest.raises(InputError, match="the column text holds texts of up to 5,000,000 characters"):
        predictions.columns["text"]
    assert set(predictions.columns["short"].tolist()) == {"x" * 2000}


@pytest.mark.parametrize(
    "text", [".".join("a" * 102), f"[{'.'.join('a' * 102)}]", "b = {'a'" + ' . "a"' * 101]
)
def test_keys_of_more_dots_than_tables_may_nest(text, tmp_path):
    path = tmp_path / "t.toml"
    path.write_text("c = 1\n" + text)
    for read_it in (tree, read_policy):
        with pytest.raises(InputError, match=r"TOML: a key has more than 100 dots \(at line 2\)"):
            read_it(path_of(path))
    path.write_text(f"'{'.'.join('a' * 102)}' = [{', '.join(['0.5'] * 200)}]")
    assert list(map(len, tree(path_of(path)).values())) == [200]


DEEP = "[" * 30_000
LONG = "9" * 6000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", DEEP),
        ("t.json", f'{{"a": {LONG}}}'),
        ("t.toml", f"a = {DEEP}"),
        ("t.toml", f"a = {LONG}"),
        ("t.toml", "a = 'é'"),
    ],
)
def test_small_files_nested_deeply_of_long_numbers_or_in_latin_1(name, text, tmp_path):
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    for read_it in (tree, read_policy) if name == "t.toml" else (tree, load_calibrator):
        with pytest.raises(InputError, match=name):
            read_it(path_of(tmp_path / name))


def test_records_with_long_numbers(tmp_path):
    (tmp_path / "t.json").write_text(f'[{{"label": 0, "probs": [{LONG}, 0.5]}}]')
    refused(tmp_path / "t.json", "not a complete and valid JSON file")


def test_small_csv_in_latin_1(tmp_path):
    (tmp_path / "t.csv").write_bytes("é,0.5\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"t.csv is not CSV in UTF-8: .*; expected priors"):
        lines_of(path_of(tmp_path / "t.csv"), "priors")


def test_a_ragged_line_that_is_not_utf_8(tmp_path, capfd):
    lines = [b"label,prob_0,prob_1", b"0,0.5,0.5", b"\xff\xfe,0.1"]
    (tmp_path / "t.csv").write_bytes(b"\n".join(lines) + b"\n")
    refused(tmp_path / "t.csv", "t.csv: line 3 is not text in UTF-8")
    assert capfd.readouterr().err == ""


def test_a_record_that_would_overrun_the_parser(tmp_path):
    nested = "[" * 50_000 + "]" * 50_000
    (tmp_path / "t.jsonl").write_text(f'{{"label": 0, "probs": {nested}}}\n')
    refused(tmp_path / "t.jsonl", "line 1 is nested more than 500 levels deep")
    brackets = "[" * 2000
    (tmp_path / "t.jsonl").write_text(f'{{"label": 0, "probs": [0.5, 0.5], "said": "{brackets}"}}\n')
    assert read(tmp_path / "t.jsonl").n_rows == 1


@pytest.mark.parametrize(("label", "said"), [("1e308", "1e\\+308"), ("1e19", "10000000000000000000")])
def test_labels_beyond_all_integers(label, said, tmp_path):
    (tmp_path / "t.jsonl").write_text(f'{{"label": {label}, "probs": [0.5, 0.5]}}\n')
    refused(tmp_path / "t.jsonl", f"label holds no labels for probs: {said}")


def test_names_of_files_that_no_report_can_hold():
    with pytest.raises(InputError, match="is not text in UTF-8; rename it"):
        path_of("t\udcff.csv")
    with pytest.raises(UsageError, match="the name of a file is empty"):
        path_of("")


def test_a_full_disk_is_told_of_by_the_name_of_the_output(tmp_path):
    with (
        pytest.raises(InputError, match=r"out.csv cannot be written: No space left on device"),
        atomic_path(tmp_path / "out.csv"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logits_that_would_overflow(dtype, tmp_path):
    """The smallest number of a type marks a class that is masked; the largest marks nothing."""
    scores = random_probs().scores.astype(dtype)
    scores[3, 1] = np.finfo(dtype).min
    masked = pair(tmp_path, scores, random_probs().labels)
    np.testing.assert_array_equal(scores_of(read(masked, ReadOptions(kind="logits"))), scores)
    scores[5, 2] = np.finfo(dtype).max
    refused(
        pair(tmp_path, scores, random_probs().labels),
        "row 5.* expected logits of at most 1e[+]30",
        kind="logits",
    )


@pytest.mark.parametrize("columns", [[[]], [{"a": 1}], "prob_0", 3])
def test_calibrators_of_columns_that_have_no_names(columns, tmp_path):
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 2.0}
    record = CalibratorRecord(calibrator, ("0", "1"), False, (), {"columns": columns})
    save_calibrator(record, tmp_path / "c.json")
    with pytest.raises(InputError, match=r"c.json is damaged \(the columns of its fit are not names, or"):
        load_calibrator(tmp_path / "c.json")


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_whose_squares_cannot_be_summed(weight, tmp_path):
    probs, labels = random_probs()
    weights = np.ones(40)
    weights[7] = weight
    np.savez(tmp_path / "t.npz", scores=probs, labels=labels, w=weights)
    refused(
        tmp_path / "t.npz",
        "row 7.* has the weight 1e[-+]300; expected 0, or at least 1e-50, and 1e-12 to",
        weights="w",
    )


@pytest.mark.parametrize("weight", [1e-13, 1e13])
def test_weights_whose_products_are_no_numbers_in_single_precision(weight, tmp_path):
    probs, labels = random_probs()
    np.savez(tmp_path / "t.npz", scores=probs, labels=labels, w=np.full(40, weight))
    refused(
        tmp_path / "t.npz", "row 0 has the weight 1e[-+]13; .* 1e-12 to 1e[+]12 of the largest", weights="w"
    )


def test_orders_of_infinite_logits(tmp_path, recwarn):
    scores = random_probs().scores.copy()
    scores[:, :2] = -np.inf
    assert read(pair(tmp_path, scores, random_probs().labels), ReadOptions(kind="logits")).n_rows == 40
    assert not recwarn.list
