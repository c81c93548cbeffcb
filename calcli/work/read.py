"""Reading predictions from files and from memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calcli.core.calibrators.arguments import column_names
from calcli.core.data.arrays import Array
from calcli.core.data.inmemory import as_array
from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import PATH, checked, declared, documented, is_path, texts
from calcli.core.language.errors import UsageError
from calcli.io.dataset import data_sets
from calcli.io.handed import from_answers, from_arrays
from calcli.io.options import ReadOptions, read_options
from calcli.io.read import label_by_label, read_concat
from calcli.io.read import read as read_file
from calcli.io.words import is_identifier
from calcli.report.reading import InspectionReport

READ = frozenset(declared(ReadOptions))
COLUMNS = texts("group")
OF_ARRAYS = ("kind", "classes", "positive", "renormalize", "ignore_label", "drop_missing")
OF_TABLES = ("label_column", "key", "allow_unmatched", "scores", "against_rest", "limit", *OF_ARRAYS)


@documented(ReadOptions)
def read(data: Any, **options: Any) -> Predictions:
    """Read predictions: a file, a folder of parts, standard input as `-`, or a table.

    Parameters
    ----------
    data : path or table
        A path; or a data frame of pandas or polars, a pyarrow table, or another object that speaks Arrow.
    {ReadOptions}

    Returns
    -------
    Predictions
        (N, K) scores with their kind, (N,) labels, class names, weights and the other columns.

    Raises
    ------
    InputError
        If it is missing, damaged or not understood.
    UsageError
        If an option is unknown or does not fit it.
    """
    for name in sorted(BESIDE & set(options)):
        if not isinstance(options[name], str | None):
            raise UsageError(f"a table or a file has {name} in a column; name it with {name}=")
    if _is_table(data):
        from calcli.io.frames import from_table  # imported here: arrays need no pyarrow

        return from_table(data, read_options(options))
    if not is_path(data):
        kind = type(data).__name__
        raise UsageError(f"read takes a path or a table, not {kind}; arrays come with labels, to evaluate()")
    return read_file(PATH.checked("data", data), read_options(options))


@label_by_label
def inspect_files(files: Sequence[str], options: ReadOptions) -> InspectionReport:
    """Return how files are read, and the other readings considered.

    Raises
    ------
    InputError
        If one cannot be read.
    UsageError
        If an option does not fit.
    """
    return InspectionReport([read_concat(paths, options) for paths in data_sets(files, options)])


def predictions_of(data: Any, labels: Any, options: Mapping[str, Any]) -> Predictions:
    """Return predictions from any accepted input.

    Parameters
    ----------
    data : Predictions, path, table, or array-like (N, K), (..., K) or (N,)
        Input of `read`, its result, or scores with labels.
    labels : array-like (N,) or (...)
        Labels of scores; else None.
    options
        How to read it, by keyword: names of columns, or arrays with arrays; None means not given.

    Raises
    ------
    InputError
        If it cannot be predictions.
    UsageError
        If something is missing, or does not fit the rest.
    """
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(data, Predictions):
        if labels is not None or options:
            raise UsageError("predictions have labels and classes of their own; give such options to read()")
        return data
    if is_file_or_table(data):
        if labels is not None and not is_path(labels):
            if is_path(data) or "label_column" in options or LABELS in column_names(data):
                raise UsageError("a table or a file has its labels in a column; name it with label_column=")
            return _beside(data, as_array(labels, "labels"), options)
        return read(data, **options | ({} if labels is None else {"labels": labels}))
    if "confidence" in options or "correct" in options:
        return _answers(data, labels, options)
    if data is None or labels is None:
        raise UsageError("labels are missing: evaluate(scores, labels), or evaluate(table or path)")
    if is_path(labels):
        raise UsageError(f"labels are text '{labels}'; expected an array")
    weights = options.pop("weights", None)
    if wrong := [name for name in options if name not in OF_ARRAYS]:
        raise UsageError(f"{wrong[0]}= is for tables and files; arrays have no columns")
    return from_arrays(data, labels, weights=weights, **checked(ReadOptions, options, "keyword"))


def labelled(data: Any, called: str, reading: Mapping[str, Any] | None = None) -> Predictions:
    """Return predictions that include their labels, read if necessary; see `predictions_of`.

    Raises
    ------
    UsageError
        If they are arrays; `called` is the name of the argument.
    """
    if not isinstance(data, Predictions) and not is_file_or_table(data):
        raise UsageError(
            f"labels are missing: {called} is of type {type(data).__name__}; expected a path, a table, or "
            "what read() returned: put arrays in a data frame, beside their labels"
        )
    return predictions_of(data, None, {} if isinstance(data, Predictions) else reading or {})


def columns_of(by: Any) -> tuple[str, ...]:
    """Return the columns that `by=` names: one, several, or none as None."""
    columns: tuple[str, ...] = COLUMNS.checked(
        "by", (by,) if isinstance(by, str) else () if by is None else by
    )
    return columns


def split_reading(data: Any, labels: Any, keywords: Mapping[str, Any]) -> tuple[Predictions, dict[str, Any]]:
    """Return predictions, read with the keywords of reading, and the other keywords; see `predictions_of`."""
    reading = {name: value for name, value in keywords.items() if name in READ}
    if data is None:
        data = reading.pop("scores", None)
    options = {name: value for name, value in keywords.items() if name not in READ}
    return predictions_of(data, labels, reading), options


def is_file_or_table(data: Any) -> bool:
    """Return whether predictions are in a file or a table, which have columns and labels."""
    return is_path(data) or _is_table(data)


def _is_table(data: Any) -> bool:
    """Return whether an object is a table: of pandas, polars, pyarrow, or another that speaks Arrow."""
    if hasattr(data, "__array__") and not (hasattr(type(data), "columns") or hasattr(type(data), "schema")):
        return False  # a column of one
    return hasattr(data, "__arrow_c_stream__") or (
        hasattr(data, "schema") and hasattr(data, "__arrow_c_array__")
    )


def _beside(data: Any, labels: Array, options: Mapping[str, Any]) -> Predictions:
    """Return predictions in a table with an array of labels; a table of numbers has classes as columns."""
    if cases := [name for name in column_names(data) if is_identifier(name)]:
        raise UsageError(f"{cases[0]} names rows, not a class; leave it out of the scores")
    from calcli.io.frames import from_table

    numbers = {"scores": ",".join(column_names(data))} if labels.dtype.kind in "iu" else {}
    return from_table(data, read_options({**numbers, **options, "label_column": LABELS}), {LABELS: labels})


def _answers(data: Any, labels: Any, options: Mapping[str, Any]) -> Predictions:
    if data is not None or labels is not None or not {"confidence", "correct"} <= set(options) <= ANSWERS:
        raise UsageError("answers take confidence and correct, and neither scores, labels nor classes")
    kind = checked(ReadOptions, {"kind": options.get("kind", "auto")}, "keyword")
    return from_answers(options["confidence"], options["correct"], weights=options.get("weights"), **kind)


LABELS = "labels"
BESIDE = {"confidence", "correct", "weights"}  # arrays for arrays, columns for tables
ANSWERS = {"kind", *BESIDE}
