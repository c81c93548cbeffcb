"""A state: what a pass has collected from rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.binning import Bins
from calcli.core.data.blocks import Later
from calcli.core.data.derived import GatheredScores
from calcli.core.data.predictions import Called, Kind, Predictions, Provenance, Scores, called
from calcli.core.data.units import hashed
from calcli.core.language.errors import InputError, NeedsRows
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.settings import Precision, Settings
from calcli.core.problems.problem import Problem
from calcli.core.state.cells import ScoreCells
from calcli.core.state.needs import ONLY_SUMS, Need
from calcli.core.state.random_groups import GroupSums, RandomGroups, digests_of
from calcli.core.state.sample import Rows, Sample


@dataclass(frozen=True, order=True)
class Part:
    """One of the data sets in a state.

    Attributes
    ----------
    name
        Of its file.
    rows
        Number of rows; rows of weight 0 do not count.
    digest
        The stored sums of the rows.
    first
        The number of its first row, from which the others are counted.
    """

    name: str
    rows: int
    digest: str
    first: int = 0


OF_TWO = "top-1", "class-0", "class-1"  # lenses; the last determines the others


@dataclass(frozen=True)
class Head:
    """The facts that the parts of a state share.

    Attributes
    ----------
    classes
        Their names.
    kind, kind_reason
        The kind of the scores, and why.
    dtype, computed_in
        Type of the stored scores, and of the computation.
    labels
        Where they came from.
    weighted
        Whether rows have weights.
    metrics, bins
        The metrics and bins for which the state was made.
    clip
        Smallest probability of a label in the log-loss.
    lenses
        By name, the statistics that are score and outcome of a one-dimensional lens, and the statistic that
        chooses its rows ("" for all).
    groups
        Class groups by name: the group of each class.
    key
        The column that identifies rows; "" for row numbers.
    percent
        Whether the stored scores were percentages.
    by
        Columns with a state for every value, or kept with few rows.
    """

    classes: tuple[str, ...]
    kind: Kind
    kind_reason: str
    dtype: str
    computed_in: str
    labels: str
    weighted: bool
    metrics: tuple[str, ...]
    bins: int
    clip: float
    lenses: Mapping[str, tuple[str, str, str]]
    groups: Mapping[str, Mapping[str, str]]
    key: str = ""
    percent: bool = False
    by: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings of the state."""
        precision: Precision = "single" if self.computed_in == "float32" else "double"
        return Settings(self.metrics, self.bins, precision=precision, clip=self.clip, groups=self.groups)

    @property
    def called(self) -> Called:
        """What `--kind` calls the stored scores."""
        return called(self.kind, self.percent)


@dataclass(frozen=True)
class Facts:
    """Facts about the scores; see `calcli.core.state.needs.InputFacts`."""

    worst_row_sum: float = 1.0
    zeros: int = 0
    ones: int = 0
    tied_rows: int = 0

    def merged(self, facts: Facts) -> Facts:
        """Return the facts about both."""
        worst = max(self.worst_row_sum, facts.worst_row_sum, key=lambda x: abs(np.log(x)))
        return Facts(
            worst, self.zeros + facts.zeros, self.ones + facts.ones, self.tied_rows + facts.tied_rows
        )


class MeasuredRows(NamedTuple):
    """The statistics of (n,) rows by name, their labels, weights if there are any, and ids as in `Rows`."""

    columns: Mapping[str, Array]
    labels: Array
    weights: Floats | None
    ids: Array


