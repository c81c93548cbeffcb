"""Files of every format, written by others than calcli, by careless ones too; and odd heads of arrays."""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from calcli.io.formats import FORMATS
from tests.hostile.drawing import Draw
from tests.hostile.tables import LABELS, Columns, retyped

BY_NAME = {form.name: form for form in FORMATS}


def write(draw: Draw, columns: Columns, form: str = "", stem: str = "") -> str:
    """Write columns as a file of a format, any unless told, and return its name."""
    form = form or draw.choice(list(WRITERS))
    ending = draw.choice(BY_NAME[form].endings)
    content = WRITERS[form](draw, columns) if ending != ".tsv" else _csv(draw, columns, "\t")
    if BY_NAME[form].text and draw.odd(0.05):
        content, ending = gzip.compress(content, mtime=0), ending + ".gz"
    name = stem + ending if stem else draw.file_name(ending)
    if form == "npy" and draw.chance(0.95):
        draw.put(f"{name.removesuffix(ending)}_labels.npy", npy(labels_of(columns)))
    return draw.put(name, content)


def npy(array: Any) -> bytes:
    with io.BytesIO() as file:
        np.save(file, array, allow_pickle=False)
        return file.getvalue()


def plain_array(values: Any) -> np.ndarray:
    """Return values as an array without objects, as text if there is no other way."""
    try:
        found = np.asarray(values)
    except ValueError:  # lists of several lengths
        found = np.asarray([str(value) for value in values])
    return np.asarray([str(value) for value in values]) if found.dtype.hasobject else found


def labels_of(columns: Columns) -> np.ndarray:
    """Return what is called labels, or else is not of floats; text as the numbers of classes."""
    arrays = [plain_array(values) for _, values in columns] or [np.zeros(0)]
    called = [array for (name, _), array in zip(columns, arrays, strict=False) if name in LABELS]
    found = [*called, *(array for array in arrays if array.dtype.kind != "f"), *arrays][0]
    return np.unique(found, return_inverse=True)[1].ravel() if found.dtype.kind == "U" else found


def matrix(columns: Columns) -> np.ndarray:
    """Return the columns of floats side by side."""
    arrays = [plain_array(values) for _, values in columns]
    arrays = [array for array in arrays if array.dtype.kind == "f" and array.ndim <= 2]
    wide = [array for array in arrays if array.ndim == 2]
    return wide[0] if wide else np.stack(arrays, axis=1) if arrays else np.zeros((0, 0))


def _npy(draw: Draw, columns: Columns) -> bytes:
    found = matrix(columns)
    odd = draw.choice((found.T, found[..., :1], found.ravel(), found[None], found.astype(np.longdouble)))
    return npy(odd if draw.odd(0.15) else found)


def _npz(draw: Draw, columns: Columns) -> bytes:
    names = [draw.choice(("scores", "probs", "logits", "y_proba")), draw.choice(("labels", "y_test", "y"))]
    arrays = dict(zip(names, (matrix(columns), labels_of(columns)), strict=True))
    if draw.chance(0.3):
        arrays |= {name.replace("\0", ""): plain_array(values) for name, values in draw.some(columns, 2)}
    arrays.pop("file", None)
    with io.BytesIO() as file:
        (np.savez_compressed if draw.chance(0.5) else np.savez)(file, **arrays)
        return file.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, default=str) if isinstance(value, (list, dict)) else str(value)


def _csv(draw: Draw, columns: Columns, between: str = ",") -> bytes:
    between = draw.choice(("\t", ";", "|")) if draw.odd(0.1) else between
    quoting = draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    with io.StringIO(newline="") as file:
        end = draw.choice(("\n", "\n", "\r\n"))
        written = csv.writer(file, delimiter=between, lineterminator=end, quoting=quoting)
        written.writerow([name for name, _ in columns])
        for row in zip(*(values for _, values in columns), strict=False):
            written.writerow(list(map(_cell, row)))
        text = file.getvalue()
    if draw.odd(0.1):
        lines = text.split("\n")
        lines[draw.randrange(len(lines))] += draw.choice((",", ",,1", '"', "\x00", "\r", ',"', "#"))
        text = "\n".join(lines)
    encoding = draw.choice(("utf-8-sig", "latin-1", "utf-16", "utf-32")) if draw.odd(0.1) else "utf-8"
    return text.encode(encoding, "replace")


