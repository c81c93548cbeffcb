"""Calibration data: other rows, which recalibrations are fitted to."""

from __future__ import annotations

from dataclasses import replace

from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.results import Evaluation
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.samefiles import same_files


def read_calibration_data(path: str | None, options: ReadOptions) -> Predictions | None:
    """Read calibration data; labels of `.npy` scores are beside them.

    Parameters
    ----------
    path
        Their file; None for none.
    options
        How the evaluated files are read.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if path is None:
        return None
    # other rows, other labels: a file of labels is that of the evaluated rows
    named = None if (options.labels or "").endswith(".npy") else options.labels
    return read(path, replace(options, labels=named, limit=None))


def told_if_same(evaluation: Evaluation, calibration: Predictions | None) -> Evaluation:
    """Return an evaluation that says so if recalibrations are trained on the rows that it judges."""
    trained = any(one.call.arguments.get("training") == "held-out" for one in evaluation.estimates.values())
    if calibration is None or not trained:
        return evaluation
    judged, summary = evaluation.predictions, evaluation.summary
    if calibration is not judged and not same_files(calibration.provenance.files, judged.provenance.files):
        return evaluation
    name = calibration.provenance.path
    note = f"the calibration data, {name}, are the rows that are judged, so the gain is too optimistic"
    told = replace(summary, recalibration_notes=(*summary.recalibration_notes, note))
    return replace(evaluation, summary=told)
