"""Benchmarks as shown."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calcli.core.comparing.selection import relative_change
from calcli.core.language.metrics import METRICS
from calcli.core.language.numbers import counted, number, relative
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.benchmark import UNCALIBRATED, Trial, by_model, cost, like_best, mean_ranks
from calcli.report.objects import BenchmarkObject
from calcli.report.reading import reading_sentences, reading_table, warnings_table
from calcli.report.shown import Column, Headline, Mark, Shown, TextTable
from calcli.report.wording import NONE, superlative

FAILED = "failed"
EMPHASIS = "The best is bold or has a *, the second best is underlined or has a +."
ALIKE = "~: not significantly worse than the best (paired, Holm's correction); only scores are tested."
CHANGE = "Change: accuracy minus that of the uncalibrated scores."
RELATIVE = (
    "Relative to the uncalibrated scores; not meaningful for metrics that are best at 0 from both sides."
)
TIMES = "Times are CPU seconds."
RANKS = "Mean rank: over the models, 1 for the best; equal values share theirs."

ORDERED = ("lower", "higher")  # directions of metrics whose relative change means something
SETTINGS = ("metrics", "bins", "level", "seed", "cluster", "fold_column")


@dataclass(frozen=True)
class BenchmarkReport(Shown):
    """Calibrators side by side: one table, or with several models a table a metric and mean ranks.

    Attributes
    ----------
    trials, settings
        What was tried, and how.
    read
        Names of the files, and what there is to say about how each was read.
    workers
        Processes that tried the methods.
    warnings
        What stands in the way of trusting the values, sentences without their full stop.
    """

    trials: Sequence[Trial]
    settings: Settings
    read: Sequence[tuple[str, Sequence[str]]] = ()
    workers: int = 1
    warnings: Sequence[str] = ()

    title = "Benchmark of calibrators"
    schema = "calcli.benchmark/1"

    def tables(self) -> list[TextTable]:
        """Return the values, the best two marked, and what failed."""
        trials, settings = self.trials, self.settings
        several = len({trial.model for trial in trials}) > 1
        tables = _by_metric(trials, settings) if several else [_of_one(trials, settings)]
        tables.append(self._changes(several))
        failures = tuple(f"{sentence}." for sentence in self.failures())
        failed = [TextTable("Failed", notes=failures)] if failures else []
        return [*reading_table(self.read), *tables, *failed, *warnings_table(self.warnings)]

    def failures(self) -> list[str]:
        """Return what failed and why, in sentences without their full stop."""
        return [f"{trial.model}, {trial.method}: {trial.fault}" for trial in self.trials if trial.fault]

    def reading(self) -> list[str]:
        """Return how the files were read, in sentences."""
        return reading_sentences(self.read)

    def headline(self) -> Headline:
        """Return what was tried, and the methods that cannot be told from the best by the first metric."""
        models = by_model(self.trials)
        methods = next(iter(models.values()))
        read = f"{counted(len(methods), 'method')} on {', '.join(models)}"
        metric = self.settings.metrics[0]
        if len(models) > 1 or all(trial.fault for trial in self.trials):
            return Headline(read)
        best = min((t for t in self.trials if not t.fault), key=lambda trial: _cost(trial, metric))
        what = superlative(METRICS[metric.partition(":")[0]], metric)
        alike = [name for name in like_best(self.trials, metric, self.settings.level) if name != best.method]
        like = f" Not significantly worse: {', '.join(alike)}." if alike else ""
        sentence = f"The {what}: {best.method}, {number(best.values[metric])}.{like}"
        return Headline(read, sentence, systems=())

    def content(self) -> BenchmarkObject:
        """Return trials, the methods like the best of each model, and mean ranks."""
        trials, settings = self.trials, self.settings
        return {
            "input": [{"path": path, "reading": list(reading)} for path, reading in self.read],
            "settings": {key: getattr(settings, key) for key in SETTINGS},
            "trials": [
                {key: value for key, value in vars(trial).items() if key != "influences"}
                | {"fault": trial.fault or None, "relative_change": self._relative(trial)}
                for trial in trials
            ],
            "like_best": {
                model: {
                    metric: sorted(like_best(list(tried.values()), metric, settings.level))
                    for metric in settings.metrics
                }
                for model, tried in by_model(trials).items()
            },
            "mean_ranks": {metric: mean_ranks(trials, metric) for metric in settings.metrics},
            "warnings": list(self.warnings),
        }

    def _changes(self, several: bool) -> TextTable:
        """Return a row for each recalibrated model, and by what share of its value each metric changes."""
        metrics = self.settings.metrics
        rows = []
        for trial in (one for one in self.trials if one.method != UNCALIBRATED):
            found = self._relative(trial)
            name = f"{trial.model}, {trial.method}" if several else trial.method
            rows.append((name, *(relative(found[key]) if key in found else NONE for key in metrics)))
        notes = [RELATIVE]
        if self.workers > 1:
            notes.append(f"The methods were tried by {self.workers} processes (--workers).")
        return TextTable(
            "Change in percent", (Column("", "left"), *map(Column, metrics)), tuple(rows), tuple(notes)
        )

    def _relative(self, trial: Trial) -> dict[str, float]:
        """Return by what share of its value on the uncalibrated scores each metric changes."""
        before = by_model(self.trials)[trial.model][UNCALIBRATED].values
        shared = [metric for metric in trial.values if metric in before and _direction(metric) in ORDERED]
        return {metric: relative_change(before[metric], trial.values[metric]) for metric in shared}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each trial."""
        for trial in self.trials:
            changes = self._relative(trial)
            yield {
                "model": trial.model,
                "method": trial.method,
                **{metric: trial.values.get(metric) for metric in self.settings.metrics},
                **{f"{metric} change": changes.get(metric) for metric in self.settings.metrics},
                "fit_seconds": trial.fit_seconds,
                "apply_seconds": trial.apply_seconds,
                "fault": trial.fault,
            }


