"""What one pass over the rows brings home for a set of metric calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.binning import Bins
from calcli.core.data.blocks import Block, Collector, sweep, working_dtype
from calcli.core.data.predictions import Predictions
from calcli.core.data.rows import ROW_STATISTICS, RowStatistic, clipped_log_loss
from calcli.core.estimators.bootstrap import Sums
from calcli.core.estimators.costs import Costs
from calcli.core.estimators.errors import Edges, OfVectors, OneDimensional, find_estimator
from calcli.core.estimators.miscalibration import BinnedError, binned_error, class_wise_error
from calcli.core.estimators.ranking import Area, area_influences, mean_roc_area, roc_area
from calcli.core.estimators.scores import Score, find_score
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Precision
from calcli.core.problems.lenses import Lens, find_lens
from calcli.core.problems.problem import Problem, ordered_problem
from calcli.core.problems.vectors import VectorLens, VectorProblem, canonical_lens, group_members
from calcli.core.state.collectors import ClassBins, InputFacts, RowTable
from calcli.core.state.vectors import VectorTable

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
    groups
        Partitions of the classes that lenses may name: the group of every class name.
    edges
        Explicit bin edges that binnings may name.
    tests
        Whether class-wise errors are to be tested, which needs all probabilities.

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
        calls: Sequence[MetricExpression],
        bins: int,
        precision: Precision = "auto",
        watch: Watch | None = None,
        costs: Sequence[Costs] = (),
        clip: float = 0.0,
        groups: Mapping[str, Mapping[str, str]] | None = None,
        edges: Edges | None = None,
        tests: bool = False,
    ) -> None:
        self.predictions = predictions
        self.dtype: np.dtype[Any] = working_dtype(predictions, precision)
        self.facts = InputFacts(predictions)
        scored = [call for call in calls if call.entry.family == "score"]
        self.scores: dict[str, Score] = {str(call): find_score(call, predictions, costs) for call in scored}
        judged = [score.costs for score in self.scores.values() if score.costs is not None]
        self.costs = {costs.name: costs for costs in judged}
        lenses = _lenses(predictions, calls, groups or {})
        self._lenses = {name: lens for name, lens in lenses.items() if isinstance(lens, Lens)}
        self.rows = RowTable(predictions.n_rows, self._statistics(calls, clip))
        class_wise = [
            find_estimator(call, edges)
            for call in calls
            if call.entry.family == "error" and call.is_class_wise
        ]
        self._class_bins = _class_bins(predictions, calls, class_wise, bins)
        vectors = {name: lens for name, lens in lenses.items() if isinstance(lens, VectorLens)}
        if tests or _orders_classes(calls, class_wise, predictions.n_classes):
            vectors.setdefault("canonical", canonical_lens(predictions.n_classes))
        self._vectors = {name: VectorTable(lens, predictions, self.dtype) for name, lens in vectors.items()}
        self._problems: dict[str, Problem] = {}
        collectors: list[Collector] = [self.facts, self.rows]
        collectors += [*self._class_bins.values(), *self._vectors.values()]
        if watch is not None:
            collectors.append(_Watched(watch))
        sweep(predictions, collectors, precision)

    def _statistics(self, calls: Sequence[MetricExpression], clip: float) -> dict[str, RowStatistic]:
        """Return what the pass must keep of every row, by name."""
        wanted = {name for call in calls for name in call.statistics} | {"hit"}
        statistics = {name: statistic for name, statistic in ROW_STATISTICS.items() if name in wanted}
        if self.predictions.n_classes == 2 and ("classical" in _families(calls) or _isotonic(calls)):
            statistics["log_odds"] = lambda block: block.log_odds
        if clip and "log_loss" in statistics:
            statistics["log_loss"] = clipped_log_loss(clip)
        for lens in self._lenses.values():
            statistics |= lens.statistics
        for score in self.scores.values():
            statistics = {**score.statistics, **statistics}  # what is clipped stays so
        return statistics | {costs.decision_column: costs.decided for costs in self.costs.values()}

    def is_scalar(self, lens: str) -> bool:
        """Tell whether a lens has one score and one outcome."""
        return lens in self._lenses

    def columns(self, lens: str) -> tuple[Floats, Array]:
        """Return (N,) scores and outcomes of a one-dimensional lens, in the order of the rows."""
        found = self._lenses[lens]
        return self.rows[found.score], self.rows[found.outcome]

    def score_sums(self, clusters: Array | None = None) -> Sums:
        """Return the sums that every score is a function of, ready to be resampled, clusters as a whole."""
        rows = self.predictions
        columns = {name: self.rows[name] for score in self.scores.values() for name in score.statistics}
        return Sums(columns, rows.labels, rows.n_classes, rows.weights, rows.priors, clusters)

    def problem(self, lens: str) -> Problem:
        """Return the induced problem of a one-dimensional lens, sorted once."""
        if lens not in self._problems:
            self._problems[lens] = ordered_problem(*self.columns(lens), self.predictions.weights)
        return self._problems[lens]

    def vector_problem(self, lens: str) -> VectorProblem:
        """Return the problem of a vector lens, or of a one-dimensional one as one of two outcomes."""
        if lens in self._lenses:
            return self.problem(lens).as_vectors()
        return self._vectors[lens].problem

    def class_bins(self, bins: int) -> Bins:
        """Return equal-width sums of every class's probability, (K, bins)."""
        if self._class_bins:
            return self._class_bins[bins].bins()
        both = [self.problem(lens).bins("equal-width", bins) for lens in ("class-0", "class-1")]
        return Bins(*(np.stack(sums) for sums in zip(*map(astuple, both), strict=True)))

    def class_wise(self, estimator: OneDimensional, over: str) -> float:
        """Return the mean error over the classes (root mean square for norm 2, largest for max)."""
        if from_sums(estimator):
            errors = binned_error(self.class_bins(estimator.bins), estimator.norm)
            return float(class_wise_error(errors, over))
        labels, weights = self.predictions.labels, self.predictions.weights
        problems = (ordered_problem(probs, labels == k, weights) for k, probs in enumerate(self.class_probs))
        errors = np.array([estimator.value(problem) for problem in problems])
        return float(class_wise_error(errors, over))

    @property
    def class_probs(self) -> NDArray[np.floating[Any]]:
        """(K, N) probabilities, kept where a metric must put more than two classes in order."""
        return self.vector_problem("canonical").probs.T

    def roc_area(self, clusters: Array | None = None) -> Area:
        """Return the area under the ROC curve, of the second of two classes or the mean over more.

        Its standard error takes the rows of each of the clusters for one observation.
        """
        if clusters is not None:
            area, influences = self.roc_influences()
            together = np.bincount(np.unique(clusters, return_inverse=True)[1], influences)
            return Area(area, float(np.linalg.norm(together)))
        if self.predictions.n_classes == 2:
            return roc_area(self.problem("class-1"))
        return mean_roc_area(self.class_probs, self.predictions.labels, self.predictions.weights)

    def roc_influences(self) -> tuple[float, NDArray[np.float64]]:
        """Return the same area with the (N,) influences of the rows on it."""
        labels, weights = self.predictions.labels, self.predictions.weights
        if self.predictions.n_classes == 2:
            both = np.stack([self.rows[self._lenses[lens].score] for lens in ("class-0", "class-1")])
            return area_influences(both, labels, weights)
        return area_influences(self.class_probs, labels, weights)


