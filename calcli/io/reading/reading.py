"""What is in files: columns of a table, or arrays, and what they are taken for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.formats import known_format
from calcli.io.layouts import LISTS
from calcli.io.layouts.answers import outcomes_of, require_column
from calcli.io.layouts.classlabels import named_classes
from calcli.io.layouts.unpack import Unpacked, packed_columns, refuse_absent_options, scaled, unpacked
from calcli.io.messages import refuse_given
from calcli.io.options import ReadOptions
from calcli.io.places.faults import refuse_repeated_fields
from calcli.io.places.paths import path_of
from calcli.io.reading.choose import NoReading
from calcli.io.reading.classes import against_custom
from calcli.io.reading.decide import Reading, decide
from calcli.io.reading.joining import with_labels
from calcli.io.reading.outcomes import find_outcomes, graded_names, require_outcomes
from calcli.io.tables.ranked import ranked_scores
from calcli.io.tables.scores import TableScores, stored_scores
from calcli.io.tables.source import LazyColumns, Source
from calcli.io.tables.table import Table, joined, refuse_duplicates
from calcli.io.tables.table import beside as with_columns
from calcli.io.tables.values import column_values, distinct_texts, labels_in, one_true


def find_in_tables(
    parts: Sequence[Any], options: ReadOptions, *, labelled: bool = True, classes: Sequence[str] = ()
) -> Source:
    """Put tables one after the other and find out what their columns are; see `find`."""
    return _find(joined(parts), options, labelled=labelled, classes=classes)


def _find(table: Table, options: ReadOptions, *, labelled: bool, classes: Sequence[str]) -> Source:
    """Find out what the columns are, and read the labels and weights."""
    file = table.place.parts[0][0]
    refuse_duplicates(table.schema.names, file)
    refuse_repeated_fields(table.schema, file)
    what = "is a table, with a column for each class; leave it out"
    refuse_given(options, ["class_axis"], f"{table.place.name} {what}")
    beside = None if options.labels is None or not labelled else path_of(options.labels)
    if beside is not None and beside.exists() and known_format(beside).name != "npy":
        both, read_so, note = with_labels(table, beside, options)
        source = _find(both, read_so, labelled=True, classes=classes)
        return replace(source, files=(*source.files, str(beside)), notes=(note, *source.notes))
    packed = packed_columns(table, options)
    seen = unpacked(table, packed)
    refuse_duplicates(seen.schema.names, file)
    name = table.place.name
    decided = _decided(seen, options, labelled=labelled, classes=classes)
    if isinstance(decided, Source):
        return decided
    if options.weights is not None:
        require_column(options.weights, seen.schema.names, name, "--weights")
        if options.weights in (decided.label, *decided.right):
            raise InputError(f"{name}: --weights {options.weights} is the column of the labels")
    labels = tuple(one for one in (decided.label, *decided.right) if one is not None)
    parts = (*decided.scores, *decided.ranks, *labels)
    view = _view(table, packed, {*parts, *decided.truth.values(), options.weights})
    view = scaled(view, options.scale, options, decided.scores)
    if decided.truth and decided.label:
        view = with_columns(
            view, {decided.label: one_true(view, list(decided.truth.values()), list(decided.truth))}
        )
    of_options = packed.get(decided.scores[0])
    if of_options and decided.label and of_options.layout is LISTS and of_options.classes:
        refuse_absent_options(table, decided.scores[0], decided.label)
    return (_answers if decided.of_answers else _source)(view, decided, options)


def _decided(
    table: Table, options: ReadOptions, *, labelled: bool, classes: Sequence[str]
) -> Reading | Source:
    """Return what the columns are, or outcomes where no column looks like probabilities."""
    if options.score is not None and labelled:
        return require_outcomes(table, options)
    try:
        return decide(scaled(table, options.scale, options), options, labelled=labelled, known=classes)
    except NoReading as question:
        if labelled and question.without and (outcomes := find_outcomes(table, options)) is not None:
            return outcomes
        if labelled and question.offers:
            first, *others = question.offers
            question.offers = [first, *({"score": name} for name in graded_names(table)), *others]
        raise


def _view(table: Table, packed: Mapping[str, Unpacked], names: Collection[str | None]) -> Table:
    """Return a table with these columns as they are seen, and others as they are stored."""
    used = {name: it for name, it in packed.items() if any(one.name in names for one in it.made)}
    return unpacked(table, used)


def _source(table: Table, reading: Reading, options: ReadOptions) -> Source:
    """Return what is found where columns are read so."""
    stored = stored_scores(table, reading.scores)
    ranked = ranked_scores(stored, reading.ranks, options) if reading.ranks else None
    scores = ranked or stored
    packed = table.packed.get(reading.scores[0])
    in_order = (packed is None or packed.ordered) and not against_custom(reading.before, ReadOptions())
    classes = ranked.classes if ranked else reading.classes or (packed.classes if packed else None)
    by_name = (ranked is not None and ranked.by_name) or bool(packed and packed.classes)
    if reading.label is None and not by_name:
        classes = named_classes(classes, scores.shape[1], table.schema, options)
    notes = [packed.note] if packed and packed.note else []
    return replace(
        _read_so(table, scores, reading, options, {*scores.names, reading.label}),
        classes=classes,
        by_rank=ranked is not None,
        ordered=(ranked.ordered if ranked else in_order or options.classes is not None)
        and not against_custom(classes or (), options),
        decided=reading.decided.among(ranked.classes) if ranked and reading.decided else reading.decided,
        before=reading.before if in_order and not ranked else (),
        labels=None if reading.label is None else labels_in(table, reading.label),
        notes=(*notes, ranked.note) if ranked else tuple(notes),
        layout=(packed.layout if packed and packed.layout else reading.layout).name,
    )


def _answers(table: Table, reading: Reading, options: ReadOptions) -> Source:
    """Return the confidence as the one score, and read what is right."""
    right = reading.right
    values = [column_values(table, one) for one in right]
    taken = {*reading.scores, *(right if len(right) == 1 else ())}
    return replace(
        _read_so(table, stored_scores(table, reading.scores), reading, options, taken),
        classes=WRONG_RIGHT,
        labels=outcomes_of(values, options.ignore_label) if right else None,
    )


def _read_so(
    table: Table, scores: TableScores, reading: Reading, options: ReadOptions, taken: Collection[str | None]
) -> Source:
    """Return scores with what a reading says of them, and the other columns."""
    return Source(
        place=table.place,
        scores=scores,
        table=table,
        kind=reading.kind,
        kind_reason=reading.kind_reason,
        labels_from=reading.labels_from,
        weights=None if options.weights is None else column_values(table, options.weights),
        columns=LazyColumns(
            tuple(one for one in table.columns if one not in taken), partial(distinct_texts, table)
        ),
        files=tuple(name for name, _ in table.place.parts),
        layout=reading.layout.name,
        taken=scores.names,
        doubts=reading.notes,
        repeats=reading.repeats,
        by_ranking=reading.by_ranking,
        considered=reading.struck,
    )
