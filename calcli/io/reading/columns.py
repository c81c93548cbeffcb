"""The other columns of a file, as they are written again beside new scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from calcli.core.data.arrays import Array
from calcli.io.tables.arrays import ArrayTable
from calcli.io.tables.ranked import RankedScores
from calcli.io.tables.scores import TableScores
from calcli.io.tables.source import Source
from calcli.io.tables.table import Table, written
from calcli.io.tables.text import has_codes


def columns_of(source: Source) -> tuple[str, ...]:
    """Return the columns of only the scores, without ranks, or their array."""
    if isinstance(source.table, ArrayTable):
        return (source.table.array,)
    scores: Any = source.scores
    names: tuple[str, ...] = (scores.by_rank if isinstance(scores, RankedScores) else scores).names
    return names


def as_written(source: Source, labels: Sequence[str | None], *, as_text: bool) -> Source:
    """Return the source with other columns as written, if they came from text.

    Parameters
    ----------
    source
        The scores and the other columns.
    labels
        Columns that are looked up by value.
    as_text
        Whether all of them stay text; if not, only codes such as 0012 and columns without values.
    """
    table, scores = source.table, source.scores
    if not isinstance(scores, TableScores) or table.text is None:
        return source
    names = []
    for column in table.schema:
        if column.name in table.text.columns and column.name not in scores.names:
            looked_up = column.name in labels or not has_codes(table, column.name)
            names += [column.name] if as_text or pa.types.is_null(column.type) or not looked_up else []
    table = written(table, names)
    return replace(source, table=table, scores=scores.within(table))


def are_plain(source: Source) -> bool:
    """Return whether the scores are stored in plain columns, which new scores can replace."""
    packed = isinstance(source.table, Table) and any(
        column in source.table.packed for column in columns_of(source)
    )
    return not packed and not isinstance(source.scores, RankedScores)


def in_place(source: Source, names: Sequence[str]) -> Any:
    """Return the pyarrow.Schema of kept columns and of scores, in the order of the table."""
    score_columns = {*columns_of(source)}
    fields = [
        column.with_type(_of_numbers(column.type)) if column.name in score_columns else column
        for column in source.table.schema
        if column.name in score_columns or column.name in names
    ]
    return pa.schema(fields, source.table.schema.metadata)


def _of_numbers(kind: Any) -> Any:
    """Return the type of new scores in place of stored ones: float types stay the same."""
    nested = pa.types.is_nested(kind)
    if (kind.value_type if nested else kind) in (pa.float32(), pa.float64()):
        return kind
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(pa.float64(), kind.list_size)
    return pa.list_(pa.float64()) if nested else pa.float64()


def beside(source: Source) -> tuple[Any, int]:
    """Return the pyarrow.Schema of the other columns, and their number before the scores."""
    names, scores = [*source.columns], source.scores
    if not isinstance(scores, TableScores):
        return pa.schema({name: pa.array(source.columns[name][:0]).type for name in names}), 0
    schema = source.table.schema
    first_score = min(schema.names.index(name) for name in scores.names if name not in names)
    fields = [column for column in schema if column.name in names]
    return pa.schema(fields, schema.metadata), sum(name in names for name in schema.names[:first_score])


def passing(source: Source, names: Sequence[str], rows: int) -> Iterator[tuple[Array, Any]]:
    """Yield (n, K) scores, n <= rows, and a pyarrow.RecordBatch of the same rows of the kept columns."""
    if isinstance(source.scores, TableScores):
        yield from source.scores.passing(names, rows)
        return
    columns, start = {name: source.columns[name] for name in names}, 0
    schema = pa.schema([column for column in beside(source)[0] if column.name in columns])
    for block in source.scores.blocks(rows):
        part = {name: values[start : start + len(block)] for name, values in columns.items()}
        start += len(block)
        yield block, pa.RecordBatch.from_pydict(part, schema)
