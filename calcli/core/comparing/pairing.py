"""Pairing: which row of one file is the same as which row of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.comparing.leftover import unlike_rows
from calcli.core.data.arrays import Array, missing
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.slices import gathered, select, slice_names
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import IN_ORDER, PairSettings
from calcli.core.state.state import Remains

QUESTIONS = ("id", "qid", "uid", "question_id", "sample_id", "doc_id", "example_id", "question", "prompt")


@dataclass(frozen=True)
class Paired:
    """Predictions of several systems for the same rows.

    Attributes
    ----------
    systems
        The baseline first; row i is the same case in each of them.
    unmatched
        Rows of each that some other system has no counterpart for; they were left out.
    """

    systems: tuple[Predictions, ...]
    unmatched: tuple[int, ...]


def pair(systems: Sequence[Predictions], how: PairSettings = IN_ORDER, keep: Sequence[str] = ()) -> Paired:
    """Pair the rows of several systems, by their order or by a key.

    Parameters
    ----------
    systems
        The baseline first.
    how
        By which column, if not by their order, and whether rows that not all systems have are left out.
    keep
        Columns that the result must still have, of every system that has them; these must agree in them.

    Raises
    ------
    InputError
        If rows, labels, weights, classes or columns differ, or a key repeats or is missing.
    UsageError
        If the key is not a column.
    """
    key = how.key
    require_same_classes(systems)
    if not all(system.has_rows for system in systems):
        if unlike := unlike_rows(systems):
            keyed = all(isinstance(one, Remains) and one.state.head.key for one in systems)
            order = "" if keyed else " in the same order"
            raise InputError(f"{unlike}; expected the same cases{order}; compare with --unpaired")
        return Paired(tuple(systems), (0,) * len(systems))
    if key is None:
        for other in systems[1:]:
            if other.n_rows != systems[0].n_rows:
                raise InputError(
                    f"{_path(other)} has {other.n_rows:,} rows and {_path(systems[0])} has "
                    f"{systems[0].n_rows:,}; expected the same cases in the same order; match them with "
                    "--key COLUMN, or compare different test sets with --unpaired"
                )
        paired, keys = Paired(tuple(systems), (0,) * len(systems)), None
    else:
        paired, keys = _matched(systems, key, how.allow_unmatched, keep)
    for other in paired.systems[1:]:
        _require_same_cases(paired.systems[0], other, key)
        _require_same_columns(paired.systems[0], other, keep, key, keys)
    return paired


def require_same_classes(systems: Sequence[Predictions]) -> None:
    """Raise an InputError if two systems differ in their classes or the order of them."""
    first = systems[0]
    for other in systems[1:]:
        require_classes(other, first.classes, _path(first), "; --allow-other-classes compares them anyway")


def _require_same_cases(first: Predictions, other: Predictions, key: str | None) -> None:
    if first.of_answers and key is None:
        _require_same_questions(first, other)
    different = np.flatnonzero(first.labels != other.labels)
    if len(different) and not first.of_answers:  # one system may be right where the other is wrong
        row = int(different[0])
        where = f"row {first.stored_row(row)}"
        mend = "" if key else "; if their rows are in different orders, match them with --key COLUMN"
        raise InputError(
            f"{_path(other)} and {_path(first)} have different labels in {len(different):,} of "
            f"{first.n_rows:,} paired rows, the first in {where} ({other.classes[other.labels[row]]} and "
            f"{first.classes[first.labels[row]]}); expected the same cases{mend}"
        )
    if (first.weights is None) != (other.weights is None) or (
        first.weights is not None and not np.array_equal(first.weights, other.weights)  # type: ignore[arg-type]
    ):
        raise InputError(f"{_path(other)} and {_path(first)} have different row weights; expected the same")


def _require_same_questions(first: Predictions, other: Predictions) -> None:
    """Raise an InputError if what names the questions differs: what is right says nothing about that."""
    for name in first.columns:
        if name.casefold() in QUESTIONS and name in other.columns:
            different = np.flatnonzero(first.column(name).astype(str) != other.column(name).astype(str))
            if len(different):
                row = first.stored_row(int(different[0]))
                raise InputError(
                    f"{_path(other)} and {_path(first)} differ in {name} in {len(different):,} of "
                    f"{first.n_rows:,} paired rows, the first of them row {row}; expected "
                    f"answers to the same questions in the same order; match them with --key {name}"
                )


def _require_same_columns(
    first: Predictions, other: Predictions, names: Sequence[str], key: str | None, keys: Array | None
) -> None:
    """Raise an InputError if a column that says what a row is differs: the rows are others, or one errs."""
    for name in names:
        if name not in first.columns or name not in other.columns:
            continue
        different = np.flatnonzero(_unlike(first.column(name), other.column(name)))
        if len(different):
            row = int(different[0])
            found = " and ".join(slice_names(one.column(name)[[row]])[0] for one in (other, first))
            if keys is None:
                which, expected = (
                    f"row {first.stored_row(row)}",
                    "the same cases in the same order; match them with --key COLUMN",
                )
            else:
                which, expected = f"{key} {keys[row]}", f"one value for each {key}; correct one of the files"
            raise InputError(
                f"{_path(other)} and {_path(first)} differ in column {name!r} in {len(different):,} of "
                f"{first.n_rows:,} rows, the first of them {which} ({found}); expected {expected}, or "
                f"compare them with --unpaired{'' if keys is None else ' in place of --key'}"
            )


def _unlike(first: Array, other: Array) -> NDArray[np.bool_]:
    """Tell where two columns put rows into different slices, whatever the types of their values."""
    if first.dtype.kind in "biuf" and other.dtype.kind in "biuf":
        different = first != other
        different[different] = slice_names(first[different]) != slice_names(other[different])
        return different
    return slice_names(first) != slice_names(other)


def _matched(
    systems: Sequence[Predictions], key: str, allow: bool, keep: Sequence[str]
) -> tuple[Paired, Array]:
    """Return the rows that all systems have, in the order of the baseline, and their keys."""
    keys = [_keys(system, key) for system in systems]
    common = keys[0]
    for others in keys[1:]:
        common = common[np.isin(common, others)]  # the order of the baseline
    unmatched = tuple(len(found) - len(common) for found in keys)
    if not len(common):
        raise InputError(
            f"{_path(systems[1])} and {_path(systems[0])} share no value of {key}, so no rows can be paired"
        )
    if any(unmatched) and not allow:
        counts = ", ".join(
            f"{count:,} of {_path(system)}" for system, count in zip(systems, unmatched, strict=True) if count
        )
        raise InputError(
            f"rows without a counterpart by {key}: {counts}; leave them out with --allow-unmatched"
        )
    paired = []
    for system, found in zip(systems, keys, strict=True):
        rows = _positions(found, common)
        columns = {name: system.columns[name][rows] for name in keep if name in system.columns}
        paired.append(replace(_take(system, rows), columns=columns))
    return Paired(tuple(paired), unmatched), common


def _keys(predictions: Predictions, key: str) -> Array:
    if key not in predictions.columns:
        known = ", ".join(predictions.columns) or "none"
        raise UsageError(f"--key {key}: {_path(predictions)} has no such column; it has {known}")
    column = predictions.columns[key]
    if len(gone := missing(column)):
        row = predictions.stored_row(int(gone[0]))
        raise InputError(
            f"{_path(predictions)}: column {key}: row {row} has none; expected a key in every row"
        )
    keys = column.astype(str)
    values, counts = np.unique(keys, return_counts=True)
    if len(values) < len(keys):
        raise InputError(
            f"{_path(predictions)}: {key} {values[counts.argmax()]} is there {counts.max():,} times; "
            "expected unique keys"
        )
    return keys


def _positions(keys: Array, wanted: Array) -> NDArray[np.intp]:
    order = np.argsort(keys)
    return order[np.searchsorted(keys, wanted, sorter=order)]


def _take(predictions: Predictions, rows: NDArray[np.intp]) -> Predictions:
    """Return different rows in any order; they are held in memory unless they ascend."""
    if len(rows) == predictions.n_rows and (np.diff(rows) == 1).all():
        return predictions
    chosen = np.zeros(predictions.n_rows, bool)
    chosen[rows] = True
    ascending = select(predictions, chosen)
    if (np.diff(rows) > 0).all():
        return ascending
    scores = gathered(ascending.scores, np.argsort(np.argsort(rows)))
    weights = None if predictions.weights is None else predictions.weights[rows]
    return replace(ascending, scores=scores, labels=predictions.labels[rows], weights=weights, columns={})


def _path(predictions: Predictions) -> str:
    return predictions.provenance.path
