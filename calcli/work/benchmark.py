"""Benchmarks: every calibrator side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from calcli.core.calibrators.crossvalidation import LabeledScores, rows_of
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import counted
from calcli.core.language.answers import refuse_classes
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_methods, parse_metrics
from calcli.core.language.methods import CHOICE, SETS
from calcli.core.language.metrics import METRICS
from calcli.core.language.progress import Watcher, unwatched
from calcli.core.language.settings import BenchmarkSettings, Settings
from calcli.core.recalibrating.benchmark import (
    DEFAULT_METHODS,
    DEFAULT_METRICS,
    Task,
    run,
    task_of,
    workers_for,
)
from calcli.core.recalibrating.sizes import try_sizes
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.report.benchmark import BenchmarkReport
from calcli.report.sizes import SizesReport
from calcli.report.summary import short_names
from calcli.work.samefiles import same_files
from calcli.work.selection import files_of

REPEATS = 10  # subsets of each size
_SAME = (
    "The methods are fitted to the rows of {test} that they are judged on: the values are too good, and the "
    "best of them may be the one that fits these rows too closely"
)
PRINTED_METRICS = ("ece_l2", "cw_ece_l2")


def benchmark_files(
    cal: str | None,
    test: str | None,
    pairs: Sequence[tuple[str, str]],
    options: ReadOptions,
    settings: Settings,
    trying: BenchmarkSettings,
    watcher: Watcher = unwatched,
) -> BenchmarkReport | SizesReport:
    """Fit every method to some rows, and judge it on others.

    Parameters
    ----------
    cal, test
        Predictions to fit to, and to judge on.
    pairs
        The same of several models.
    options, settings
        How to read them, and what to compute: metrics, or the usual ones, with so many bins, and the seed.
    trying
        Which methods, and on which rows.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If a file cannot be read.
    UsageError
        If it is not clear what to fit to and what to judge on.
    """
    _refuse_unlike(trying, pairs, settings)
    names = [part for name in trying.methods or DEFAULT_METHODS for part in SETS.get(name, (name,))]
    calls = parse_methods([name for name in names if name != CHOICE.name])
    reading: list[tuple[str, Sequence[str]]] = []
    files_read: dict[str, Sequence[str]] = {}

    def read_told(path: str) -> Predictions:
        predictions = read(path, options)
        reading.append((path, predictions.reading))
        files_read[path] = predictions.provenance.files
        return predictions

    tasks = _tasks(cal, test, pairs, trying.folds, read_told, settings)
    fitted = [*pairs, *([(cal, test)] if cal and test else [])]
    same = [_SAME.format(test=b) for a, b in fitted if same_files(files_read[a], files_read[b])]
    of_answers = any(task.of_answers for task in tasks)
    if of_answers:
        calls = calls if trying.methods else [call for call in calls if not call.entry.needs_classes]
        refuse_classes(calls)
    methods = [*map(str, calls), *([CHOICE.name] if CHOICE.name in names else [])]
    settings = replace(settings, metrics=_metrics(trying, settings, of_answers=of_answers), draws=0)
    tested = [second for _, second in pairs] if pairs else [test or str(cal)]
    others = [_column(text, tested) for text in trying.columns]
    tasks = [
        replace(task, others={name: _other(name, read_told(files[n]), task) for name, files in others})
        for n, task in enumerate(tasks)
    ]
    if trying.sizes:
        repeats = trying.repeats or REPEATS
        watch = watcher("methods", len(trying.sizes) * repeats * (len(methods) + 1))
        found = try_sizes(tasks[0], methods, trying.sizes, repeats, settings, trying.workers, watch)
        return SizesReport(tasks[0].model, found, settings, repeats, reading, same)
    watch = watcher("methods", len(tasks) * (len(methods) + 1))
    heads = [name for name, _ in others]
    trials = run(tasks, [*methods, *heads], settings, trying.workers, watch)
    used = workers_for(tasks, len(methods) + len(heads), trying.workers)
    return BenchmarkReport(trials, settings, trying.as_printed, heads, reading, used, same)


def _refuse_unlike(trying: BenchmarkSettings, pairs: Sequence[tuple[str, str]], settings: Settings) -> None:
    """Raise a UsageError for settings that do not go together."""
    if trying.columns and not trying.as_printed:
        raise UsageError("--column adds a column to the tables of --as-printed; give both")
    if trying.sizes and (pairs or trying.folds or trying.as_printed or settings.fold_column is not None):
        raise UsageError(
            "--sizes is for --cal FILE --test FILE; leave out --folds, --fold-column, --pair and --as-printed"
        )


def _metrics(trying: BenchmarkSettings, settings: Settings, *, of_answers: bool) -> tuple[str, ...]:
    """Return the metrics asked for, or the usual ones that fit and the costs in use."""
    risks = [f"bayes_risk:costs={one.name}" for one in settings.costs]
    usual = [name for name in DEFAULT_METRICS if not (of_answers and METRICS[name].needs_classes)]
    usual = [*(PRINTED_METRICS if trying.as_printed else usual), *risks]
    return tuple(call.asked for call in parse_metrics(settings.metrics or usual, settings.defaults))


def _column(text: str, tested: Sequence[str]) -> tuple[str, list[str]]:
    """Return name and files of a column, one for each of the files judged on.

    Raises
    ------
    UsageError
        If it is not `NAME=GLOB`, or not one file has the folder and name, or the name, of each of them; of
        one model it may have any name.
    """
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise UsageError(f"--column {text}: expected NAME=GLOB, as in CSS='lowest_loss/*.npy'")
    found = files_of(pattern, "--column")
    if len(found) == len(tested) == 1:
        return name, found
    files = []
    for file in tested:
        same = [other for other in found if Path(other).name == Path(file).name]
        if len(same) > 1:
            same = [other for other in same if Path(other).parent.name == Path(file).parent.name]
        if len(same) != 1:
            raise UsageError(f"--column {text}: expected one file called {Path(file).name}, not {len(same)}")
        files += same
    return name, files


def _other(name: str, predictions: Predictions, task: Task) -> LabeledScores:
    """Return the test rows of another model.

    Raises
    ------
    UsageError
        If they are not the rows that the model is judged on.
    """
    rows = rows_of(counted(predictions))
    if predictions.classes != task.classes or not np.array_equal(rows.labels, task.test.labels):
        raise UsageError(
            f"--column {name}: the labels of {predictions.provenance.path} are not those of {task.model}; "
            "expected another model's predictions for the same test rows"
        )
    return rows


def _tasks(
    cal: str | None,
    test: str | None,
    pairs: Sequence[tuple[str, str]],
    folds: int,
    read: Callable[[str], Predictions],
    settings: Settings,
) -> list[Task]:
    if pairs:
        if cal or test or folds:
            raise UsageError("--pair names both files of a model; leave out --cal, --test and --folds")
        names = short_names([second for _, second in pairs])
        return [
            task_of(name, read(first), read(second), settings=settings)
            for name, (first, second) in zip(names, pairs, strict=True)
        ]
    if cal is None:
        raise UsageError("there is nothing to fit to; expected --cal FILE --test FILE, or --pair CAL TEST")
    if (test is None) == (folds == 0 and settings.fold_column is None):
        raise UsageError("expected either --test FILE to judge on, or --folds N to cross-validate --cal")
    if folds == 1:
        raise UsageError("--folds 1 leaves no rows to fit to; expected 2 or more")
    calibration = read(cal)
    judged = None if test is None else read(test)
    return [task_of(test or cal, calibration, judged, folds, settings)]
