"""Reading predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import documented
from calcli.io.options import ReadOptions, read_options
from calcli.io.read import read as read_file


@documented(ReadOptions)
def read(path: str | Path, **options: Any) -> Predictions:
    """Read a file of predictions, a folder of parts, or standard input as `-`.

    Parameters
    ----------
    path : str or Path
        Where they are.
    {ReadOptions}

    Returns
    -------
    Predictions
        (N, K) scores with their kind, (N,) labels, class names, weights and the other columns.

    Raises
    ------
    InputError
        If it is missing, damaged or not understood.
    UsageError
        If an option is unknown or does not fit it.
    """
    return read_file(path, read_options(options))