def _lists(columns: Columns) -> dict[str, list[Any]]:
    return {
        name: values.tolist() if isinstance(values, np.ndarray) else list(values) for name, values in columns
    }


def _records(columns: Columns) -> list[dict[str, Any]]:
    by_name = _lists(columns)
    return [dict(zip(by_name, row, strict=True)) for row in zip(*by_name.values(), strict=False)]


def _jsonl(draw: Draw, columns: Columns) -> bytes:
    lines = [json.dumps(record, default=str, ensure_ascii=draw.chance(0.5)) for record in _records(columns)]
    if lines and draw.odd(0.1):
        odd = (
            "",
            "null",
            "[]",
            "{}",
            '{"label": "\\ud800"}',
            "[" * 600,
            '{"a": 1} {"a": 2}',
            "NaN",
            "\ufeff{}",
        )
        lines.insert(draw.randrange(len(lines)), draw.choice(odd))
    return "\n".join(lines).encode() + b"\n"


def _json(draw: Draw, columns: Columns) -> bytes:
    shapes = (lambda: _lists(columns), lambda: {"data": _lists(columns)})
    return json.dumps(draw.choice(shapes)() if draw.odd(0.2) else _records(columns), default=str).encode()


def arrow_table(draw: Draw, columns: Columns, typed: bool = False) -> pa.Table:
    """Return columns as Arrow takes them, at times as categories or large text; typed, one of any type."""
    arrays = []
    for _, values in columns:
        try:
            array = pa.array(values)
        except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
            array = pa.array([None if value is None else str(value) for value in values])
        if draw.chance(0.1) and pa.types.is_string(array.type):
            array = array.dictionary_encode() if draw.chance(0.5) else array.cast(pa.large_string())
        arrays.append(array)
    if typed and arrays:
        place = draw.randrange(len(arrays))
        arrays[place] = retyped(draw, arrays[place])
    rows = min(map(len, arrays), default=0)
    return pa.Table.from_arrays([array[:rows] for array in arrays], [name for name, _ in columns])


def parquet(draw: Draw, table: pa.Table) -> bytes:
    with io.BytesIO() as file:
        try:
            pq.write_table(table, file, row_group_size=draw.choice((None, 7, 1000)))
        except pa.ArrowException:  # structs without fields, half-floats within lists
            pq.write_table(pa.table({"label": [0, 1], "prob_0": [0.5, 0.1]}), file)
        return file.getvalue()


def arrow(draw: Draw, table: pa.Table) -> bytes:
    new: Callable[..., Any] = pa.ipc.new_stream if draw.odd(0.3) else pa.ipc.new_file
    with io.BytesIO() as file:
        with new(file, table.schema) as sink:
            sink.write_table(table, max_chunksize=draw.choice((7, 1000)))
        return file.getvalue()


def orc_bytes(table: pa.Table) -> bytes:
    with io.BytesIO() as file:
        try:
            orc.write_table(table, file)
        except (pa.ArrowException, TypeError):  # types that ORC does not have
            orc.write_table(SMALL, file)
        return file.getvalue()


def stata_bytes(table: pa.Table) -> bytes:
    with io.BytesIO() as file:
        try:  # names and types that Stata does not have are replaced, or refused
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table.to_pandas().to_stata(file, write_index=False)
        except (
            AttributeError,
            ValueError,
            TypeError,
            NotImplementedError,
            OverflowError,
            pa.ArrowException,
        ):  # types that Stata does not have
            SMALL.to_pandas().to_stata(file, write_index=False)
        return file.getvalue()


