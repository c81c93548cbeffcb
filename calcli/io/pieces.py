"""A data set in pieces, files or a few row groups of large Parquet files, to be read by as many processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from calcli.core.data.predictions import Predictions
from calcli.io.dataset import partition_of, parts_of
from calcli.io.formats import BY_NAME, known_format
from calcli.io.options import ReadOptions
from calcli.io.places.paths import path_of
from calcli.io.read import read_places, understand
from calcli.io.reading import find

FEW_FILES = 16  # up to which files are looked into
PIECE_ROWS = 1 << 20
PIECE_BYTES = 1 << 27  # decoded


@dataclass(frozen=True)
class Piece:
    """A file, or some row groups of a Parquet file.

    Attributes
    ----------
    path
        The file.
    folder
        What was given: the folder that it is in, or the file itself.
    groups
        The numbers of the first and of the last row group; None for the file.
    rows
        The numbers of its first row in the data set and of that behind its last; None where a look at its
        file does not tell.
    """

    path: str
    folder: str
    groups: tuple[int, int] | None = None
    rows: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.groups is None:
            return self.path
        first, last = self.groups
        said = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self.path} ({said})"


def in_pieces(given: Sequence[str], options: ReadOptions) -> list[Piece]:
    """Return files and those in folders, of Parquet in pieces if they are large, by the data alone."""
    folders = [(folder, path_of(folder)) for folder in given]
    files = [Piece(str(file), folder) for folder, path in folders for file in parts_of(path, options)]
    if len(files) > FEW_FILES:
        return files
    found, start = [], 0
    for piece in (piece for file in files for piece in _pieces(file)):
        if piece.rows is None:
            return [replace(one, rows=None) for file in files for one in _pieces(file)]
        found.append(replace(piece, rows=(start, start + piece.rows[1])))
        start += piece.rows[1]
    return found


def read_piece(piece: Piece, options: ReadOptions) -> Predictions:
    """Read a piece; otherwise as `read`."""
    path, folder = path_of(piece.path), path_of(piece.folder)
    if piece.groups is None:
        return read_places([(path, folder)], piece.path, options, [piece.path])
    first, last = piece.groups
    table = BY_NAME["parquet"].module.open_file(path, str(piece), range(first, last + 1))
    found = find([table.beside(partition_of(path, folder))], options)
    return understand(found, str(piece), options)


def _pieces(file: Piece) -> Iterator[Piece]:
    path = path_of(file.path)
    if known_format(path).name != "parquet":
        yield file
        return
    metadata = BY_NAME["parquet"].module.metadata_of(path, file.path)
    first, rows, size = 0, 0, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if rows and (rows + group.num_rows > PIECE_ROWS or size + group.total_byte_size > PIECE_BYTES):
            yield replace(file, groups=(first, number - 1), rows=(0, rows))
            first, rows, size = number, 0, 0
        rows, size = rows + group.num_rows, size + group.total_byte_size
    groups = None if first == 0 else (first, metadata.num_row_groups - 1)
    yield replace(file, groups=groups, rows=(0, rows))
