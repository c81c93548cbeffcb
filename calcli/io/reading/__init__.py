"""Reading what is in files: which columns or arrays are what."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.io.arrays import Arrays, joined_arrays
from calcli.io.options import ReadOptions
from calcli.io.source import Contents, Source


def find(parts: Sequence[Contents], options: ReadOptions, *, labelled: bool = True) -> Source:
    """Put files one after the other and find out what their columns or arrays are; rows are read later.

    Parameters
    ----------
    parts
        What is in the files: tables, or arrays.
    options
        What they do not say themselves.
    labelled
        Whether there must be labels; if not, they are a column like the others.

    Raises
    ------
    InputError
        If scores or labels are missing, ambiguous or not numbers, or the files do not go together.
    UsageError
        If an option names what is not there.
    """
    arrays = [part for part in parts if isinstance(part, Arrays)]
    if arrays:
        return joined_arrays(arrays, options, labelled=labelled)
    from calcli.io.reading.reading import find_in_tables  # needs pyarrow

    return find_in_tables(parts, options, labelled=labelled)
