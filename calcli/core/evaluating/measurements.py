"""Measurements of predictions from a state: problems of lenses, sums, bins, recalibrations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from calcli.core.data.arrays import Array, Floats, label_sums
from calcli.core.data.binning import Bins, equal_width_bins
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import Units
from calcli.core.estimators.intervals import of_equal_weight
from calcli.core.estimators.unittable import UnitTable
from calcli.core.evaluating.recalibrated import MOST_FITTED, Recalibrations
from calcli.core.evaluating.results import InfiniteLogLoss
from calcli.core.language.errors import NeedsRows
from calcli.core.language.expressions import Measure
from calcli.core.language.settings import Precision, Settings
from calcli.core.problems.lenses import ScoredRows, VectorLens, VectorProblem
from calcli.core.problems.problem import Problem, ordered_problem
from calcli.core.state.collect import collect
from calcli.core.state.needs import (
    CLIPPED,
    ONLY_SUMS,
    ClassSums,
    Kept,
    Need,
    Pass,
    Scores,
    Vectors,
    VectorTable,
    through,
)
from calcli.core.state.sample import Sample
from calcli.core.state.state import State, names_rows

T = TypeVar("T")
FIRST = 5  # named rows of infinite log-loss


class _Columns(dict[str, Array]):
    """Statistics of every row."""

    def __missing__(self, name: str) -> Array:
        raise NeedsRows(ONLY_SUMS)


class Measurements:
    """Measurements of predictions, derived from a state.

    Parameters
    ----------
    predictions
        Scores and labels, or a state of them.
    state
        The state that a pass over them kept.
    settings
        Metrics and how they are computed.
    calibration
        Rows that recalibrations are fitted to, with training=held-out.
    left
        Why metrics are missing, by canonical expression; "" if a sample is to provide them.
    of_rows
        Number of all rows if these are a sample; else None.

    Attributes
    ----------
    dtype
        Of the computation.
    columns
        Statistics of every row, by name, while they are kept.
    """

    def __init__(
        self,
        predictions: Predictions,
        state: State,
        settings: Settings,
        calibration: Predictions | None = None,
        *,
        left: Mapping[str, str] | None = None,
        of_rows: int | None = None,
    ) -> None:
        self.predictions, self.state, self.settings = predictions, state, settings
        self.calibration, self.left = calibration, left or {}
        self.of_rows = of_rows
        self.dtype = np.dtype(state.head.computed_in)
        self.columns, self._sums = _Columns(state.body.columns), state.body.sums
        self._once: dict[Hashable, Any] = {}

    @classmethod
    def of(
        cls, predictions: Predictions, settings: Settings, needs: Iterable[Need], *, summed: bool = False
    ) -> Measurements:
        """Return the measurements of a pass over rows for some needs."""
        return cls(predictions, collect(predictions, settings, needs, summed=summed), settings)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make` for the measurements; it is called once for each key."""
        if key not in self._once:
            self._once[key] = make()
        return cast(T, self._once[key])

    def kept(self, need: Kept) -> Any:
        """Return what only a pass over rows can provide.

        Raises
        ------
        NeedsRows
            If the pass did not keep it.
        """
        if reason := need.missing_reason(self.state):
            raise NeedsRows(reason)
        return self.state.kept[need]

    @property
    def sample(self) -> Sample | None:
        """A sample of the rows for what nothing else provides, if there is one."""
        return self.state.body.sample

    @cached_property
    def errors(self) -> float:
        """Effective number of units with a wrong prediction: few losses are large without an error."""
        groups, weights = self._sums, self.predictions.weights
        if groups is None:
            wrong = self.units.sums(1.0 - self.columns["hit"], weights)
        else:
            hits, weight = groups.statistics["hit"], groups.count if groups.weight is None else groups.weight
            wrong = (weight - hits.sums).astype(np.float64)
        return float(of_equal_weight(wrong.sum(), np.square(wrong).sum()))

    def _through(self, lens: str) -> Scores | Vectors:
        """Return the need of a lens."""
        return self.once(("lens", lens), lambda: through(lens, self.predictions, self.settings))

    def is_scalar(self, lens: str) -> bool:
        """Return whether a lens has one score and one outcome."""
        return isinstance(self._through(lens), Scores)

    def look(self, lens: str) -> ScoredRows:
        """Return the view through a one-dimensional lens, in the order of the rows."""
        seen = self._through(lens)
        assert isinstance(seen, Scores)
        return seen.lens.look(self.columns, self.predictions.weights)

    def problem(self, lens: str) -> Problem:
        """Return the induced problem of a one-dimensional lens, sorted once."""
        lens = self.predictions.resolve_lens(lens)
        return self.once(("problem", lens), lambda: self._problem(lens))

    def _problem(self, lens: str) -> Problem:
        stored = self.state.body.problem(lens)
        return ordered_problem(*self.look(lens)[:3]) if stored is None else stored

    @property
    def of_cells(self) -> bool:
        """Whether the scores of lenses come from cells, not from rows."""
        return self._sums is not None

    def lens_bins(self, lens: str, bins: int) -> Bins:
        """Return equal-width sums of the scores of a one-dimensional lens, without sorting rows."""
        if self._sums is not None:
            return self.problem(lens).bins("equal-width", bins)
        score, outcome, weights, *_ = self.look(lens)
        return self.once(("lens bins", lens, bins), lambda: equal_width_bins(score, outcome, weights, bins))

    def vector_problem(self, lens: str) -> VectorProblem:
        """Return the problem of a vector lens, or of a one-dimensional one as one of two outcomes."""
        seen = self._through(lens)
        if isinstance(seen, Scores):
            return self.problem(lens).as_vectors()
        return cast(VectorTable, self.kept(seen)).problem

    @property
    def effective_rows(self) -> float:
        """Effective number of independent rows of equal weight."""
        groups = self._sums
        if groups is not None and groups.weight is not None and groups.squares is not None:
            return float(groups.weight.sum() ** 2 / groups.squares.sum())
        if self.units.single and self.predictions.weights is None:
            return self.predictions.n_rows
        return self.units.effective_number(self.predictions.weights)

    def sampled(self, lens: str) -> Measurements:
        """Return the measurements of the sample's rows through a lens."""
        assert self.sample is not None
        rows, seen = self.sample.of(self.predictions), self._through(lens)
        precision: Precision = "single" if self.dtype.itemsize == 4 else "double"
        return Measurements.of(rows, replace(self.settings, precision=precision), [seen])

    def spaced(self) -> Predictions | None:
        """Return rows of two classes, evenly spaced by score in each; None if cells do not provide them."""
        cells, rows = self.state.body.cells.get("class-1"), self.predictions
        if cells is None or rows.n_classes != 2 or rows.of_answers or cells.weight is not None:
            return None
        scores, labels = cells.spaced(MOST_FITTED)
        array_scores = ArrayScores(scores, "probs", rows.scores.kind_reason)
        return Predictions(array_scores, labels, rows.classes, provenance=rows.provenance)

    def outcomes_of(self, lens: str, size: int) -> tuple[str, ...]:
        """Return the names of the outcomes of a lens, with names of classes and groups."""
        lens = self.predictions.resolve_lens(lens)
        seen, classes = self._through(lens).lens, self.predictions.classes
        groups = self.settings.groups.get(lens, {})
        if groups:
            return tuple(dict.fromkeys(groups[name] for name in classes))
        if lens == "canonical" and size == len(classes):
            return tuple(classes)
        if isinstance(seen, VectorLens):
            return seen.names if len(seen.names) == size else ("predicted class", "rest")
        return lens, "rest"

    @cached_property
    def units(self) -> Units:
        """Which rows belong together."""
        return Units.of(self.predictions.n_rows, self.predictions.column_if(self.settings.cluster))

    @cached_property
    def recalibrations(self) -> Recalibrations:
        """The recalibrations of the rows, each done once."""
        rows, settings = self.predictions, self.settings
        folds = rows.column_if(settings.fold_column)
        return Recalibrations(
            rows, self.calibration, settings.seed, settings.clip, self.units, folds, settings.folds
        )

    def unit_table(self, class_mean: str = "") -> UnitTable:
        """Return the sums of statistics by unit; one statistic may be a mean over the classes."""
        rows, groups = self.predictions, self._sums

        def made() -> UnitTable:
            if groups is not None:
                return UnitTable.of_groups(groups)
            details = rows.weights, rows.priors, self.units
            return UnitTable.of_rows(self.columns, rows.labels, rows.n_classes, *details, class_mean)

        return self.once(("unit table", class_mean), made)

    @cached_property
    def rows_by_class(self) -> Array:
        """(K,) rows of each class."""
        if self._sums is not None:
            return self._sums.by_class[0].astype(np.int64)
        return label_sums(self.predictions.labels, None, self.predictions.n_classes)

    @cached_property
    def hits_by_class(self) -> Array:
        """(K,) weight of the `hit` rows of each class, predicted as this class."""
        rows = self.predictions
        if self._sums is not None:
            return self._sums.by_class[1]
        return label_sums(rows.labels, rows.weights, rows.n_classes, self.columns["hit"])

    @cached_property
    def infinite_log_loss(self) -> InfiniteLogLoss | None:
        """The rows of infinite log-loss, and the log-loss of the other rows, nan without others."""
        groups, weights = self._sums, self.predictions.weights
        if groups is not None and "log_loss" in groups.statistics:
            log_loss = groups.statistics["log_loss"]
            if not log_loss.infinite.any():
                return None
            weight = float((groups.count if groups.weight is None else groups.weight).sum())
            weight -= log_loss.infinite_weight
            without = groups.total("log_loss") / weight if weight else float("nan")
            places = (number - self.state.parts[0].first for number in log_loss.first)
            lines = tuple(places) if names_rows(self.predictions) else ()
            return InfiniteLogLoss(int(log_loss.infinite.sum()), lines, without)
        if "log_loss" not in self.columns:
            return None
        losses = self.columns["log_loss"]
        if np.isfinite(losses.max()):
            return None
        counted = np.ones(len(losses), np.bool_) if weights is None else weights > 0
        finite = np.isfinite(losses)
        infinite, usable = np.flatnonzero(~finite & counted), finite & counted
        if not len(infinite):
            return None
        without = float("nan")
        if usable.any():
            finite_weights = None if weights is None else weights[usable]
            without = float(np.average(losses[usable].astype(np.float64), weights=finite_weights))
        rows = map(self.predictions.stored_row, infinite[:FIRST].tolist())
        return InfiniteLogLoss(len(infinite), tuple(rows) if names_rows(self.predictions) else (), without)

    @cached_property
    def clipped_rows(self) -> int:
        """Number of rows with a clipped probability."""
        if self._sums is not None and CLIPPED in self._sums.statistics:
            return int(self._sums.statistics[CLIPPED].sums.sum())
        return int(np.count_nonzero(self.columns.get(CLIPPED, ())))

    @property
    def class_probs(self) -> Floats:
        """(K, N) probabilities, kept if a metric must sort more than two classes."""
        return self.vector_problem("canonical").probs.T

    def class_problems(self) -> Iterator[Problem]:
        """Yield the problem of each class against the rest."""
        labels, weights = self.predictions.labels, self.predictions.weights
        for k, probs in enumerate(self.class_probs):
            yield ordered_problem(probs, labels == k, weights)

    def class_bins(self, bins: int) -> Bins:
        """Return equal-width sums of every class's probability, (K, bins)."""
        if bins in self.state.bins:
            return self.state.bins[bins]
        if reason := ClassSums(bins).missing_reason(self.state):
            raise NeedsRows(reason)
        by_class = [self.lens_bins(lens, bins) for lens in ("class-0", "class-1")]
        return Bins(*(np.stack(sums) for sums in zip(*map(astuple, by_class), strict=True)))


def measured_sample(rows: Predictions, measured: Measurements, metrics: Sequence[Measure]) -> Measurements:
    """Return the measurements for metrics from a pass over some of the rows."""
    settings = replace(measured.settings, precision="auto")
    state = collect(
        rows, settings, [need for metric in metrics for need in metric.needs(Pass(rows, settings))]
    )
    of_rows = measured.predictions.n_rows if rows.n_rows < measured.predictions.n_rows else None
    return Measurements(rows, state, settings, of_rows=of_rows)
