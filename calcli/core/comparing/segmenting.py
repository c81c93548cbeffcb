"""Segments of predictions: values of columns, parts of numbers, and pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from calcli.core.comparing.monitoring import looked_at
from calcli.core.data.arrays import Array, log_odds
from calcli.core.data.derived import Slice, slice_numbers
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Units, distinct_codes, require_clusters
from calcli.core.estimators.segments import ENOUGH_CLUSTERS, Partition, Search, search
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import SegmentSettings


def find_segments(predictions: Predictions, settings: SegmentSettings) -> Search:
    """Find the segments of predictions with a difference beyond chance.

    Raises
    ------
    InputError
        If a column is missing or has too many values, or no segment has enough rows.
    UsageError
        If no column is named, or a setting does not fit.
    """
    path, has_scores = predictions.provenance.path, predictions.has_probabilities
    if not settings.columns:
        raise UsageError("--columns is missing: whose values are segments, such as country,age")
    if not predictions.has_rows:
        raise UsageError(f"{path} is a state, which has sums and no rows; give the predictions")
    if not has_scores and (settings.metric != "gap" or settings.after == "none"):
        option = "--after none" if settings.metric == "gap" else f"--metric {settings.metric}"
        raise UsageError(f"{path} has no probabilities; leave out {option}")
    score, outcome, _ = looked_at(replace(predictions, weights=None))
    if settings.after == "affine" and outcome.min() == outcome.max():
        raise InputError(f"{path}: all outcomes are alike; expected some of each")
    require_clusters(predictions, settings.cluster)
    clusters = predictions.column_if(settings.cluster)
    graded = ((outcome != 0) & (outcome != 1)).any()
    units = Units.of(len(score), clusters) if clusters is not None or graded else None
    names, min_rows = ("metric", "level", "draws", "seed"), settings.fewest(len(score))
    options = {name: getattr(settings, name) for name in names}
    options |= {"weights": predictions.weights, "min_rows": min_rows}
    after, splits = settings.after if has_scores else "mean", partitions(predictions, settings)
    result = search(log_odds(score), outcome, splits, recalibrated=after, units=units, **options)
    if not result.segments:
        also = "" if settings.cluster is None else f" and {ENOUGH_CLUSTERS} values of {settings.cluster}"
        raise InputError(
            f"{path}: no segment has {min_rows:,} rows{also} inside and outside; lower --min-rows"
        )
    return result


def partitions(predictions: Predictions, settings: SegmentSettings) -> list[Partition]:
    """Return the partitions by columns, by ranges of numbers, and by pairs of columns."""
    singles = [_partition(predictions, name, settings.parts) for name in dict.fromkeys(settings.columns)]
    pairs = []
    for column, second in combinations(singles, 2) if settings.depth > 1 else ():
        wide = len(second.names)
        joint, codes = distinct_codes(column.codes * wide + second.codes, wide * len(column.names))
        names = [f"{column.names[n // wide]}, {second.names[n % wide]}" for n in joint]
        pairs.append(Partition(names, codes))
    return [*singles, *pairs]


def _partition(predictions: Predictions, column: str, n_parts: int) -> Partition:
    values = predictions.column(column)
    if values.dtype.kind in "iuf" and len(distinct := np.unique(values[values == values])) > n_parts:
        return _cut(values, distinct, column, n_parts)
    slices, codes = slice_numbers(predictions, column)
    return Partition([f"{column}={slice_.shown}" for slice_ in slices], codes)


def _cut(values: Array, distinct: Array, column: str, n_parts: int) -> Partition:
    """Return ranges of numbers with about equal counts, cut between distinct values, and missing numbers."""
    there = values == values
    cuts = np.unique(np.quantile(values[there], np.arange(1, n_parts) / n_parts, method="higher"))
    cuts = cuts[cuts > distinct[0]]
    codes = np.searchsorted(cuts, values, side="right")
    names = []
    for n in range(len(cuts) + 1):
        inside = distinct[np.searchsorted(cuts, distinct, side="right") == n]
        low, high = f"{inside[0]:.6g}", f"{inside[-1]:.6g}"
        names.append(f"{column}={low}" if len(inside) == 1 else f"{column}={low} to {high}")
    if not there.all():
        codes[~there] = len(names)
        names.append(f"{column}={Slice(column, '').shown}")
    return Partition(names, codes)
