"""Tables: named Arrow columns that can be read repeatedly, from any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.layouts.classlabels import joined_metadata, names_alone
from calcli.io.messages import ALIKE, KeptPlace, Place, listed
from calcli.io.tables.source import MARK, Contents

FEW_ROWS = 4096  # bytes that are read as fast as one
Row = Callable[[int], str]  # names a row, for messages
Read = Callable[[Sequence[str], int | None], Iterator[Any]]
Holds = Literal["float", "integer", "text", "list", "other"]


@dataclass(frozen=True)
class Derived:
    """A column derived from a stored one.

    Attributes
    ----------
    name, type
        Of the new column, a pyarrow.DataType.
    make
        Makes it from a pyarrow.Array of the stored column.
    """

    name: str
    type: Any
    make: Callable[[Any, Row], Any]


@dataclass(frozen=True)
class Table(Contents):
    """Rows and named columns.

    Attributes
    ----------
    place
        The files, with their numbers of rows.
    schema
        Names and types of the columns, a pyarrow.Schema.
    read
        Yields pyarrow.RecordBatches of some columns, in their order, from the first row on; given a number,
        of about this many rows at once, for readers who stop soon.
    text
        The same rows as text, if the file is text and the types were inferred.
    packed
        Unpacked columns, by the form in the file.
    delimiter
        Between the fields of text.
    note
        A note on the file.
    """

    place: Place
    schema: Any
    read: Read
    text: Table | None = None
    packed: Mapping[str, Any] = field(default_factory=dict)
    delimiter: str = ","
    note: str = ""
    what = "a table"

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        names: list[str] = self.schema.names
        return names

    @property
    def mark(self) -> str:
        """The applied calibrators, from metadata."""
        return (self.schema.metadata or {}).get(MARK, b"").decode("ascii", "replace")

    @property
    def rows(self) -> int:
        """Their number."""
        return sum(rows for _, rows in self.place.parts)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield pyarrow.RecordBatches of these columns, in this order."""
        return self.read(columns, None)

    def head(self, columns: Sequence[str], rows: int) -> Any:
        """Return a pyarrow.RecordBatch of the first rows, reading little more; None if there are no rows."""
        batches: list[Any] = []
        for batch in self.read(columns, rows):
            batches += [batch.slice(0, rows)] if batch.num_rows else []
            rows -= batch.num_rows
            if rows <= 0:
                break
        return joined_batch(batches, self.schema) if len(batches) > 1 else next(iter(batches), None)

    def column(self, name: str) -> Any:
        """Return one whole column as a pyarrow.ChunkedArray."""
        kind = self.schema.field(name).type
        columns = (batch.column(0) for batch in self.batches([name]))
        return pa.chunked_array([of_joined_type(c, kind, self.place.name, name) for c in columns], kind)

    def beside(self, values: Mapping[str, str]) -> Table:
        """Return the table with further columns of one value each, unless it has columns of these names."""
        new = {name: value for name, value in values.items() if name not in self.schema.names}
        return beside(self, new) if new else self


def in_memory(name: str, table: Any) -> Table:
    """Return the table of a pyarrow.Table."""
    place = Place(((name, table.num_rows),))
    return Table(place, table.schema, partial(_held, table))


# readers are partial module functions: a fit to a table can be pickled


def is_held(table: Table) -> bool:
    """Return whether a table is in memory."""
    return isinstance(table.read, partial) and table.read.func is _held


def _held(table: Any, columns: Sequence[str], at_once: int | None) -> Iterator[Any]:
    few = at_once and max(at_once, FEW_ROWS)
    return iter(table.select(list(columns)).to_batches(max_chunksize=few))


def derived(table: Table, derived_columns: Mapping[str, Sequence[Derived]]) -> Table:
    """Return a table with derived columns in place of their sources."""
    fields: list[Any] = []
    for stored in table.schema:
        new = derived_columns.get(stored.name)
        fields += [stored] if new is None else [pa.field(column.name, column.type) for column in new]
    makers = {column.name: (name, column.make) for name, new in derived_columns.items() for column in new}
    schema = pa.schema(fields, names_alone(table.schema.metadata))
    return replace(table, schema=schema, read=partial(_made, table, makers))


