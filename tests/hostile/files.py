"""Files of every format, written by others than calcli; and text that a careless program wrote."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from calcli.io.formats import FORMATS
from tests.hostile.drawing import Draw
from tests.hostile.tables import LABELS, Columns

BY_NAME = {form.name: form for form in FORMATS}


def write(draw: Draw, columns: Columns, form: str = "", stem: str = "") -> str:
    """Write columns as a file of a format, any unless told, and return its name."""
    form = form or draw.choice(list(WRITERS))
    ending = draw.choice(BY_NAME[form].endings)
    content = WRITERS[form](draw, columns) if ending != ".tsv" else _csv(draw, columns, "\t")
    if BY_NAME[form].text and draw.chance(0.05):
        content, ending = gzip.compress(content, mtime=0), ending + ".gz"
    name = stem + ending if stem else draw.file_name(ending)
    if form == "npy" and draw.chance(0.95):
        base = name.removesuffix(ending)
        draw.put(f"{base}_labels.npy", npy(labels_of(columns)))
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
    return npy(found if draw.chance(0.85) else odd)


def _npz(draw: Draw, columns: Columns) -> bytes:
    save = np.savez_compressed if draw.chance(0.5) else np.savez
    names = [draw.choice(("scores", "probs", "logits", "y_proba")), draw.choice(("labels", "y_test", "y"))]
    arrays = dict(zip(names, (matrix(columns), labels_of(columns)), strict=True))
    if draw.chance(0.3):
        arrays |= {name.replace("\0", ""): plain_array(values) for name, values in draw.some(columns, 2)}
    arrays.pop("file", None)
    with io.BytesIO() as file:
        save(file, **arrays)
        return file.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=str)
    return str(value)


def _csv(draw: Draw, columns: Columns, between: str = ",") -> bytes:
    between = between if draw.chance(0.9) else draw.choice(("\t", ";", "|"))
    with io.StringIO(newline="") as file:
        written = csv.writer(
            file, delimiter=between, lineterminator=draw.choice(("\n", "\n", "\r\n")),
            quoting=draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
        )  # fmt: skip
        written.writerow([name for name, _ in columns])
        for row in zip(*(values for _, values in columns), strict=False):
            written.writerow([_cell(value) for value in row])
        text = file.getvalue()
    if draw.chance(0.1):
        lines = text.split("\n")
        lines[draw.randrange(len(lines))] += draw.choice((",", ",,1", '"', "\x00", "\r", ',"', "#"))
        text = "\n".join(lines)
    encoding = "utf-8" if draw.chance(0.9) else draw.choice(("utf-8-sig", "latin-1", "utf-16", "utf-32"))
    return text.encode(encoding, "replace")


def _records(columns: Columns) -> list[dict[str, Any]]:
    arrays = [values.tolist() if isinstance(values, np.ndarray) else values for _, values in columns]
    names = [name for name, _ in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*arrays, strict=False)]


def _jsonl(draw: Draw, columns: Columns) -> bytes:
    lines = [json.dumps(record, default=str, ensure_ascii=draw.chance(0.5)) for record in _records(columns)]
    if lines and draw.chance(0.1):
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
    shape = draw.random()
    if shape < 0.8:
        return json.dumps(_records(columns), default=str).encode()
    by_column = {
        name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in columns
    }
    return json.dumps(by_column if shape < 0.9 else {"data": by_column}, default=str).encode()


def arrow_table(draw: Draw, columns: Columns) -> pa.Table:
    """Return columns as Arrow takes them, at times as categories, large text or chunks."""
    arrays = []
    for _, values in columns:
        try:
            array = pa.array(values)
        except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
            array = pa.array([None if value is None else str(value) for value in values])
        if draw.chance(0.1) and pa.types.is_string(array.type):
            array = array.dictionary_encode() if draw.chance(0.5) else array.cast(pa.large_string())
        arrays.append(array)
    rows = min(map(len, arrays), default=0)
    return pa.Table.from_arrays([array[:rows] for array in arrays], [name for name, _ in columns])


def _parquet(draw: Draw, columns: Columns) -> bytes:
    with io.BytesIO() as file:
        try:
            pq.write_table(arrow_table(draw, columns), file, row_group_size=draw.choice((None, 7, 1000)))
        except pa.ArrowException:  # structs without fields, half-floats within lists
            pq.write_table(pa.table({"label": [0, 1], "prob_0": [0.5, 0.1]}), file)
        return file.getvalue()


def _arrow(draw: Draw, columns: Columns) -> bytes:
    new: Callable[..., Any] = draw.choice((pa.ipc.new_file, pa.ipc.new_file, pa.ipc.new_stream))
    found = arrow_table(draw, columns)
    with io.BytesIO() as file:
        with new(file, found.schema) as sink:
            sink.write_table(found, max_chunksize=draw.choice((7, 1000)))
        return file.getvalue()


WRITERS: dict[str, Callable[[Draw, Columns], bytes]] = {
    "npy": _npy, "npz": _npz, "csv": _csv, "parquet": _parquet,
    "arrow": _arrow, "jsonl": _jsonl, "json": _json,
}  # fmt: skip
assert set(WRITERS) == {name for name, form in BY_NAME.items() if not form.log}, "every format is written"
