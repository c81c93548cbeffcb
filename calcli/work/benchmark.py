"""Benchmarks: every calibrator side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_methods, parse_metrics, refuse_classes
from calcli.core.language.methods import CHOICE
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import BenchmarkSettings, Settings
from calcli.core.language.text import Watcher, unwatched
from calcli.core.recalibrating.benchmark import DEFAULT_METHODS, DEFAULT_METRICS, Task, run, task_of
from calcli.io.options import ReadOptions
from calcli.io.places.paths import name_and_path, parts_of_pattern
from calcli.io.read import read
from calcli.report.benchmark import BenchmarkReport
from calcli.report.files import same_files, short_names
from calcli.report.progress import Remark, unsaid
from calcli.work.idle import idle_options

_SAME = (
    "The methods are fitted to the rows of {test} that they are judged on: the values are optimistic, and "
    "the best method may be the one that overfits most"
)


def benchmark_files(
    cal: str | None,
    test: str | None,
    pairs: Sequence[tuple[str, str]],
    options: ReadOptions,
    settings: Settings,
    trying: BenchmarkSettings,
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> BenchmarkReport:
    """Fit every method to some rows, and judge it on others.

    Parameters
    ----------
    cal, test
        Predictions to fit to, and to judge on.
    pairs
        The same for several models.
    options, settings
        How to read them, and what to compute: metrics or the default ones, bins, and the seed.
    trying
        Which methods, and on which rows.
    watcher, remark
        Starts a progress bar, and receives remarks on settings without effect.

    Raises
    ------
    InputError
        If a file cannot be read.
    UsageError
        If it is unclear which rows are for the fit and which for judging.
    """
    settings = replace(settings, fold_column=trying.fold_column)
    for sentence in idle_options(settings):
        remark(sentence)
    if trying.seeds > 1 and not trying.folds:
        raise UsageError("--seeds deals the folds anew; it needs --folds N")
    pairs, names = _files(pairs), trying.methods or DEFAULT_METHODS
    metrics = parse_methods([name for name in names if name != CHOICE.name])
    reading: list[tuple[str, Sequence[str]]] = []
    files_read: dict[str, Sequence[str]] = {}

    def read_with_notes(path: str) -> Predictions:
        predictions = read(path, options)
        reading.append((path, predictions.reading(settings.cluster)))
        files_read[path] = predictions.provenance.files
        return predictions

    tasks = _tasks(cal, test, pairs, trying.folds, read_with_notes, settings)
    fitted = [*pairs, *([(cal, test)] if cal and test else [])]
    same = [_SAME.format(test=b) for a, b in fitted if same_files(files_read[a], files_read[b])]
    of_answers = any(task.of_answers for task in tasks)
    if of_answers:
        metrics = (
            metrics if trying.methods else [metric for metric in metrics if not metric.entry.needs_classes]
        )
        refuse_classes(metrics)
    methods = [*map(str, metrics), *([CHOICE.name] if CHOICE.name in names else [])]
    settings = replace(settings, metrics=_metrics(trying, settings, of_answers=of_answers), draws=0)
    watch = watcher("methods", len(tasks) * (len(methods) + 1))
    trials = run(tasks, methods, settings, trying.workers, watch, trying.seeds)
    return BenchmarkReport(trials, settings, reading, same, trying.seeds, named=bool(trying.methods))


def _metrics(trying: BenchmarkSettings, settings: Settings, *, of_answers: bool) -> tuple[str, ...]:
    """Return the requested metrics, or the default ones that apply, with the costs in use."""
    risks = [f"bayes_risk:costs={cost.name}" for cost in settings.costs]
    usual = [name for name in DEFAULT_METRICS if not (of_answers and METRICS[name].needs_classes)]
    usual = [*usual, *risks]
    return tuple(metric.text for metric in parse_metrics(settings.metrics or usual, settings.defaults))


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
        models = [
            (name_and_path(cal_file)[0] or name_and_path(test_file)[0]) for cal_file, test_file in pairs
        ]
        names = short_names([test_file for _, test_file in pairs])
        return [
            task_of(model or name, read(calibration_file), read(test_file), settings=settings)
            for model, name, (calibration_file, test_file) in zip(models, names, pairs, strict=True)
        ]
    if cal is None:
        raise UsageError("there are no calibration data; expected --cal FILE --test FILE, or --pair CAL TEST")
    if (test is None) == (folds == 0 and settings.fold_column is None):
        raise UsageError("expected either --test FILE to judge on, or --folds N to cross-validate --cal")
    if folds == 1:
        raise UsageError("--folds 1 leaves no rows to fit to; use 2 or more")
    calibration, tested = read(cal), None if test is None else read(test)
    name, path = name_and_path(test or cal)
    return [task_of(name or path, calibration, tested, folds, settings)]


def _files(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of files that match pairs of patterns, in the order of their names.

    Raises
    ------
    UsageError
        If the patterns of a pair do not match equally many files.
    """
    files: list[tuple[str, str]] = []
    for pair in pairs:
        cal, test = map(parts_of_pattern, pair)
        if len(cal) != len(test):
            raise UsageError(
                f"--pair {pair[0]} {pair[1]}: {len(cal)} files and {len(test)}; expected a test file for each"
            )
        files += zip(cal, test, strict=True)
    return files
