"""Stata, SAS and spreadsheet files, read and written by pandas; value labels become class names."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError, UsageError
from calcli.io.formats.writer import Frame, Writer
from calcli.io.messages import listed
from calcli.io.places.archives import SAID, VALUES, naming_faults, refuse_bomb
from calcli.io.places.faults import arrow_errors, column_of
from calcli.io.places.paths import AnyPath, on_disk
from calcli.io.tables.table import Table, in_memory

WRITTEN = {".dta": None, ".xlsx": "openpyxl", ".ods": "odf"}  # and by which engine
MOST_BYTES = 1 << 29  # in a file; pandas takes several times as much memory
READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".dta": pd.read_stata,
    ".sas7bdat": partial(pd.read_sas, format="sas7bdat", encoding="infer"),
    ".xpt": partial(pd.read_sas, format="xport", encoding="utf-8"),
}


def open_file(path: AnyPath, name: str, sheet: str | None = None) -> Table:
    """Read a file; for a workbook one sheet, by default the first.

    Raises
    ------
    InputError
        If it is damaged or too large, or its library is missing.
    UsageError
        If there is no such sheet.
    """
    ending, local = path.suffix.lower(), on_disk(path)
    if (size := local.stat().st_size) > MOST_BYTES:
        raise InputError(
            f"{name} has {size / 1e9:.1f} GB, and {ending} files are read into memory as a whole; expected "
            f"at most {MOST_BYTES / 1e9:.1f} GB; save it as .parquet"
        )
    fault = f"{name} is not a complete and valid {ending} file: {SAID}"
    with naming_faults(fault), arrow_errors(name, f"{ending} file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = READERS[ending](local) if ending in READERS else _sheet(local, name, sheet)
        return in_memory(name, pa.table({str(head): _column(frame[head]) for head in frame}))


def _sheet(path: Path, name: str, sheet: str | None) -> pd.DataFrame:
    with zipfile.ZipFile(path) as archive:
        sizes = [(entry.file_size, entry.compress_size) for entry in archive.infolist()]
    refuse_bomb(name, *map(sum, zip(*sizes, strict=True)))
    with _installed(name), pd.ExcelFile(path) as book:
        if sheet is not None and sheet not in book.sheet_names:
            raise UsageError(f"--sheet {sheet}: {name} has the sheets {listed(book.sheet_names)}")
        return book.parse(0 if sheet is None else sheet)


@contextmanager
def _installed(name: str) -> Iterator[None]:
    """Turn a missing library into an InputError with the extra to install."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"{name}: spreadsheets need a package that is not installed; pip install 'calcli-eval[excel]'"
        ) from error


def _column(values: pd.Series) -> Any:
    """Return a column as a pyarrow.Array; Python objects of mixed types become text."""
    if values.dtype == object:
        return column_of(values.where(values.notna(), None).tolist())
    return pa.Array.from_pandas(values)


class FrameWriter(Writer):
    """Files that pandas writes as a whole."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._path, self._schema, self._batches = path or Path(), frame.schema(decoded=False), list[Any]()
        if self._path.suffix.lower() not in WRITTEN:
            raise UsageError(
                f"{path}: {self._path.suffix} files are only read; choose .csv or .parquet with -o"
            )

    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Keep rows."""
        self._batches.append(self.frame.batch(kept_columns, scores, self._schema))

    def end(self) -> None:
        """Write all rows."""
        frame = pa.Table.from_batches(self._batches, self._schema).to_pandas()
        ending = self._path.suffix.lower()
        fault = f"{self._path} cannot be written: {SAID}; choose another format with -o"
        with naming_faults(fault, (*VALUES, Warning)), _installed(str(self._path)), warnings.catch_warnings():
            warnings.simplefilter("error")  # for names that Stata does not allow
            if ending == ".dta":
                frame.to_stata(self.sink, write_index=False, version=118)
            else:
                frame.to_excel(self.sink, index=False, engine=WRITTEN[ending])


writer = FrameWriter
