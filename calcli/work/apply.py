"""Applying calibrators to files of scores."""

from __future__ import annotations

import numpy as np

from calcli.core.calibrators.record import CalibratorRecord, prior_shift
from calcli.core.data.arrays import Floats
from calcli.core.data.predictions import Kind
from calcli.core.estimators.costs import CostMatrix
from calcli.core.language.errors import UsageError, naming
from calcli.core.language.progress import Watcher, unwatched
from calcli.io.apply import Wanted, Written, recalibrate_file, recalibrate_folder
from calcli.io.calibrators import load_calibrator
from calcli.io.costs import read_costs, read_priors
from calcli.io.options import ReadOptions
from calcli.io.remote import path_of


def apply_file(
    calibrator: str,
    file: str,
    output: str,
    options: ReadOptions,
    *,
    kind: Kind = "probs",
    priors: str | None = None,
    decide: str | None = None,
    watcher: Watcher = unwatched,
) -> Written:
    """Write a file, or a folder of parts, with the recalibrated scores of another.

    Parameters
    ----------
    calibrator
        A file that `fit` wrote.
    file, output
        Scores, and where to write; `-` is standard input or output.
    options
        How to read the scores.
    kind
        What to write them as.
    priors
        Class priors to move to, as text; None for those of the fit.
    decide
        Costs by word or file, of the decisions that are written as well.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If a file is damaged or cannot be written, or the scores do not fit the calibrator.
    UsageError
        If the priors or the costs make no sense.
    """
    record = load_calibrator(calibrator)
    shift = costs = None
    frequencies = np.asarray(record.priors)
    if priors is not None:
        with naming("--shift-to-priors"):
            new = read_priors(priors)
            shift, frequencies = prior_shift(record, new), new.of(record.classes)
    if decide is not None:
        with naming("--decide"):
            costs = _costs(decide, record, frequencies)
    recalibrated = recalibrate_folder if path_of(file).is_dir() else recalibrate_file
    return recalibrated(record, file, output, options, Wanted(kind, shift, costs), watcher)


def _costs(text: str, record: CalibratorRecord, frequencies: Floats) -> CostMatrix:
    (costs,) = read_costs((text,))
    if not len(frequencies):
        if text == "balanced":
            raise UsageError("balanced needs the class frequencies of the fit; save the calibrator with them")
        frequencies = np.full(len(record.classes), 1 / len(record.classes))
    return costs.matrix(record.classes, frequencies)