def _of_one(trials: Sequence[Trial], settings: Settings) -> TextTable:
    """Return a row for each method and a column for each metric."""
    metrics = settings.metrics
    alike = {metric: like_best(trials, metric, settings.level) for metric in metrics}
    heads = [*metrics, "change", "fit s", "apply s"]
    rows = []
    for trial in trials:
        cells = [_cell(trial, metric, alike[metric], trials) for metric in metrics]
        times = [f"{seconds:.3f}" for seconds in (trial.fit_seconds, trial.apply_seconds)]
        rows.append((trial.method, *cells, _change(trial, trials[0]), *times))
    marks: dict[tuple[int, int], Mark] = {}
    for column, metric in enumerate(metrics, 1):
        costs = [_cost(trial, metric) for trial in trials]
        marks |= {(row, column): mark for row, mark in best_two(costs).items()}
    columns = (Column("", "left"), *map(Column, heads))
    return TextTable(
        trials[0].model, columns, tuple(rows), (EMPHASIS, *_alike_note(trials, metrics), CHANGE, TIMES), marks
    )


def _by_metric(trials: Sequence[Trial], settings: Settings) -> list[TextTable]:
    """Return for each metric a row for each model and a column for each method, and the mean ranks."""
    models = by_model(trials)
    methods = list(next(iter(models.values())))
    tables = []
    for metric in settings.metrics:
        ranks = mean_ranks(trials, metric)
        rows = []
        for model, tried in models.items():
            own = list(tried.values())
            alike = like_best(own, metric, settings.level)
            rows.append((model, *(_cell(trial, metric, alike, own) for trial in own)))
        rows.append(("mean rank", *(f"{ranks[method]:.2f}" for method in methods)))
        lines = [[_cost(trial, metric) for trial in tried.values()] for tried in models.values()]
        lines.append([ranks[method] for method in methods])
        marks = {
            (row, column + 1): mark
            for row, costs in enumerate(lines)
            for column, mark in best_two(costs).items()
        }
        columns = (Column("", "left"), *map(Column, methods))
        tables.append(
            TextTable(metric, columns, tuple(rows), (EMPHASIS, *_alike_note(trials, [metric]), RANKS), marks)
        )
    changes = [
        (model, *(_change(trial, tried[UNCALIBRATED]) for trial in tried.values()))
        for model, tried in models.items()
    ]
    times = [
        (model, *(f"{trial.fit_seconds:.3f}" for trial in tried.values())) for model, tried in models.items()
    ]
    columns = (Column("", "left"), *map(Column, methods))
    tables.append(TextTable("Change in accuracy", columns, tuple(changes), (CHANGE,)))
    return [*tables, TextTable("Time of the fit", columns, tuple(times), (TIMES,))]


def _alike_note(trials: Sequence[Trial], metrics: Sequence[str]) -> tuple[str, ...]:
    return (ALIKE,) if any(metric in trial.influences for trial in trials for metric in metrics) else ()


def best_two(costs: Sequence[float]) -> dict[int, Mark]:
    """Return where the least and the second least of finite costs are; equal ones share their mark."""
    distinct = sorted({value for value in costs if math.isfinite(value)})[:2]
    marks: tuple[Mark, Mark] = ("best", "second")
    places: dict[int, Mark] = {}
    for value, mark in zip(distinct, marks, strict=False):
        places |= {place: mark for place, found in enumerate(costs) if found == value}
    return places


def _cost(trial: Trial, metric: str) -> float:
    if _direction(metric) == "none":
        return math.nan
    return cost(metric, trial.values.get(metric, math.nan))


def _direction(metric: str) -> str:
    return METRICS[metric.partition(":")[0]].direction


def _cell(trial: Trial, metric: str, alike: Container[str], beside: Sequence[Trial]) -> str:
    if trial.fault:
        return FAILED
    others = (one.values[metric] for one in beside if not one.fault)
    return ("~" if trial.method in alike else "") + number(trial.values[metric], *others)


def _change(trial: Trial, uncalibrated: Trial) -> str:
    if trial.method == UNCALIBRATED or trial.fault or uncalibrated.fault:
        return NONE
    return number(trial.values["accuracy"] - uncalibrated.values["accuracy"], sign=True)
