"""Finding the roles of columns or arrays in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calcli.io.formats.npy import with_labels_of_all
from calcli.io.messages import refuse_given
from calcli.io.options import ReadOptions
from calcli.io.reading.archives import find_in_archives
from calcli.io.tables.arrays import Archive
from calcli.io.tables.source import Contents, Source


def find(
    parts: Sequence[Contents], options: ReadOptions, *, labelled: bool = True, classes: Sequence[str] = ()
) -> Source:
    """Join files and find the roles of their columns or arrays; rows are read later.

    Parameters
    ----------
    parts
        The contents of the files: tables, or arrays.
    options
        Options of reading.
    labelled
        Whether labels are required; if not, they are a column like others.
    classes
        Names of the classes, if a calibrator knows them.

    Raises
    ------
    InputError
        If scores or labels are missing, ambiguous or not numbers, or the files do not fit together.
    UsageError
        If an option names a missing column or array.
    """
    arrays = [part for part in parts if isinstance(part, Archive)]
    if arrays:
        refuse_given(options, ["scale"], "divide the array; the option is for columns of tables")
        source = find_in_archives(arrays, options, labelled=labelled)
    else:
        from calcli.io.reading.reading import find_in  # needs pyarrow
        from calcli.io.tables.table import joined

        tables: list[Any] = [*parts]
        source = find_in(joined(tables), options, labelled=labelled, classes=classes)
    return with_labels_of_all(source, options) if labelled and source.labels is None else source
