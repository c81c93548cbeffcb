"""Parts of a data set, tables with the same columns, as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.alike import aligned_batches, joined_schema
from calcli.io.columnscores import decoded, holds_of
from calcli.io.layouts.classlabels import joined_metadata
from calcli.io.layouts.roles import refuse_duplicates
from calcli.io.messages import Place, listed
from calcli.io.tables import Table


@dataclass(frozen=True)
class JoinedTable(Table):
    """Several tables with the same columns, one after the other."""

    parts: tuple[Table, ...]
    schema: Any

    @property
    def place(self) -> Place:
        """The files in reading order."""
        return Place(tuple(entry for part in self.parts for entry in part.place.parts))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of each part in turn."""
        for part in self.parts:
            yield from aligned_batches(part.batches(columns), self.schema, self.place.name)

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of a part has numbers that begin with a zero."""
        return any(part.has_codes(name) for part in self.parts)

    def texts(self, name: str) -> Iterator[Any]:
        """Yield a column as it is written in each part in turn."""
        for part in self.parts:
            yield from part.texts(name)

    def slices(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the slices of each part in turn."""
        for part in self.parts:
            yield from aligned_batches(part.slices(columns), self.schema, self.place.name)


def joined_tables(parts: Sequence[Table]) -> Table:
    """Put tables one after the other.

    Raises
    ------
    InputError
        If they do not have the same columns, of types that go together.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts:
        refuse_duplicates(part.schema.names, part.place.name)
        different = set(first.schema.names) ^ set(part.schema.names)
        if different:
            raise InputError(
                f"{part.place.name} and {first.place.name} do not have the same columns: "
                f"{listed(sorted(different))} in one only; parts of one data set must be alike; without "
                "--concat files are evaluated one by one"
            )
    texts = {field.name for part in parts for field in part.schema if holds_of(field.type) == "text"}
    parts = [part.with_texts(texts) for part in parts]
    try:
        schema = joined_schema([part.schema for part in parts])
    except pa.ArrowException as error:
        raise InputError(
            f"{first.place.name} and the {len(parts) - 1} files joined to it have columns of different "
            f"types: {' '.join(str(error).split())}; parts of one data set must be alike"
        ) from error
    said = joined_metadata([(part.place.name, part.schema) for part in parts])
    return JoinedTable(tuple(parts), pa.schema([_joined(field, parts) for field in schema], said))


def _joined(field: Any, parts: Sequence[Table]) -> Any:
    """Return a field of several tables; decimals and what else are numbers of no common precision."""
    kinds = {part.schema.field(field.name).type for part in parts}
    return field.with_type(pa.float64()) if len(kinds) > 1 and any(map(_is_decimal, kinds)) else field


def _is_decimal(kind: Any) -> bool:
    return bool(pa.types.is_decimal(decoded(kind)))
