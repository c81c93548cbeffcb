"""States of predictions for given metrics: a few rows are kept, more are summed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.derived import counted, select_each, slice_numbers
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.evaluate import needs_of_report, needs_rows, require_mergeable
from calcli.core.evaluating.sections import SECTIONS
from calcli.core.evaluating.usual import default_metrics
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.core.state.collect import RowKeys, collect
from calcli.core.state.merging import as_slice, merged
from calcli.core.state.needs import Sampled
from calcli.core.state.state import State, predictions_of


def state_of(
    predictions: Predictions,
    settings: Settings | None = None,
    watch: Watch | None = None,
    key: str | None = None,
    by: Sequence[str] = (),
) -> State:
    """Return the state of predictions, for the metrics in the settings or the default report.

    Rows are identified by number, or by a column `key`. A few rows are kept unchanged. For more, a state of
    every value of the columns `by` is included, for metrics from sums, and the computation is in double
    precision unless the scores are stored in single precision or less, or the settings say otherwise: the
    number of rows does not matter, and states can be merged.

    Raises
    ------
    InputError
        If there is no such column, or rows share a key.
    UsageError
        If the settings ask for something that states cannot hold.
    """
    settings = settings or Settings()
    require_mergeable(settings)
    predictions.require_named_class()
    predictions.require_probabilities()
    rows = counted(predictions)
    return _state(rows, settings, RowKeys(rows, key, merging=True), by, watch)


def _state(
    rows: Predictions,
    settings: Settings,
    keys: RowKeys,
    by: Sequence[str] = (),
    watch: Watch | None = None,
    *,
    sampled: bool = True,
    summed: bool = False,
) -> State:
    """Return the state of rows; `summed` sums even a few rows."""
    metrics = parse_metrics(settings.metrics or default_metrics(rows, settings)[0], settings.defaults)
    summable = [metric for metric in metrics if not needs_rows(metric, rows, settings)]
    if by and not summable:
        raise UsageError(
            f"a state keeps only sums of slices (--by), and {', '.join(metric.text for metric in metrics)} "
            "need rows; ask for another metric as well, such as log_loss"
        )
    needs = [*needs_of_report(rows, settings, summable, SECTIONS), *([Sampled()] if sampled else [])]
    state = collect(rows, settings, needs, watch, keys=keys, by=by, summed=summed)
    settings = replace(settings, metrics=tuple(metric.text for metric in summable))
    columns = by if state.rows is None else ()
    return replace(state, slices={name: _slices(rows, name, settings, keys) for name in columns})


def _slices(rows: Predictions, column: str, settings: Settings, keys: RowKeys) -> dict[str, State]:
    """Return a state of the rows of every value of a column, numbered like all rows, without a sample."""
    slices, numbers = slice_numbers(rows, column)
    states = {}
    for number, (slice_, part) in enumerate(zip(slices, select_each(rows, numbers), strict=True)):
        part_keys = keys.among(part, np.flatnonzero(numbers == number))
        states[slice_.value] = as_slice(_state(part, settings, part_keys, sampled=False), str(slice_))
    return states


def summed(state: State) -> State:
    """Return a state of sums, even for a few rows."""
    if state.rows is None:
        return state
    rows, head = predictions_of(state), state.head
    keys, keyed = RowKeys(rows, head.key or None, state.rows.ids), bool(state.parts[0].digest)
    return replace(_state(rows, head.settings, keys, head.by, sampled=keyed, summed=True), parts=state.parts)


def merge(states: Iterable[State]) -> State:
    """Return the state of all rows, in any order of the parts; see `merged`."""
    return merged(states, summed)
