"""Benchmarks over the number of calibration rows, as shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calcli.core.language.numbers import number, plus_minus
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.sizes import SizeTrial
from calcli.report.objects import SizesObject
from calcli.report.reading import reading_sentences, reading_table, warnings_table
from calcli.report.shown import Column, Shown, TextTable


@dataclass(frozen=True)
class SizesReport(Shown):
    """Methods fitted to subsets of different sizes: for each metric a row a size, and a column a method.

    Attributes
    ----------
    model
        What the calibrators recalibrate.
    trials, settings
        What was tried, and how.
    repeats
        Subsets of each size.
    read
        Names of the files, and what there is to say about how each was read.
    warnings
        What stands in the way of trusting the values, sentences without their full stop.
    """

    title: ClassVar[str] = "Benchmark over the number of calibration rows"
    schema: ClassVar[str] = "calcli.benchmark-sizes/1"

    model: str
    trials: Sequence[SizeTrial]
    settings: Settings
    repeats: int
    read: Sequence[tuple[str, Sequence[str]]] = ()
    warnings: Sequence[str] = ()

    def reading(self) -> list[str]:
        """Return how the files were read, in sentences."""
        return reading_sentences(self.read)

    def failures(self) -> list[str]:
        """Return what failed and why, in sentences without their full stop."""
        faults = {one.method: fault for one in self.trials for fault in one.faults}
        return [f"{method} failed on some: {fault}" for method, fault in faults.items()]

    def tables(self) -> list[TextTable]:
        """Return mean and standard deviation over the subsets."""
        methods = list(dict.fromkeys(one.method for one in self.trials))
        sizes = list(dict.fromkeys(one.rows for one in self.trials))
        by_place = {(one.rows, one.method): one for one in self.trials}
        columns = (Column("rows"), *map(Column, methods))
        notes = [
            f"Mean ± standard deviation over {self.repeats} random subsets of the calibration rows, of each "
            "size; all are judged on the same test rows, whose own chance is not in it."
        ]
        notes += [f"{sentence}." for sentence in self.failures()]
        tables = [
            TextTable(
                f"{self.model}: {metric}",
                columns,
                tuple(
                    (f"{size:,}", *(_cell(by_place[size, method], metric) for method in methods))
                    for size in sizes
                ),
                tuple(notes),
            )
            for metric in self.settings.metrics
        ]
        return [*reading_table(self.read), *tables, *warnings_table(self.warnings)]

    def content(self) -> SizesObject:
        """Return the values of every subset."""
        return {
            "input": [{"path": path, "reading": list(reading)} for path, reading in self.read],
            "model": self.model,
            "repeats": self.repeats,
            "settings": {"metrics": self.settings.metrics, "seed": self.settings.seed},
            "trials": [
                {
                    "rows": one.rows,
                    "method": one.method,
                    "values": {name: values.tolist() for name, values in one.values.items()},
                    "faults": list(one.faults),
                }
                for one in self.trials
            ],
            "warnings": list(self.warnings),
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each subset and method."""
        for one in self.trials:
            for repeat in range(self.repeats):
                values = {name: float(values[repeat]) for name, values in one.values.items()}
                yield {"rows": one.rows, "repeat": repeat, "method": one.method, **values}


def _cell(one: SizeTrial, metric: str) -> str:
    values = one.values[metric]
    found = values[~np.isnan(values)]
    if not len(found):
        return "failed"
    sd = found.std(ddof=1) if len(found) > 1 else 0.0
    failed = f" ({len(values) - len(found)} failed)" if len(found) < len(values) else ""
    mean = float(found.mean())
    return f"{plus_minus(mean, float(sd)) if sd else number(mean)}{failed}"
