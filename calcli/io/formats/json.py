"""JSON: rows as records, columns with data (tables of W&B and MLflow, pandas' orient="split"), or columns."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError
from calcli.io.formats import jsonl
from calcli.io.layouts.harness import harness_table
from calcli.io.layouts.logs import log_table
from calcli.io.layouts.objects import with_orders
from calcli.io.places.archives import opened_text, said
from calcli.io.places.faults import arrow_errors, column_of
from calcli.io.places.paths import AnyPath
from calcli.io.tables.table import Table, in_memory, refuse_duplicates
from calcli.io.words import label_names, says

EXPECTED = (
    'expected rows, as in [{"label": 0, "probs": [0.9, 0.1]}], {"columns": [...], "data": [[...]]}, or '
    '{"label": [...], "probs": [[...]]}'
)


def open_file(path: AnyPath, name: str) -> Table:
    """Parse a JSON file, or JSON lines with this ending.

    Raises
    ------
    InputError
        If it is not JSON, or holds no table.
    """
    with arrow_errors(name, "JSON file"), opened_text(path) as stream:
        text = io.BufferedReader(stream).read().decode("utf-8-sig")
    try:
        content = json.loads(text, object_pairs_hook=partial(_of_pairs, name))
    except (ValueError, RecursionError) as error:  # also of an integer with thousands of digits
        if getattr(error, "msg", "") == "Extra data":
            return jsonl.open_file(path, name)
        raise InputError(f"{name} is not a complete and valid JSON file: {said(error)}") from error
    return in_memory(name, table_of(content, name))


def _of_pairs(name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object.

    Raises
    ------
    InputError
        If a key occurs twice.
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InputError(f"{name} has an object with more than one key {key}; rename all but one")
    return content


def table_of(content: Any, name: str) -> Any:
    """Return the pyarrow.Table of JSON values.

    Raises
    ------
    InputError
        If they form no table.
    """
    harness = harness_table(content, name) if isinstance(content, list) and _are_rows(content) else None
    with arrow_errors(name, "JSON file"):
        log = log_table(content, name) if harness is None else harness
    if log is not None:
        return log
    if isinstance(content, dict):
        content = _rows(content, name)
    if isinstance(content, dict):
        return _of_columns(content, name)
    if not isinstance(content, list) or not content:
        raise InputError(f"{name} holds {type(content).__name__} values without rows; {EXPECTED}")
    if all(isinstance(row, list) for row in content):  # lists of {label, score}, as pipelines return them
        return _of_columns({"predictions": content}, name)
    if not _are_rows(content):
        raise InputError(f"{name}: not all rows are objects; {EXPECTED}")
    with arrow_errors(name, "JSON file"):
        return jsonl.table_of_records(content)


def _are_rows(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(row, dict) for row in values)


def _rows(content: dict[str, Any], name: str) -> Any:
    """Return records or columns of an object."""
    if isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):
        heads = list(map(str, content["columns"]))
        refuse_duplicates(heads, name)
        for n, row in enumerate(content["data"]):
            if not isinstance(row, list) or len(row) != len(heads):
                raise InputError(f"{name}: row {n} of the data does not have {len(heads)} values, as columns")
        return {head: [row[k] for row in content["data"]] for k, head in enumerate(heads)}
    if "schema" in content and isinstance(content.get("data"), list):
        return content["data"]
    if content and all(isinstance(value, dict) for value in content.values()):
        if label_names(content) or any(says("score", head) for head in content):  # columns, by names of rows
            return _by_names_of_rows(content, name)
        return [{"id": key, **row} for key, row in content.items()]
    columns = {head: values for head, values in content.items() if isinstance(values, list)}
    records = [values for values in columns.values() if values and isinstance(values[0], dict)]
    if len(records) == 1 and not any(says("score", key) for key in content):
        return records[0]
    if not columns or len({len(values) for values in columns.values()}) > 1:
        raise InputError(f"{name} is an object without a table in it; {EXPECTED}")
    return columns


def _by_names_of_rows(columns: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, list[Any]]:
    """Return columns with values by row name, all in the order of the first."""
    head, named_values = next(iter(columns.items()))
    for column_head, values in columns.items():
        if values.keys() != named_values.keys():
            raise InputError(
                f"{name}: the columns {head} and {column_head} have values for other rows, by their names; "
                "expected the same"
            )
    return {column: [values[row] for row in named_values] for column, values in columns.items()}


def _of_columns(columns: Mapping[str, Sequence[Any]], name: str) -> Any:
    """Return a table; a column with values of several types becomes text."""
    with arrow_errors(name, "JSON file"):
        table = pa.table({head: column_of(values) for head, values in columns.items()})
    return with_orders(table, columns.__getitem__)


class JsonWriter(jsonl.JsonLinesWriter):
    """A list of records; a missing number, also one in a list, is null."""

    _begun = False

    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Write a line per row."""
        for line in self.lines(kept_columns, scores):
            self.sink.write((",\n" if self._begun else "[\n").encode() + line.encode())
            self._begun = True

    def end(self) -> None:
        """Close the list."""
        self.sink.write(b"\n]\n" if self._begun else b"[]\n")


writer = JsonWriter
