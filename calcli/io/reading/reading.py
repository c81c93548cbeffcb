"""What is in files: columns of a table, or arrays, and what they are taken for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.formats import known_format
from calcli.io.layouts import LISTS
from calcli.io.layouts.answers import refuse_missing, require_column, rights_of
from calcli.io.layouts.classlabels import ScoreNames, with_names
from calcli.io.layouts.unpack import Unpacked, packed_columns, refuse_absent_options, scaled, unpacked
from calcli.io.options import ReadOptions
from calcli.io.places.faults import refuse_repeated_fields
from calcli.io.places.paths import path_of
from calcli.io.reading.choose import NoReading
from calcli.io.reading.classnames import against_custom
from calcli.io.reading.decide import Reading, decide
from calcli.io.reading.joining import with_labels
from calcli.io.reading.outcomes import OutcomeSource, find_outcomes, graded_names, require_outcomes
from calcli.io.reading.ranked import RankedScores, names_known, ranked_scores
from calcli.io.tables.scores import TableScores, stored_scores
from calcli.io.tables.source import LazyColumns, Source, StoredScores
from calcli.io.tables.table import Table, joined, refuse_duplicates, written
from calcli.io.tables.table import beside as with_columns
from calcli.io.tables.table import kept as kept_rows
from calcli.io.tables.text import has_codes
from calcli.io.tables.values import (
    column_values,
    labels_in,
    missing_in,
    one_true,
    told_apart,
    without_missing,
    without_outcomes,
    without_unread,
    worded,
    worded_pair,
)

LEAVE_OUT = "leave them out with --drop-missing"


def find_in_tables(
    parts: Sequence[Any], options: ReadOptions, *, labelled: bool = True, classes: Sequence[str] = ()
) -> Source:
    """Put tables one after the other and find out what their columns are; see `find`."""
    return _find(joined(parts), options, labelled=labelled, classes=classes)


@dataclass(frozen=True, kw_only=True)
class TableSource(Source):
    """A table with columns of scores."""

    table: Table
    scores: TableScores

    @property
    def stored(self) -> tuple[str, ...]:
        """Columns of scores alone, without those of ranks."""
        return self.scores.by_rank.names if isinstance(self.scores, RankedScores) else self.scores.names

    def missing(self) -> NDArray[np.bool_]:
        """Return (N,) in which rows a score is missing."""
        return missing_in(self.scores.table, self.scores.names)

    def kept(self, kept: NDArray[np.bool_]) -> StoredScores:
        """Return the scores of some rows."""
        return self.scores.within(kept_rows(self.scores.table, kept), int(np.count_nonzero(kept)))

    def written(self, labels: Sequence[str | None], *, as_text: bool) -> Source:
        """Return the same with other columns as they are written, if they came from text."""
        if self.table.text is None:
            return self
        names = [
            one.name
            for one in self.table.schema
            if one.name in self.table.text.columns
            and one.name not in self.scores.names
            and (
                as_text
                or pa.types.is_null(one.type)
                or (one.name not in labels and has_codes(self.table, one.name))
            )
        ]
        table = written(self.table, names)
        return replace(self, table=table, scores=self.scores.within(table, self.scores.shape[0]))

    @property
    def of_plain_columns(self) -> bool:
        """Whether the scores are neither packed nor sorted by rank."""
        packed = any(name in self.table.packed for name in self.stored)
        return not packed and not isinstance(self.scores, RankedScores)

    def whole(self, kept: Sequence[str]) -> Any:
        """Return the columns to be kept and those of scores, in the order of the table."""
        own, wanted = {*self.stored}, {*kept, *self.stored}
        fields = [
            one.with_type(_of_numbers(one.type)) if one.name in own else one
            for one in self.table.schema
            if one.name in wanted
        ]
        return pa.schema(fields, self.table.schema.metadata)

    def others(self, kept: Sequence[str]) -> tuple[Any, int]:
        """Return the columns to be kept, in the order of the table."""
        schema, wanted = self.table.schema, set(kept)
        fields = [field for field in schema if field.name in wanted]
        places = {name: place for place, name in enumerate(schema.names)}
        first = min(places[name] for name in self.scores.names if name not in wanted)
        before = sum(places[field.name] < first for field in fields)
        return pa.schema(fields, schema.metadata), before

    def passing(self, kept: Sequence[str], rows: int) -> Iterator[tuple[Array, Any]]:
        """Yield scores with the same rows of the other columns."""
        return self.scores.passing(kept, rows)


def _of_numbers(kind: Any) -> Any:
    """Return the type that new scores have in place of stored ones: floats stay what they are."""
    nested = pa.types.is_nested(kind)
    if (kind.value_type if nested else kind) in (pa.float32(), pa.float64()):
        return kind
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(pa.float64(), kind.list_size)
    return pa.list_(pa.float64()) if nested else pa.float64()


def _find(table: Table, options: ReadOptions, *, labelled: bool, classes: Sequence[str]) -> Source:
    """Find out what the columns are, and read the labels and weights."""
    file = table.place.parts[0][0]
    refuse_duplicates(table.schema.names, file)
    refuse_repeated_fields(table.schema, file)
    if options.class_axis is not None:
        raise UsageError(
            f"--class-axis {options.class_axis}: {table.place.name} is a table, with a column for each "
            "class; leave it out"
        )
    beside = None if options.labels is None or not labelled else path_of(options.labels)
    if beside is not None and beside.exists() and known_format(beside).name != "npy":
        both, read_so, note = with_labels(table, beside, options)
        source = _find(both, read_so, labelled=True, classes=classes)
        return replace(source, files=(*source.files, str(beside)), notes=(note, *source.notes))
    packed = packed_columns(table, options)
    seen = unpacked(table, packed)
    refuse_duplicates(seen.schema.names, file)
    name = table.place.name
    found = _decided(seen, options, labelled=labelled, classes=classes)
    if isinstance(found, OutcomeSource):
        return found
    if options.weights is not None:
        require_column(options.weights, seen.schema.names, name, "--weights")
        if options.weights in (found.label, *found.right):
            raise InputError(f"{name}: --weights {options.weights} is the column of the labels")
    labels = tuple(one for one in (found.label, *found.right) if one is not None)
    parts = (*found.scores, *found.ranks, *labels)
    view = _view(table, packed, {*parts, *found.truth.values(), options.weights})
    view = scaled(view, options.scale, options, found.scores)
    if found.truth and found.label:
        view = with_columns(
            view, {found.label: one_true(view, list(found.truth.values()), list(found.truth))}
        )
    of_options = packed.get(found.scores[0])
    if of_options and found.label and of_options.layout is LISTS and of_options.classes:
        refuse_absent_options(table, found.scores[0], found.label)
    if found.of_answers:
        outcome = found.right[-1] if found.right else None
        return _of_kept(
            view, parts, options, lambda rows: _answers(rows, found, options), found.right, outcome
        )
    if labelled and found.label is None:  # rows are left out when the labels are there
        return _source(view, found, options)
    asked = options.drop_missing or options.limit is not None
    named = options.named(names_known(seen, found)) if asked else ()
    made = partial(_source, reading=found, options=options)
    return _of_kept(view, parts, options, made, labels if labelled else (), named=named)


def _decided(
    table: Table, options: ReadOptions, *, labelled: bool, classes: Sequence[str]
) -> Reading | OutcomeSource:
    """Return what the columns are, or outcomes where no column looks like probabilities."""
    if options.score is not None and labelled:
        return require_outcomes(table, options)
    try:
        return decide(scaled(table, options.scale, options), options, labelled=labelled, known=classes)
    except NoReading as question:
        if labelled and question.without and (found := find_outcomes(table, options)) is not None:
            return found
        if labelled and question.offers:
            first, *others = question.offers
            question.offers = [first, *({"score": name} for name in graded_names(table)), *others]
        raise


def _view(table: Table, packed: Mapping[str, Unpacked], names: Collection[str | None]) -> Table:
    """Return a table with these columns as they are seen, and others as they are stored."""
    used = {name: it for name, it in packed.items() if any(one.name in names for one in it.made)}
    return unpacked(table, used)


def _of_kept(
    table: Table,
    names: Sequence[str],
    options: ReadOptions,
    source: Callable[[Table], TableSource],
    labels: Sequence[str],
    outcome: str | None = None,
    named: Sequence[str] = (),
) -> TableSource:
    """Return what is found in a table; if asked, without rows where one of the columns is missing.

    So are rows without a label that would not be read.
    """
    notes: list[str] = []
    doubts: tuple[str, ...] = ()
    if options.drop_missing:
        table, note = without_missing(table, names, named)
        notes.append(note)
    if outcome is not None and options.ignore_label:
        table, told, doubts = without_outcomes(table, outcome, options.ignore_label)
        notes.extend(told)
    first = 0 if options.drop_missing or options.ignore_label else options.limit or 0
    if labels and first > 0 and (read := without_unread(table, labels, first, named)) is not None:
        table, note = read
        notes.append(note)
    found = source(table)
    return replace(found, notes=(*found.notes, *notes), doubts=(*found.doubts, *doubts))


def _source(table: Table, reading: Reading, options: ReadOptions) -> TableSource:
    """Return what is found where columns are read so."""
    place, schema = table.place, table.schema
    scores = ranked_scores(stored_scores(table, reading.scores), reading, options)
    ranked = scores if isinstance(scores, RankedScores) else None
    packed = table.packed.get(reading.scores[0])
    told = (packed is None or packed.ordered) and not against_custom(reading.before, ReadOptions())
    taken = {*scores.names, reading.label}
    classes = reading.classes
    if ranked or (packed and packed.classes):
        classes = ranked.classes if ranked else classes or (packed.classes if packed else None)
    by_name = (ranked is not None and ranked.by_name) or bool(packed and packed.classes)
    view = ScoreNames(classes, by_name, scores.shape[1], scores.names[0], place.name)
    classes, names = with_names(view, schema, reading.label, options)
    columns = {name: partial(told_apart, table, name) for name in schema.names if name not in taken}
    notes = [packed.note] if packed and packed.note else []
    return TableSource(
        table=table,
        place=place,
        scores=scores,
        classes=classes,
        kind=reading.kind,
        kind_reason=reading.kind_reason,
        by_rank=ranked is not None,
        ordered=(ranked.ordered if ranked else told or options.classes is not None)
        and not against_custom(classes or (), options),
        decided=reading.label is not None,
        before=reading.before if told and not ranked else (),
        percent=reading.percent,
        labels=None
        if reading.label is None
        else labels_in(table, reading.label, names, options.ignore_label),
        labels_from=reading.labels_from,
        weights=None if options.weights is None else column_values(table, options.weights),
        columns=LazyColumns(columns),
        files=tuple(name for name, _ in place.parts),
        notes=(*notes, ranked.note) if ranked else tuple(notes),
        layout=(packed.layout if packed and packed.layout else reading.layout).name,
        taken=scores.names,
        doubts=reading.notes,
        repeats=reading.repeats,
        by_ranking=reading.by_ranking,
        considered=reading.struck,
    )


def _answers(table: Table, reading: Reading, options: ReadOptions) -> TableSource:
    """Return the confidence as the one score, and read what is right."""
    place, schema = table.place, table.schema
    labels, confidence = None, reading.scores[0]
    if reading.right:
        refuse_missing(column_values(table, confidence), f"the confidence, {confidence},", place, LEAVE_OUT)
        both = len(reading.right) == 2
        values = worded_pair(table, *reading.right) if both else [worded(table, reading.right[0])]
        labels = rights_of(values, reading.labels_from, place, LEAVE_OUT, table=True)
    taken = {confidence, *(reading.right if len(reading.right) == 1 else ())}
    columns = {name: partial(told_apart, table, name) for name in schema.names if name not in taken}
    return TableSource(
        table=table,
        place=place,
        scores=stored_scores(table, reading.scores),
        classes=WRONG_RIGHT,
        kind=reading.kind,
        kind_reason=reading.kind_reason,
        decided=True,
        percent=reading.percent,
        labels=labels,
        labels_from=reading.labels_from,
        weights=None if options.weights is None else column_values(table, options.weights),
        columns=LazyColumns(columns),
        files=tuple(name for name, _ in place.parts),
        layout=reading.layout.name,
        taken=reading.scores,
        doubts=reading.notes,
        repeats=reading.repeats,
        considered=reading.struck,
    )