class Body:
    """The statistics of rows: row by row in a run; for many rows sums over random groups, and score cells.

    Attributes
    ----------
    columns
        (n,) statistics by name, if they are kept row by row.
    sums, cells
        Sums of many rows, and the score cells of each lens; the cells of the second of two classes also
        provide the first and the likelier one.
    sample
        Some of the rows themselves; None if not requested.
    """

    def __init__(self, head: Head, *, in_run: bool = False, sampled: bool = True) -> None:
        self.n_classes, self.weighted, self._lenses = len(head.classes), head.weighted, head.lenses
        self.keyed, self._of_answers, self._in_run = bool(head.key), head.classes == WRONG_RIGHT, in_run
        # scores and outcomes of the default lenses are summed as well, those of others only counted
        pairs = (pair for lens, pair in head.lenses.items() if lens not in ("top-1", "class-1"))
        self._of_lenses = {name for pair in pairs for name in pair}
        self.columns: Mapping[str, Array] = {}
        self.sample = Sample(self.n_classes, head.weighted) if sampled else None
        self.sums: RandomGroups | None = None
        self.cells: dict[str, ScoreCells] = {}

    def merge(self, body: Body) -> None:
        """Add the rows of another body."""
        if self.sample is not None and body.sample is not None:
            self.sample.merge(body.sample)
        if body.sums is not None:
            self.sums = body.sums if self.sums is None else self.sums.merged(body.sums)
        for lens, cells in body.cells.items():
            self._cells_of(lens).merge(cells)

    def begin(self, *, apart: bool = True) -> GroupSums:
        """Return the accumulator of rows, see `GroupSums`, and make the cells to which `add` adds."""
        of_two = self.n_classes == 2 and {"class-0", "class-1"} <= self._lenses.keys()
        for lens in self._lenses:
            if not (of_two and lens in OF_TWO[:-1]):
                self._cells_of(lens)
        return GroupSums(self.n_classes, self.weighted, apart=apart)

    def add(self, rows: MeasuredRows, sums: GroupSums) -> Iterator[Later]:
        """Add rows to the sums and the cells."""
        columns, labels, weights, ids = rows
        summed = {name: values for name, values in columns.items() if name not in self._of_lenses}
        same = np.zeros_like(labels) if self._of_answers and self.keyed else labels  # in all systems
        hashes, numbers = (ids, None) if self.keyed else (hashed(ids), ids)
        digests = None if self._in_run else digests_of(same, hashes)
        yield from sums.add(summed, labels, weights, hashes=hashes, numbers=numbers, digests=digests)
        for lens, cells in self.cells.items():
            names, inside = self._lenses[lens], weights
            score, outcome = columns[names[0]], columns[names[1]]
            if names[2]:
                chosen = np.flatnonzero(columns[names[2]])
                score, outcome = score[chosen], outcome[chosen]
                inside = None if weights is None else weights[chosen]
            second = self.n_classes == 2 and lens == OF_TWO[-1] and "class-0" in self._lenses
            yield from cells.add(
                score, outcome, inside, columns[self._lenses["class-0"][0]] if second else None
            )

    def _cells_of(self, lens: str) -> ScoreCells:
        if lens not in self.cells:
            self.cells[lens] = ScoreCells.empty(self.weighted)
        return self.cells[lens]

    def problem(self, lens: str) -> Problem | None:
        """Return the problem of a lens from its cells; None without cells."""
        if lens in self.cells:
            return self.cells[lens].problem()
        second = self.cells.get(OF_TWO[-1]) if lens in OF_TWO and self.n_classes == 2 else None
        if second is None:
            return None
        if lens == "class-0":
            return second.of_other_class()
        return second.problem() if self._of_answers else second.of_confidence()


@dataclass(frozen=True)
class State:
    """A summary of predictions: a few rows themselves; for more rows facts, sums and cells.

    Attributes
    ----------
    head
        The facts that its parts share.
    parts
        The data sets in it; kept rows stand in their order.
    rows
        The rows, if there are few.
    facts
        Facts about the scores.
    bins
        (K, m) sums over equal-width bins of every class's probability, by m.
    body
        Statistics of the rows.
    slices
        For many rows the state of each value of columns, by column and value.
    kept
        In a run, what only a pass over rows can provide.
    """

    head: Head
    parts: tuple[Part, ...]
    facts: Facts
    bins: Mapping[int, Bins]
    body: Body
    slices: Mapping[str, Mapping[str, State]] = field(default_factory=dict)
    kept: Mapping[Need, Any] = field(default_factory=dict)
    rows: Rows | None = None

    @classmethod
    def of_rows(cls, head: Head, parts: tuple[Part, ...], rows: Rows) -> State:
        """Return the state that keeps few rows."""
        return cls(head, parts, Facts(), {}, Body(head, sampled=False), rows=rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.rows for part in self.parts)

    def provides(self, *needs: Need) -> bool:
        """Return whether it provides all that is needed."""
        return not self.missing_reason(needs)

    def missing_reason(self, needs: Iterable[Need]) -> str:
        """Return why a need is not met, as a clause; "" if it is."""
        return next((reason for need in needs if (reason := need.missing_reason(self))), "")


