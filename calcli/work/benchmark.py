"""Benchmarks: every calibrator side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_methods, parse_metrics
from calcli.core.language.progress import Watcher
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import DEFAULT_METHODS, DEFAULT_METRICS, Task, run, task_of
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.report.benchmark import BenchmarkReport
from calcli.report.summary import short_names


def benchmark_files(
    cal: str | None,
    test: str | None,
    pairs: Sequence[tuple[str, str]],
    options: ReadOptions,
    settings: Settings,
    *,
    folds: int = 0,
    methods: Sequence[str] = (),
    jobs: int | None = None,
    watcher: Watcher | None = None,
) -> BenchmarkReport:
    """Fit every method to some rows, and judge it on others.

    Parameters
    ----------
    cal, test
        Predictions to fit to, and to judge on.
    pairs
        The same of several models.
    options, settings
        How to read them, and what to compute: metrics, or the usual ones, with so many bins, and the seed.
    folds
        Without `test`: folds of a cross-validation.
    methods
        In place of the usual ones.
    jobs
        Processes at once; one per processor if None.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If a file cannot be read.
    UsageError
        If it is not clear what to fit to and what to judge on.
    """
    calls = parse_methods(methods or DEFAULT_METHODS)
    risks = [f"bayes_risk:costs={one.name}" for one in settings.costs]
    measured = parse_metrics(settings.metrics or [*DEFAULT_METRICS, *risks], settings.defaults)
    asked = tuple(call.asked for call in measured)
    settings = replace(settings, metrics=asked, resamples=2000, draws=0)
    tasks = _tasks(cal, test, pairs, folds, options, settings)
    watching = {"watch": watcher("methods", len(tasks) * (len(calls) + 1))} if watcher else {}
    return BenchmarkReport(run(tasks, list(map(str, calls)), settings, jobs, **watching), settings)


def _tasks(
    cal: str | None,
    test: str | None,
    pairs: Sequence[tuple[str, str]],
    folds: int,
    options: ReadOptions,
    settings: Settings,
) -> list[Task]:
    if pairs:
        if cal or test or folds:
            raise UsageError("--pair names both files of a model; leave out --cal, --test and --folds")
        names = short_names([second for _, second in pairs])
        return [
            task_of(name, read(first, options), read(second, options), settings=settings)
            for name, (first, second) in zip(names, pairs, strict=True)
        ]
    if cal is None:
        raise UsageError("there is nothing to fit to; expected --cal FILE --test FILE, or --pair CAL TEST")
    if folds and settings.fold_column is not None:
        raise UsageError("--fold-column says how many folds there are; leave out --folds")
    if (test is None) == (folds == 0 and settings.fold_column is None):
        raise UsageError("expected either --test FILE to judge on, or --folds N to cross-validate --cal")
    if folds == 1:
        raise UsageError("--folds 1 leaves no rows to fit to; expected 2 or more")
    calibration = read(cal, options)
    judged = None if test is None else read(test, options)
    return [task_of(test or cal, calibration, judged, folds, settings)]
