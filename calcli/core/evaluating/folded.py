"""Calibration losses of two classes from all rows, counted by cells of the log-odds and folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import numbers_of
from calcli.core.estimators.gridded import GridError
from calcli.core.evaluating.families import FAMILIES
from calcli.core.evaluating.families.base import Findings
from calcli.core.evaluating.families.recalibration import Loss, recalibrated
from calcli.core.evaluating.gathering import needs_of
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.recalibrated import Companions, Recalibrations
from calcli.core.evaluating.usual import is_counted, is_sampled
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import AFFINE, AFFINE_MAPS, PAV
from calcli.core.language.settings import Settings
from calcli.core.state.collect import collect
from calcli.core.state.oddscells import Entries, OddsCells

STRAIGHT = (AFFINE, *AFFINE_MAPS, "bias")  # in the log-odds
STEEPEST = {"log_loss": 1.0, "brier": 4.0}  # second derivative by the log-odds, in units of p (1 - p)
MOST_FOLDS = 20  # that there is room for
STEP = 2.0**-15  # between log-odds that stand for nothing but an order
EXACT_ZEROS = "are exactly 0"  # what a note counts, of entries here


def is_told_by_cells(call: MetricExpression, whole: Predictions, settings: Settings) -> bool:
    """Tell whether cells are enough for a metric, and it is known how far they may be off."""
    is_loss = isinstance(call.entry.mathematics, Loss)
    if settings.folds > MOST_FOLDS or not is_loss or call.score not in STEEPEST:
        return False
    if not is_counted(whole, settings):
        return False
    method, training = call.arguments["recalibrator"], call.arguments["training"]
    if method == PAV:  # which cells leave more open; between two fits on them an interval has no middle
        return training == "test" and is_sampled(whole, settings)
    return method in STRAIGHT and training != "held-out"


def of_cells(cells: OddsCells, whole: Measurements, calls: Sequence[MetricExpression]) -> Findings:
    """Return calibration losses from cells, each with what these leave open."""
    found = []
    for isotonic, halvings in ((False, 1), (True, 0)):  # affine maps need fewer
        own = [call for call in calls if isotonic == (call.arguments["recalibrator"] == PAV)]
        if not own:
            continue
        measured = _measured(cells, whole, own, halvings, pooled=isotonic)
        best = _measured(cells, whole, own, halvings, apart=True) if isotonic else None
        entries = cells.entries(halvings)
        errors = {str(call): _error(call, entries, measured, best) for call in own}
        known = Measurements(
            measured.predictions,
            measured.state,
            measured.settings,
            of_rows=whole.predictions.n_rows,
            cell_errors=errors,
            recalibrations=measured.recalibrations,
        )
        found.append(FAMILIES[own[0].entry.family].estimates(own, known, whole.settings))
    joined = Findings.joined(found)
    return replace(joined, notes=tuple(note for note in joined.notes if EXACT_ZEROS not in note))


def _measured(
    cells: OddsCells,
    whole: Measurements,
    calls: Sequence[MetricExpression],
    halvings: int,
    *,
    pooled: bool = False,
    apart: bool = False,
) -> Measurements:
    """Return the losses of cells, and their recalibrations.

    An isotonic fit may not see on which side of a cell the labels lie: it has all rows of one pooled, or, for
    the best that it could do, those of label 0 before those of label 1, apart.
    """
    entries, settings = cells.entries(halvings), replace(whole.settings, precision="auto")
    settings = replace(settings, intervals=False)
    rows = replace(
        whole.predictions,
        scores=_scores(entries.odds),
        labels=entries.labels,
        weights=entries.weight,
        columns={},
    )
    state = collect(rows, settings, [need for call in calls for need in needs_of(call, rows, settings)])
    state = replace(state, head=replace(state.head, weighted=whole.state.head.weighted))
    moved = rows
    if pooled or apart:
        places = (2 * entries.cell + entries.labels) * STEP
        odds = places - places.mean() if apart else cells.entries(halvings, pooled=True).odds
        moved = replace(rows, scores=_scores(odds))
    recalibrations = Recalibrations(
        moved, Companions(), settings.seed, 0.0, None, entries.fold, cells.folds, entries.squares
    )
    return Measurements(rows, state, settings, recalibrations=recalibrations)


def _scores(odds: Doubles) -> ArrayScores:
    return ArrayScores(-np.stack([np.logaddexp(0, odds), np.logaddexp(0, -odds)], axis=1), "log-probs")


def _error(
    call: MetricExpression,
    entries: Entries,
    measured: Measurements,
    best: Measurements | None,
) -> GridError | None:
    """Return how far a loss may be from that of the rows.

    The mean of a loss over the rows of a cell is that at their mean but for the second derivative, of which
    rows at both ends would show most; after an isotonic fit it is between that and the best a fit could do.
    """
    found = recalibrated(call, measured)
    if found is None:
        return None
    loss = found.calibration_loss
    if not np.isfinite([loss.before, loss.after]).all():
        return None
    share, square = entries.weight / entries.weight.sum(), np.square(entries.width) / 8
    bound = float(share @ (square * _bend(call, entries.odds, entries.width)))
    if best is not None:
        least = recalibrated(call, best)
        assert least is not None
        bound += loss.after - least.calibration_loss.after
    else:
        (log_probs,) = found.deals
        moved = log_probs[:, 1] - log_probs[:, 0]
        slope = _slopes(entries, moved)
        bound += float(share @ (square * slope**2 * _bend(call, moved, slope * entries.width)))
    return GridError.of(bound if call.entry.name == "calibration_loss" else bound / loss.before)


def _bend(call: MetricExpression, odds: Doubles, width: Doubles) -> Doubles:
    """Return (n,) bounds of the second derivative of a loss by the log-odds, within a distance of these."""
    return STEEPEST[call.score] * np.exp(np.abs(width) - np.logaddexp(0, odds) - np.logaddexp(0, -odds))


def _slopes(entries: Entries, moved: Doubles) -> Doubles:
    """Return (n,) by how much an affine map stretches the log-odds in the fold of each entry."""
    found = np.zeros(len(moved))
    for fold in numbers_of(entries.fold):
        own = np.flatnonzero((entries.fold == fold) & np.isfinite(entries.odds) & np.isfinite(moved))
        if len(own) and (reach := np.ptp(entries.odds[own])):
            found[entries.fold == fold] = np.ptp(moved[own]) / reach
    return found