def _made(
    table: Table,
    makers: Mapping[str, tuple[str, Callable[[Any, Row], Any]]],
    columns: Sequence[str],
    at_once: int | None,
) -> Iterator[Any]:
    stored = list(dict.fromkeys(makers[name][0] if name in makers else name for name in columns))
    at = 0
    for batch in table.read(stored, at_once):
        row = partial(_row_from, table.place, at)
        arrays = [
            makers[name][1](batch.column(makers[name][0]), row) if name in makers else batch.column(name)
            for name in columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns)) if columns else batch
        at += batch.num_rows


def _row_from(place: Place, start: int, row: int) -> str:
    return place.row(start + row)


def beside(table: Table, values: Mapping[str, Any]) -> Table:
    """Return a table with further columns: a text for all rows, or a pyarrow.ChunkedArray."""
    fields = [
        *table.schema,
        *(pa.field(name, pa.string() if isinstance(it, str) else it.type) for name, it in values.items()),
    ]
    schema = pa.schema(fields, names_alone(table.schema.metadata))
    same = {name: it for name, it in values.items() if isinstance(it, str)}
    text = None if table.text is None else beside(table.text, same)
    return replace(table, schema=schema, read=partial(_beside, table, values), text=text)


def _beside(
    table: Table, values: Mapping[str, Any], columns: Sequence[str], at_once: int | None
) -> Iterator[Any]:
    stored, at = [name for name in columns if name not in values], 0
    for batch in table.read(stored or table.schema.names[:1], at_once):
        arrays = [
            _rows_from(values[name], at, batch.num_rows) if name in values else batch.column(name)
            for name in columns
        ]
        at += batch.num_rows
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _rows_from(values: Any, start: int, rows: int) -> Any:
    return pa.repeat(values, rows) if isinstance(values, str) else values.slice(start, rows).combine_chunks()


def kept(table: Table, mask: NDArray[np.bool_]) -> Table:
    """Return some of the (N,) rows of a table."""
    text = None if table.text is None else kept(table.text, mask)
    return replace(table, place=KeptPlace.of(table.place, mask), read=partial(_some, table, mask), text=text)


def _some(
    table: Table, mask: NDArray[np.bool_], columns: Sequence[str], at_once: int | None
) -> Iterator[Any]:
    at = 0
    for batch in table.read(columns, at_once):
        selected = mask[at : at + batch.num_rows]
        at += batch.num_rows
        yield batch if selected.all() else batch.filter(pa.array(selected))


def written(table: Table, names: Sequence[str]) -> Table:
    """Return a table of text with these columns as written, and others with inferred types."""
    text, texts = table.text, {*names}
    assert text is not None
    fields = [text.schema.field(field.name) if field.name in texts else field for field in table.schema]
    read = partial(_as_written, text, table, texts)
    return replace(table, schema=pa.schema(fields, table.schema.metadata), read=read)


def _as_written(
    text: Table, table: Table, own_text: Set[str], columns: Sequence[str], at_once: int | None
) -> Iterator[Any]:
    plain = [column for column in columns if column in own_text]
    seen = [column for column in columns if column not in own_text]
    if not plain or not seen:
        yield from (text if plain else table).read(columns, at_once)
        return
    for raw, batch in zip(text.read(plain, at_once), table.read(seen, at_once), strict=True):
        arrays = dict(zip([*plain, *seen], [*raw.columns, *batch.columns], strict=True))
        yield pa.RecordBatch.from_arrays([arrays[name] for name in columns], names=list(columns))


