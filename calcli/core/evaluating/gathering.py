"""The pass that makes a state of predictions, and the sample of rows for what its sums do not tell."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.blocks import LOG_ODDS, Block, Collector, blocks
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import counted, select_each, slice_numbers
from calcli.core.evaluating.families import FAMILIES, by_family
from calcli.core.evaluating.families.base import Findings
from calcli.core.evaluating.folded import is_told_by_cells, keep_odds
from calcli.core.evaluating.measurements import Looks, Measurements, Pass
from calcli.core.evaluating.stored import (
    CLIPPED,
    StoredMeasurements,
    require_mergeable,
    told_by_lenses,
)
from calcli.core.evaluating.usual import default_metrics, gap_of
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.settings import NUMBERED, Precision, Settings, StateSettings
from calcli.core.language.text import Watch
from calcli.core.problems.lenses import Lens
from calcli.core.state.collectors import ClassBins, InputFacts
from calcli.core.state.expectedmoments import ExpectedMoments
from calcli.core.state.hashing import Hashes, hashed, of_keys, of_numbers
from calcli.core.state.runs import Part
from calcli.core.state.sample import Sample
from calcli.core.state.state import Body, Facts, Head, MeasuredRows, State

MANY_ROWS = 5_000_000  # above which a run keeps sums, not rows
CHUNK = 1 << 17  # rows whose statistics are gathered before they are summed


def state_of(
    predictions: Predictions,
    settings: Settings | None = None,
    watch: Watch | None = None,
    known: StateSettings = NUMBERED,
    by: Sequence[str] = (),
) -> State:
    """Return the state of predictions, for the metrics that the settings name or the default report.

    Of every value of the columns `by` a small state is in it, for the metrics that sums tell. The computation
    is in double precision unless the scores are stored in single precision or less, or the settings say
    otherwise: how many rows there are does not matter, so that states can be merged.

    Raises
    ------
    InputError
        If there is no such column, or rows share a key.
    UsageError
        If something is asked for that states cannot hold.
    """
    settings = settings or Settings()
    require_mergeable(settings)
    given, predictions = predictions, counted(predictions)
    # in a run the others keep their places
    left = 0 if known.run is None else given.n_rows - predictions.n_rows
    places = np.flatnonzero(given.weights) if left and given.weights is not None else None
    single = settings.precision == "single" or (
        settings.precision == "auto" and predictions.scores.dtype.itemsize <= 4
    )
    precision: Precision = "single" if single else "double"

    made, _ = _pass(predictions, replace(settings, precision=precision))
    whole = _Gathering(made, known=known, places=places).run(watch)
    (part,) = whole.parts
    whole = replace(whole, parts=(replace(part, left=left),))
    slices = {column: _slices(predictions, column, settings, precision, known, places) for column in by}
    return replace(whole, slices=slices)


def _slices(
    predictions: Predictions,
    column: str,
    settings: Settings,
    precision: Precision,
    known: StateSettings,
    places: Array | None,
) -> dict[str, State]:
    """Return a state of the rows of every value of a column, numbered like all rows, without a sample."""
    names = settings.metrics or default_metrics(predictions, settings)[0]
    calls = [call for call in parse_metrics(names, settings.defaults)]
    told = tuple(call.asked for call in calls if not needs_rows(call, predictions, settings))
    if not told:
        raise UsageError(
            f"a state keeps only sums of slices (--by), and {', '.join(names)} need rows; ask for another "
            "metric as well, such as log_loss"
        )
    own = replace(settings, metrics=told, precision=precision, intervals=True)  # asked for later
    slices, numbers = slice_numbers(predictions, column)
    found = {}
    for number, rows in enumerate(select_each(predictions, numbers)):
        chosen = np.flatnonzero(numbers == number)
        among = chosen if places is None else places[chosen]
        state = _Gathering(_pass(rows, own)[0], sampled=False, known=known, places=among).run(None)
        part = slices[number]
        found[part.value] = replace(state, parts=(Part(str(part), rows.n_rows, ""),))
    return found


def summed(
    predictions: Predictions, settings: Settings, watch: Watch | None, lenses: tuple[str, ...]
) -> Measurements | None:
    """Return what a pass over many rows finds in sums and a sample, without keeping rows; None for few.

    Parameters as for `evaluate`, whose rows and problems of several outcomes figures look up later.
    """
    if predictions.n_rows <= MANY_ROWS:
        return None

    made, later = _pass(predictions, settings, lenses)
    keep_odds(made, [call for call in later if is_told_by_cells(call, predictions, settings)])
    state = _Gathering(made, in_run=True, sampled=bool(later)).run(watch)
    found = StoredMeasurements(predictions, state, settings, lenses)
    found.deferred, found.odds = frozenset(map(str, later)), made.odds
    return found


def _pass(
    predictions: Predictions, settings: Settings, lenses: tuple[str, ...] = ()
) -> tuple[Pass, list[MetricExpression]]:
    """Return what a pass is to keep for the metrics of the settings, and those that a sample is to tell."""
    made = Pass(predictions, settings, looks=Looks(lenses))
    for name in (*made.seen, *(("class-0", "class-1") if predictions.n_classes == 2 else ())):
        made.keep_lens(name)
    made.keep_bins(settings.bins)
    if settings.clip:
        least = settings.clip
        made.keep_rows({CLIPPED: lambda block: block.log_prob <= np.log(least)})
    names = settings.metrics or default_metrics(predictions, settings)[0]
    calls = [*parse_metrics(names, settings.defaults), gap_of(predictions, settings)]
    later = [call for call in calls if needs_rows(call, predictions, settings)]
    for call in calls:
        if call not in later:
            FAMILIES[call.entry.family].needs(call, made)
    return made, later


class _Gathering:
    """The pass that makes a state.

    Parameters
    ----------
    made
        What is kept of which rows.
    in_run, sampled
        As for `Body`.
    known
        How rows are known.
    places
        (n,) of the rows among others, ascending; None if there are no others.
    """

    def __init__(
        self,
        made: Pass,
        *,
        in_run: bool = False,
        sampled: bool = True,
        known: StateSettings = NUMBERED,
        places: Array | None = None,
    ) -> None:
        self._made, rows = made, made.predictions
        self._known, self._places, self._joined_rows = known, places, 0
        lenses = {
            name: (lens.score, lens.outcome, lens.given)
            for name, lens in made.lenses.items()
            if isinstance(lens, Lens)
        }
        self._head = Head(
            rows.classes,
            rows.kind,
            rows.scores.kind_reason,
            str(rows.scores.dtype),
            str(made.dtype),
            rows.provenance.labels,
            rows.weights is not None,
            made.settings.metrics,
            made.settings.clip,
            lenses,
            made.settings.groups,
            known.key or "",
            rows.provenance.percent,
        )
        self._facts = InputFacts(rows)
        self._bins = {
            bins: ClassBins(rows, bins)
            for bins in sorted(made.bins)
            if not told_by_lenses(rows.n_classes, bins)
        }
        self._body = Body(self._head, in_run=in_run, sampled=sampled)
        self._moments = ExpectedMoments({} if in_run or sampled else made.losses, seen=True)
        self._keys = rows.column(known.key) if known.key else None
        self._pending: list[tuple[dict[str, Array], Array, Floats | None, Hashes]] = []
        self._waiting = 0

    def run(self, watch: Watch | None) -> State:
        """Read the rows."""
        rows, odds = self._made.predictions, self._made.odds
        collectors: list[Collector] = [self._facts, self._moments, *self._bins.values()]
        collectors += [] if odds is None else [odds]
        for block in blocks(rows, self._made.settings.precision):
            for collector in collectors:
                collector.add(block)
            if (chunk := self._gathered(block)) is not None:
                self._body.add(chunk)
            if watch is not None:
                watch(block.rows.stop)
        if self._pending:
            self._body.add(self._joined())
        if self._head.key:
            self._require_unlike_keys()
        self._body.moments = self._moments.moments
        facts = Facts(self._facts.worst_row_sum, self._facts.zeros, self._facts.ones, self._facts.tied_rows)
        bins = {m: table.bins() for m, table in self._bins.items()}
        state = State(self._head, (), facts, bins, self._body)
        part = Part(
            rows.provenance.path, rows.n_rows, _digest(state), self._known.run or "", self._known.first_row
        )
        return replace(state, parts=(part,))

    def _gathered(self, block: Block) -> MeasuredRows | None:
        """Take the statistics of the rows of one block; return those that wait if they are enough."""
        columns = {
            name: values
            for name, statistic in self._made.statistics.items()
            if (values := statistic(block)).dtype.kind in "bf"
        }
        weights = None if block.weights is None else block.weights.astype(np.float64)
        hashes = self._hashes(block)
        if self._body.sample is not None:
            self._body.sample.add(hashes, block.labels, weights, block.scores)
        self._pending.append((columns, block.labels, weights, hashes))
        self._waiting += len(block.labels)
        return self._joined() if self._waiting >= CHUNK else None

    def _hashes(self, block: Block) -> Hashes:
        if self._keys is None:
            return hashed(self._numbers(block.rows.start, block.rows.stop))
        path = self._made.predictions.provenance.path
        return of_keys(self._keys[block.rows], f"{path}: column {self._head.key}", block.rows.start)

    def _numbers(self, start: int, stop: int) -> Array:
        """Return the numbers of some rows."""
        places = np.arange(start, stop) if self._places is None else self._places[start:stop]
        return self._known.first_row + places

    def _joined(self) -> MeasuredRows:
        """Return the rows that wait."""
        tables, labels, weights, hashes = zip(*self._pending, strict=True)
        columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        joined = None if weights[0] is None else np.concatenate(weights)
        keys = None if self._keys is None else np.concatenate(hashes)
        told, start = np.concatenate(labels), self._joined_rows
        self._joined_rows += len(told)
        self._pending, self._waiting = [], 0
        return MeasuredRows(columns, told, joined, keys, self._numbers(start, self._joined_rows))

    def _require_unlike_keys(self) -> None:
        """Raise an InputError if rows share a key, as far as the lowest hashes tell."""
        hashes = self._body.lowest
        shared = len(hashes) - len(np.unique(hashes))
        if shared:
            rows, key = self._made.predictions, self._head.key
            values, counts = np.unique(np.asarray(rows.column(key)).astype(str), return_counts=True)
            raise InputError(
                f"{rows.provenance.path}: {key} {values[counts.argmax()]} is there {counts.max():,} times; "
                "expected unique keys"
            )


def _digest(state: State) -> str:
    """Return the SHA-256 of what tells one data set from another."""
    body, whole = state.body, hashlib.sha256()
    if body.deals is None:
        tables = [body.labels, *(body.columns[name] for name in sorted(body.columns))]
    else:
        tables = [body.deals.digest, *(own.sums for own in body.deals.statistics.values())]
    for table in tables:
        whole.update(np.ascontiguousarray(table).tobytes())
    return whole.hexdigest()


def needs_rows(call: MetricExpression, predictions: Predictions, settings: Settings) -> bool:
    """Tell whether sums, bins and scores of lenses are not enough for a metric."""
    family = call.entry.family
    if family.fits:
        return True
    made = Pass(predictions, settings)
    FAMILIES[family].needs(call, made)
    sums = all(isinstance(key, tuple) and key[0] == "bins" for key in made.collectors)
    return not sums or bool(made.statistics.keys() & LOG_ODDS.keys())


class SampledRows:
    """Collects a sample of the rows."""

    def __init__(self, predictions: Predictions) -> None:
        self.sample = Sample(predictions.n_classes, predictions.weights is not None)

    def add(self, block: Block) -> None:
        """Take what belongs to it of one block."""
        hashes = of_numbers(block.rows.start, block.rows.stop)
        self.sample.add(hashes, block.labels, block.weights, block.scores)


def of_sample(sample: Sample, whole: Measurements, calls: Sequence[MetricExpression]) -> Findings:
    """Return what is found out about metrics from a sample of the rows; its size stands with each."""
    measured = measured_sample(sample, whole, calls)
    found = [family.estimates(own, measured, measured.settings) for family, own in by_family(calls)]
    joined = Findings.joined(found)
    if measured.of_rows is None:
        return joined
    rows = measured.predictions.n_rows
    estimates = {name: replace(one, rows=rows) for name, one in joined.estimates.items()}
    return replace(joined, estimates=estimates)


def measured_sample(sample: Sample, whole: Measurements, calls: Sequence[MetricExpression]) -> Measurements:
    """Return what a pass over a sample of the rows finds for metrics."""
    rows, settings = sample.of(whole.predictions), replace(whole.settings, precision="auto")
    made = Pass(rows, settings)
    for call in calls:
        FAMILIES[call.entry.family].needs(call, made)
    measured = made.run()
    if rows.n_rows < whole.predictions.n_rows:
        measured.of_rows = whole.predictions.n_rows
    return measured
