"""What metrics need of a pass over rows. A state says of each need whether it tells it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from calcli.core.data.blocks import Collector, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Units
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Lens, find_lens
from calcli.core.problems.vectors import VectorLens, canonical_lens, members_by_name
from calcli.core.state.collectors import ClassCells, ClassUnits, VectorTable
from calcli.core.state.grid import POINTS

if TYPE_CHECKING:
    from calcli.core.state.state import State

ONLY_SUMS = "this needs rows, and a state keeps sums, not rows; use the predictions"
CLIPPED = "clipped"  # statistic of rows whose log-loss is
UnitsOf = Callable[[int], Units]  # that change sides together, given how many sums are kept of each


class Pass(NamedTuple):
    """The rows that a pass goes over, how it computes, and in a comparison the units that change sides."""

    rows: Predictions
    settings: Settings
    units_for: UnitsOf | None = None


class Need(ABC):
    """Something to keep of a pass; equal needs are kept once."""

    of_rows: ClassVar[bool] = False  # whether no state in a file holds it
    each: bool = False  # whether single rows are looked at, so that no sums tell it

    @property
    def statistics(self) -> Mapping[str, RowStatistic]:
        """What is computed of every row, by name: functions of a block that return (n,) values."""
        return {}

    @abstractmethod
    def lack(self, state: State) -> str:
        """Return why a state does not tell it, as a clause; "" if it does."""


@dataclass(frozen=True)
class Mean(Need):
    """The mean of a statistic of rows.

    Attributes
    ----------
    name
        Of the statistic.
    of
        Function of a block that returns (n,) values.
    each
        See `Need`.
    """

    name: str
    of: RowStatistic = field(compare=False)
    each: bool = False

    @property
    def statistics(self) -> Mapping[str, RowStatistic]:
        """The statistic."""
        return {self.name: self.of}

    def lack(self, state: State) -> str:
        """Return why a state does not tell it."""
        body = state.body
        if self.name in body.columns:
            return ""
        summed = body.deals is not None and self.name in body.deals.statistics
        return "" if summed and not self.each else ONLY_SUMS


class RowValues(Mean):
    """The values of a statistic of each row."""

    of_rows = True

    def lack(self, state: State) -> str:
        """Return why a state does not tell it."""
        return "" if self.name in state.body.columns else ONLY_SUMS


@dataclass(frozen=True)
class Scores(Need):
    """The scores and outcomes of a one-dimensional lens.

    Attributes
    ----------
    name
        Of the lens.
    lens
        How a block is looked at.
    each
        See `Need`.
    """

    name: str
    lens: Lens = field(compare=False)
    each: bool = False

    @property
    def statistics(self) -> Mapping[str, RowStatistic]:
        """Those of the lens."""
        return self.lens.statistics

    def lack(self, state: State) -> str:
        """Return why a state does not tell it."""
        if self.name not in state.head.lenses:
            return f"the state was made without the lens {self.name}"
        return ONLY_SUMS if self.each and state.body.deals is not None else ""


@dataclass(frozen=True)
class ClassSums(Need):
    """Sums over equal-width bins of every class's probability; those of two classes are scores of lenses."""

    bins: int

    def lack(self, state: State) -> str:
        """Return why a state does not tell it."""
        if self.bins in state.bins or self.told_by_lenses(state):
            return ""
        known = ", ".join(map(str, state.bins))
        kept = f"sums over {known} bins of each class, not {self.bins}"
        return f"the state has {kept if known else f'no sums over {self.bins} bins'}; {ONLY_SUMS}"

    def told_by_lenses(self, state: State) -> bool:
        """Tell whether the scores of both of two classes are known, each or on a grid that has the edges."""
        known = {"class-0", "class-1"} <= state.head.lenses.keys()
        return known and len(state.head.classes) == 2 and (state.body.deals is None or self.on_grid)

    @property
    def on_grid(self) -> bool:
        """Whether the edges of the bins are edges of the grid of scores."""
        return POINTS % self.bins == 0


@dataclass(frozen=True)
class Sampled(Need):
    """A sample of the rows."""

    def lack(self, state: State) -> str:
        """Return why a state does not have it."""
        return ONLY_SUMS if state.body.sample is None else ""


class Kept(Need):
    """What only a pass over rows keeps."""

    of_rows = True
    each = True

    def lack(self, state: State) -> str:
        """Return why a state does not have it."""
        return "" if self in state.kept else ONLY_SUMS

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector | None:
        """Return what gathers it in a pass over rows that computes in a type; None if there is nothing to."""
        return None


@dataclass(frozen=True)
class Rows(Kept):
    """The rows themselves, for fits to them."""


@dataclass(frozen=True)
class Folds(Kept):
    """The folds that rows are dealt into."""

    of_rows = False


@dataclass(frozen=True)
class Vectors(Kept):
    """The probabilities and outcomes of a lens on several outcomes."""

    name: str
    lens: VectorLens = field(compare=False)

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector:
        """Return what gathers the problem."""
        return VectorTable(self.lens, rows, dtype)


@dataclass(frozen=True)
class ClassPlaces(Kept):
    """The equal-width bin of every probability."""

    bins: int

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector:
        """Return what gathers the bins."""
        return ClassCells(rows.n_rows, rows.n_classes, self.bins)


@dataclass(frozen=True)
class UnitSums(Kept):
    """The same sums as `ClassSums` unit by unit, for comparisons."""

    bins: int
    units: Units | None = field(compare=False, default=None)

    of_rows = False

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector:
        """Return what adds up the rows of each unit."""
        assert self.units is not None
        return ClassUnits(self.units, rows.n_classes, self.bins)


def through(name: str, rows: Predictions, settings: Settings, *, each: bool = False) -> Scores | Vectors:
    """Return what it takes to look at rows through a lens.

    Raises
    ------
    UsageError
        If there is no such lens for that number of classes.
    """
    lens = find_lens(name, rows.n_classes, members_by_name(settings.groups, rows.classes))
    return Scores(name, lens, each) if isinstance(lens, Lens) else Vectors(name, lens)


def all_probs(rows: Predictions) -> Vectors:
    """Return the need of the probabilities of all classes, for what must put each of them in order."""
    return Vectors("canonical", canonical_lens(rows.n_classes))


def every_class(rows: Predictions, settings: Settings) -> tuple[Need, ...]:
    """Return what puts each class in order: of two classes their lenses, else all probabilities."""
    if rows.n_classes == 2:
        return through("class-0", rows, settings), through("class-1", rows, settings)
    return (all_probs(rows),)


def class_sums(bins: int, rows: Predictions, settings: Settings) -> tuple[Need, ...]:
    """Return the need of equal-width sums of every class; two classes are in order anyway."""
    return (ClassSums(bins), *(every_class(rows, settings) if rows.n_classes == 2 else ()))


def unit_sums(bins: int, of: Pass) -> tuple[Need, ...]:
    """Return the need of the same sums unit by unit, where there are units."""
    return () if of.units_for is None else (UnitSums(bins, of.units_for(3 * of.rows.n_classes * bins)),)


LOG_ODDS = RowValues("log_odds", lambda block: block.log_odds)  # of two classes
