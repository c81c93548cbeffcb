"""What metrics need from a pass over rows: sums, cells, rows, facts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from calcli.core.data.arrays import Array, Floats, Positions
from calcli.core.data.binning import Bins, equal_width_index
from calcli.core.data.blocks import Block, Collector, Later, RowStatistic, add_at
from calcli.core.data.predictions import Predictions
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import (
    Lens,
    VectorLens,
    VectorProblem,
    canonical_lens,
    find_lens,
    members_by_name,
)
from calcli.core.state.cells import BINS, RANKS, rank_of

if TYPE_CHECKING:
    from calcli.core.state.state import State


class RowTable:
    """Named statistics of every row, in the order of the rows.

    Parameters
    ----------
    n_rows
        Number of rows.
    statistics
        Statistics to keep, by name: functions of a block that return (n,) values.
    """

    def __init__(self, n_rows: int, statistics: Mapping[str, RowStatistic]) -> None:
        self._n_rows = n_rows
        self._statistics = dict(statistics)
        self.columns: dict[str, Array] = {}

    def add(self, block: Block) -> Iterable[Later]:
        """Store the block's statistics."""
        values = {name: statistic(block) for name, statistic in self._statistics.items()}
        return (partial(self._store, block.rows, values),)

    def _store(self, rows: slice, statistics: Mapping[str, Array]) -> None:
        for name, values in statistics.items():
            if name not in self.columns:
                self.columns[name] = np.empty(self._n_rows, values.dtype)
            self.columns[name][rows] = values

    def __getitem__(self, name: str) -> Array:
        """Return the (N,) values of one statistic."""
        return self.columns[name]


class ClassBins:
    """Sums over equal-width bins of every class's probability, from one pass.

    Only probabilities of at least 1 / bins are binned one by one, at most `bins` of a row; the first
    bin is what they leave of the class's totals.
    """

    def __init__(self, predictions: Predictions, bins: int) -> None:
        self._bins = bins
        self._n_rows = predictions.n_rows
        self._weights = predictions.weights
        shape = (predictions.n_classes, bins)
        self._count = np.zeros(shape, np.int64)
        self._weight, self._score, self._outcome = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._total_score, self._total_weight = np.zeros(predictions.n_classes), np.zeros(())

    def add(self, block: Block) -> Iterator[Later]:
        """Add one block to the sums."""
        weights = block.weights
        row_weight = 1 / block.total if weights is None else weights / block.total
        # slightly below the edge: rounding must not hide a probability that belongs to the second bin
        least = block.total * ((1 - 1e-6) / self._bins)
        above = np.flatnonzero(block.exp >= block.per_row(least))
        outer, inner = block.exp.shape
        starts = np.searchsorted(above, np.arange(outer + 1) * inner)
        outer_place = np.repeat(np.arange(outer), np.diff(starts))
        second = above - outer_place * inner
        classes, rows = (outer_place, second) if block.class_axis == 0 else (second, outer_place)
        prob = block.exp.ravel().take(above) / block.total.take(rows)
        cells = self._cells(prob, classes)
        of_label = self._cells(block.label_prob, block.labels)
        yield partial(self._total_score.__iadd__, block.sum_rows(row_weight))
        yield partial(add_at, self._count, cells)
        yield partial(add_at, self._outcome, of_label, 1 if weights is None else weights)
        if weights is None:
            yield partial(add_at, self._score, cells, prob)
        else:
            yield partial(self._total_weight.__iadd__, weights.sum())
            yield partial(add_at, self._weight, cells, weights[rows])
            yield partial(add_at, self._score, cells, prob * weights[rows])

    def _cells(self, prob: Floats, classes: Array) -> Positions:
        """Return where in the (K, bins) table probabilities of classes belong."""
        cells = equal_width_index(prob, self._bins)
        cells += classes.astype(np.intp, copy=False) * self._bins
        return cells

    def bins(self) -> Bins:
        """Return the sums, each (K, bins)."""
        count, score = self._count.copy(), self._score.copy()
        count[:, 0] = self._n_rows - count[:, 1:].sum(1)
        score[:, 0] = np.where(count[:, 0] > 0, self._total_score - score[:, 1:].sum(1), 0)
        if self._weights is None:
            weight = count.astype(np.float64)
        else:
            weight = self._weight.copy()
            # a rounding error is no weight, and no state may hold a negative weight
            weight[:, 0] = np.maximum(self._total_weight - weight[:, 1:].sum(1), 0)
            weight[count[:, 0] == 0, 0] = 0
        return Bins(count, weight, score, self._outcome)


