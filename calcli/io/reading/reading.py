"""What is in files: columns of a table, or arrays, and what they are taken for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.answers import WRONG_RIGHT
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.io.columnscores import TableScores, stored_scores
from calcli.io.columnvalues import column_values, distinct_texts, labels_in, told_apart, worded, worded_pair
from calcli.io.damage import refuse_repeated_fields
from calcli.io.formats.npy import require_array
from calcli.io.kept import missing_in, without_missing, without_outcomes, without_unread
from calcli.io.labelcolumns import label_column
from calcli.io.labels import Labels
from calcli.io.labelstreams import LabelColumn
from calcli.io.layouts import ANSWERS, RANKS
from calcli.io.layouts.answers import (
    Answers,
    doubts_of_answers,
    find_answers,
    refuse_missing,
    require_column,
    rights_of,
)
from calcli.io.layouts.beside import beside_prediction
from calcli.io.layouts.candidates import Holds
from calcli.io.layouts.classlabels import ScoreNames, with_names
from calcli.io.layouts.looks import look_at
from calcli.io.layouts.order import against_custom
from calcli.io.layouts.roles import Roles, find_roles
from calcli.io.layouts.unpacking import Unpacked
from calcli.io.options import ReadOptions
from calcli.io.ranked import RankedScores, names_known, rank_columns, ranked_scores
from calcli.io.remote import path_of
from calcli.io.seen import packed_columns, refuse_decimal_commas, unpacked
from calcli.io.source import LazyColumns, Source, StoredScores
from calcli.io.tables.columns import holds_of
from calcli.io.tables.table import Table, joined, refuse_duplicates, written
from calcli.io.tables.table import kept as kept_rows
from calcli.io.tables.texts import has_codes

LEAVE_OUT = "leave them out with --drop-missing"


def find_in_tables(parts: Sequence[Any], options: ReadOptions, *, labelled: bool = True) -> TableSource:
    """Put tables one after the other and find out what their columns are; see `find`."""
    return _find(joined(parts), options, labelled=labelled)


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


def _find(table: Table, options: ReadOptions, *, labelled: bool) -> TableSource:
    """Find out what the columns are, and read the labels and weights."""
    file = table.place.parts[0][0]
    refuse_duplicates(table.schema.names, file)
    refuse_repeated_fields(table.schema, file)
    if options.class_axis is not None:
        raise UsageError(
            f"--class-axis {options.class_axis}: {table.place.name} is a table, with a column for each "
            "class; leave it out"
        )
    if labelled and options.labels is not None and os.path.exists(options.labels):
        require_array(path_of(options.labels))
    packed = packed_columns(table, options)
    seen = unpacked(table, packed)
    refuse_duplicates(seen.schema.names, file)
    holds = {field.name: holds_of(field.type) for field in seen.schema}
    name = table.place.name
    try:
        found = _meant(seen, holds, options, labelled=labelled)
    except CalcliError:
        refuse_decimal_commas(table, options)
        raise
    if options.weights is not None:
        require_column(options.weights, holds, name, "--weights")
    if isinstance(found, Answers):
        taken = found
        parts = (taken.confidence, *taken.correct)
        outcome = taken.correct[0] if len(taken.correct) == 1 else None
        view = _view(table, packed, {*parts, options.weights})
        rights = taken.correct
        return _of_kept(view, parts, options, lambda rows: _answers(rows, taken, options), rights, outcome)
    known = found
    if options.weights is not None and options.weights == known.label:
        raise InputError(f"{name}: --weights {options.weights} is the column of the labels")
    ranks = rank_columns(known, seen, options)
    parts = (*known.scores, *ranks, *([] if known.label is None else [known.label]))
    view = _view(table, packed, {*parts, options.weights})
    if labelled and known.label is None:  # rows are left out when the labels are there
        return _source(view, known, ranks, options)
    asked = options.drop_missing or options.limit is not None
    named = options.named(names_known(seen, known, ranks)) if asked else ()
    labels = () if known.label is None or not labelled else (known.label,)
    made = partial(_source, roles=known, ranks=ranks, options=options)
    return _of_kept(view, parts, options, made, labels, named=named)


def _view(table: Table, packed: Mapping[str, Unpacked], names: Collection[str | None]) -> Table:
    """Return a table with these columns as they are seen, and others as they are stored."""
    used = {name: it for name, it in packed.items() if any(one.name in names for one in it.made)}
    return unpacked(table, used)


def _meant(
    seen: Table, holds: Mapping[str, Holds], options: ReadOptions, *, labelled: bool
) -> Answers | Roles:
    """Return what the columns of a table are, as they are seen."""
    name = seen.place.name
    if answers := find_answers(holds, options, name, labelled=labelled):
        return answers
    roles = find_roles(
        holds,
        partial(distinct_texts, seen),
        options,
        name,
        labelled=labelled,
        look=partial(look_at, seen),
        packed=seen.packed,
    )
    values, pair = partial(column_values, seen), partial(worded_pair, seen)
    return beside_prediction(roles, holds, values, pair, options, name)


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
    notes = []
    if options.drop_missing:
        table, note = without_missing(table, names, named)
        notes.append(note)
    if outcome is not None and options.ignore_label:
        table, note = without_outcomes(table, outcome, options.ignore_label)
        notes.append(note)
    first = 0 if options.drop_missing or options.ignore_label else options.limit or 0
    if labels and first > 0 and (read := without_unread(table, labels, first, named)) is not None:
        table, note = read
        notes.append(note)
    found = source(table)
    return replace(found, notes=(*found.notes, *notes))


def _source(table: Table, roles: Roles, ranks: tuple[str, ...], options: ReadOptions) -> TableSource:
    """Return what is found where columns have these roles; `ranks` name the class of each score."""
    place, schema = table.place, table.schema
    scores = ranked_scores(stored_scores(table, roles.scores), ranks, roles, options)
    ranked = scores if isinstance(scores, RankedScores) else None
    packed = table.packed.get(roles.scores[0])
    told = (packed is None or packed.ordered) and not against_custom(roles.before, ReadOptions())
    taken = {*scores.names, roles.label}
    classes = roles.classes
    if ranked or (packed and packed.classes):
        classes = ranked.classes if ranked else packed.classes if packed else None
    by_name = (ranked is not None and ranked.by_name) or bool(packed and packed.classes)
    view = ScoreNames(classes, by_name, scores.shape[1], scores.names[0], place.name)
    classes, names = with_names(view, schema, roles.label, options)
    columns = {name: partial(told_apart, table, name) for name in schema.names if name not in taken}
    notes = [packed.note] if packed and packed.note else []
    return TableSource(
        table=table,
        place=place,
        scores=scores,
        classes=classes,
        kind=roles.kind,
        kind_reason=roles.kind_reason,
        by_rank=ranked is not None,
        ordered=(ranked.ordered if ranked else told or options.classes is not None)
        and not against_custom(classes or (), options),
        before=roles.before if told and not ranked else (),
        percent=packed is not None and packed.percent,
        labels=None if roles.label is None else _labels(table, roles.label, names, options.ignore_label),
        labels_from=f'column "{roles.label}"',
        weights=None if options.weights is None else column_values(table, options.weights),
        columns=LazyColumns(columns),
        files=tuple(name for name, _ in place.parts),
        notes=(*notes, ranked.note) if ranked else tuple(notes),
        layout=(packed.layout if packed and packed.layout else RANKS if ranked else roles.layout).name,
        taken=scores.names,
        doubts=roles.doubts,
        considered=roles.considered,
    )


def _labels(table: Table, name: str, names: tuple[str, ...], apart: Sequence[str]) -> Labels | LabelColumn:
    held = partial(labels_in, table, name, names, apart)
    return (None if names else label_column(table, name, held)) or held()


def _answers(table: Table, answers: Answers, options: ReadOptions) -> TableSource:
    """Return the confidence as the one score, and read what is right."""
    place, schema = table.place, table.schema
    labels, packed = None, table.packed.get(answers.confidence)
    doubts: tuple[str, ...] = ()
    if answers.correct:
        what, stored = f"the confidence, {answers.confidence},", column_values(table, answers.confidence)
        refuse_missing(stored, what, place, LEAVE_OUT)
        both = len(answers.correct) == 2
        values = worded_pair(table, *answers.correct) if both else [worded(table, answers.correct[0])]
        labels = rights_of(values, answers.source, place, LEAVE_OUT, table=True)
        doubts = doubts_of_answers(answers, stored, labels, place, asked=options.confidence is not None)
    taken = {answers.confidence, *(answers.correct if len(answers.correct) == 1 else ())}
    columns = {name: partial(told_apart, table, name) for name in schema.names if name not in taken}
    return TableSource(
        table=table,
        place=place,
        scores=stored_scores(table, (answers.confidence,)),
        classes=WRONG_RIGHT,
        kind="probs",
        kind_reason="a confidence is a probability",
        percent=packed is not None and packed.percent,
        labels=labels,
        labels_from=answers.source,
        weights=None if options.weights is None else column_values(table, options.weights),
        columns=LazyColumns(columns),
        files=tuple(name for name, _ in place.parts),
        layout=ANSWERS.name,
        taken=(answers.confidence,),
        doubts=doubts,
    )
