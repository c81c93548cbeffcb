"""Macro means of metrics over several labels of the same rows, as one system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calcli.core.comparing.comparison import (
    Comparison,
    Plan,
    compare,
    compared,
    compared_metrics,
    corrected,
    measured_systems,
)
from calcli.core.data.arrays import Array
from calcli.core.data.derived import Slice, gathered
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import GROUPS, UNIT_LIMIT, Units, hashed
from calcli.core.estimators.intervals import Influences
from calcli.core.evaluating.metrics.base import System, judged
from calcli.core.evaluating.results import Estimate
from calcli.core.language.settings import Settings
from calcli.core.language.version import __version__

MACRO = "macro"  # name of the macro mean among systems
LABEL = "label"  # column of the label in comparisons
ROW = "(case)"  # column that identifies the same row under different labels


@dataclass
class LabelMean:
    """Collects the metrics of one system, label by label.

    Attributes
    ----------
    settings
        Settings of the evaluation; clusters, if any, are resampled in place of rows.
    """

    settings: Settings
    _first: System | None = None
    _rows: int = 0
    _brought: list[tuple[Array, Mapping[str, Influences]]] = field(default_factory=list)
    _estimates: list[Mapping[str, Estimate]] = field(default_factory=list)

    def add(self, system: System) -> None:
        """Add the measurements on one label; `ROW` identifies its rows."""
        names = system.measured.units.names
        self._brought.append((np.arange(0) if names is None else names, system.influences))
        self._estimates.append(system.evaluation.estimates)
        self._first, self._rows = self._first or system, max(self._rows, system.predictions.n_rows)

    def system(self, name: str = "") -> System:
        """Return the means over the labels that have a metric, with the influences of rows."""
        assert self._first is not None
        every = dict.fromkeys(name for estimates in self._estimates for name in estimates)
        pairs = {name: self._mean(name) for name in every}
        evaluation, summary = self._first.evaluation, self._first.evaluation.summary
        path = summary.input.labelled_file or summary.input.path
        estimates = {name: estimate for name, (estimate, _) in pairs.items()}
        origin = replace(summary.input, path=path, label="", name=name, rows=self._rows, notes=())
        none: dict[str, Any] = dict.fromkeys(("backwards_area", "infinite_log_loss", "gap"))
        none |= dict.fromkeys(("per_class", "reliability"), ())
        summary = replace(summary, input=origin, estimates=estimates, settings=self.settings, **none)
        brought = {name: values for name, (_, values) in pairs.items() if values is not None}
        return System(self._first.measured, replace(evaluation, summary=summary), brought, is_mean=True)

    def _mean(self, name: str) -> tuple[Estimate, Influences | None]:
        having = [n for n, e in enumerate(self._estimates) if name in e and not math.isnan(e[name].value)]
        there = [self._estimates[n][name] for n in having]
        example = there[0] if there else next(e[name] for e in self._estimates if name in e)
        value, count = sum(e.value for e in there) / len(there) if there else math.nan, len(there)
        signed = f"{example.metric}|macro|labels:{count}|seed:{self.settings.seed}|version:{__version__}"
        estimate = Estimate(example.metric, value, signed, parts={"labels": float(count)})
        pairs = [self._brought[n] for n in having if name in self._brought[n][1]]
        if len(pairs) < len(self._estimates):  # over fewer labels it is another mean
            missing = "it is not defined on every label" if count < len(self._estimates) else ""
            return replace(estimate, no_interval=missing if pairs else ""), None
        ids = np.unique(np.concatenate([of for of, _ in self._brought]))
        of_units, values = np.zeros(len(ids)), [brought[name] for _, brought in pairs]
        for (of, _), influence in zip(pairs, values, strict=True):
            of_units[np.searchsorted(ids, of)] += influence.of_units / count
        few = [influence.fewest for influence in values]
        mean = Influences(
            value,
            of_units,
            len(ids),
            sum(influence.bias for influence in values) / count,
            lost=sum(influence.lost for influence in values) / count**2,
            # each value rests on the rarer of two outcomes, whose reciprocals enter the variance
            fewest=count / sum(1 / number for number in few) if all(few) else 0.0,
            scarce=values[0].scarce,
        )
        interval, reason = judged(mean.spread, value, self.settings)
        return replace(estimate, interval=interval, no_interval=reason), mean


def measured_label(systems: Sequence[Predictions], settings: Settings, paired: bool = True) -> list[System]:
    """Return systems measured on one label, with influences of rows; paired rows are the baseline's."""
    rows, shared = [], None
    for system in systems:
        shared = shared if shared is not None and paired else _shared(system, settings.cluster)
        rows.append(replace(system, columns={**system.columns, ROW: shared}))
    alone = replace(settings, cluster=ROW, draws=0, test=False)
    return measured_systems(rows, alone, paired)


def _shared(predictions: Predictions, cluster: str | None) -> Array:
    """Return the (N,) units of resampling: row numbers, clusters, or random groups of many."""
    column = predictions.column_if(cluster)
    if column is None:
        numbers = np.array(predictions.provenance.left or range(predictions.n_rows))
        return hashed(numbers) % np.uint64(GROUPS) if numbers[-1] >= UNIT_LIMIT else numbers
    units = Units.of(len(column), column)
    return column if units.number <= UNIT_LIMIT else units.dealt(GROUPS).of_row


def pooled(labels: Sequence[Predictions], path: str) -> Predictions:
    """Return the rows of several labels as one data set, for micro means; equal rows are a cluster."""
    reference, scores = labels[0], [gathered(rows.scores).array for rows in labels]
    rows = sum(map(len, scores))
    origin = replace(reference.provenance, path=path, label="", left=(), notes=(), identity=ROW)
    return replace(
        reference,
        scores=ArrayScores(np.concatenate(scores), reference.kind, reference.scores.kind_reason),
        labels=np.concatenate([of.labels for of in labels]),
        weights=None if reference.weights is None else np.concatenate([of.weights for of in labels]),
        columns={ROW: np.concatenate([_shared(of, None) for of in labels])},
        provenance=replace(origin, questions=f"{rows:,} values of {len(labels)} labels"),
    )


def mean_systems(
    labels: Sequence[Sequence[Predictions]], settings: Settings, paired: bool = True
) -> list[System]:
    """Return the means over labels of each of some systems; see `measured_label`."""
    means = [LabelMean(settings) for _ in labels[0]]
    for systems in labels:
        for mean, system in zip(means, measured_label(systems, settings, paired), strict=True):
            mean.add(system)
    return [mean.system() for mean in means]


def compare_labels(
    labels: Mapping[str, Sequence[Predictions]], settings: Settings, plan: Plan
) -> list[Comparison]:
    """Compare systems by the means over several labels, then on each, corrected for their number.

    Parameters
    ----------
    labels
        The systems on each label, the baseline first.
    settings, plan
        As for `compare`.
    """
    members = list(labels.values())
    settings = replace(settings, metrics=compared_metrics(members[0][0], settings, plan))
    alone = [compare(systems, settings, plan)[0] for systems in members]
    comparisons = [replace(part, part=Slice(LABEL, label)) for label, part in zip(labels, alone, strict=True)]
    mean = compared(mean_systems(members, settings, plan.paired), None, settings, plan)
    return [mean, *corrected(comparisons, settings.level)]
