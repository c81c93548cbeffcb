"""What one pass over the rows brings home for a set of metric calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from calcli.core.blocks import Block, Collector, Precision, sweep, working_dtype
from calcli.core.costs import Costs
from calcli.core.expressions import MetricCall
from calcli.core.lenses import Problem, find_lens, ordered_problem
from calcli.core.miscalibration import (
    BinnedError,
    KolmogorovSmirnov,
    binned_error,
    class_wise_error,
    find_estimator,
)
from calcli.core.predictions import Predictions
from calcli.core.ranking import Area, area_influences, mean_roc_area, roc_area
from calcli.core.rows import ROW_STATISTICS, Bins, ClassBins, InputFacts, RowTable, clipped_log_loss
from calcli.core.scores import Score, find_score

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
    costs
        Costs that the metrics may name.
    clip
        Least probability of a label that the log-loss counts with; 0 for no clipping.

    Attributes
    ----------
    scores
        How to compute each metric of the family "score", by canonical expression.
    costs
        The costs that they name, by name.
    """

    def __init__(
        self,
        predictions: Predictions,
        calls: Sequence[MetricCall],
        bins: int,
        precision: Precision = "auto",
        watch: Watch | None = None,
        costs: Sequence[Costs] = (),
        clip: float = 0.0,
    ) -> None:
        n, k = predictions.scores.shape
        self.predictions = predictions
        self.dtype: np.dtype[Any] = working_dtype(predictions, precision)
        self.facts = InputFacts(predictions)
        scored = [call for call in calls if call.metric.family == "score"]
        self.scores: dict[str, Score] = {str(call): find_score(call, predictions, costs) for call in scored}
        wanted = {name for call in calls for name in call.statistics} | {"hit"}
        ranked = any(call.metric.family == "ranking" for call in calls)
        lenses = {"top-1", *(call.lens for call in calls if call.lens)}
        if k == 2:
            lenses |= {"class-0", "class-1"}
        self._lenses = {name: find_lens(name, k) for name in lenses - {"class-wise"}}
        statistics = {name: statistic for name, statistic in ROW_STATISTICS.items() if name in wanted}
        if clip and "log_loss" in statistics:
            statistics["log_loss"] = clipped_log_loss(clip)
        for lens in self._lenses.values():
            statistics |= lens.statistics
        for score in self.scores.values():
            statistics = {**score.statistics, **statistics}  # what is clipped stays so
        judged = [score.costs for score in self.scores.values() if score.costs is not None]
        self.costs = {costs.name: costs for costs in judged}
        statistics |= {costs.decision_column: costs.decided for costs in judged}
        self.rows = RowTable(n, statistics)
        errors = [call for call in calls if call.metric.family == "error"]
        class_wise = [find_estimator(call) for call in errors if call.lens == "class-wise"]
        summed = {estimator.bins for estimator in class_wise if _from_sums(estimator)} | {bins}
        # two classes are in order anyway, for their ranking
        self._class_bins = {m: ClassBins(predictions, m) for m in summed if k > 2}
        collectors: list[Collector] = [self.facts, self.rows, *self._class_bins.values()]
        ordered = (ranked and k > 2) or not all(_from_sums(estimator) for estimator in class_wise)
        self._probs = _ProbTable(predictions, self.dtype) if ordered else None
        if self._probs is not None:
            collectors.append(self._probs)
        if watch is not None:
            collectors.append(_Watched(watch))
        sweep(predictions, collectors, precision)
        self._problems: dict[str, Problem] = {}

    def problem(self, lens: str) -> Problem:
        """Return the induced problem of a one-dimensional lens, sorted once."""
        if lens not in self._problems:
            found = self._lenses[lens]
            score, outcome = self.rows[found.score], self.rows[found.outcome]
            self._problems[lens] = ordered_problem(score, outcome, self.predictions.weights)
        return self._problems[lens]

    def class_bins(self, bins: int) -> Bins:
        """Return equal-width sums of every class's probability, (K, bins)."""
        if self._class_bins:
            return self._class_bins[bins].bins()
        both = [self.problem(lens).bins("equal-width", bins) for lens in ("class-0", "class-1")]
        return Bins(*(np.stack(sums) for sums in zip(*map(astuple, both), strict=True)))

    def class_wise(self, estimator: BinnedError | KolmogorovSmirnov) -> float:
        """Return the mean error over the classes (root mean square for norm 2, largest for max)."""
        if _from_sums(estimator):
            errors = binned_error(self.class_bins(estimator.bins), estimator.norm)
            return float(class_wise_error(errors, estimator.norm))
        assert self._probs is not None
        labels, weights = self.predictions.labels, self.predictions.weights
        problems = (ordered_problem(probs, labels == k, weights) for k, probs in enumerate(self._probs.table))
        errors = np.array([estimator.value(problem) for problem in problems])
        return float(class_wise_error(errors, getattr(estimator, "norm", "1")))

    def roc_area(self) -> Area:
        """Return the area under the ROC curve, of the second of two classes or the mean over more."""
        if self._probs is None:
            return roc_area(self.problem("class-1"))
        return mean_roc_area(self._probs.table, self.predictions.labels, self.predictions.weights)

    def roc_influences(self) -> tuple[float, NDArray[np.float64]]:
        """Return the same area with the (N,) influences of the rows on it."""
        labels, weights = self.predictions.labels, self.predictions.weights
        if self._probs is None:
            both = np.stack([self.rows[self._lenses[lens].score] for lens in ("class-0", "class-1")])
            return area_influences(both, labels, weights)
        return area_influences(self._probs.table, labels, weights)


def _from_sums(estimator: BinnedError | KolmogorovSmirnov) -> TypeGuard[BinnedError]:
    """Tell whether sums over equal-width bins are enough, so that no class must be put in order."""
    return isinstance(estimator, BinnedError) and estimator.binning == "equal-width"


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
