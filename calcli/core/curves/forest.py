"""The numbers of a forest plot: metrics in every slice of the rows, beside those of all rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calcli.core.data.arrays import Tables
from calcli.core.data.slices import ENOUGH_ROWS
from calcli.core.estimators.consistency import SIGNIFICANT
from calcli.core.evaluating.results import Estimate, Evaluation
from calcli.core.evaluating.sliced import slice_p_values, slices_of, with_corrected_p
from calcli.core.language.errors import UsageError


@dataclass(frozen=True)
class Forest:
    """Metrics of one system in slices.

    Attributes
    ----------
    whole
        Estimates over all rows, by canonical expression.
    slices
        The same in each slice, by its name `column=value`; p-values of errors are corrected for the slices.
    rows
        Rows of each slice, by the same name.
    all_rows
        Rows of all.
    """

    whole: Mapping[str, Estimate]
    slices: Mapping[str, Mapping[str, Estimate]]
    rows: Mapping[str, int]
    all_rows: int

    @cached_property
    def p_apart(self) -> Mapping[tuple[str, str], float]:
        """P-value of each slice and metric if the slice is like all rows, corrected for their number.

        Slices of few rows and metrics without intervals are not judged.
        """
        asked = [
            (name, metric, (estimate, self.whole[metric], self.rows[name] / self.all_rows))
            for name, estimates in self.slices.items()
            for metric, estimate in estimates.items()
            if not self.thin(name)
        ]
        found = slice_p_values(pair for *_, pair in asked)
        return {(name, metric): p for (name, metric, _), p in zip(asked, found, strict=True)}

    def is_apart(self, name: str, metric: str) -> bool:
        """Tell whether a slice differs from all rows by more than chance."""
        return self.p_apart.get((name, metric), math.nan) <= SIGNIFICANT

    @cached_property
    def tested(self) -> Mapping[tuple[str, str], float]:
        """P-value of each error of a slice if it were calibrated, corrected for the number of slices."""
        nulls = {
            (name, metric): estimate.if_calibrated
            for name, estimates in self.slices.items()
            for metric, estimate in estimates.items()
        }
        return {at: null.corrected_p for at, null in nulls.items() if null and null.corrected_p is not None}

    def is_miscalibrated(self, name: str, metric: str) -> bool:
        """Tell whether the error of a slice exceeds what calibrated probabilities show there by chance."""
        return self.tested.get((name, metric), math.nan) <= SIGNIFICANT

    def is_marked(self, name: str, metric: str) -> bool:
        """Tell whether a slice is more than chance in either way."""
        return self.is_apart(name, metric) or self.is_miscalibrated(name, metric)

    def shown(self, most: int) -> list[str]:
        """Return slices, the worst first; of more than so many those marked and the worst."""
        order = self.worst_first
        chosen = [name for name in order if any(self.is_marked(name, metric) for metric in self.whole)]
        kept = set([*chosen, *(name for name in order if name not in chosen)][:most])
        return [name for name in order if name in kept]

    @property
    def worst_first(self) -> list[str]:
        """Names of the slices, the worst by the first metric first, those of few rows last."""
        return sorted(self.slices, key=self._rank)

    def thin(self, name: str) -> bool:
        """Tell whether a slice has too few rows to be compared with others."""
        return self.rows[name] < ENOUGH_ROWS

    def tables(self) -> Tables:
        """Return the table of the slices, a row a slice and metric; nan where there is no interval."""
        found = [
            (name, self.rows[name], expression, estimate)
            for name, estimates in self.slices.items()
            for expression, estimate in estimates.items()
        ]
        intervals = [estimate.interval for *_, estimate in found]
        nulls = [estimate.if_calibrated for *_, estimate in found]
        columns = {
            "slice": np.array([name for name, *_ in found]),
            "rows": np.array([rows for _, rows, *_ in found]),
            "metric": np.array([expression for *_, expression, _ in found]),
            "value": np.array([estimate.value for *_, estimate in found]),
            "low": np.array([np.nan if i is None else i.low for i in intervals]),
            "high": np.array([np.nan if i is None else i.high for i in intervals]),
            "p_if_like_all": np.array([self.p_apart.get((name, m), np.nan) for name, _, m, _ in found]),
            "if_calibrated_mean": np.array([np.nan if null is None else null.mean for null in nulls]),
            "if_calibrated_sd": np.array([np.nan if null is None else null.sd for null in nulls]),
            "corrected_p": np.array([self.tested.get((name, m), np.nan) for name, _, m, _ in found]),
        }
        return {"": columns}

    def _rank(self, name: str) -> tuple[bool, float]:
        estimate = next(iter(self.slices[name].values()))
        null = estimate.if_calibrated  # errors of few rows are large by chance
        entry = estimate.call.entry
        cost = entry.cost(estimate.value) - (null.mean if null else 0)
        return self.thin(name), 0.0 if entry.direction == "none" else -cost


def keep_slices(evaluation: Evaluation, columns: Sequence[str], expressions: Sequence[str]) -> None:
    """Have an evaluation keep what its slices say, for `forest`, whose parameters these are.

    Raises
    ------
    UsageError
        If there is no column to slice by, or probabilities were moved.
    InputError
        If there is no such column, or it has too many values.
    """
    if not columns:
        raise UsageError("the figure slices needs a column to slice by: --by COLUMN")
    if evaluation.settings.shift_to_priors is not None:
        raise UsageError(
            "the figure slices weights each slice to --priors, but moves no probabilities; leave out "
            "--shift-to-priors"
        )
    settings = replace(
        evaluation.settings, metrics=tuple(evaluation.estimates[name].call.asked for name in expressions)
    )
    whole = replace(evaluation.summary, settings=settings)
    kept = {
        column
        for column, found in evaluation.slices.items()
        if all(one.estimates.keys() >= set(expressions) for one in found)
    }
    missing = [column for column in columns if column not in kept]
    evaluation.slices.update(slices_of(evaluation.predictions, missing, whole))


def forest(evaluation: Evaluation, columns: Sequence[str], expressions: Sequence[str]) -> Forest:
    """Return metrics in every slice; what the evaluation does not have of slices is evaluated.

    Parameters
    ----------
    evaluation
        Of all rows; it has the metrics.
    columns
        By whose values the rows are sliced.
    expressions
        The metrics, canonical.

    Raises
    ------
    UsageError, InputError
        As `keep_slices`.
    """
    keep_slices(evaluation, columns, expressions)
    found = {str(one.slice): one for column in columns for one in evaluation.slices[column]}
    rows = {name: one.input.rows for name, one in found.items()}
    asked = [{each: one.estimates[each] for each in expressions} for one in found.values()]
    corrected = with_corrected_p(asked, [count >= ENOUGH_ROWS for count in rows.values()])
    whole = {name: evaluation.estimates[name] for name in expressions}
    return Forest(whole, dict(zip(found, corrected, strict=True)), rows, evaluation.predictions.n_rows)
