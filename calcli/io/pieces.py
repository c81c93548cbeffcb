"""Large Parquet files in pieces, a few row groups each, to be read by as many processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from calcli.core.data.predictions import Predictions
from calcli.io.formats import BY_NAME, known_format
from calcli.io.options import ReadOptions
from calcli.io.read import read, understand
from calcli.io.remote import path_of

FEW_FILES = 16  # up to which files are looked into
PIECE_ROWS = 1 << 20
PIECE_BYTES = 1 << 27  # decoded


@dataclass(frozen=True)
class Piece:
    """Some row groups of a Parquet file.

    Attributes
    ----------
    path
        The file.
    first, last
        The numbers of the first of them, and of the last.
    """

    path: str
    first: int
    last: int

    def __str__(self) -> str:
        if self.first == self.last:
            return f"{self.path} (row group {self.first})"
        return f"{self.path} (row groups {self.first} to {self.last})"


Part = str | Piece


def in_pieces(files: Sequence[str]) -> list[Part]:
    """Return files, those of Parquet that are large in pieces; which depends on the files alone."""
    if len(files) > FEW_FILES:
        return [*files]
    return [part for file in files for part in _pieces(file)]


def read_part(part: Part, options: ReadOptions) -> Predictions:
    """Read a file or a piece of one; otherwise as `read`."""
    if isinstance(part, str):
        return read(part, options)
    table = BY_NAME["parquet"].module.open_file(path_of(part.path), part.path)
    chosen = replace(table, groups=range(part.first, part.last + 1), name=str(part))
    return understand(chosen.find(options), str(part), options)


def _pieces(file: str) -> Iterator[Part]:
    path = path_of(file)
    if known_format(path).name != "parquet":
        yield file
        return
    metadata = BY_NAME["parquet"].module.open_file(path, file).metadata
    first, rows, size = 0, 0, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if rows and (rows + group.num_rows > PIECE_ROWS or size + group.total_byte_size > PIECE_BYTES):
            yield Piece(file, first, number - 1)
            first, rows, size = number, 0, 0
        rows, size = rows + group.num_rows, size + group.total_byte_size
    yield file if first == 0 else Piece(file, first, metadata.num_row_groups - 1)
