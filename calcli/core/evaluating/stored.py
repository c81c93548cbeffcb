"""What a state holds, in place of a pass over rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.binning import Bins
from calcli.core.data.blocks import RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.influences import Pooled, pooled_moments
from calcli.core.estimators.sums import Sums
from calcli.core.evaluating.measurements import Looks, Measurements, Pass, fewest
from calcli.core.evaluating.results import InfiniteLogLoss
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Seen
from calcli.core.problems.problem import Problem
from calcli.core.problems.vectors import VectorProblem
from calcli.core.state.grid import POINTS
from calcli.core.state.gridcells import CellTable
from calcli.core.state.sample import Sample
from calcli.core.state.state import ONLY_SUMS, State

CLIPPED = "clipped"  # statistic of rows whose log-loss is


@dataclass
class _Columns:
    """Statistics of the rows that a state still has."""

    columns: dict[str, Array] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise NeedsRows(ONLY_SUMS)
        return self.columns[name]


class StoredMeasurements(Measurements):
    """What a state holds, as a pass over its rows would."""

    def __init__(
        self,
        remains: Predictions,
        state: State,
        settings: Settings,
        lenses: Iterable[str],
    ) -> None:
        known = Looks(tuple(lens for lens in lenses if lens in state.head.lenses))
        made = Pass(remains, of_state(state, settings, remains.provenance.path), looks=known)
        for lens in state.head.lenses:
            made.keep_lens(lens)
        made.dtype = np.dtype(state.head.computed_in)
        rows: Any = _Columns(dict(state.body.columns))
        super().__init__(made, state.facts, rows)
        self._state, self.usual = state, () if settings.metrics else state.head.metrics

    def collected(self, key: Hashable) -> Any:
        """Refuse what only a pass can collect."""
        raise NeedsRows(ONLY_SUMS)

    @property
    def keeps_probs(self) -> bool:
        """A state keeps sums."""
        return False

    @property
    def sample(self) -> Sample | None:
        """Some of the rows themselves."""
        return self._state.body.sample

    def is_scalar(self, lens: str) -> bool:
        """Return that a lens of the state has one score and one outcome; there are no others."""
        if lens not in self._state.head.lenses:
            of_rows = lens == "canonical" and self.sample is None  # as slices of states have none
            raise NeedsRows(ONLY_SUMS if of_rows else f"the state was made without the lens {lens}")
        return True

    def look(self, lens: str) -> Seen:
        """Return what is seen through a lens, if there are few rows."""
        self.is_scalar(lens)
        if self._state.body.deals is not None:
            raise NeedsRows(ONLY_SUMS)
        return super().look(lens)

    @property
    def effective_rows(self) -> float:
        """How many rows of equal weight tell as much."""
        deals = self._state.body.deals
        if deals is None or deals.weight is None or deals.squares is None:
            return super().effective_rows
        return float(deals.weight.sum() ** 2 / deals.squares.sum())

    def pooled(self, statistics: Mapping[str, RowStatistic]) -> Pooled | None:
        """Return the moments of the sample, as those of so many rows, or those that slices keep."""
        sample = self.sample
        if sample is None:
            return self._of_moments(statistics)
        return self.once(("pooled", *statistics), lambda: self._of_sample(sample, statistics))

    def _of_moments(self, statistics: Mapping[str, RowStatistic]) -> Pooled | None:
        known, sums = self._state.body.moments, self.sums(statistics)
        centres = {name: float(sums.means()[name]) for name in statistics if name in known}
        return fewest(pooled_moments(known[name], of, sums.weight) for name, of in centres.items())

    def _of_sample(self, sample: Sample, statistics: Mapping[str, RowStatistic]) -> Pooled | None:
        made = Pass(sample.of(self.predictions), replace(self.settings, precision="double"))
        made.keep_losses(statistics)
        found = made.run().pooled(statistics)
        share = made.predictions.n_rows / self.predictions.n_rows
        return None if found is None else (found[0] * share, found[1] * share**3)

    def by_deal(self, lens: str) -> Doubles | None:
        """Return (deals, 3, cells) sums of weight, score and outcome, of many rows."""
        ranks = self._state.body.ranks.get(lens)
        return None if ranks is None else ranks.sums()

    def problem(self, lens: str) -> Problem:
        """Return the induced problem of a lens."""
        self.is_scalar(lens)
        if self._state.body.deals is None:
            return super().problem(lens)
        return self.once(("problem", lens), lambda: self._of_cells(lens))

    def _of_cells(self, lens: str) -> Problem:
        cells = self._state.body.cells
        if lens in cells:
            return cells[lens].problem()
        return cells["class-1"].problem().of_other_class()

    def lens_bins(self, lens: str, bins: int) -> Bins:
        """Return equal-width sums of the scores of a lens."""
        if self._state.body.deals is None:
            return super().lens_bins(lens, bins)
        return self.problem(lens).bins("equal-width", bins)

    def vector_problem(self, lens: str) -> VectorProblem:
        """Return the problem of a one-dimensional lens as one of two outcomes, if there are few rows."""
        return self.problem(lens).as_vectors()

    def class_bins(self, bins: int) -> Bins:
        """Return equal-width sums of every class's probability."""
        if told_by_lenses(self.predictions.n_classes, bins):
            return super().class_bins(bins)
        if bins not in self._state.bins:
            known = ", ".join(map(str, self._state.bins))
            kept = (
                f"sums over {known} bins of each class, not {bins}" if known else f"no sums over {bins} bins"
            )
            raise NeedsRows(f"the state has {kept}; {ONLY_SUMS}")
        return self._state.bins[bins]

    def sums(self, names: Iterable[str], of_classes: Iterable[str] = ()) -> Sums:
        """Return the sums of statistics, or all that there are."""
        deals = self._state.body.deals
        if deals is None:
            return super().sums(names, of_classes)
        if not set(names) <= set(deals.statistics):
            raise NeedsRows(ONLY_SUMS)
        return self.once("sums", lambda: Sums.of_deals(deals, self._state.head.weighted))

    @cached_property
    def rows_by_class(self) -> Array:
        """(K,) rows of each class."""
        deals = self._state.body.deals
        return super().rows_by_class if deals is None else deals.by_class[0].astype(np.int64)

    @cached_property
    def hits_by_class(self) -> Array:
        """(K,) weight of the rows of each class that are predicted as it."""
        deals = self._state.body.deals
        return super().hits_by_class if deals is None else deals.by_class[1]

    @cached_property
    def infinite_log_loss(self) -> InfiniteLogLoss | None:
        """The rows of infinite log-loss and the log-loss of the others."""
        deals = self._state.body.deals
        if deals is None or "log_loss" not in deals.statistics:
            return super().infinite_log_loss
        own = deals.statistics["log_loss"]
        if not own.infinite.any():
            return None
        weight = float((deals.count if deals.weight is None else deals.weight).sum()) - own.infinite_weight
        without = deals.total("log_loss") / weight if weight else float("nan")
        return InfiniteLogLoss(int(own.infinite.sum()), own.first, without)

    @cached_property
    def clipped_rows(self) -> int:
        """How many rows count with the least probability that the settings allow."""
        deals = self._state.body.deals
        if deals is None or CLIPPED not in deals.statistics:
            return super().clipped_rows
        return int(deals.statistics[CLIPPED].sums.sum())

    def agreed(self, settings: Settings) -> Settings:
        """Return the settings with what was decided when the state was made; no class is tested."""
        return replace(of_state(self._state, settings, self.predictions.provenance.path), test=False)

    def grid(self, lens: str) -> CellTable | None:
        """Return the cells of the grid that a lens has."""
        found = self._state.body.cells.get(lens)
        if found is None and lens == "class-0" and "class-1" in self._state.body.cells:
            other = self._state.body.cells["class-1"].table()
            return None if other is None else other.of_other_class()
        return None if found is None else found.table()


