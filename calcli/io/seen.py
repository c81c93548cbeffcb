"""Tables that are seen otherwise than they are stored: packed columns as plain ones, columns of one value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.columnscores import holds_of
from calcli.io.layouts.classlabels import names_alone
from calcli.io.layouts.names import label_names
from calcli.io.layouts.texts import with_decimal_comma
from calcli.io.layouts.unpacking import Unpacked, unpack_column
from calcli.io.messages import Place, listed
from calcli.io.options import ReadOptions
from calcli.io.tables import ConstantTable, Table

HEAD_ROWS = 256  # by which a packed column is known
LOOKED_AT = 100  # columns, for decimal commas


@dataclass(frozen=True)
class UnpackedTable(Table):
    """A table of which some columns are seen in another form.

    Attributes
    ----------
    table
        As it is stored.
    unpacked
        What its packed columns are seen as.
    """

    table: Table
    unpacked: Mapping[str, Unpacked]

    @property
    def place(self) -> Place:
        """The files."""
        return self.table.place

    @cached_property
    def schema(self) -> Any:
        """Names and types of the columns as they are seen."""
        fields: list[Any] = []
        for field in self.table.schema:
            made = self.unpacked[field.name].made if field.name in self.unpacked else None
            fields += [field] if made is None else [pa.field(one.name, one.type) for one in made]
        return pa.schema(fields, names_alone(self.table.schema.metadata))

    def beside(self, values: Mapping[str, str]) -> Table:
        """Return the table with columns that have one value."""
        new = {name: value for name, value in values.items() if name not in self.schema.names}
        return ConstantTable(self, new) if new else self

    @property
    def packed(self) -> Mapping[str, Unpacked]:
        """How columns came about that are stored in another form."""
        return {one.name: it for it in self.unpacked.values() for one in it.made}

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield batches of the columns as they are seen."""
        yield from self._made(columns, self.table.batches)

    def slices(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield slices of the columns as they are seen."""
        yield from self._made(columns, self.table.slices)

    def _made(self, columns: Sequence[str], read: Callable[[Sequence[str]], Iterator[Any]]) -> Iterator[Any]:
        makers = {one.name: (name, one.make) for name, it in self.unpacked.items() for one in it.made}
        stored = list(dict.fromkeys(makers[name][0] if name in makers else name for name in columns))
        at = 0
        for batch in read(stored):
            row = partial(_row_from, self.place, at)
            made = {
                name: makers[name][1](batch.column(makers[name][0]), row)
                if name in makers
                else batch.column(name)
                for name in columns
            }
            yield pa.RecordBatch.from_arrays(list(made.values()), names=list(made))
            at += batch.num_rows

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of numbers is text that begins with a zero somewhere."""
        return name not in self.packed and self.table.has_codes(name)

    def texts(self, name: str) -> Iterator[Any]:
        """Yield a column as it is written."""
        yield from super().texts(name) if name in self.packed else self.table.texts(name)

    def only(self, names: Collection[str | None]) -> Table:
        """Return the table with these columns as they are seen, and others as they are stored."""
        used = {name: it for name, it in self.unpacked.items() if any(one.name in names for one in it.made)}
        return UnpackedTable(self.table, used) if used else self.table


def unpacked(table: Table, options: ReadOptions) -> Table:
    """Return a table with its packed columns unpacked, where a layout knows them."""
    found = {
        field.name: unpack_column(field, partial(_first, table, field), options) for field in table.schema
    }
    known = {name: one for name, one in found.items() if one is not None}
    return UnpackedTable(table, known) if known else table


def refuse_decimal_commas(table: Table, options: ReadOptions) -> None:
    """Raise an InputError if some of the first columns that may be scores hold numbers such as "0,5"."""
    labels = set(label_names(table.schema.names))
    texts = [one for one in table.schema if holds_of(one.type) == "text" and one.name not in labels]
    found = {
        field.name: with_decimal_comma(field, partial(_first, table, field), options)
        for field in texts[:LOOKED_AT]
    }
    if commas := {name: said for name, said in found.items() if said}:
        raise InputError(
            f"{table.place.name} has numbers with decimal commas in {listed(tuple(commas))}, such as "
            f'"{next(iter(commas.values()))[:60]}"; write decimal points'
        )


def _row_from(place: Place, start: int, row: int) -> str:
    return place.row(start + row)


def _first(table: Table, field: Any) -> Any:
    batch = table.head([field.name], HEAD_ROWS)
    return pa.array([], field.type) if batch is None else batch.column(0)
