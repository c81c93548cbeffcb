"""One pass over the rows: what it is to keep, and what it brought home."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import astuple
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.binning import Bins
from calcli.core.data.blocks import Block, Collector, sweep, working_dtype
from calcli.core.data.predictions import Predictions
from calcli.core.data.rows import RowStatistic
from calcli.core.data.units import Units
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.language.progress import Watch
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Lens, find_lens
from calcli.core.problems.problem import Problem, ordered_problem
from calcli.core.problems.vectors import VectorLens, VectorProblem, canonical_lens, members_by_name
from calcli.core.state.classcells import ClassCells
from calcli.core.state.classunits import ClassUnits
from calcli.core.state.collectors import ClassBins, InputFacts, RowTable
from calcli.core.state.vectors import VectorTable

T = TypeVar("T")
UnitsOf = Callable[[int], Units]


class Pass:
    """What a pass over the rows is to keep; each thing once, whoever asks for it.

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
    lenses
        One-dimensional ones that are looked through whatever the metrics, beside top-1.
    """

    def __init__(
        self,
        predictions: Predictions,
        settings: Settings,
        companions: Companions | None = None,
        units_for: UnitsOf | None = None,
        lenses: Sequence[str] = (),
    ) -> None:
        self.predictions, self.settings = predictions, settings
        self.companions = companions or Companions()
        self.dtype: np.dtype[Any] = working_dtype(predictions, settings.precision)
        self.lenses: dict[str, Lens | VectorLens] = {}
        self.collectors: dict[Hashable, Collector] = {}
        self._statistics: dict[str, RowStatistic] = {}
        self._units_for = units_for
        self.seen = tuple(dict.fromkeys(["top-1", *lenses]))
        self._groups = members_by_name(settings.groups, predictions.classes)

    def keep(self, key: Hashable, make: Callable[[], Collector]) -> None:
        """Keep what a collector gathers, to be found by its key."""
        if key not in self.collectors:
            self.collectors[key] = make()

    def keep_rows(self, statistics: Mapping[str, RowStatistic]) -> None:
        """Keep statistics of every row, by name."""
        self._statistics |= statistics

    def keep_lens(self, name: str) -> None:
        """Keep scores and outcomes of a lens.

        Raises
        ------
        UsageError
            If there is no such lens for that number of classes.
        """
        if name not in self.lenses:
            self._add_lens(name, find_lens(name, self.predictions.n_classes, self._groups))

    def keep_probs(self) -> None:
        """Keep all probabilities, for what must put each class in order."""
        if "canonical" not in self.lenses:
            self._add_lens("canonical", canonical_lens(self.predictions.n_classes))

    def keep_bins(self, bins: int) -> None:
        """Keep sums over equal-width bins of every class; two classes are in order anyway."""
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
        facts, rows = InputFacts(self.predictions), RowTable(self.predictions.n_rows, self._statistics)
        watched = [] if watch is None else [_Watched(watch)]
        collectors: list[Collector] = [facts, rows, *self.collectors.values(), *watched]
        sweep(self.predictions, collectors, self.settings.precision)
        return Measurements(self, facts, rows)

    def _add_lens(self, name: str, lens: Lens | VectorLens) -> None:
        self.lenses[name] = lens
        if isinstance(lens, Lens):
            self.keep_rows(lens.statistics)
        else:
            self.keep(("lens", name), lambda: VectorTable(lens, self.predictions, self.dtype))


class Measurements:
    """What a pass brought home.

    Attributes
    ----------
    predictions, settings, companions, dtype
        Of the pass.
    seen
        One-dimensional lenses that are looked through whatever the metrics.
    facts
        What it noticed about the scores.
    rows
        Statistics of every row.
    """

    def __init__(self, made: Pass, facts: InputFacts, rows: RowTable) -> None:
        self.predictions, self.settings, self.companions = made.predictions, made.settings, made.companions
        self.dtype, self.seen, self.facts, self.rows = made.dtype, made.seen, facts, rows
        self._lenses, self._collectors = made.lenses, made.collectors
        self._once: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` makes of the measurements, which is asked once for each key."""
        if key not in self._once:
            self._once[key] = make()
        return cast(T, self._once[key])

    def collected(self, key: Hashable) -> Any:
        """Return the collector that was kept by that key."""
        return self._collectors[key]

    def is_scalar(self, lens: str) -> bool:
        """Tell whether a lens has one score and one outcome."""
        return isinstance(self._lenses.get(lens), Lens)

    def columns(self, lens: str) -> tuple[Floats, Array]:
        """Return (N,) scores and outcomes of a one-dimensional lens, in the order of the rows."""
        found = self._lenses[lens]
        assert isinstance(found, Lens)
        return self.rows[found.score], self.rows[found.outcome]

    def problem(self, lens: str) -> Problem:
        """Return the induced problem of a one-dimensional lens, sorted once."""
        return self.once(
            ("problem", lens), lambda: ordered_problem(*self.columns(lens), self.predictions.weights)
        )

    def vector_problem(self, lens: str) -> VectorProblem:
        """Return the problem of a vector lens, or of a one-dimensional one as one of two outcomes."""
        if self.is_scalar(lens):
            return self.problem(lens).as_vectors()
        table: VectorTable = self.collected(("lens", lens))
        return table.problem

    @cached_property
    def units(self) -> Units:
        """Which rows belong together."""
        return Units.of(self.predictions.n_rows, self.predictions.column_if(self.settings.cluster))

    @property
    def class_probs(self) -> NDArray[np.floating[Any]]:
        """(K, N) probabilities, kept where a metric must put more than two classes in order."""
        return self.vector_problem("canonical").probs.T

    def class_bins(self, bins: int) -> Bins:
        """Return equal-width sums of every class's probability, (K, bins)."""
        if self.predictions.n_classes != 2:
            table: ClassBins = self.collected(("bins", bins))
            return table.bins()
        both = [self.problem(lens).bins("equal-width", bins) for lens in ("class-0", "class-1")]
        return Bins(*(np.stack(sums) for sums in zip(*map(astuple, both), strict=True)))


class _Watched:
    """Reports how far the pass has come."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def add(self, block: Block) -> None:
        self._watch(block.rows.stop)
