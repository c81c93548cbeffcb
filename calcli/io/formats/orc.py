"""ORC, read by stripe, only the requested columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import orc

from calcli.core.language.errors import InputError
from calcli.io.formats.arrow import BatchWriter
from calcli.io.formats.writer import Frame, Writer
from calcli.io.messages import Place
from calcli.io.places.faults import arrow_errors, readable, sound
from calcli.io.places.paths import AnyPath, on_disk
from calcli.io.tables.table import Table

LEAST_PYARROW = 20  # earlier versions crash on damaged files


def open_file(path: AnyPath, name: str) -> Table:
    """Read the schema of an ORC file.

    Raises
    ------
    InputError
        If it is not one, or is truncated, or pyarrow is too old.
    """
    if int(pa.__version__.partition(".")[0]) < LEAST_PYARROW:
        raise InputError(f"{name}: ORC files need pyarrow {LEAST_PYARROW} or newer; pip install -U pyarrow")
    local = str(on_disk(path))
    with arrow_errors(name, "ORC file"):
        file = orc.ORCFile(local)
        return Table(Place(((name, file.nrows),)), readable(file.schema), partial(_stripes, local, name))


def _stripes(path: str, name: str, columns: Sequence[str], at_once: int | None) -> Iterator[Any]:
    with arrow_errors(name, "ORC file"):
        file = orc.ORCFile(path)
        for stripe in range(file.nstripes):
            yield sound(file.read_stripe(stripe, list(columns))).select(list(columns))


def writer(sink: BinaryIO, frame: Frame, path: AnyPath | None) -> Writer:
    """Return the writer of a file."""
    return BatchWriter(sink, frame, lambda sink, _: orc.ORCWriter(sink), decoded=True)
