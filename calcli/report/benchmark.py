"""Benchmarks as shown."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from calcli.core.comparing.comparison import relative_change
from calcli.core.language.metrics import METRICS
from calcli.core.language.schemas import Fields
from calcli.core.language.settings import Settings
from calcli.core.language.text import counted, number, plus_minus, relative, some
from calcli.core.recalibrating.benchmark import UNCALIBRATED, Trial, by_model, cost, like_best, mean_ranks
from calcli.report.estimates import NONE, superlative
from calcli.report.reading import reading_sentences, reading_table, warnings_table
from calcli.report.shown import Column, Headline, Mark, Shown, TextTable


class FileObject(TypedDict):
    """A file and how it was read."""

    path: str
    reading: list[str]


class TrialObject(TypedDict):
    """Keys beside a trial."""

    fault: str | None
    relative_change: dict[str, float]


class BenchmarkObject(TypedDict):
    """A report of `calcli benchmark`."""

    input: list[FileObject]
    settings: Annotated[Any, Fields(Settings, ("workers",))]
    trials: list[Annotated[Any, Fields(Trial, ("influences",), (TrialObject,))]]
    like_best: dict[str, dict[str, list[str]]]
    mean_ranks: dict[str, dict[str, float]]
    warnings: list[str]


EMPHASIS = "The best is bold or has a *, the second best is underlined or has a +."
ALIKE = "~: not significantly worse than the best (paired, Holm's correction); only scores are tested."
RELATIVE = (
    "Relative to the uncalibrated scores; not meaningful for metrics that are best at 0 from both sides."
)
TIMES = "fit, apply: CPU seconds."
SEEDS = "Means over {}, ± their standard deviation."
RANKS = "1 is the best; equal values share a rank."

ORDERED = ("lower", "higher")  # directions of metrics whose relative change means something


@dataclass(frozen=True)
class BenchmarkReport(Shown):
    """Calibrators side by side: one table or, for several models, one table per metric and mean ranks.

    Attributes
    ----------
    trials, settings
        The trials, and their settings.
    read
        Names of the files, and sentences on how each was read.
    warnings
        Warnings, as sentences without their full stop.
    seeds
        Seeds of the folds; values are means over them.
    named
        Whether methods were named, and failures count.
    details
        Whether tables have changes, times, every metric of several models, and how files were read.
    """

    trials: Sequence[Trial]
    settings: Settings
    read: Sequence[tuple[str, Sequence[str]]] = ()
    warnings: Sequence[str] = ()
    seeds: int = 1
    named: bool = False
    details: bool = False

    title = "Benchmark of calibrators"
    schema = "calcli.benchmark/1"

    def tables(self) -> list[TextTable]:
        """Return the best method, the values with the best two marked, and the failures."""
        models = by_model(self.trials)
        headline = self.headline()
        notes = (f"{headline.read}.", *([headline.verdict] if headline.verdict else []))
        tables = [TextTable("", notes=notes)]
        tables.append(self._ranks() if len(models) > 1 else self._values(self.trials))
        failures = tuple(f"{sentence}." for sentence in self.failures())
        tables += [TextTable("Failed", notes=failures)] if failures else []
        tables += warnings_table(self.warnings)
        if not self.details:
            return tables
        values = [self._values(list(tried.values())) for tried in models.values()] if len(models) > 1 else []
        return [*tables, *values, self._changes(len(models) > 1), *reading_table(self.read)]

    def failures(self) -> list[str]:
        """Return the failures and their reasons, in sentences without their full stop."""
        return [f"{trial.model}, {trial.method}: {trial.fault}" for trial in self.trials if trial.fault]

    @property
    def exit_status(self) -> int:
        """The exit status of `calcli benchmark`: 2 if a method that was named failed."""
        return 2 if self.faults() else 0

    def faults(self) -> list[str]:
        """Return the failures of named methods."""
        return self.failures() if self.named else []

    def how_read(self) -> list[str]:
        """Return how the files were read, in sentences."""
        return reading_sentences(self.read)

    def headline(self) -> Headline:
        """Return the trials, and the methods not significantly worse than the best by the first metric."""
        models = by_model(self.trials)
        methods = next(iter(models.values()))
        read = f"{counted(len(methods) - 1, 'method')} on {', '.join(models)}"
        metric = self.settings.metrics[0]
        if all(trial.fault for trial in self.trials):
            return Headline(read)
        if len(models) > 1:
            ranks = mean_ranks(self.trials, metric)
            least = min(ranks.values())
            best = " and ".join(method for method, rank in ranks.items() if rank == least)
            return Headline(read, f"The best mean rank by {metric}: {best}, {least:.2f}.", systems=())
        best_one, *rivals = sorted(
            (trial for trial in self.trials if not trial.fault), key=lambda trial: _cost(trial, metric)
        )
        goal = superlative(METRICS[metric.partition(":")[0]], metric)
        like_it = like_best(self.trials, metric, self.settings.level)
        names = [rival.method for rival in rivals if rival.method in like_it]
        like = f" Not significantly worse: {some(names)}." if names else ""
        if names and len(names) == len(rivals):
            like = " None of the others is significantly worse."
        return Headline(
            read, f"The {goal}: {best_one.method}, {number(best_one.values[metric])}.{like}", systems=()
        )

    def data(self) -> BenchmarkObject:
        """Return trials, the methods as good as the best of each model, and mean ranks."""
        trials, settings = self.trials, self.settings
        return {
            "input": [{"path": path, "reading": list(reading)} for path, reading in self.read],
            "settings": settings.recorded,
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
        """Return a row for each recalibrated model, with the relative change of each metric."""
        metrics = self.settings.metrics
        rows = []
        for trial in (trial for trial in self.trials if trial.method != UNCALIBRATED):
            changes = self._relative(trial)
            name = f"{trial.model}, {trial.method}" if several else trial.method
            times = (f"{seconds:.3f}" for seconds in (trial.fit_seconds, trial.apply_seconds))
            rows.append(
                (name, *(relative(changes[key]) if key in changes else NONE for key in metrics), *times)
            )
        notes = [RELATIVE, TIMES]
        columns = (Column("", "left"), *map(Column, (*metrics, "fit", "apply")))
        return TextTable("Change in percent, and time", columns, tuple(rows), tuple(notes))

    def _values(self, trials: Sequence[Trial]) -> TextTable:
        """Return a row for each method of a model and a column for each metric."""
        metrics, level = self.settings.metrics, self.settings.level
        alike = {metric: like_best(trials, metric, level) for metric in metrics}
        rows = [(t.method, *(_cell(t, key, alike[key], trials) for key in metrics)) for t in trials]
        costs = [[_cost(trial, metric) for metric in metrics] for trial in trials]
        tested = any(metric in trial.influences for trial in trials for metric in metrics)
        over = f"{self.seeds} seeds of the folds" if self.seeds > 1 else "the files of a model"
        seeds = [SEEDS.format(over)] if any(trial.deviations for trial in trials) else []
        notes = (EMPHASIS, *([ALIKE] if tested else []), *seeds)
        return _marked(trials[0].model, rows, costs, metrics, notes)

    def _ranks(self) -> TextTable:
        """Return a row for each method and a column for its mean rank by each metric."""
        metrics = self.settings.metrics
        ranks = {metric: mean_ranks(self.trials, metric) for metric in metrics}
        by_method = {method: [ranks[key][method] for key in metrics] for method in ranks[metrics[0]]}
        rows = [(method, *(f"{place:.2f}" for place in places)) for method, places in by_method.items()]
        return _marked(
            "Mean rank over the models", rows, list(by_method.values()), metrics, (EMPHASIS, RANKS)
        )

    def _relative(self, trial: Trial) -> dict[str, float]:
        """Return the relative change of each metric against the uncalibrated scores."""
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


def _marked(
    title: str,
    rows: Sequence[tuple[str, ...]],
    costs: Sequence[Sequence[float]],
    heads: Sequence[str],
    notes: tuple[str, ...],
) -> TextTable:
    """Return a table of methods with the best two of each column marked."""
    marks = {
        (row, column): mark
        for column, of_column in enumerate(zip(*costs, strict=True), 1)
        for row, mark in best_two(of_column).items()
    }
    return TextTable(title, (Column("", "left"), *map(Column, heads)), tuple(rows), notes, marks)


def best_two(costs: Sequence[float]) -> dict[int, Mark]:
    """Return the positions of the least and second least finite costs; equal costs share their mark."""
    distinct = sorted({value for value in costs if math.isfinite(value)})[:2]
    marks: tuple[Mark, Mark] = ("best", "second")
    places: dict[int, Mark] = {}
    for value, mark in zip(distinct, marks, strict=False):
        places |= {place: mark for place, cost in enumerate(costs) if cost == value}
    return places


def _cost(trial: Trial, metric: str) -> float:
    if _direction(metric) == "none":
        return math.nan
    return cost(metric, trial.values.get(metric, math.nan))


def _direction(metric: str) -> str:
    return METRICS[metric.partition(":")[0]].direction


def _cell(trial: Trial, metric: str, alike: Container[str], trials: Sequence[Trial]) -> str:
    if trial.fault:
        return "failed"
    like = "~" if trial.method in alike else ""
    if trial.deviations.get(metric):
        return like + plus_minus(trial.values[metric], trial.deviations[metric])
    peers = (trial.values[metric] for trial in trials if not trial.fault)
    return like + number(trial.values[metric], *peers)
