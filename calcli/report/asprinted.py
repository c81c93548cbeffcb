"""Benchmarks in the form of van de Waterlaat 2021, tables 7.1 to 7.4: an error and accuracy in each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calcli.core.language.expressions import parse_method, parse_metric
from calcli.core.language.methods import ORDER, PREDICTED
from calcli.core.recalibrating.benchmark import UNCALIBRATED, Trial, by_model, cost
from calcli.report.shown import Column, Mark, TextTable
from calcli.report.wording import NONE

KEEPING = "keeps accuracy"
CAPTION = (
    "In parentheses: accuracy of the uncalibrated scores in percent, else the change in percentage points. "
    "Bold or *: the least error of a row; underlined or +: the highest accuracy; both: *+.",
    "Differences are those of these rows and may be chance: nothing here is tested, which the table without "
    "--as-printed does.",
)


def printed_tables(
    trials: Sequence[Trial], metrics: Sequence[str], columns: Sequence[str]
) -> list[TextTable]:
    """Return a table for each metric, a row for each model.

    Parameters
    ----------
    trials
        Of all models.
    metrics
        What to show; accuracy stands beside each.
    columns
        Names of those that are other models, not methods.
    """
    models = by_model(trials)
    methods = list(next(iter(models.values())))
    named = (Column("classifier", "left"), Column("data set", "left"))
    heads = (*named, *(Column(_head(method, columns)) for method in methods))
    tables = []
    for metric in metrics:
        if metric == "accuracy":
            continue
        rows, marks = [], dict[tuple[int, int], Mark]()
        factor = 100 if parse_metric(metric).is_class_wise else 1
        for n, (model, tried) in enumerate(models.items()):
            own = list(tried.values())
            data, _, name = model.rpartition("/")
            rows.append((name, data or NONE, *(_cell(one, own[0], metric, factor) for one in own)))
            marks |= {(n, place + 2): mark for place, mark in _marks(own, metric).items()}
        title = metric if factor == 1 else f"{metric}, times {factor}"
        tables.append(TextTable(title, heads, tuple(rows), CAPTION, marks))
    return tables


def _head(method: str, columns: Sequence[str]) -> str:
    if method == UNCALIBRATED or method in columns:
        return method
    kept = parse_method(method).entry.keeps in (ORDER, PREDICTED)
    return f"{method} ({KEEPING})" if kept else method


def _cell(trial: Trial, uncalibrated: Trial, metric: str, factor: int) -> str:
    if trial.fault:
        return "failed"
    value, accuracy = factor * trial.values[metric], 100 * trial.values["accuracy"]
    if trial is uncalibrated or uncalibrated.fault:
        return f"{value:.3f} ({accuracy:.1f})"
    return f"{value:.3f} ({accuracy - 100 * uncalibrated.values['accuracy']:+z.2f})"


def _marks(trials: Sequence[Trial], metric: str) -> dict[int, Mark]:
    """Return where the least error and the highest accuracy are, as printed."""
    errors = [cost(metric, trial.values.get(metric, math.nan)) for trial in trials]
    losses = [cost("accuracy", trial.values.get("accuracy", math.nan)) for trial in trials]
    places: dict[int, Mark] = {}
    for place, pair in enumerate(zip(errors, losses, strict=True)):
        best, accurate = pair[0] == min(errors) < math.inf, pair[1] == min(losses) < math.inf
        if best or accurate:
            places[place] = "both" if best and accurate else "best" if best else "second"
    return places