def joined(tables: Sequence[Table]) -> Table:
    """Join tables row-wise.

    Raises
    ------
    InputError
        If their columns differ, or the types of columns do not fit together.
    """
    table = tables[0]
    if len(tables) == 1:
        return table
    for part in tables:
        refuse_duplicates(part.schema.names, part.place.name)
        different = set(table.schema.names) ^ set(part.schema.names)
        if different:
            raise InputError(
                f"{part.place.name} and {table.place.name} do not have the same columns: "
                f"{listed(sorted(different))} in one only; {ALIKE}"
            )
    tables = _with_text_alike(tables)
    try:
        schema = pa.schema(
            [_number_of_all(field, tables) for field in joined_schema([part.schema for part in tables])],
            joined_metadata([(part.place.name, part.schema) for part in tables]),
        )
    except pa.ArrowException as error:
        raise InputError(
            f"{table.place.name} and the {len(tables) - 1} files joined to it have columns of different "
            f"types: {' '.join(str(error).split())}; {ALIKE}"
        ) from error
    texts = [part.text or _spelled(part) for part in tables] if any(part.text for part in tables) else []
    return replace(_joined(tables, schema), text=_joined_texts(texts) if texts else None)


def _number_of_all(field: Any, tables: Sequence[Table]) -> Any:
    """Return a field of several tables; decimals and other numbers have no common precision."""
    kinds = {decoded(part.schema.field(field.name).type) for part in tables}
    return field.with_type(pa.float64()) if len(kinds) > 1 and any(map(pa.types.is_decimal, kinds)) else field


def _joined(tables: Sequence[Table], schema: Any) -> Table:
    place = Place(tuple(entry for part in tables for entry in part.place.parts))
    return replace(tables[0], place=place, schema=schema, read=partial(_each, tables, schema, place.name))


def _each(
    tables: Sequence[Table], schema: Any, name: str, columns: Sequence[str], at_once: int | None
) -> Iterator[Any]:
    for part in tables:
        yield from aligned_batches(part.read(columns, at_once), schema, name)


def _with_text_alike(tables: Sequence[Table]) -> list[Table]:
    """Return parts as text in columns where others hold text."""
    texts = {field.name for part in tables for field in part.schema if holds_of(field.type) == "text"}
    return [written(part, [c for c in part.columns if c in texts]) if part.text else part for part in tables]


def _spelled(table: Table) -> Table:
    """Return a table with text for its whole numbers."""
    names = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    return derived(table, {name: [Derived(name, pa.string(), _digits)] for name in names})


def _digits(column: Any, row: Row) -> Any:
    return column.cast(pa.string())


def _joined_texts(tabs: Sequence[Table]) -> Table:
    """Return the columns that are text in all parts, one after the other."""
    texts = [{field.name for field in part.schema if pa.types.is_string(field.type)} for part in tabs]
    return _joined(tabs, pa.schema([f for f in tabs[0].schema if f.name in set.intersection(*texts)]))


def refuse_duplicates(names: Sequence[str], name: str) -> None:
    """Raise an InputError if two columns have the same name."""
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if repeated:
        headings = ", and keep one line of headings" if len(set(names)) == 1 < len(names) else ""
        raise InputError(
            f"{name} has more than one column named {listed(repeated)}; rename all but one{headings}"
        )


def decoded(kind: Any) -> Any:
    """Return the type of the values, whether they are stored as a dictionary or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_list(kind: Any) -> bool:
    """Return whether values of an Arrow type are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def holds_of(kind: Any) -> Holds:
    """Return the words for values of an Arrow type."""
    types = pa.types
    if types.is_dictionary(kind):
        return holds_of(kind.value_type)
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "float"
    if types.is_integer(kind) or types.is_boolean(kind):
        return "integer"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if is_list(kind) or types.is_fixed_size_list(kind):
        return "list"
    return "other"


def numbers(batch: Any, by_row: bool) -> Array:
    """Return the (n, columns) numbers of a record batch, null as nan; booleans and decimals become float64.

    An Arrow tensor is made faster than a numpy array for each column, and does not import pandas.
    """
    if not all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in batch.schema.types):
        batch = pa.RecordBatch.from_arrays(list(map(_widened, batch.columns)), names=batch.schema.names)
        doubles = pa.schema([(name, pa.float64()) for name in batch.schema.names])
        batch = batch.cast(doubles, safe=False)  # integers beyond 2**53 are rounded
    missing = any(column.null_count for column in batch.columns)  # only then may integers become floats
    if missing or len(set(batch.schema.types)) > 1:
        batch = pa.RecordBatch.from_arrays(list(map(_widened, batch.columns)), names=batch.schema.names)
    return batch.to_tensor(null_to_nan=missing, row_major=by_row).to_numpy()