def _families(calls: Sequence[MetricExpression]) -> set[str]:
    return {call.entry.family for call in calls}


def _isotonic(calls: Sequence[MetricExpression]) -> bool:
    """Tell whether a score is decomposed by isotonic fits to every class."""
    return any(call.entry.family == "decomposition" and call.is_class_wise for call in calls)


def _lenses(
    predictions: Predictions, calls: Sequence[MetricExpression], groups: Mapping[str, Mapping[str, str]]
) -> dict[str, Lens | VectorLens]:
    """Return the lenses that the metrics look through, and those that are always looked through."""
    names = {"top-1", *(call.lens for call in calls if call.lens and not call.is_class_wise)}
    names |= {"class-0", "class-1"} if predictions.n_classes == 2 else set()
    members = {name: group_members(name, group_of, predictions.classes) for name, group_of in groups.items()}
    return {name: find_lens(name, predictions.n_classes, members) for name in names}


def _class_bins(
    predictions: Predictions,
    calls: Sequence[MetricExpression],
    class_wise: Sequence[OneDimensional | OfVectors],
    bins: int,
) -> dict[int, ClassBins]:
    """Return the sums over every class to gather, by number of bins.

    None for two classes, which are in order anyway, for their ranking.
    """
    if predictions.n_classes == 2:
        return {}
    wanted = {estimator.bins for estimator in class_wise if from_sums(estimator)} | {bins}
    decomposed = [call for call in calls if call.entry.family == "decomposition"]
    wanted |= {int(call.arguments["bins"]) for call in decomposed if "bins" in call.arguments}
    return {m: ClassBins(predictions, m) for m in wanted}


def _orders_classes(
    calls: Sequence[MetricExpression], class_wise: Sequence[OneDimensional | OfVectors], n_classes: int
) -> bool:
    """Tell whether a metric puts the probabilities of each class in order, and so needs all of them."""
    if not all(map(from_sums, class_wise)):
        return True
    return n_classes > 2 and ("ranking" in _families(calls) or _isotonic(calls))


def from_sums(estimator: OneDimensional | OfVectors) -> TypeGuard[BinnedError]:
    """Tell whether sums over equal-width bins are enough, so that no class must be put in order."""
    if not isinstance(estimator, BinnedError):
        return False
    return estimator.binning == "equal-width" and not estimator.debiased


class _Watched:
    """Reports how far the pass has come."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def add(self, block: Block) -> None:
        self._watch(block.rows.stop)
