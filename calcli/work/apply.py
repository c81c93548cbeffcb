"""Applying calibrators to files of scores."""

from __future__ import annotations

import os
from collections.abc import Collection

from calcli.core.data.predictions import Kind
from calcli.core.language.errors import UsageError, naming
from calcli.core.language.text import Watcher, unwatched
from calcli.io.apply.apply import Wanted, Written, recalibrate_file, recalibrate_folder, recalibrate_labels
from calcli.io.formats import format_of
from calcli.io.options import ReadOptions
from calcli.io.places.paths import path_of
from calcli.io.saved.calibrators import fingerprint, load_calibrator, load_labels
from calcli.io.saved.policies import is_threshold, load_threshold
from calcli.io.saved.settings import read_costs, read_priors

MARKED = ("parquet", "arrow", "npz")  # formats with metadata


def apply_file(
    calibrator: str | None,
    file: str,
    output: str,
    options: ReadOptions,
    *,
    kind: Kind = "probs",
    priors: str | None = None,
    trained_at: str | None = None,
    decide: str | None = None,
    in_place: bool = False,
    watcher: Watcher = unwatched,
) -> Written:
    """Write a file, or a folder of parts, with the recalibrated scores of another.

    Parameters
    ----------
    calibrator
        A file from `fit` or `threshold`; None to only shift the scores to other class priors.
    file, output
        Scores, and where to write; `-` is standard input or output.
    options
        How to read the scores.
    kind
        The kind of scores to write.
    priors
        Class priors to shift to, as text; None to keep them.
    trained_at
        The priors to shift from, as text, if no calibrator records them.
    decide
        Costs as a word or a file, to write decisions as well.
    in_place
        Whether to overwrite an input that cannot record the applied calibrators.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If a file is damaged or cannot be written, or the scores do not fit the calibrator.
    UsageError
        If the priors or the costs make no sense.
    """
    if calibrator is None and (priors is None or trained_at is None):
        raise UsageError(
            f"{file} without a calibrator: name one before it, or give the class priors in training and in "
            "use with --trained-at and --shift-to-priors"
        )
    records = {} if calibrator is None else load_labels(calibrator)
    if not in_place:
        _refuse_in_place(file, output, () if records else MARKED)
    if records:
        if priors or trained_at or decide or path_of(file).is_dir():
            raise UsageError("the maps of several labels take a file, without priors and decisions")
        return recalibrate_labels(records, file, output, options, kind)
    threshold = None
    if calibrator is not None and is_threshold(path_of(calibrator)):
        threshold = load_threshold(calibrator)
        changes = {
            "--as": kind != "probs",
            "--shift-to-priors": priors,
            "--trained-at": trained_at,
            "--decide": decide,
            "--against-rest": options.against_rest,
        }
        for option, value in changes.items():
            if value:
                raise UsageError(f"a threshold leaves scores as they are; leave out {option}")
    record = None if calibrator is None or threshold else load_calibrator(calibrator)
    with naming("--shift-to-priors"):
        new = None if priors is None else read_priors(priors)
    with naming("--trained-at"):
        old = None if trained_at is None else read_priors(trained_at)
    with naming("--decide"):
        costs = None if decide is None else read_costs((decide,))[0]
    recalibrated = recalibrate_folder if path_of(file).is_dir() else recalibrate_file
    mark = "" if record is None else fingerprint(record)
    wanted = Wanted(kind, new, old, costs, None, threshold, mark)
    return recalibrated(record, file, output, options, wanted, watcher)


def _refuse_in_place(file: str, output: str, marked: Collection[str]) -> None:
    """Raise a UsageError if the input would be overwritten without a record of it in the file."""
    if file == "-" or output == "-" or not (os.path.exists(file) and os.path.exists(output)):
        return
    form = format_of(path_of(file))
    if os.path.samefile(file, output) and (form is None or form.name not in marked):
        reason = f"{form.name} does not keep" if form else "a folder does not tell"
        raise UsageError(
            f"-o {output} is the input, and {reason} that it was recalibrated: applied again, it would be "
            "recalibrated twice; name another file, or say --in-place"
        )