def of_numbers(values: Array) -> Any:
    """Return contiguous (n,) numbers as a pyarrow.Array of the same memory.

    pyarrow.array would import pandas, which takes longer than most files do.
    """
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _widened(column: Any) -> Any:
    """Return a column in a type that pyarrow can cast; some versions cannot cast half-floats."""
    if column.type != pa.float16():
        return column
    values = column.to_numpy(zero_copy_only=False).astype(np.float32)
    return pa.array(values, mask=column.is_null().to_numpy(zero_copy_only=False))


def aligned(values: Any, kind: Any) -> Any:
    """Return an array in another type, with fields of structs by name; missing fields are null."""
    if values.type == kind:
        return values
    if pa.types.is_struct(values.type) and pa.types.is_struct(kind):
        names = {field.name for field in values.type}
        arrays = [
            aligned(values.field(field.name), field.type)
            if field.name in names
            else pa.nulls(len(values), field.type)
            for field in kind
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=values.is_null())
    if any(is_of(values.type) and is_of(kind) for is_of in (pa.types.is_list, pa.types.is_large_list)):
        inner = aligned(values.values, kind.value_type)
        return pa.Array.from_buffers(
            kind, len(values), values.buffers()[:2], values.null_count, values.offset, [inner]
        )
    return values.cast(kind, safe=False)  # a type of all parts can hold all values, except large integers


def of_joined_type(values: Any, kind: Any, name: str, column: str, cast: Any = pa.Array.cast) -> Any:
    """Return an array of a part in the type of all parts.

    Raises
    ------
    InputError
        If this type cannot hold a value; `name` is the name of the data set.
    """
    try:
        return cast(values, kind)
    except pa.ArrowException as error:
        raise InputError(
            f"{name}: the column {column} is {values.type} in one part, with values that {kind}, the type "
            "of all parts together, cannot hold; save all parts with one type"
        ) from error


def aligned_table(table: Any, schema: Any) -> Any:
    """Return a table with the columns of a schema, null where it has none."""
    columns = [
        pa.chunked_array([aligned(part, field.type) for part in table.column(field.name).chunks], field.type)
        if field.name in table.schema.names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def joined_schema(schemas: Sequence[Any]) -> Any:
    """Return the schema of parts together: dictionaries hold the entries of all parts, or become plain.

    Raises
    ------
    pyarrow.ArrowException
        If no single type can hold the types of a column.
    """
    fields = {(field.name, field.type) for schema in schemas for field in schema}
    unlike = {name for name, times in Counter(name for name, _ in fields).items() if times > 1}
    plain = [
        pa.schema(
            [field.with_type(decoded(field.type)) if field.name in unlike else field for field in schema],
            schema.metadata,
        )
        for schema in schemas
    ]
    return pa.unify_schemas(plain, promote_options="permissive")


def aligned_batches(batches: Iterable[Any], schema: Any, name: str) -> Iterator[Any]:
    """Yield batches of a part with nested columns of the fields of all parts, in one order, and plain text.

    Raises
    ------
    InputError
        If a column cannot have the type in the schema; `name` is the name of the data set.
    """
    for batch in batches:
        for place, column in enumerate(batch.schema.names):
            kind, stored = schema.field(column).type, batch.column(place).type
            if stored != kind and (kind.num_fields or pa.types.is_dictionary(stored)):
                values = of_joined_type(batch.column(place), kind, name, column, aligned)
                batch = batch.set_column(place, column, values)
        yield batch


def joined_batch(batches: Sequence[Any], schema: Any) -> Any:
    """Return batches as one, with columns of the types in a schema."""
    columns = []
    for column in batches[0].schema:
        kind = schema.field(column.name).type
        chunks = [batch.column(column.name) for batch in batches]
        columns.append(pa.concat_arrays([aligned(part, kind) for part in chunks]))
    return pa.RecordBatch.from_arrays(columns, names=batches[0].schema.names)
