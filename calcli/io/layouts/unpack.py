"""Unpacking columns: scores in text, lists or objects, and lists of unequal length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.language.errors import InputError
from calcli.core.language.expressions import option_names
from calcli.io.layouts import LISTS, UNPACKED, Layout
from calcli.io.layouts.classlabels import class_labels
from calcli.io.options import ReadOptions
from calcli.io.tables.table import Derived, Row, Table, derived, holds_of, is_list
from calcli.io.words import plain_text, says

Head = Callable[[], Any]  # reads the first values, a pyarrow.Array
HEAD_ROWS = 256  # values that reveal a packed column
MOST_OPTIONS = 26  # of a question
WIDE = 0.01  # tolerance for the sum of probabilities


@dataclass(frozen=True)
class Unpacked:
    """A packed column after unpacking.

    Attributes
    ----------
    made
        The new columns, in place of it.
    layout
        The name of the layout.
    note
        A note on it.
    percent
        Whether they are percentages with their sign.
    classes
        Names of the classes, if it has them.
    ordered
        Whether the new columns have the order of the classes, if known.
    owner
        The objects with fields that become columns.
    """

    made: tuple[Derived, ...]
    layout: Layout | None = None
    note: str = ""
    percent: bool = False
    classes: tuple[str, ...] | None = None
    ordered: bool = True
    owner: str = ""


def unpack_column(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return the unpacked column of a pyarrow.Field; None if it stays.

    Parameters
    ----------
    field
        Name and type.
    head
        Reads its first values.
    options
        Options of reading.
    """
    for layout in UNPACKED:
        unpacked: Unpacked | None = layout.unpacker.unpack(field, head, options)
        if unpacked is not None:
            return replace(unpacked, layout=unpacked.layout or layout)
    return None


def packed_columns(table: Table, options: ReadOptions) -> dict[str, Unpacked]:
    """Return the unpacked columns of a table, for known layouts."""
    every = {
        field.name: unpack_column(field, partial(_first, table, field), options) or _of_options(table, field)
        for field in table.schema
    }
    packed = {name: columns for name, columns in every.items() if columns is not None}
    for name, names in class_labels(table.schema).items():
        wanted = options.classes is None or {*map(plain_text, names)} & {*map(plain_text, options.classes)}
        if names and wanted and pa.types.is_integer(table.schema.field(name).type):
            make = partial(_called, names=names, apart=options.ignore_label)
            packed[name] = Unpacked((Derived(name, pa.string(), make),))
    return packed


def _called(numbers: Any, row: Row, *, names: Sequence[str], apart: Sequence[str]) -> Any:
    """Return the names of numbers in metadata; unnamed numbers stay numbers."""
    kept_apart = {place for place in apart if place not in names}
    class_names = [str(n) if str(n) in kept_apart else name for n, name in enumerate(names)]
    inside = pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, len(names)))
    known_texts, texts = pa.array(class_names, pa.string()), numbers.cast(pa.string())
    odd = pc.binary_join_element_wise(pa.scalar("the number"), texts, " ")
    unnamed = pc.if_else(pc.is_in(texts, pa.array([*names], pa.string())), odd, texts)
    return pc.if_else(inside, known_texts.take(pc.if_else(inside, numbers, 0)), unnamed)


def unpacked(table: Table, unpacked_columns: Mapping[str, Unpacked]) -> Table:
    """Return a table with its packed columns unpacked."""
    packed = {column.name: it for it in unpacked_columns.values() for column in it.made}
    by_name = {name: it.made for name, it in unpacked_columns.items()}
    return replace(derived(table, by_name), packed=packed) if unpacked_columns else table


def scaled(table: Table, by: float | None, options: ReadOptions, scores: Sequence[str] = ()) -> Table:
    """Return a table with divided numbers: in these columns, or in columns given or named as scores."""
    if by is None:
        return table
    asks = scores or (options.scores or options.confidence or "").split(",")
    names = [field.name for field in table.schema if holds_of(field.type) in ("float", "integer")]
    called = [name for name in names if says("score", name) and not says("prediction", name)]
    names = [name for name in names if name in asks] if any(asks) else called
    return derived(table, {name: [Derived(name, pa.float64(), partial(_divided, by=by))] for name in names})


def _divided(values: Any, row: Row, *, by: float) -> Any:
    return pc.divide(values.cast(pa.float64()), by)


def _of_options(table: Table, field: Any) -> Unpacked | None:
    """Return lists of a score for each option of a question, all as long as the longest; None for others.

    Missing options are impossible: they have the probability 0, or a logit of -inf.
    """
    if not (
        is_list(field.type) and pa.types.is_floating(field.type.value_type) and says("score", field.name)
    ):
        return None
    head = _first(table, field).drop_null()
    lengths = np.asarray(pc.list_value_length(head))
    if len({*lengths.tolist()}) < 2 or lengths.min() < 2:
        return None
    longest = (pc.max(pc.list_value_length(batch.column(0))).as_py() for batch in table.batches([field.name]))
    largest = max(length or 0 for length in longest)
    values = np.asarray(head.flatten(), np.float64)
    fractions = bool(((values >= 0) & (values <= 1)).all())
    sums = np.add.reduceat(values, np.cumsum(lengths) - lengths)
    if largest > MOST_OPTIONS or (fractions and (abs(sums - 1) > WIDE).any()):
        return None
    column = Derived(
        field.name, pa.list_(pa.float64()), partial(_filled, size=largest, fill=0.0 if fractions else -np.inf)
    )
    note = f"questions have {lengths.min()} to {largest} options; those that one does not have are impossible"
    return Unpacked((column,), layout=LISTS, note=note, classes=option_names(largest))


def _filled(lists: Any, row: Row, *, size: int, fill: float) -> Any:
    filled = [line if line is None else [*line, *[fill] * (size - len(line))] for line in lists.to_pylist()]
    return pa.array(filled, pa.list_(pa.float64()))


def refuse_absent_options(table: Table, scores: str, label: str) -> None:
    """Raise an InputError if the label of a row is an option that the row lacks."""
    if not pa.types.is_integer(table.schema.field(label).type) or label in class_labels(table.schema):
        return
    at = 0
    for batch in table.batches([scores, label]):
        lengths, labels = pc.list_value_length(batch.column(0)), batch.column(1)
        n = pc.index(pc.greater_equal(labels, lengths), True).as_py()
        if n >= 0:
            row = table.place.row(at + n)
            raise InputError(f"{row} has the label {labels[n]}, but {lengths[n]} options, counted from 0")
        at += batch.num_rows


def _first(table: Table, field: Any) -> Any:
    batch = table.head([field.name], HEAD_ROWS)
    return pa.array([], field.type) if batch is None else batch.column(0)
