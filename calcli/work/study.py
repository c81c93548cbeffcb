"""Studies of estimators on simulated data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from calcli.core.data.simulation import ROWS
from calcli.core.evaluating.study import study, workers_for
from calcli.core.language.declaring import checked
from calcli.core.language.settings import SystemSettings
from calcli.core.language.text import Watcher
from calcli.io.places.outputs import atomic_path
from calcli.report.study import StudyReport


def study_system(
    system: str,
    metrics: Sequence[str],
    *,
    rows: Sequence[int] = (ROWS,),
    series: int = 1000,
    seed: int = 0,
    parameters: Mapping[str, float],
    output: Path | None = None,
    workers: int | None = None,
    watcher: Watcher | None = None,
) -> StudyReport:
    """Estimate calibration errors of simulated data sets, and compare them with their true values.

    Parameters
    ----------
    system, parameters
        What is simulated.
    metrics
        Calibration errors, as expressions.
    rows, series
        Sizes of the data sets, and how many there are of each.
    seed
        Of all of them.
    output
        A file for the figure; its ending says the format.
    workers
        Processes that make the data sets; one per core where that is faster if None.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If the figure cannot be written.
    UsageError
        If a system, a metric or a number makes no sense.
    """
    asked = SystemSettings(**checked(SystemSettings, parameters, "option")).parameters
    watch = watcher("data sets", len(rows) * series) if watcher else None
    used = workers_for(rows, series, asked, workers)
    found = tuple(study(system, asked, metrics, rows, series, seed, watch, used))
    report = StudyReport(system, found, series, used)
    if output is not None:
        from calcli.figures.output import save
        from calcli.figures.study import deviations

        with atomic_path(output) as temporary:
            save(deviations(report.found), temporary)
    return report
