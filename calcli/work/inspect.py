"""Inspecting: how are files read?"""

from __future__ import annotations

from collections.abc import Sequence

from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.report.inspection import InspectionReport


def inspect_files(files: Sequence[str], options: ReadOptions) -> InspectionReport:
    """Return how files are read, and what else was considered.

    Raises
    ------
    InputError
        If one cannot be read.
    UsageError
        If an option does not fit.
    """
    return InspectionReport([read(file, options) for file in files])
