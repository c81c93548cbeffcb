"""What is to become of recalibrated rows, and the columns that are written besides their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calcli.core.calibrators.record import CalibratorRecord, both_probabilities
from calcli.core.data.arrays import Floats
from calcli.core.data.predictions import Kind
from calcli.core.estimators.costs import CostMatrix
from calcli.core.language.errors import InputError, UsageError
from calcli.io.formats import Format

DECISION = "decision"
PAIR = ("venn_abers_p0", "venn_abers_p1")  # that no reader takes for the scores of two classes


@dataclass(frozen=True)
class Wanted:
    """What the result is to be.

    Attributes
    ----------
    kind
        What the scores are written as.
    shift
        (K,) logarithms of factors for other class priors, or None.
    costs
        Of the decisions that are written beside them, or None.
    log_probs
        (N, K) what the scores of all rows become; None for what the calibrator makes of them.
    rewrite_prediction
        The column of predicted classes that is written anew, or None.
    pair
        Whether p0 and p1 of a Venn-Abers calibrator are written beside them.
    """

    kind: Kind = "probs"
    shift: Floats | None = None
    costs: CostMatrix | None = None
    log_probs: Floats | None = None
    rewrite_prediction: str | None = None
    pair: bool = False

    @property
    def added(self) -> tuple[str, ...]:
        """Names of the columns that are written besides."""
        return (*((DECISION,) if self.costs is not None else ()), *(PAIR if self.pair else ()))

    def notes(self, record: CalibratorRecord) -> tuple[str, ...]:
        """Return what there is to say of the columns that are written besides."""
        if not self.pair:
            return ()
        return (
            f"{PAIR[0]} and {PAIR[1]} are for {record.classes[1]!r}; they are not the ends of a confidence "
            "interval: one of them is calibrated, nobody knows which",
        )


def with_names(others: Any, names: tuple[str, ...], wanted: Wanted, form: Format, name: str) -> Any:
    """Return the schema of the kept columns with those behind that are written besides."""
    import pyarrow as pa

    for column in wanted.added:
        option, what = ("--decide", "a column of names") if column == DECISION else ("--p0-p1", "columns")
        if form.name in ("npy", "npz", "safetensors"):
            raise UsageError(f"{option} writes {what}; expected a table after -o, not {form.name}")
        if column in (*others.names, *names):
            raise InputError(f"{name} has a column {column!r} already; rename it, or leave out {option}")
        others = others.append(pa.field(column, pa.string() if column == DECISION else pa.float64()))
    return others


def with_added(
    beside: Any, record: CalibratorRecord, scores: tuple[Floats, Kind], log_probs: Floats, wanted: Wanted
) -> Any:
    """Return kept columns with those behind that are written besides; see `with_names`.

    Parameters
    ----------
    beside
        The kept columns of some rows.
    record
        The calibrator.
    scores
        (n, K) scores of these rows before it, and what they are.
    log_probs
        (n, K) log-probabilities behind it.
    wanted
        What is written.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    if wanted.costs is not None:
        decisions = np.array(wanted.costs.decisions)[wanted.costs.best(np.exp(log_probs.T))]
        columns[DECISION] = pa.array(decisions, pa.string())
    if wanted.pair:
        columns |= zip(PAIR, map(pa.array, both_probabilities(record, *scores).T), strict=True)
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    arrays = [*beside.columns, *columns.values()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([*beside.schema, *fields]))