SMALL = pa.table({"label": [0, 1], "prob_0": [0.5, 0.1]})
WRITERS: dict[str, Callable[[Draw, Columns], bytes]] = {
    "npy": _npy, "npz": _npz, "csv": _csv, "jsonl": _jsonl, "json": _json,
    "parquet": lambda draw, columns: parquet(draw, arrow_table(draw, columns)),
    "arrow": lambda draw, columns: arrow(draw, arrow_table(draw, columns)),
    "orc": lambda draw, columns: orc_bytes(arrow_table(draw, columns)),
    "stata": lambda draw, columns: stata_bytes(arrow_table(draw, columns)),
}  # fmt: skip
READ_ONLY = {"inspect", "sas", "excel"}  # logs, and formats that others write
assert set(WRITERS) == {*BY_NAME} - READ_ONLY, "every format is written"

TYPES = (
    "<f8", "<f4", "<f2", ">f8", "|b1", "<i8", "<u8", "|i1", "<c16", "<f16", "|O", "|V8", "<U3", "|S3",
    "<M8[s]", "<m8", "f8", "f", "", "<f8,<f8", "<f3", "|U0", "<f8\\x00", "object", "no type", "<U999999999",
)  # fmt: skip
SHAPES = (
    "(40, 3)", "(120,)", "()", "(0, 3)", "(40, 0)", "(-1, 3)", "(40, 3.0)", "[40, 3]", "(True, 3)", "40",
    "None", "(10000000000, 3)", "(9223372036854775807, 9223372036854775807)", "(" + "1, " * 40 + ")",
    "(40, 3, 1)", "(40, '3')", "(40 * 3,)", "__import__('os')", "(4_0, 3)", "(1" + "0" * 5000 + ",)",
    "(40, 3", "40, 3)",
)  # fmt: skip
BROKEN = ("}", ")", "'", "", "\n", "\0", "{", "#", "\\", ", ", "é", "((((", "lambda: 0")


def npy_with_head(draw: Draw) -> bytes:
    """Return a .npy file whose head promises something else, above a body of (40, 3) doubles, or a part."""
    descr, order, shape = "'<f8'", draw.choice(("False", "True")), "(40, 3)"
    fate = draw.random()
    if fate < 0.35:
        shape = draw.choice(SHAPES)
    elif fate < 0.6:
        descr = draw.choice((f"'{draw.choice(TYPES)}'", f"'{draw.choice(TYPES)}'", "[('a', '<f8')]", "3"))
    elif fate < 0.65:
        order = draw.choice(("0", "None", "'no'", "[]"))
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if draw.chance(0.2):
        place = draw.randrange(len(text))
        text = text[:place] + draw.choice(BROKEN) + text[place + draw.randrange(2) :]
    if draw.chance(0.1):
        text = draw.choice(
            ("{}", "", "[1]", "{'descr': '<f8'}", text + text, "{" * 2000, "1", text.replace("'", '"'))
        )
    head = (
        text.encode("latin-1", "replace")
        + b" " * draw.randrange(64)
        + draw.choice((b"\n",) * 8 + (b"", b" "))
    )
    version = draw.choice(((1, 0), (2, 0), (3, 0)) if draw.chance(0.9) else ((0, 0), (9, 9), (1, 255)))
    said = len(head) if draw.chance(0.9) else draw.choice((0, 1, len(head) - 1, len(head) + 50, 65535))
    length = struct.pack("<H" if version[0] == 1 else "<I", said)
    body = draw.arrays.dirichlet(np.ones(3), size=40).tobytes()
    cut = len(body) if draw.chance(0.8) else draw.randrange(len(body))
    return b"\x93NUMPY" + bytes(version) + length + head + body[:cut]


def npz_with_heads(draw: Draw) -> bytes:
    """Return an archive with members of such heads, names beside those expected, or no arrays."""
    names = "scores.npy", "labels.npy", *draw.some(("notes.txt", "../up.npy", "a/b.npy", "empty", "x.npy"))
    labels = npy(draw.arrays.integers(3, size=40))
    members = {
        name: b"" if draw.chance(0.05) else draw.choice((npy_with_head(draw), labels)) for name in names
    }
    return archive(members, draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def archive(members: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", how) as written:
            for name, content in members.items():
                written.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
        return file.getvalue()
