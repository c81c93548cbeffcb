"""One pass over rows, which collects a state from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, label_sums
from calcli.core.data.blocks import Block, Collector, Later, RowStatistic, sweep, working_dtype
from calcli.core.data.derived import column_to_slice, gathered, slice_names
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Hashes, hashed
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.core.state.needs import (
    ClassBins,
    ClassSums,
    InputFacts,
    Kept,
    Need,
    RowTable,
    RowValues,
    Sampled,
    Scores,
)
from calcli.core.state.random_groups import TOLD, first_number, of_keys
from calcli.core.state.sample import Rows, Sample, are_few
from calcli.core.state.state import Body, Facts, Head, MeasuredRows, Part, State


class RowKeys:
    """What identifies rows in a state that is merged: their numbers in their part, or a column of keys.

    Parameters
    ----------
    rows
        The rows.
    key
        The column; None for row numbers.
    ids
        (n,) numbers, or hashes of keys, if known.
    merging
        Whether the state will be merged: parts with a single label are then distinguished by their scores;
        else the same positions of two parts would share a random group.

    Attributes
    ----------
    key
        See above.
    first
        The number of the first row of a part.
    """

    def __init__(
        self, rows: Predictions, key: str | None = None, ids: Array | None = None, *, merging: bool = False
    ) -> None:
        self._path, self.key, self._ids, self.first = rows.provenance.path, key, ids, 0
        self._keys = None if key is None or ids is not None else rows.column(key)
        if ids is None:  # for answers, which may be right in one system only, the row number
            start = np.zeros(rows.n_rows, np.int8) if rows.of_answers else rows.labels
            alike = merging and np.count_nonzero(label_sums(start, None, rows.n_classes)) == 1
            if alike and not rows.of_answers:
                start = next(iter(rows.scores.blocks(TOLD))).astype(np.float64).view(np.int64).ravel()
            self.first = first_number(start)

    def among(self, rows: Predictions, places: Array) -> RowKeys:
        """Return the keys of the rows of a slice, at these positions."""
        ids = self._ids[places] if self._ids is not None else self.first + places
        return RowKeys(rows, self.key, None if self._keys is not None else ids)

    def ids(self, rows: slice) -> Array:
        """Return the numbers, or hashes of keys, of some rows.

        Raises
        ------
        InputError
            If a row has no key.
        """
        if self._ids is not None:
            return self._ids[rows]
        if self._keys is None:
            return self.first + np.arange(rows.start, rows.stop)
        return of_keys(self._keys[rows], f"{self._path}: column {self.key}", rows.start)

    def of(self, block: Block) -> Array:
        """Return the keys of the rows of a block."""
        return block.kept("ids", lambda _: self.ids(block.rows))

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
    by: Sequence[str] = (),
) -> State:
    """Collect the needs of an evaluation from rows.

    Parameters
    ----------
    rows
        Scores and labels.
    settings
        How metrics are computed, and whether there are intervals.
    needs
        What to keep.
    watch
        Called with the number of rows done.
    summed
        Whether statistics are summed and scores counted without keeping any row.
    keys
        What identifies rows, if the state is to be saved and merged; few rows are then kept unchanged.
    by
        Columns to keep with these few rows.

    Raises
    ------
    InputError
        If a row has no key, or rows share one.
    """
    needs = tuple(dict.fromkeys(needs))
    of_rows = {name: of for n in needs if isinstance(n, RowValues) for name, of in n.statistics.items()}
    statistics = {
        name: of for n in needs if not isinstance(n, RowValues) for name, of in n.statistics.items()
    }
    precision = settings.precision
    if keys is not None and precision == "auto":  # for any number of rows: states can then be merged
        precision = "single" if rows.scores.dtype.itemsize <= 4 else "double"
    head = Head(
        rows.classes,
        rows.kind,
        rows.scores.kind_reason,
        str(rows.scores.dtype),
        str(working_dtype(rows, precision)),
        rows.provenance.labels,
        rows.weights is not None,
        settings.metrics,
        settings.bins,
        settings.clip,
        {
            need.name: (need.lens.score, need.lens.outcome, need.lens.given)
            for need in needs
            if isinstance(need, Scores)
        },
        settings.groups,
        (keys and keys.key) or "",
        rows.provenance.percent,
        tuple(by),
    )
    if keys is not None and not summed and are_few(rows.n_rows, rows.n_classes):
        return _of_few(rows, head, keys)
    in_run = keys is None
    body = Body(head, in_run=in_run, sampled=Sampled() in needs)
    row_keys = keys or RowKeys(rows)
    by_row = in_run and not summed
    table = RowTable(rows.n_rows, of_rows | statistics if by_row else of_rows)
    sums = None if by_row else _Summed(body, statistics, row_keys, settings.intervals or not in_run)
    facts = InputFacts(rows)
    bins = {
        need.bins: ClassBins(rows, need.bins)
        for need in needs
        if isinstance(need, ClassSums) and not (rows.n_classes == 2 and (by_row or need.in_cells))
    }
    kept_needs: dict[Need, Any] = {
        need: need.collector(rows, np.dtype(head.computed_in)) for need in needs if isinstance(need, Kept)
    }
    collectors: list[Collector] = [facts, table, *bins.values()]
    collectors += [collector for collector in (sums, *kept_needs.values()) if collector is not None]
    if body.sample is not None:
        collectors.append(_Sampling(body.sample, row_keys))
    if watch is not None:
        collectors.append(_Watched(watch))
    sweep(rows, collectors, precision, settings.workers)

    body.columns = table.columns
    if sums is not None:
        sums.finish()
    noticed = Facts(facts.worst_row_sum, facts.zeros, facts.ones, facts.tied_rows)
    class_bins = {m: bin_.bins() for m, bin_ in sorted(bins.items())}
    if keys is None:
        part = Part(rows.provenance.path, rows.n_rows, "", row_keys.first)
        return State(head, (part,), noticed, class_bins, body, kept=kept_needs)
    if body.sample is not None:
        keys.refuse_shared(body.sample.rows.ids)
    assert body.sums is not None
    tables = [body.sums.digest, *(statistic.sums for statistic in body.sums.statistics.values())]
    part = Part(rows.provenance.path, rows.n_rows, _digest(tables), keys.first)
    return State(head, (part,), noticed, class_bins, body)


def _of_few(rows: Predictions, head: Head, keys: RowKeys) -> State:
    """Return the state that keeps rows, and the names of their slices for columns to slice by."""
    ids = keys.ids(slice(0, rows.n_rows))
    keys.refuse_shared(ids)
    columns = {name: slice_names(column_to_slice(rows, name)) for name in head.by}
    rows_kept = Rows(ids, rows.labels, rows.weights, gathered(rows.scores).array, columns)
    part = Part(rows.provenance.path, rows.n_rows, _digest([rows_kept.labels, rows_kept.scores]), keys.first)
    return State.of_rows(head, (part,), rows_kept)


class _Summed:
    """Adds the statistics of rows to a body."""

    def __init__(
        self, body: Body, statistics: Mapping[str, RowStatistic], keys: RowKeys, apart: bool
    ) -> None:
        self._body, self._statistics, self._keys = body, statistics, keys
        self._sums = body.begin(apart=apart)

    def add(self, block: Block) -> Iterable[Later]:
        """Add the statistics of one block."""
        columns = {
            name: values
            for name, statistic in self._statistics.items()
            if (values := statistic(block)).dtype.kind in "bf"
        }
        weights = None if block.weights is None else block.weights.astype(np.float64)
        rows = MeasuredRows(columns, block.labels, weights, self._keys.of(block))
        return self._body.add(rows, self._sums)

    def finish(self) -> None:
        """Store the sums in the body."""
        self._body.sums = self._sums.groups()


class _Sampling:
    """Shows every row to a sample."""

    def __init__(self, sample: Sample, keys: RowKeys) -> None:
        self._sample, self._keys = sample, keys

    def add(self, block: Block) -> Iterable[Later]:
        """Take what belongs to it of one block."""
        ids = self._keys.of(block)
        hashes = hashed(ids) if self._keys.key is None else ids
        return self._sample.add(hashes, block.labels, block.weights, block.scores)


class _Watched:
    """Reports the progress of the pass."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def add(self, block: Block) -> Iterable[Later]:
        """Report the number of rows done."""
        return (partial(self._watch, block.rows.stop),)


def _digest(tables: Iterable[Array]) -> str:
    """Return the SHA-256 that distinguishes data sets."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(np.ascontiguousarray(table).tobytes())
    return digest.hexdigest()
