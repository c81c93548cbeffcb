"""Predictions of which a state is left: what they were is known, and their rows are not there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from calcli.core.data.predictions import Kind, Predictions, Provenance
from calcli.core.language.errors import NeedsRows
from calcli.core.state.state import State

ONLY_SUMS = "this needs rows, and a state keeps sums, not rows; use the predictions"


class NoRows:
    """A stand-in for rows, which says that there are none when it is used."""

    def __init__(self, path: str) -> None:
        self.path = path

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NeedsRows(f"{self.path}: {ONLY_SUMS}")

    __len__ = __getitem__ = __iter__ = __array__ = __eq__ = __ne__ = __lt__ = __gt__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse()


@dataclass(frozen=True)
class NoScores:
    """Scores of which nothing is left but what they were."""

    kind: Kind
    kind_reason: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    path: str

    def blocks(self, rows: int) -> NoReturn:
        """Refuse to give rows."""
        raise NeedsRows(f"{self.path}: {ONLY_SUMS}")


@dataclass(frozen=True, eq=False)
class Remains(Predictions):
    """Predictions of which a state is left; labels and weights are there while it has few rows.

    Attributes
    ----------
    state
        What is left.
    """

    has_rows = False
    state: State = field(kw_only=True)


def left_of(state: State, name: str = "a state", *, in_file: bool = False) -> Remains:
    """Return the predictions that a state is of, which is called so or in a file of that name."""
    head, body, missing = state.head, state.body, NoRows(name)
    few = body.deals is None
    labels: Any = body.labels if few else missing
    weights: Any = body.weights if few else missing if head.weighted else None
    shape = (state.n_rows, len(head.classes))
    scores = NoScores(head.kind, head.kind_reason, shape, np.dtype(head.dtype), name)
    parts = len(state.parts)
    read_as = f"a state of {parts} data sets" if parts > 1 else f"a state of {state.parts[0].name}"
    files = (name,) if in_file else ()
    provenance = Provenance(name, head.labels, files, read_as=read_as, percent=head.percent)
    return Remains(scores, labels, head.classes, weights, provenance=provenance, state=state)


def rows_left(predictions: Predictions) -> Predictions:
    """Return predictions; of a state the sample of rows that it keeps, which the provenance then says."""
    if not isinstance(predictions, Remains):
        return predictions
    sample = predictions.state.body.sample
    if sample is None:  # of a slice
        raise NeedsRows(f"{predictions.provenance.path}: {ONLY_SUMS}")
    rows = sample.of(predictions)
    if rows.n_rows == predictions.n_rows:
        return rows
    return replace(rows, provenance=replace(rows.provenance, sampled_from=predictions.n_rows))