class InputFacts:
    """Facts about the scores that a pass collects.

    Attributes
    ----------
    worst_row_sum
        The sum of probabilities farthest from one, as given (for logits: 1).
    zeros, ones
        Elements of exactly 0, rows with exactly 1 for one class.
    tied_rows
        Rows with a largest probability shared by several classes.
    """

    def __init__(self, predictions: Predictions) -> None:
        self._kind, self._of_answers = predictions.kind, predictions.of_answers
        self._worst_log_sum = 0.0
        self.zeros = self.ones = self.tied_rows = 0

    def add(self, block: Block) -> Iterable[Later]:
        """Look at one block."""
        counts = [block.tied_rows, int(np.count_nonzero(block.confidence == 1)), 0]
        worst = 0.0
        if self._kind != "logits":
            scores = block.confidence if self._of_answers else block.exp
            counts[2] = int(np.count_nonzero(scores == 0))
            worst = float(block.log_sums[np.abs(block.log_sums).argmax()])
        return (partial(self._note, counts, worst),)

    def _note(self, counts: Sequence[int], worst: float) -> None:
        self.tied_rows += counts[0]
        self.ones += counts[1]
        self.zeros += counts[2]
        self._worst_log_sum = max(self._worst_log_sum, worst, key=abs)

    @property
    def worst_row_sum(self) -> float:
        """The sum of probabilities farthest from one."""
        return float(np.exp(self._worst_log_sum))


class ClassCells:
    """Collector of the bins of the probabilities, (K, N), in the smallest integers that hold them."""

    def __init__(self, n_rows: int, n_classes: int, bins: int) -> None:
        self._bins = bins
        self.cells = np.empty((n_classes, n_rows), np.min_scalar_type(bins - 1))

    def add(self, block: Block) -> Iterable[Later]:
        """Store the bins of one block."""
        probs = block.probs
        self.cells[:, block.rows] = equal_width_index(probs.ravel(), self._bins).reshape(probs.shape)
        return ()


class RankSums:
    """Collector of weights by class and score cell, for the order of each class against the rest.

    Attributes
    ----------
    sums
        (K, 2, cells) weights of all rows, and of the rows of the class, by ascending probability.
    """

    def __init__(self, predictions: Predictions) -> None:
        kind = np.int64 if predictions.weights is None else np.float64
        self.sums = np.zeros((predictions.n_classes, 2, RANKS), kind)

    def add(self, block: Block) -> Iterator[Later]:
        """Add one block."""
        every = rank_of(block.probs)
        every += np.arange(0, self.sums.size, 2 * RANKS, dtype=every.dtype)[:, None]
        of_label = RANKS + every[block.labels, np.arange(len(block.labels))]
        weights = block.weights
        yield partial(
            add_at, self.sums, every.ravel(), 1 if weights is None else np.tile(weights, len(every))
        )
        yield partial(add_at, self.sums, of_label, 1 if weights is None else weights)


class VectorTable:
    """Collects the problem of a vector lens, for metrics that need every row at once."""

    def __init__(self, lens: VectorLens, predictions: Predictions, dtype: np.dtype[Any]) -> None:
        self._lens = lens
        self._weights = predictions.weights
        self._probs = np.empty((lens.size, predictions.n_rows), dtype)
        self._labels = np.empty(predictions.n_rows, np.intp)

    def add(self, block: Block) -> Iterable[Later]:
        """Store the block's probabilities and outcomes."""
        self._probs[:, block.rows] = self._lens.table(block)
        self._labels[block.rows] = self._lens.outcome(block)
        return ()

    @property
    def problem(self) -> VectorProblem:
        """The problem of all rows; its probabilities are laid out outcome by outcome."""
        return VectorProblem(self._probs.T, self._labels, self._weights, self._lens.names)


ONLY_SUMS = "this needs rows, and a state keeps sums, not rows; use the predictions"
CLIPPED = "clipped"  # statistic of rows whose log-loss is


class Pass(NamedTuple):
    """The rows that a pass goes over, and how it computes."""

    rows: Predictions
    settings: Settings
    summed: bool = False  # whether all rows are summed


class Need(ABC):
    """Something to keep from a pass; equal needs are kept once."""

    of_rows: ClassVar[bool] = False  # whether states in files never hold it
    each: bool = False  # whether it depends on single rows: sums are not enough

    @property
    def statistics(self) -> Mapping[str, RowStatistic]:
        """Statistics computed for every row, by name: functions of a block that return (n,) values."""
        return {}

    @abstractmethod
    def missing_reason(self, state: State) -> str:
        """Return why a state does not provide it, as a clause; "" if it does."""


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

    def missing_reason(self, state: State) -> str:
        """Return why a state does not tell it."""
        body = state.body
        if self.name in body.columns:
            return ""
        summed = body.sums is not None and self.name in body.sums.statistics
        return "" if summed and not self.each else ONLY_SUMS


