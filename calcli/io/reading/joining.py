"""Labels in a second table, joined to the scores by a key."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.data.derived import slice_names
from calcli.core.language.errors import InputError, UsageError
from calcli.io.formats import known_format
from calcli.io.layouts.answers import require_column
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.places.paths import AnyPath
from calcli.io.tables.source import few_labelled
from calcli.io.tables.table import Table, beside, holds_of, kept
from calcli.io.tables.values import distinct_texts, one_true
from calcli.io.words import is_called, may_be_label

TRUTH = "truth"  # the label column made from one column per class
INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0|")  # index columns that pandas writes


def with_labels(table: Table, path: AnyPath, options: ReadOptions) -> tuple[Table, ReadOptions, str]:
    """Return scores with the labels of another table, notes on the reading, and the matched rows.

    Raises
    ------
    InputError
        If rows have no match, or several, and must not be left out.
    UsageError
        If a column is missing, or no key is given.
    """
    form, key = known_format(path), options.key
    if form.of_arrays:
        raise InputError(f"{path} holds several arrays; expected a table, or an array of labels (.npy)")
    truth = form.open(path, str(path))
    name = table.place.name
    if key is None:
        shared = listed([column for column in table.columns if column in truth.columns])
        raise UsageError(
            f"--labels {path}: say by which column its rows are those of {name}, with --key COLUMN "
            f"(columns of both: {shared})"
        )
    for columns, owner in ((table.columns, name), (truth.columns, str(path))):
        require_column(key, columns, owner, "--key")
    label, truth = _label(table, truth, str(path), options)
    keys, label_keys = (slice_names(distinct_texts(rows_of, key)) for rows_of in (table, truth))
    partner = _partners(keys, label_keys)
    there = partner >= 0
    note = f"labels are those of the rows of {path} with the same {key}"
    if not there.any():
        raise InputError(f"{name} and {path} share no value of {key} that is there once in each")
    judge = options.judge or next((column for column in table.columns if is_called("judge", column)), None)
    unlabelled = not options.allow_unmatched and not np.isin(keys[~there], label_keys).any()
    if unlabelled and not there.all() and (judge is not None or few_labelled(there)):
        options, note = replace(options, judge=judge), f"{note}; {np.count_nonzero(~there):,} rows have none"
        there[:] = True
    if not there.all():
        unmatched = _left_out((name, str(path)), keys, label_keys, there, options)
        table, note = kept(table, there), f"{note}; {unmatched} without one were left out, as asked"
    if unused := len(label_keys) - np.count_nonzero(partner >= 0):
        note = f"{note}; {unused:,} rows of {path} were not needed"
    called = label if label not in table.columns else f"{label} in {path}"
    rows = pa.array(partner[there], mask=partner[there] < 0)
    text = table.text
    if text is not None and truth.text is not None and label in truth.text.columns:
        text = beside(text, {called: truth.text.column(label).take(rows)})
    joined = replace(beside(table, {called: truth.column(label).take(rows)}), text=text)
    alone = [column for column in table.columns if column != key]
    single = len(alone) == 1 and holds_of(table.schema.field(alone[0]).type) != "text"
    if single and not (options.judge or options.confidence):
        options = replace(options, scores=options.scores or alone[0])  # under any name
    return joined, replace(options, labels=None, label_column=called), note


def _left_out(
    names: tuple[str, str], keys: Array, label_keys: Array, there: NDArray[np.bool_], options: ReadOptions
) -> str:
    """Return the number of rows without a label; raise an InputError unless they may be left out."""
    count, row = f"{np.count_nonzero(~there):,} of {len(keys):,} rows", int(np.argmin(there))
    if not options.allow_unmatched:
        how = "is there more than once" if keys[row] in label_keys else f"is not in {names[1]}"
        how = f"{options.key} {keys[row]} {how}" if keys[row] else f"{options.key} is missing"
        raise InputError(
            f"{names[0]}: {count} have no label of their own in {names[1]}; the first is row {row}: {how}; "
            "leave them out with --allow-unmatched"
        )
    return count


def _label(table: Table, truth: Table, name: str, options: ReadOptions) -> tuple[str, Table]:
    """Return the column of labels, and its table: a given column, one with a label's name, or the only one.

    It may be made from columns that are 1 where their class is true, named like the scores.
    """
    columns = [column for column in truth.columns if column != options.key and not INDEX.fullmatch(column)]
    if options.label_column is not None:
        require_column(options.label_column, columns, name, "--label-column")
        return options.label_column, truth
    called = [column for column in columns if may_be_label(column)]
    candidates = columns if len(columns) == 1 else called
    if len(candidates) == 1:
        return candidates[0], truth
    shared = [column for column in columns if column in table.columns]
    if len(shared) < 2 or not all(
        holds_of(truth.schema.field(column).type) in ("float", "integer") for column in shared
    ):
        raise InputError(
            f"{name} has the columns {listed(columns)} beside {options.key}; say which has the labels with "
            "--label-column"
        )
    return TRUTH, beside(truth, {TRUTH: one_true(truth, shared, shared)})


def _partners(keys: Array, label_keys: Array) -> NDArray[np.intp]:
    """Return the (N,) position of each key among other keys; -1 if it is missing or repeated."""
    values, where, counts = np.unique(label_keys, return_index=True, return_counts=True)
    _, codes, times = np.unique(keys, return_inverse=True, return_counts=True)
    at = np.minimum(np.searchsorted(values, keys), len(values) - 1)
    alone = (values[at] == keys) & (counts[at] == 1) & (times[codes] == 1) & (keys != "")
    return np.where(alone, where[at], -1)
