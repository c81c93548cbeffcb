"""Arrays in memory to Predictions, with the same checks and messages as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from calcli.core.data.predictions import Kind, Predictions
from calcli.core.language.errors import InputError
from calcli.io.assemble import Found, LazyColumns, assemble
from calcli.io.labels import labels_from_array
from calcli.io.npy import native, refuse_indicators
from calcli.io.options import ReadOptions
from calcli.io.places import Place
from calcli.io.rawscores import HeldScores, rows_and_columns

NAME = "arrays"


def from_arrays(
    scores: Any,
    labels: Any,
    *,
    kind: Kind | Literal["auto"] = "auto",
    classes: Sequence[str] | None = None,
    positive: str | None = None,
    weights: Any = None,
    columns: Mapping[str, Any] | None = None,
    renormalize: bool = False,
) -> Predictions:
    """Take arrays for predictions.

    Parameters
    ----------
    scores : array-like (N, K), (..., K) or (N,)
        Logits, log-probabilities or probabilities; of two classes also those of the second one only.
    labels : array-like (N,) or (...)
        Integers, or text that matches `classes`.
    kind
        What the scores are.
    classes
        Class names in the order of the scores.
    positive
        For two classes: the class to count as the second one.
    weights : array-like (N,), optional
        Non-negative row weights.
    columns
        Further columns by name, (N,) each.
    renormalize
        Divide rows by their sum even where it is further from one than rounding explains.

    Raises
    ------
    InputError
        If the arrays cannot be predictions.
    UsageError
        If an option does not fit them.
    """
    table, targets = native(np.asarray(scores)), native(np.asarray(labels))
    if table.dtype.kind not in "iufb":
        raise InputError(f"{NAME}: the scores are of type {table.dtype}; expected numbers")
    refuse_indicators(targets, table.shape, NAME)
    shape = rows_and_columns(table.shape, NAME, positive)
    place = Place(((NAME, shape[0]),))
    found = Found(
        place,
        HeldScores(table.reshape(shape)),
        labels_from_array(targets.reshape(-1), place),
        NAME,
        weights=None if weights is None else np.asarray(weights).reshape(-1),
        columns=LazyColumns({name: _given(values) for name, values in (columns or {}).items()}),
    )
    names = None if classes is None else tuple(map(str, classes))
    return assemble(
        found, NAME, ReadOptions(kind=kind, classes=names, positive=positive, renormalize=renormalize)
    )


def _given(values: Any) -> Any:
    return lambda: np.asarray(values)
