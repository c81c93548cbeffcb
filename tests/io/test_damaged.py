"""What would crash pyarrow, or Python later, is refused by a sentence; here in processes of their own."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.io.read import read
from calcli.io.saved.calibrators import save_calibrator
from tests.io.samples import refused

RECORD = b'{"label": 0, "probs": [0.5, 0.5]}\n'
NAMES = ["cat", "dog", "cat", "dog"]
TEXT = {"label": NAMES, "prob_cat": [0.5] * 4, "prob_dog": [0.5] * 4}


def status(*arguments) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "calcli", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("command", ["evaluate", "apply", "check"])
def test_a_line_of_null_crashes_no_command(command, tmp_path):
    (tmp_path / "n.jsonl").write_bytes(b"null\n")
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 2.0}
    save_calibrator(CalibratorRecord(calibrator, ("0", "1"), False, (), {}), tmp_path / "c.json")
    (tmp_path / "p.toml").write_text('[[rules]]\nmetric = "ece"\nmax = 0.5\n')
    options = {
        "evaluate": [tmp_path / "n.jsonl"],
        "apply": [tmp_path / "c.json", tmp_path / "n.jsonl", "-o", tmp_path / "o.jsonl"],
        "check": [tmp_path / "n.jsonl", "--policy", tmp_path / "p.toml"],
    }
    code, said = status(command, *options[command])
    assert code == 2
    told = "n.jsonl: line 1 is null; expected a JSON object on each line"
    assert "".join(told.split()) in "".join(said.split()), "long names are broken anywhere"
    assert not (tmp_path / "o.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"null " + RECORD, 'line 1 is null {"label": 0, "p...; expected a JSON object on each line'),
        (b"\n \t\nnull\n" + RECORD, "line 3 is null; expected"),
        (RECORD + b"\nnull\r\n", "line 3 is null; expected"),
        (b"1\n2\n", "line 1 is 1; expected"),
        (b'"a"\n', 'line 1 is "a"; expected'),
        (b"[1, 2]\n", r"line 1 is \[1, 2\]; expected"),
        (b"[" * 9999, r"line 1 is \[{20}\.\.\.; expected"),
        (b"\xff\xfe", "line 1 is ��; expected"),
        (RECORD + b"3\n", "line 2 is no JSON object; expected one on each line"),
        (RECORD + b'"a"\n', "line 2 is no JSON object"),
        (RECORD + b"[1]\n", "line 2 is no JSON object"),
        (
            b'{"label": 0, "probs": [[0.5], [0.5]]}\n',
            "probs holds list<item: list<.*, no numbers",
        ),
        (b'{"label": 0, "probs": null}\n' + RECORD, "row 0 has 0 scores in probs; expected 2"),
        (RECORD + b'{"label": 0, "probs": null}\n', "row 1 has 0 scores in probs; expected 2"),
        (RECORD + b'{"label": 0, "probs": [0.5, null]}\n', 'row 1: the score of class "1" is missing'),
        (b'{"label": 0, "probs": [null, null]}\n', "label holds no labels for probs"),
        (
            b'{"label": "\xff", "prob_a": 0.5, "prob_b": 0.5}\n',
            "line 1 is not complete and valid JSON: .utf-8. codec",
        ),
        (b'{"label": 0, "prob_\xff": 0.5, "prob_b": 0.5}\n', "not a complete .*utf-8"),
    ],
)
def test_json_that_is_no_lines_of_objects(text, message, tmp_path, monkeypatch):
    (tmp_path / "t.jsonl").write_bytes(text)
    refused(tmp_path / "t.jsonl", f"t.jsonl.*{message}")
    if text.startswith(b"{"):  # what is piped in is known to be JSON by that
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        refused("-", f"standard input.*{message}")


@pytest.mark.parametrize("text", [b"\xef\xbb\xbf" + RECORD, RECORD.replace(b", ", b",\n")])
def test_objects_with_a_mark_or_on_several_lines(text, tmp_path):
    (tmp_path / "t.jsonl").write_bytes(text)
    assert read(tmp_path / "t.jsonl").n_rows == 1


def damaged_text() -> pa.Array:
    """Return text of which the first is not in UTF-8, which Arrow does not look at."""
    offsets, data = pa.py_buffer(np.array([0, 1, 2, 3, 4], np.int32)), pa.py_buffer(b"\xffaaa")
    return pa.StringArray.from_buffers(4, offsets, data)


def damaged_offsets() -> pa.Array:
    offsets, data = pa.py_buffer(np.array([0, 1 << 30, 2, 3, 4], np.int32)), pa.py_buffer(b"aaaa")
    return pa.StringArray.from_buffers(4, offsets, data)


def damaged_codes() -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 99, 0]), pa.array(["cat", "dog"]), safe=False)


def arrow_file(path, table) -> None:
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def arrow_stream(path, table) -> None:
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)


@pytest.mark.parametrize("write", [arrow_file, arrow_stream])
@pytest.mark.parametrize("column", [damaged_text, damaged_offsets, damaged_codes])
def test_damaged_columns_of_arrow_files(write, column, tmp_path):
    write(tmp_path / "t.arrow", pa.table(TEXT | {"label": column()}))
    refused(tmp_path / "t.arrow", "t.arrow is not a complete and valid Arrow file: ")
    code, said = status("evaluate", tmp_path / "t.arrow")
    assert code == 2
    assert "t.arrow is not a complete and valid Arrow file" in said


def test_damaged_text_in_parquet(tmp_path):
    pq.write_table(pa.table(TEXT | {"label": damaged_text()}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "t.parquet is not a complete and valid parquet file: .*UTF8")


@pytest.mark.parametrize("write", [arrow_file, arrow_stream, pq.write_table])
def test_damaged_names(write, tmp_path):
    path = tmp_path / ("t.parquet" if write is pq.write_table else "t.arrow")
    table = pa.table(TEXT | {"unlike_others": [1] * 4})
    if write is pq.write_table:
        pq.write_table(table, path, store_schema=False)
    else:
        write(path, table)
    path.write_bytes(path.read_bytes().replace(b"unlike_others", b"unlike_\xffthers"))
    refused(path, f"{path.name} is not a complete and valid .*utf-8")


def test_a_parquet_column_without_its_rows(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"confidence": rng.uniform(0.5, 1, 30), "is_correct": np.arange(30) % 2 == 0})
    pq.write_table(table, tmp_path / "t.parquet")
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    assert data[4:6] == b"\x15\x04"  # a page with a dictionary
    data[5] = 6
    (tmp_path / "t.parquet").write_bytes(data)
    refused(
        tmp_path / "t.parquet", "(damaged: row group 0 has 0 rows|is not a complete and valid parquet file)"
    )


def test_a_parquet_page_that_claims_a_gigabyte_takes_no_memory(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"label": np.arange(40) % 2, "prob": np.linspace(0, 1, 40)})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    data = path.read_bytes()
    # sizes before and after compression, of the last page
    *_, found = re.finditer(rb"\x15([\x80-\xff][\x01-\x7f])\x15(\1)", data)
    path.write_bytes(data[: found.start(2)] + b"\x80\x80\x80\x80\x08" + data[found.end(2) :])
    refused(path, "Page was smaller")
    script = f"""
import pyarrow
from calcli.cli.main import status_of
status_of(["inspect", {str(path)!r}])
print(pyarrow.default_memory_pool().max_memory())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert 0 < int(done.stdout) < 1 << 20