class RowValues(Mean):
    """The values of a statistic of each row."""

    of_rows = True

    def missing_reason(self, state: State) -> str:
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
        """The statistics of the lens."""
        return self.lens.statistics

    def missing_reason(self, state: State) -> str:
        """Return why a state does not tell it."""
        if self.name not in state.head.lenses:
            return f"the state was made without the lens {self.name}"
        return ONLY_SUMS if self.each and state.body.sums is not None else ""


@dataclass(frozen=True)
class ClassSums(Need):
    """Sums over equal-width bins of every class's probability; with two classes lenses give the scores."""

    bins: int

    def missing_reason(self, state: State) -> str:
        """Return why a state does not tell it."""
        if self.bins in state.bins or self.available_from_lenses(state):
            return ""
        numbers = ", ".join(map(str, state.bins))
        sums = f"sums over {numbers} bins of each class, not {self.bins}"
        return f"the state has {sums if numbers else f'no sums over {self.bins} bins'}; {ONLY_SUMS}"

    def available_from_lenses(self, state: State) -> bool:
        """Return whether the scores of both of two classes are known, each or in cells with these edges."""
        has_both = {"class-0", "class-1"} <= state.head.lenses.keys()
        return has_both and len(state.head.classes) == 2 and (state.body.sums is None or self.in_cells)

    @property
    def in_cells(self) -> bool:
        """Whether the edges of the bins are among the edges for which score cells have sums."""
        return BINS % self.bins == 0


@dataclass(frozen=True)
class Sampled(Need):
    """A sample of the rows."""

    def missing_reason(self, state: State) -> str:
        """Return why a state does not have it."""
        return ONLY_SUMS if state.body.sample is None else ""


class Kept(Need):
    """What only a pass over rows can provide."""

    of_rows = True

    def missing_reason(self, state: State) -> str:
        """Return why a state does not have it."""
        return "" if self in state.kept else ONLY_SUMS

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector | None:
        """Return its collector for a pass that computes in a type; None if nothing is to be collected."""
        return None


@dataclass(frozen=True)
class Rows(Kept):
    """The rows themselves, for fits to them."""


@dataclass(frozen=True)
class ClassRanks(Kept):
    """The cells of every class's probability, coarser than those of a lens."""

    of_rows = False

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector:
        """Return the collector of the cells."""
        return RankSums(rows)


@dataclass(frozen=True)
class Vectors(Kept):
    """The probabilities and outcomes of a lens on several outcomes."""

    name: str
    lens: VectorLens = field(compare=False)

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector:
        """Return the collector of the problem."""
        return VectorTable(self.lens, rows, dtype)


@dataclass(frozen=True)
class ClassPlaces(Kept):
    """The equal-width bin of every probability."""

    bins: int

    def collector(self, rows: Predictions, dtype: np.dtype[Any]) -> Collector:
        """Return the collector of the bins."""
        return ClassCells(rows.n_rows, rows.n_classes, self.bins)


def through(name: str, rows: Predictions, settings: Settings, *, each: bool = False) -> Scores | Vectors:
    """Return the need of a lens.

    Raises
    ------
    UsageError
        If there is no such lens for that number of classes.
    """
    name = rows.resolve_lens(name)
    lens = find_lens(name, rows.n_classes, members_by_name(settings.groups, rows.classes))
    return Scores(name, lens, each) if isinstance(lens, Lens) else Vectors(name, lens)


def all_probs(rows: Predictions) -> Vectors:
    """Return the need of the probabilities of all classes, for metrics that must sort each class."""
    return Vectors("canonical", canonical_lens(rows.n_classes))


def every_class(rows: Predictions, settings: Settings) -> tuple[Need, ...]:
    """Return the needs for sorting each class: two lenses for two classes, else all probabilities."""
    if rows.n_classes == 2:
        return through("class-0", rows, settings), through("class-1", rows, settings)
    return (all_probs(rows),)


def class_sums(bins: int, rows: Predictions, settings: Settings) -> tuple[Need, ...]:
    """Return the need of equal-width sums of every class; two classes are sorted anyway."""
    return (ClassSums(bins), *(every_class(rows, settings) if rows.n_classes == 2 else ()))


LOG_ODDS = RowValues("log_odds", lambda block: block.log_odds)  # of two classes
