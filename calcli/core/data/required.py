"""Columns in which every row must have a value."""

from __future__ import annotations

import numpy as np

from calcli.core.data.arrays import missing
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError


def require_clusters(predictions: Predictions, column: str | None) -> None:
    """Raise an InputError if a row of a weight above 0 has no cluster: it may depend on any other, or none.

    Parameters
    ----------
    predictions
        Rows, or what is left of them.
    column
        Whose values are the clusters; None if rows depend on no other.
    """
    if column is not None and predictions.has_rows:
        require_values(
            predictions,
            column,
            "give it a cluster, one of its own if it depends on no other row",
            weighted=True,
        )


def require_folds(predictions: Predictions, column: str | None) -> None:
    """Raise an InputError if a row has no fold in a column, if there is one."""
    if column is not None and predictions.has_rows:
        require_values(predictions, column, "expected the fold of every row")


def require_values(predictions: Predictions, column: str, mend: str, *, weighted: bool = False) -> None:
    """Raise an InputError that names the first row without a value in a column.

    Parameters
    ----------
    predictions, column
        Rows, and the name of their column.
    mend
        A clause on what to do about it.
    weighted
        Whether only rows of a weight above 0 need one.
    """
    gone = missing(np.asarray(predictions.column(column)))
    if weighted and predictions.weights is not None:
        gone = gone[predictions.weights[gone] > 0]
    if len(gone):
        more = f", as have {len(gone) - 1:,} more" if len(gone) > 1 else ""
        where = f"{predictions.provenance.path}: row {predictions.stored_row(int(gone[0]))}"
        raise InputError(f"{where} has no value in column {column!r}{more}; {mend}")
