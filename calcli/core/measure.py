"""What one pass over the rows brings home for a set of metric calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calcli.core.blocks import Block, Collector, Precision, sweep, working_dtype
from calcli.core.expressions import MetricCall
from calcli.core.lenses import Problem, find_lens, ordered_problem
from calcli.core.predictions import Floats, Predictions
from calcli.core.ranking import auroc_shares, one_versus_rest_shares
from calcli.core.rows import ROW_STATISTICS, Bins, ClassBins, InputFacts, RowTable

Watch = Callable[[int], None]


class Measurements:
    """Row statistics, induced problems and class sums, all from one pass.

    Parameters
    ----------
    predictions
        Scores and labels.
    calls
        The metrics that are to be computed from the measurements.
    bins
        Bins of the per-class table.
    precision
        What the pass computes in.
    watch
        Called with the number of rows done as the pass goes on.
    """

    def __init__(
        self,
        predictions: Predictions,
        calls: Sequence[MetricCall],
        bins: int,
        precision: Precision = "auto",
        watch: Watch | None = None,
    ) -> None:
        n, k = predictions.scores.shape
        self.predictions = predictions
        self.dtype: np.dtype[Any] = working_dtype(predictions, precision)
        self.facts = InputFacts(predictions)
        wanted = {name for call in calls for name in call.metric.statistics} | {"hit"}
        lenses = {"top-1", *(str(call.arguments["lens"]) for call in calls if "lens" in call.arguments)}
        if "auroc" in wanted and k == 2:
            lenses.add("class-1")
        self._lenses = {name: find_lens(name, k) for name in lenses - {"class-wise"}}
        statistics = {name: statistic for name, statistic in ROW_STATISTICS.items() if name in wanted}
        for lens in self._lenses.values():
            statistics |= lens.statistics
        self.rows = RowTable(n, statistics)
        class_wise = {call.arguments["bins"] for call in calls if call.arguments.get("lens") == "class-wise"}
        self._class_bins = {int(m): ClassBins(predictions, int(m)) for m in class_wise | {bins}}
        collectors: list[Collector] = [self.facts, self.rows, *self._class_bins.values()]
        self._probs = _ProbTable(predictions, self.dtype) if "auroc" in wanted and k > 2 else None
        if self._probs is not None:
            collectors.append(self._probs)
        if watch is not None:
            collectors.append(_Watched(watch))
        sweep(predictions, collectors, precision)
        self._problems: dict[str, Problem] = {}
        if "auroc" in wanted:
            self.rows.columns["auroc"] = self._auroc_shares()

    def problem(self, lens: str) -> Problem:
        """Return the induced problem of a one-dimensional lens, sorted once."""
        if lens not in self._problems:
            found = self._lenses[lens]
            score, outcome = self.rows[found.score], self.rows[found.outcome]
            self._problems[lens] = ordered_problem(score, outcome, self.predictions.weights)
        return self._problems[lens]

    def class_bins(self, bins: int) -> Bins:
        """Return equal-width sums of every class's probability, (K, bins)."""
        return self._class_bins[bins].bins()

    def _auroc_shares(self) -> Floats:
        labels, weights = self.predictions.labels, self.predictions.weights
        if self._probs is not None:
            shares = one_versus_rest_shares(self._probs.table, labels, weights)
        else:
            score = self.rows[self._lenses["class-1"].score]
            shares = auroc_shares(score, labels == 1, weights)
        return np.full(len(labels), np.nan) if shares is None else shares


class _ProbTable:
    """All probabilities, class by class, for what must order every class."""

    def __init__(self, predictions: Predictions, dtype: np.dtype[Any]) -> None:
        self.table = np.empty((predictions.n_classes, predictions.n_rows), dtype)

    def add(self, block: Block) -> None:
        probs = block.exp / block.per_row(block.total)
        self.table[:, block.rows] = probs if block.class_axis == 0 else probs.T


class _Watched:
    """Reports how far the pass has come."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def add(self, block: Block) -> None:
        self._watch(block.rows.stop)
