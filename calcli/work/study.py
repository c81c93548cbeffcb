"""Studies of estimators: on simulated data, and by the procedures of the works on a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from calcli.core.language.declaring import checked
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watcher
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import atomic_path
from calcli.io.read import read
from calcli.report.study import ProcedureReport, StudyReport
from calcli.work.evaluate import read_calibration_data
from calcli.works.procedures import NOTES, results
from calcli.works.rows import posteriors_of
from calcli.works.settings import Asked, SystemSettings
from calcli.works.study import study, workers_for
from calcli.works.truth import true_curve


def study_system(
    system: str,
    metrics: Sequence[str],
    rows: Sequence[int],
    series: int,
    parameters: Mapping[str, float],
    seed: int = 0,
    output: Path | None = None,
    workers: int | None = None,
    watcher: Watcher | None = None,
) -> StudyReport:
    """Estimate calibration errors of simulated data sets, and compare them with their true values.

    Parameters
    ----------
    system
        The system.
    metrics
        Calibration errors, as expressions.
    rows, series
        Sizes of the data sets, and the number of sets of each size.
    parameters
        Parameters of the system.
    seed
        Seed of all series.
    output
        A file for the figure; its ending sets the format.
    workers
        Processes that simulate data sets; by default one per core if that is faster.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If the figure cannot be written.
    UsageError
        If a system, a metric or a number is invalid.
    """
    chosen = SystemSettings(**checked(SystemSettings, parameters, "option")).parameters
    watch = watcher("data sets", len(rows) * series) if watcher else None
    processes = workers_for(rows, series, chosen, workers)
    results = tuple(study(system, chosen, metrics, rows, series, seed, watch, processes))
    report = StudyReport(system, results, series)
    if output is not None:
        from calcli.figures.output import save
        from calcli.figures.study import deviations

        with atomic_path(output) as temporary:
            save(deviations(report.found), temporary)
    return report


def study_file(
    procedure: str,
    file: str,
    options: ReadOptions,
    study_options: Asked,
    posteriors: str | None = None,
    calibration_data: str | None = None,
    output: Path | None = None,
) -> ProcedureReport:
    """Apply a procedure of the works to a file.

    Parameters
    ----------
    procedure
        Its name.
    file, options
        Predictions, and how they are read.
    study_options
        Metrics, draws and their seed.
    posteriors
        A file with the true probabilities of the rows.
    calibration_data
        A file with other rows, to train bins on.
    output
        A file for the reliability diagram with the true curve, of posteriors.

    Raises
    ------
    CalcliError
        If a file cannot be read, or does not fit.
    """
    for name, owner, value in (
        ("--posteriors", "posteriors", posteriors),
        ("--output", "posteriors", output),
        ("--calibration-data", "trained-bins", calibration_data),
    ):
        if value is not None and procedure != owner:
            raise UsageError(f"{name} is for {owner}; leave it out")
    if procedure == "posteriors" and posteriors is None:
        raise UsageError(
            "posteriors needs a file with the true probabilities; give it with --posteriors FILE"
        )
    true, calibration = (read_calibration_data(path, options) for path in (posteriors, calibration_data))
    predictions = read(file, options)
    rows = results(procedure, predictions, replace(study_options, posteriors=true, calibration=calibration))
    if output is not None and true is not None:
        from calcli.figures.drawing import View
        from calcli.figures.output import save
        from calcli.figures.study import with_true_curve
        from calcli.work.plot import plot

        lens = parse_metrics(study_options.metrics or ("ece",))[0].lens
        probs = posteriors_of(true, predictions)
        drawing = plot(predictions, figure="reliability", view=View(lens))
        curve = true_curve(predictions, probs, lens, "all", Settings())
        with atomic_path(output) as temporary:
            save(with_true_curve(drawing, *curve), temporary)
    return ProcedureReport(procedure, file, rows, NOTES[procedure])
