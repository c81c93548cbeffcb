"""One pass over the rows: what it is to keep, and what it found."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import cached_property, partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.binning import Bins, equal_width_bins
from calcli.core.data.blocks import Block, Collector, RowStatistic, sweep, working_dtype
from calcli.core.data.labels import label_sums
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Units
from calcli.core.estimators.gridded import GridError
from calcli.core.estimators.influences import Pooled, carriers, pooled
from calcli.core.estimators.sums import Sums
from calcli.core.evaluating.recalibrated import Companions, Recalibrations
from calcli.core.evaluating.results import InfiniteLogLoss
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.core.problems.lenses import Lens, Seen, find_lens
from calcli.core.problems.problem import Problem, ordered_problem
from calcli.core.problems.vectors import VectorLens, VectorProblem, canonical_lens, members_by_name
from calcli.core.state.collectors import ClassBins, ClassCells, ClassUnits, InputFacts, RowTable, VectorTable
from calcli.core.state.expectedmoments import ExpectedMoments
from calcli.core.state.gridcells import CellTable
from calcli.core.state.oddscells import OddsCells
from calcli.core.state.sample import Sample, ThinnedRows
from calcli.core.state.state import Facts


@dataclass(frozen=True)
class Looks:
    """What figures look at, which the pass for the metrics keeps as well.

    Attributes
    ----------
    lenses
        One-dimensional ones whose problems are kept, beside top-1.
    vectors
        Those of several outcomes.
    thinned
        Numbers of evenly spaced rows.
    """

    lenses: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    thinned: tuple[int, ...] = ()


NOTHING = Looks()


T = TypeVar("T")
FIRST = 5  # how many of the rows of infinite log-loss are named
UnitsOf = Callable[[int], Units]


class Pass:
    """What a pass over the rows keeps; each thing once, however many ask for it.

    Parameters
    ----------
    predictions
        Scores and labels.
    settings
        Metrics and how to compute them.
    companions
        Predictions that some metrics need beside them.
    units_for
        In a comparison: the units that change sides together, given how many sums are kept of each.
    looks
        What is kept whatever the metrics.
    """

    def __init__(
        self,
        predictions: Predictions,
        settings: Settings,
        companions: Companions | None = None,
        units_for: UnitsOf | None = None,
        looks: Looks = NOTHING,
    ) -> None:
        self.predictions, self.settings = predictions, settings
        self.companions = companions or Companions()
        self.dtype: np.dtype[Any] = working_dtype(predictions, settings.precision)
        self.lenses: dict[str, Lens | VectorLens] = {}
        self.collectors: dict[Hashable, Collector] = {}
        self.odds: OddsCells | None = None
        self.statistics: dict[str, RowStatistic] = {}
        self.losses: dict[str, RowStatistic] = {}
        self.bins: set[int] = set()
        self._units_for = units_for
        self.looks = looks
        self.seen = tuple(dict.fromkeys(["top-1", *self.looks.lenses]))
        self._groups = members_by_name(settings.groups, predictions.classes)

    def keep(self, key: Hashable, make: Callable[[], Collector]) -> None:
        """Keep what a collector gathers, to be found by its key."""
        if key not in self.collectors:
            self.collectors[key] = make()

    def keep_rows(self, statistics: Mapping[str, RowStatistic]) -> None:
        """Keep statistics of every row, by name."""
        self.statistics |= statistics

    def keep_losses(self, statistics: Mapping[str, RowStatistic]) -> None:
        """Keep the same, and how they would vary by the predictions, where intervals are made of them."""
        self.keep_rows(statistics)
        if self.settings.intervals:
            self.losses |= statistics

    def keep_lens(self, name: str) -> None:
        """Keep scores and outcomes of a lens.

        Raises
        ------
        UsageError
            If there is no such lens for that number of classes.
        """
        if name not in self.lenses:
            self._add_lens(name, find_lens(name, self.predictions.n_classes, self._groups))

    def keep_looks(self) -> None:
        """Keep what figures look at."""
        for name in (*self.seen, *self.looks.vectors):
            self.keep_lens(name)
        for limit in self.looks.thinned:
            self.keep(("thinned", limit), partial(ThinnedRows, self.predictions, limit))

    def keep_probs(self) -> None:
        """Keep all probabilities, for what must put each class in order."""
        if "canonical" not in self.lenses:
            self._add_lens("canonical", canonical_lens(self.predictions.n_classes))

    @property
    def tells_areas(self) -> bool:
        """Whether it keeps what puts the rows in order, for each class."""
        return "canonical" in self.lenses or self.predictions.n_classes == 2

    def keep_bins(self, bins: int) -> None:
        """Keep sums over equal-width bins of every class; two classes are in order anyway."""
        self.bins.add(bins)
        if self.predictions.n_classes == 2:
            self.keep_lens("class-0")
            self.keep_lens("class-1")
        else:
            self.keep(("bins", bins), lambda: ClassBins(self.predictions, bins))

    def keep_cells(self, bins: int) -> None:
        """Keep the equal-width bin of every probability."""
        n_rows, n_classes = self.predictions.scores.shape
        self.keep(("cells", bins), lambda: ClassCells(n_rows, n_classes, bins))

    def keep_unit_bins(self, bins: int) -> None:
        """Keep the same sums as `keep_bins` unit by unit, in a comparison."""
        if self._units_for is not None:
            classes, units_for = self.predictions.n_classes, self._units_for
            self.keep(("unit bins", bins), lambda: ClassUnits(units_for(3 * classes * bins), classes, bins))

    def run(self, watch: Watch | None = None) -> Measurements:
        """Read the rows once; `watch` is called with the number of rows done."""
        facts, rows = InputFacts(self.predictions), RowTable(self.predictions.n_rows, self.statistics)
        expected = ExpectedMoments(self.losses)
        watched = [] if watch is None else [_Watched(watch)]
        collectors: list[Collector] = [facts, rows, expected, *self.collectors.values(), *watched]
        sweep(self.predictions, collectors, self.settings.precision)
        return Measurements(self, facts, rows, expected)

    def _add_lens(self, name: str, lens: Lens | VectorLens) -> None:
        self.lenses[name] = lens
        if isinstance(lens, Lens):
            self.keep_rows(lens.statistics)
        else:
            self.keep(("lens", name), lambda: VectorTable(lens, self.predictions, self.dtype))


class Measurements:
    """What a pass found.

    Attributes
    ----------
    predictions, settings, companions, dtype
        Of the pass.
    weighted
        Whether rows have weights.
    seen, looks
        One-dimensional lenses that are looked through whatever the metrics, and all that figures look at.
    facts
        What it noticed about the scores.
    rows
        Statistics of every row.
    usual
        The metrics that are estimated if none are named; empty for the default report.
    odds
        Cells of the log-odds of all rows, where they were kept.
    of_rows
        How many rows these are a sample of, or cells; None for all.
    cell_errors
        Where entries are cells of the log-odds, what these leave open of metrics.
    deferred
        Metrics that are to be told by a sample, by canonical expression.
    """

    usual: tuple[str, ...] = ()
    of_rows: int | None = None
    cell_errors: Mapping[str, GridError | None] | None = None
    deferred: frozenset[str] = frozenset()

    def __init__(
        self,
        made: Pass,
        facts: InputFacts | Facts,
        rows: RowTable,
        expected: ExpectedMoments | None = None,
    ) -> None:
        self.predictions, self.settings, self.companions = made.predictions, made.settings, made.companions
        self.dtype, self.seen, self.looks = made.dtype, made.seen, made.looks
        self.weighted = made.predictions.weights is not None
        self.facts, self.rows = facts, rows
        self._lenses, self._collectors, self.odds = made.lenses, made.collectors, made.odds
        self._expected = expected.moments if expected else {}
        self._once: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` makes of the measurements, which is asked once for each key."""
        if key not in self._once:
            self._once[key] = make()
        return cast(T, self._once[key])

    def pooled(self, statistics: Mapping[str, RowStatistic]) -> Pooled | None:
        """Return the moments of the loss that is carried by the fewest rows, seen and expected alike."""
        return fewest(self._pooled(name) for name in statistics if name in self._expected)

    def _pooled(self, name: str) -> Pooled:
        return self.once(
            ("pooled", name),
            lambda: pooled(self.rows[name], self.predictions.weights, self._expected[name]),
        )

    @property
    def keeps_probs(self) -> bool:
        """Whether the probabilities of all classes were kept."""
        return ("lens", "canonical") in self._collectors

    def collected(self, key: Hashable) -> Any:
        """Return the collector that was kept by that key."""
        return self._collectors[key]

    @property
    def sample(self) -> Sample | None:
        """A sample of the rows for what cannot be told otherwise, if there is one."""
        rows: Any = self._collectors.get("sample")
        return None if rows is None else cast(Sample, rows.sample)

    def is_scalar(self, lens: str) -> bool:
        """Tell whether a lens has one score and one outcome."""
        return isinstance(self._lenses.get(lens), Lens)

    def look(self, lens: str) -> Seen:
        """Return what is seen through a one-dimensional lens, in the order of the rows."""
        found = self._lenses[lens]
        assert isinstance(found, Lens)
        return found.look(self.rows.columns, self.predictions.weights)

    def problem(self, lens: str) -> Problem:
        """Return the induced problem of a one-dimensional lens, sorted once."""
        return self.once(("problem", lens), lambda: ordered_problem(*self.look(lens)[:3]))

    def lens_bins(self, lens: str, bins: int) -> Bins:
        """Return equal-width sums of the scores of a one-dimensional lens, which need no order."""
        score, outcome, weights, *_ = self.look(lens)
        return self.once(("lens bins", lens, bins), lambda: equal_width_bins(score, outcome, weights, bins))

    def vector_problem(self, lens: str) -> VectorProblem:
        """Return the problem of a vector lens, or of a one-dimensional one as one of two outcomes."""
        if self.is_scalar(lens):
            return self.problem(lens).as_vectors()
        table: VectorTable = self.collected(("lens", lens))
        return table.problem

    @property
    def effective_rows(self) -> float:
        """How many independent rows of equal weight tell as much."""
        if self.units.single and self.predictions.weights is None:
            return self.predictions.n_rows
        return self.units.effective_number(self.predictions.weights)

    def by_deal(self, lens: str) -> Doubles | None:
        """Return (deals, 2, cells) sums of weight and outcome where these are left of many rows."""
        return None

    def agreed(self, settings: Settings) -> Settings:
        """Return the settings of an assessment, with what the measurements fix."""
        return settings

    def grid(self, lens: str) -> CellTable | None:
        """Return the cells of the grid that a lens has in place of exact scores."""
        return None

    def outcomes_of(self, lens: str, size: int) -> tuple[str, ...]:
        """Return the names of the outcomes of a lens, of classes and groups by what they are called."""
        found, classes = self._lenses[lens], self.predictions.classes
        groups = self.settings.groups.get(lens, {})
        if groups:
            return tuple(dict.fromkeys(groups[name] for name in classes))
        if lens == "canonical" and size == len(classes):
            return tuple(classes)
        if isinstance(found, VectorLens):
            return found.names if len(found.names) == size else ("predicted class", "rest")
        return lens, "rest"

    @cached_property
    def units(self) -> Units:
        """Which rows belong together."""
        return Units.of(self.predictions.n_rows, self.predictions.column_if(self.settings.cluster))

    @cached_property
    def posteriors(self) -> Doubles | None:
        """(N, K) true probabilities of the labels, where they were given.

        None for rows of other priors: they are true of the rows as they are.
        """
        given = self.companions.log_posteriors(self.predictions)
        return None if given is None or self.settings.priors is not None else np.exp(given)

    @cached_property
    def recalibrations(self) -> Recalibrations:
        """The recalibrations of the rows, of which each is done once."""
        rows, settings = self.predictions, self.settings
        given = rows.column_if(settings.fold_column)
        return Recalibrations(
            rows, self.companions, settings.seed, settings.clip, self.units, given, settings.folds
        )

    def sums(self, names: Iterable[str], of_classes: Iterable[str] = ()) -> Sums:
        """Return the sums of statistics of rows, of which some are means over the classes."""
        rows, columns = self.predictions, {name: self.rows[name] for name in names}

        def made() -> Sums:
            own = frozenset(of_classes)
            return Sums(columns, rows.labels, rows.n_classes, rows.weights, rows.priors, self.units, own)

        return self.once(("sums", *columns), made)

    @cached_property
    def rows_by_class(self) -> Array:
        """(K,) rows of each class."""
        return label_sums(self.predictions.labels, None, self.predictions.n_classes)

    @cached_property
    def hits_by_class(self) -> Array:
        """(K,) weight of the rows of each class that are predicted as it; of `hit` rows."""
        rows = self.predictions
        return label_sums(rows.labels, rows.weights, rows.n_classes, self.rows["hit"])

    @cached_property
    def infinite_log_loss(self) -> InfiniteLogLoss | None:
        """The rows of infinite log-loss and the log-loss of the others, nan if there are none."""
        if "log_loss" not in self.rows.columns:
            return None
        losses, weights = self.rows["log_loss"], self.predictions.weights
        if np.isfinite(losses.max()):
            return None
        counted = np.ones(len(losses), np.bool_) if weights is None else weights > 0
        finite = np.isfinite(losses)
        infinite, others = np.flatnonzero(~finite & counted), finite & counted
        if not len(infinite):
            return None
        without = float("nan")
        if others.any():
            kept = None if weights is None else weights[others]
            without = float(np.average(losses[others].astype(np.float64), weights=kept))
        first = tuple(map(self.predictions.stored_row, infinite[:FIRST].tolist()))
        return InfiniteLogLoss(len(infinite), first, without)

    @cached_property
    def clipped_rows(self) -> int:
        """How many rows count with the least probability that the settings allow, not their own."""
        least = self.settings.clip
        if not least or "log_loss" not in self.rows.columns:
            return 0
        return int(np.count_nonzero(self.rows["log_loss"] >= -np.log(least)))

    @property
    def class_probs(self) -> NDArray[np.floating[Any]]:
        """(K, N) probabilities, kept where a metric must put more than two classes in order."""
        return self.vector_problem("canonical").probs.T

    def class_problems(self) -> Iterator[Problem]:
        """Yield the problem of each class against the rest."""
        labels, weights = self.predictions.labels, self.predictions.weights
        for k, probs in enumerate(self.class_probs):
            yield ordered_problem(probs, labels == k, weights)

    def class_bins(self, bins: int) -> Bins:
        """Return equal-width sums of every class's probability, (K, bins)."""
        if self.predictions.n_classes != 2:
            return self.once(("class bins", bins), self.collected(("bins", bins)).bins)
        both = [self.lens_bins(lens, bins) for lens in ("class-0", "class-1")]
        return Bins(*(np.stack(sums) for sums in zip(*map(astuple, both), strict=True)))


def fewest(found: Iterable[Pooled]) -> Pooled | None:
    """Return the moments that the fewest rows carry, if there are any."""
    return min(found, key=lambda one: carriers(*one) if one[1] else math.inf, default=None)


class _Watched:
    """Reports how far the pass has come."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def add(self, block: Block) -> None:
        self._watch(block.rows.stop)
