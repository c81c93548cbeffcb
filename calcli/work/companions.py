"""Files that are read beside those that are evaluated."""

from __future__ import annotations

from dataclasses import replace

from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.truth import makes_use, require_own_priors
from calcli.core.language.errors import UsageError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.samefiles import same_files


def read_companions(
    calibration_data: str | None,
    posteriors: str | None,
    options: ReadOptions,
) -> Companions:
    """Read the files that are needed beside those that are evaluated.

    Parameters
    ----------
    calibration_data
        Predictions to train recalibrations on; labels of `.npy` scores are beside them.
    posteriors
        True, or calibrated, posteriors of the rows that are evaluated.
    options
        How the evaluated files are read.

    Raises
    ------
    InputError
        If one cannot be read.
    """
    calibration = None
    if calibration_data is not None:
        # other rows, other labels: a file of labels is that of the evaluated rows
        named = None if (options.labels or "").endswith(".npy") else options.labels
        others = replace(options, labels=named, limit=None)
        calibration = read(calibration_data, others)
    return Companions(calibration, None if posteriors is None else read(posteriors, options))


def require_own_rows(evaluation: Evaluation, companions: Companions | None) -> None:
    """Raise a UsageError if metrics make use of posteriors that are not those of the rows."""
    if companions is None or companions.posteriors is None:
        return
    settings = evaluation.settings
    if any(makes_use(found.call, settings) for found in evaluation.estimates.values()):
        require_own_priors(settings)
        if evaluation.posteriors is None:
            path = evaluation.predictions.provenance.path
            raise UsageError(
                f"--posteriors belong to rows, and {path} is a state, which keeps sums; leave them out"
            )


def told_if_same(evaluation: Evaluation, companions: Companions | None) -> Evaluation:
    """Return an evaluation that says so if recalibrations are trained on the rows that it judges."""
    calibration = None if companions is None else companions.calibration
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
