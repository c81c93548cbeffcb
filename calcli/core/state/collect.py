"""One pass over rows: what is needed of them becomes a state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.blocks import Block, Collector, RowStatistic, sweep, working_dtype
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.core.state.needs import ClassBins, ClassSums, InputFacts, Kept, Need, RowTable, Sampled, Scores
from calcli.core.state.random_groups import Hashes, first_number, hashed, of_keys
from calcli.core.state.sample import Sample
from calcli.core.state.state import Body, Facts, Head, MeasuredRows, Part, State

CHUNK = 1 << 17  # rows whose statistics are gathered before they are summed


class RowKeys:
    """What rows are known by in a state that is merged: their numbers in their part, or a column of keys.

    Parameters
    ----------
    rows
        The rows of a part, or of a slice of it.
    key
        The column; None if it is their number.
    whole, places
        Of a slice the rows of the part, and (n,) its places among these.

    Attributes
    ----------
    key
        See above.
    first
        The number of the first row of the part.
    """

    def __init__(
        self,
        rows: Predictions,
        key: str | None = None,
        whole: Predictions | None = None,
        places: Array | None = None,
    ) -> None:
        self._path, self._places, self.key = rows.provenance.path, places, key
        self._keys = None if key is None else rows.column(key)
        labels = (whole or rows).labels  # of answers, which may be right in one system only, their number
        self.first = first_number(np.zeros_like(labels) if rows.of_answers else labels)

    def numbers(self, start: int, stop: int) -> Array:
        """Return the numbers of some rows."""
        places = np.arange(start, stop) if self._places is None else self._places[start:stop]
        return self.first + places

    def hashes(self, block: Block) -> Hashes:
        """Return the hashes of the numbers or keys of the rows of a block.

        Raises
        ------
        InputError
            If a row has no key.
        """
        keys, rows = self._keys, block.rows
        if keys is None:
            return hashed(self.numbers(rows.start, rows.stop))
        called = f"{self._path}: column {self.key}"
        return block.kept("hashes of keys", lambda _: of_keys(keys[rows], called, rows.start))

    def refuse_shared(self, hashes: Hashes) -> None:
        """Raise an InputError if rows share a key, as far as the lowest hashes tell."""
        if self._keys is not None and len(np.unique(hashes)) < len(hashes):
            values, counts = np.unique(np.asarray(self._keys).astype(str), return_counts=True)
            raise InputError(
                f"{self._path}: {self.key} {values[counts.argmax()]} is there {counts.max():,} times; "
                "expected unique keys"
            )


def collect(
    rows: Predictions,
    settings: Settings,
    needs: Iterable[Need],
    watch: Watch | None = None,
    *,
    summed: bool = False,
    keys: RowKeys | None = None,
) -> State:
    """Return what is needed of rows.

    Parameters
    ----------
    rows
        Scores and labels.
    settings
        How they are computed, and whether there are intervals.
    needs
        What to keep.
    watch
        Called with the number of rows done.
    summed
        Whether statistics are added up at once, and scores counted, so that no row is kept.
    keys
        What rows are known by, if the state is to be saved and merged; few rows are kept in it.

    Raises
    ------
    InputError
        If a row has no key, or rows share one.
    """
    needs = tuple(dict.fromkeys(needs))
    statistics = _statistics(needs)
    head, in_run = _head(rows, settings, needs, keys), keys is None
    body = Body(head, in_run=in_run, sampled=Sampled() in needs)
    of_rows = keys or RowKeys(rows)
    by_row = in_run and not summed
    table = RowTable(rows.n_rows, statistics) if by_row else _Chunks(body, statistics, of_rows)
    facts = InputFacts(rows)
    bins = {
        need.bins: ClassBins(rows, need.bins)
        for need in needs
        if isinstance(need, ClassSums) and not (rows.n_classes == 2 and (by_row or need.in_cells))
    }
    kept: dict[Need, Any] = {
        need: need.collector(rows, np.dtype(head.computed_in)) for need in needs if isinstance(need, Kept)
    }
    collectors: list[Collector] = [facts, table, *bins.values()]
    collectors += [one for one in kept.values() if one is not None]
    if body.sample is not None:
        collectors.append(_Sampling(body.sample, of_rows))
    if watch is not None:
        collectors.append(_Watched(watch))
    sweep(rows, collectors, settings.precision)

    if isinstance(table, RowTable):
        body.columns, body.labels, body.weights = table.columns, rows.labels, rows.weights
    else:
        table.finish()
    noticed = Facts(facts.worst_row_sum, facts.zeros, facts.ones, facts.tied_rows)
    sums = {m: own.bins() for m, own in sorted(bins.items())}
    if keys is None:
        whole = Part(rows.provenance.path, rows.n_rows, "", of_rows.first)
        return State(head, (whole,), noticed, sums, body, kept=kept)
    keys.refuse_shared(body.lowest)
    part = Part(rows.provenance.path, rows.n_rows, _digest(body), keys.first)
    return State(head, (part,), noticed, sums, body)


def _statistics(needs: Iterable[Need]) -> dict[str, RowStatistic]:
    return {name: of for need in needs for name, of in need.statistics.items()}


def _head(rows: Predictions, settings: Settings, needs: Iterable[Need], keys: RowKeys | None) -> Head:
    return Head(
        rows.classes,
        rows.kind,
        rows.scores.kind_reason,
        str(rows.scores.dtype),
        str(working_dtype(rows, settings.precision)),
        rows.provenance.labels,
        rows.weights is not None,
        settings.metrics,
        settings.clip,
        {
            need.name: (need.lens.score, need.lens.outcome, need.lens.given)
            for need in needs
            if isinstance(need, Scores)
        },
        settings.groups,
        (keys and keys.key) or "",
        rows.provenance.percent,
    )


class _Chunks:
    """Gathers the statistics of rows, and adds them to a body chunk by chunk."""

    def __init__(self, body: Body, statistics: Mapping[str, RowStatistic], keys: RowKeys) -> None:
        self._body, self._statistics, self._keys, self._start = body, statistics, keys, 0
        self._pending: list[tuple[dict[str, Array], Array, Floats | None, Hashes | None]] = []

    def add(self, block: Block) -> None:
        """Take the statistics of one block."""
        columns = {
            name: values
            for name, statistic in self._statistics.items()
            if (values := statistic(block)).dtype.kind in "bf"
        }
        weights = None if block.weights is None else block.weights.astype(np.float64)
        hashes = self._keys.hashes(block) if self._body.keyed else None
        self._pending.append((columns, block.labels, weights, hashes))
        if block.rows.stop - self._start >= CHUNK:
            self.finish()

    def finish(self) -> None:
        """Add the rows that wait."""
        if not self._pending:
            return
        tables, labels, weights, hashes = zip(*self._pending, strict=True)
        columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        joined = None if weights[0] is None else np.concatenate(weights)
        told = np.concatenate(labels)
        keys = None if hashes[0] is None else np.concatenate(hashes)
        start, self._start, self._pending = self._start, self._start + len(told), []
        numbers = self._keys.numbers(start, self._start)
        self._body.add(MeasuredRows(columns, told, joined, keys, numbers))


class _Sampling:
    """Shows every row to a sample."""

    def __init__(self, sample: Sample, keys: RowKeys) -> None:
        self._sample, self._keys = sample, keys

    def add(self, block: Block) -> None:
        """Take what belongs to it of one block."""
        self._sample.add(self._keys.hashes(block), block.labels, block.weights, block.scores)


class _Watched:
    """Reports how far the pass has come."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def add(self, block: Block) -> None:
        """Tell the number of rows done."""
        self._watch(block.rows.stop)


def _digest(body: Body) -> str:
    """Return the SHA-256 of what tells one data set from another."""
    whole = hashlib.sha256()
    if body.sums is None:
        tables = [body.labels, *(body.columns[name] for name in sorted(body.columns))]
    else:
        tables = [body.sums.digest, *(statistic.sums for statistic in body.sums.statistics.values())]
    for table in tables:
        whole.update(np.ascontiguousarray(table).tobytes())
    return whole.hexdigest()
