"""One table for a paper: a row for each system and a column for each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from statistics import mean, stdev
from typing import Any

from calcli.core.evaluating.results import Estimate
from calcli.core.language.text import plus_minus
from calcli.report.benchmark import best_two
from calcli.report.estimates import NONE, cell, half_width, without_interval
from calcli.report.shown import Column, Mark, TextTable


@dataclass(frozen=True)
class System:
    """One system with the estimates of its file, or of each of its files, such as seeds.

    Attributes
    ----------
    name
        Its name in tables.
    files
        The estimates of each file, by metric.
    """

    name: str
    files: Sequence[Mapping[str, Estimate]]

    def estimates(self, metric: str) -> list[Estimate]:
        """Return the estimate of a metric on each file."""
        return [estimates[metric] for estimates in self.files if metric in estimates]

    def numbers(self, metric: str) -> dict[str, float | None]:
        """Return the value and the ends of its interval; for several files mean and standard deviation."""
        estimates = self.estimates(metric)
        values = [estimate.value for estimate in estimates] or [nan]
        if len(self.files) > 1:
            return {"mean": mean(values), "sd": stdev(values) if len(values) > 1 else None}
        interval = estimates[0].interval if estimates else None
        low, high = (interval.low, interval.high) if interval else (None, None)
        return {"value": values[0], "low": low, "high": high}

    def cell(self, metric: str) -> str:
        """Return the value ± half its interval, or the ends; for several files mean ± standard deviation."""
        estimates = self.estimates(metric)
        if len(estimates) > 1:
            values = [estimate.value for estimate in estimates]
            return plus_minus(mean(values), stdev(values))
        return cell(estimates[0], tested=False) if estimates else NONE

    def record(self, metrics: Sequence[str]) -> dict[str, Any]:
        """Return the name and the numbers of each metric."""
        numbers = {
            metric if key in ("value", "mean") else f"{metric} {key}": value
            for metric in metrics
            for key, value in self.numbers(metric).items()
        }
        return {"system": self.name, "files": len(self.files), **numbers}


def systems_of(names: Sequence[str], estimates: Sequence[Mapping[str, Estimate]]) -> list[System]:
    """Return systems in the order of their first files; files with one name are one system."""
    files: dict[str, list[Mapping[str, Estimate]]] = {}
    for name, of_file in zip(names, estimates, strict=True):
        files.setdefault(name, []).append(of_file)
    return [System(name, of_files) for name, of_files in files.items()]


def systems_table(systems: Sequence[System], title: str, metrics: Sequence[str]) -> TextTable:
    """Return a row for each system and a column for each metric, the best value marked."""
    rows = tuple((system.name, *(system.cell(metric) for metric in metrics)) for system in systems)
    marks: dict[tuple[int, int], Mark] = {}
    for column, metric in enumerate(metrics, 1):
        (entry, *_) = [e.metric.entry for system in systems for e in system.estimates(metric)]
        values = [[estimate.value for estimate in system.estimates(metric)] for system in systems]
        ranked = entry.direction in ("lower", "higher")  # nearer to 1 or 0 by chance is no distinction
        costs = [entry.cost(mean(v)) if v and ranked else nan for v in values]
        marks |= {(row, column): mark for row, mark in best_two(costs).items() if mark == "best"}
    seeds = sorted({len(system.files) for system in systems} - {1})
    single = [e for s in systems if len(s.files) == 1 for metric in metrics for e in s.estimates(metric)]
    notes = [*half_width(single), *without_interval(single)] if single else []
    notes += [f"Of {' or '.join(map(str, seeds))} files: mean ± standard deviation."] if seeds else []
    return TextTable(title, (Column("", "left"), *map(Column, metrics)), rows, tuple(notes), marks)