def told_by_lenses(n_classes: int, bins: int) -> bool:
    """Tell whether the score cells of the lenses of classes are enough for sums over equal-width bins."""
    return n_classes == 2 and POINTS % bins == 0


def of_state(state: State, settings: Settings, name: str) -> Settings:
    """Return the settings with what was decided when the state was made.

    Raises
    ------
    UsageError
        If they say otherwise, or ask for rows.
    """
    require_mergeable(settings)
    head = state.head
    for given, kept, option in (
        (settings.clip * uses_clip(settings), head.clip, "--clip"),
        (settings.groups, head.groups, "--class-groups"),
    ):
        if given and given != kept:
            was = f"with {kept}" if kept else "without"
            raise UsageError(f"{option}: {name} was made {was}; make a state with it from the predictions")
    for asked, option in ((settings.sd, "--sd"), (settings.resample_predictions, "--resample-predictions")):
        if asked:
            raise UsageError(f"{option} resamples rows, and {name} is a state, which keeps sums, not rows")
    return replace(settings, clip=head.clip, groups=head.groups)


def uses_clip(settings: Settings) -> bool:
    """Tell whether a metric asked for depends on the clip; of the usual ones some do."""
    calls = parse_metrics(settings.metrics, settings.defaults)
    return not calls or any(call.is_clipped for call in calls)


def require_mergeable(settings: Settings) -> None:
    """Raise a UsageError if settings ask for what cannot be put together of parts."""
    for given, option, reason in (
        (settings.priors, "--priors", "their weights depend on all rows"),
        (settings.shift_to_priors, "--shift-to-priors", "move the probabilities with calcli apply first"),
        (settings.cluster, "--cluster", "clusters may continue in other parts"),
        (settings.costs, "--costs", "their decisions are not among the sums"),
        (settings.decision_column, "--decision-column", "their costs are not among the sums"),
    ):
        if given:
            raise UsageError(f"{option} does not go into a state: {reason}; leave it out")
