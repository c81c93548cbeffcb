"""Evaluations of slices beside that of all rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import Slice, counted, select, select_each, slice_numbers
from calcli.core.estimators.chance import slice_p_value
from calcli.core.estimators.consistency import enough_draws, holm, with_holm
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import Estimate, Evaluation, Summary
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings
from calcli.core.state.state import Remains, State, left_of


def evaluate_slices(
    predictions: Predictions, column: str, whole: Summary, companions: Companions | None = None
) -> Iterator[tuple[Slice, Evaluation]]:
    """Evaluate the rows of every value of a column like the whole.

    Calibration losses, which need fits of their own, are computed only if the settings name them.

    Parameters
    ----------
    predictions
        All rows.
    column
        One of their columns.
    whole
        What was found out about all rows. Its settings count for the slices; many of them take more draws, so
        that their p-values can be corrected for their number.
    companions
        Predictions that some metrics need beside all rows.

    Raises
    ------
    InputError
        If there is no such column, it has too many values, or a slice cannot be evaluated.
    """
    settings = whole.settings
    if isinstance(predictions, Remains):
        yield from _of_state(predictions, predictions.state, column, settings)
        return
    if not settings.metrics:
        calls = [estimate.call for estimate in whole.estimates.values()]
        usual = tuple(call.asked for call in calls if not call.entry.family.fits)
        settings = replace(settings, metrics=usual)
    companions = (companions or Companions()).counted(predictions)
    predictions, posteriors = counted(predictions), companions.posteriors
    slices, numbers = slice_numbers(predictions, column)
    if settings.draws:
        settings = replace(settings, draws=max(settings.draws, enough_draws(len(slices))))
    for number, rows in enumerate(select_each(predictions, numbers)):
        own = None if posteriors is None else select(posteriors, numbers == number)
        beside = replace(companions, posteriors=own)
        try:
            evaluation = evaluate(rows, settings, companions=beside)
        except InputError as fault:
            raise InputError(f"slice {slices[number]}: {fault}") from fault
        yield slices[number], evaluation


def _of_state(
    predictions: Predictions, state: State, column: str, settings: Settings
) -> Iterator[tuple[Slice, Evaluation]]:
    """Evaluate what is left of the rows of every value of a column."""
    path = predictions.provenance.path
    if column not in state.slices:
        has = ", ".join(state.slices) or "none"
        raise UsageError(
            f"--by {column}: {path} is a state, made without slices by it; it has {has}; make one from the "
            f"predictions with --by {column} --save-state"
        )
    parts = state.slices[column]
    if settings.draws:
        settings = replace(settings, draws=max(settings.draws, enough_draws(len(parts))))
    for value, own in parts.items():
        asked = replace(settings, metrics=settings.metrics or own.head.metrics)
        yield Slice(column, value), evaluate(left_of(own, path), asked)


def slices_of(
    predictions: Predictions, columns: Iterable[str], whole: Summary, companions: Companions | None = None
) -> dict[str, tuple[Summary, ...]]:
    """Return what is found out about every value of columns, by column; see `evaluate_slices`."""
    return {
        column: tuple(
            replace(own.summary, slice=part)
            for part, own in evaluate_slices(predictions, column, whole, companions)
        )
        for column in columns
    }


def slice_p_values(pairs: Iterable[tuple[Estimate, Estimate, float]]) -> list[float]:
    """Return p-values of slices that are like all rows, corrected for their number (Holm).

    Parameters
    ----------
    pairs
        The estimate of a slice, that of all rows, and the share of the rows in the slice.

    Returns
    -------
    In [0, 1]; nan for those without intervals, which cannot be judged and do not count. The interval of a
    calibration error is wider than its spread, and does not count either.
    """
    found = np.array(
        [
            math.nan
            if whole.call.entry.family.beside_null
            else slice_p_value(part.value, part.interval, whole.value, whole.interval, share)
            for part, whole, share in pairs
        ]
    )
    judged = ~np.isnan(found)
    found[judged] = holm(found[judged])
    return found.tolist()


def with_corrected_p(
    parts: Sequence[Mapping[str, Estimate]], enough: Sequence[bool]
) -> list[dict[str, Estimate]]:
    """Correct the p-values of every metric for the number of slices it was tested on (Holm).

    Parameters
    ----------
    parts
        The estimates of each slice, by metric expression.
    enough
        Whether each slice has rows enough to be compared; the others do not count.
    """
    found = [dict(part) for part in parts]
    for name in found[0] if found else ():
        nulls = with_holm([part[name].if_calibrated for part in found], enough)
        for part, null in zip(found, nulls, strict=True):
            part[name] = replace(part[name], if_calibrated=null)
    return found