class UnavailableRows:
    """A placeholder for rows, which raises an error when it is used."""

    def __init__(self, path: str) -> None:
        self.path = path

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NeedsRows(f"{self.path}: {ONLY_SUMS}")

    __len__ = __getitem__ = __iter__ = __array__ = __eq__ = __ne__ = __lt__ = __gt__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse()


@dataclass(frozen=True)
class UnavailableScores:
    """Scores without data: only their shape and kind."""

    kind: Kind
    kind_reason: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    path: str

    def blocks(self, rows: int) -> NoReturn:
        """Raise an error: there are no rows."""
        raise NeedsRows(f"{self.path}: {ONLY_SUMS}")


@dataclass(frozen=True, eq=False)
class StatePredictions(Predictions):
    """Predictions from a state, which has their rows if there are few.

    Attributes
    ----------
    state
        The state.
    """

    state: State = field(kw_only=True)

    @property
    def has_rows(self) -> bool:  # type: ignore[override]
        """Whether the state keeps the rows."""
        return self.state.rows is not None


def predictions_of(state: State, name: str = "a state", *, in_file: bool = False) -> StatePredictions:
    """Return the predictions of a state, with the name of the state or of its file."""
    head, rows, missing = state.head, state.rows, UnavailableRows(name)
    labels: Any = rows.labels if rows else missing
    weights: Any = rows.weights if rows else missing if head.weighted else None
    shape, dtype = (state.n_rows, len(head.classes)), np.dtype(head.dtype)
    scores: Scores = UnavailableScores(head.kind, head.kind_reason, shape, dtype, name)
    columns = {}
    if rows:
        scores = GatheredScores(rows.scores, head.kind, head.kind_reason, stored=dtype)
        columns = {**rows.columns, **({head.key: rows.ids} if head.key else {})}
    n_parts = len(state.parts)
    read_as = f"a state of {n_parts} data sets" if n_parts > 1 else f"a state of {state.parts[0].name}"
    files = (name,) if in_file else ()
    provenance = Provenance(name, head.labels, files, read_as=read_as, percent=head.percent)
    return StatePredictions(scores, labels, head.classes, weights, columns, provenance, state=state)


def names_rows(predictions: Predictions) -> bool:
    """Return whether rows have positions in a file; slices and merged parts of a state do not."""
    data_sets = predictions.state.parts if isinstance(predictions, StatePredictions) else ()
    return not data_sets or (len(data_sets) == 1 and bool(data_sets[0].digest))


def states_by(predictions: Predictions, column: str) -> Mapping[str, State]:
    """Return states of every value of a column, by value, if predictions have no rows.

    Raises
    ------
    InputError
        If their state was made without slices by this column.
    """
    if not isinstance(predictions, StatePredictions):
        return {}
    head = predictions.state.head
    if column not in head.by:
        raise InputError(
            f"{predictions.provenance.path} is a state, made without slices by {column}; it has "
            f"{', '.join(head.by) or 'none'}; make one from the predictions with --by {column} --save-state"
        )
    return predictions.state.slices.get(column, {})


def rows_left(predictions: Predictions) -> Predictions:
    """Return predictions; for many rows the sample that a state keeps, as the provenance then says."""
    if not isinstance(predictions, StatePredictions) or predictions.has_rows:
        return predictions
    sample = predictions.state.body.sample
    if sample is None:  # of a slice
        raise NeedsRows(f"{predictions.provenance.path}: {ONLY_SUMS}")
    rows = sample.of(predictions)
    return replace(rows, provenance=replace(rows.provenance, sampled_from=predictions.n_rows))
