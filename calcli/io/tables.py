"""Tables: named columns on disk or in memory, read as Arrow record batches, and the scores in them."""

from __future__ import annotations

import os
from abc import abstractmethod
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
from calcli.io.alike import joined_batch, of_joined_type
from calcli.io.columnscores import TableScores, holds_of, stored_scores
from calcli.io.columnvalues import column_values, distinct_texts, labels_in, told_apart, worded, worded_pair
from calcli.io.damage import refuse_repeated_fields
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
from calcli.io.layouts.roles import Roles, find_roles, refuse_duplicates
from calcli.io.layouts.unpacking import Unpacked
from calcli.io.messages import Place
from calcli.io.options import ReadOptions
from calcli.io.ranked import RankedScores, names_known, rank_columns, ranked_scores
from calcli.io.remote import path_of
from calcli.io.source import Contents, LazyColumns, Source, StoredScores

LEAVE_OUT = "leave them out with --drop-missing"


class Table(Contents):
    """Rows and named columns."""

    what = "a table"
    schema: Any  # names and types of the columns, a pyarrow.Schema

    @property
    @abstractmethod
    def place(self) -> Place:
        """The files, for messages, with their numbers of rows; 0 where that is not known before reading."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        names: list[str] = self.schema.names
        return names

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield pyarrow.RecordBatches of these columns, in this order."""

    def slices(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield what `batches` does in smaller pieces, for those who stop soon."""
        return self.batches(columns)

    def head(self, columns: Sequence[str], rows: int) -> Any:
        """Return a pyarrow.RecordBatch of the first rows, reading little more; None if there are no rows."""
        found: list[Any] = []
        for batch in self.slices(columns):
            found += [batch.slice(0, rows)] if batch.num_rows else []
            rows -= batch.num_rows
            if rows <= 0:
                break
        return joined_batch(found, self.schema) if len(found) > 1 else next(iter(found), None)

    def column(self, name: str) -> Any:
        """Return one whole column as a pyarrow.ChunkedArray."""
        kind = self.schema.field(name).type
        columns = (batch.column(0) for batch in self.batches([name]))
        return pa.chunked_array([of_joined_type(one, kind, self.place.name, name) for one in columns], kind)

    def held(self) -> Table:
        """Return the same table without need of its file: in memory."""
        from calcli.io.texttables import MemoryTable

        batches = list(self.batches(self.columns))
        return MemoryTable(self.place.name, pa.Table.from_batches(batches, self.schema))

    def with_texts(self, names: Collection[str]) -> Table:
        """Return the table for a data set in whose other parts these columns are text."""
        return self

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of numbers is text that begins with a zero somewhere, as 0012."""
        return False

    def texts(self, name: str) -> Iterator[Any]:
        """Yield pyarrow.RecordBatches of a column, numbers as they are written."""
        for batch in self.batches([name]):
            yield pa.RecordBatch.from_arrays([batch.column(0).cast(pa.string())], names=[name])

    def beside(self, values: Mapping[str, str]) -> Table:
        """Return the table with columns that have one value."""
        from calcli.io.seen import ConstantTable

        new = {name: value for name, value in values.items() if name not in self.schema.names}
        return ConstantTable(self, new) if new else self

    @property
    def packed(self) -> Mapping[str, Unpacked]:
        """How those of its columns came about that are stored in another form."""
        return {}

    def find(self, options: ReadOptions, *, labelled: bool = True) -> TableSource:
        """Find out what the columns are, and read the labels and weights."""
        file = self.place.parts[0][0]
        refuse_duplicates(self.schema.names, file)
        refuse_repeated_fields(self.schema, file)
        if options.class_axis is not None:
            raise UsageError(
                f"--class-axis {options.class_axis}: {self.place.name} is a table, with a column for each "
                "class; leave it out"
            )
        from calcli.io.formats.npy import require_array
        from calcli.io.seen import refuse_decimal_commas, unpacked

        if labelled and options.labels is not None and os.path.exists(options.labels):
            require_array(path_of(options.labels))
        seen = unpacked(self, options)
        refuse_duplicates(seen.schema.names, file)
        holds = {field.name: holds_of(field.type) for field in seen.schema}
        name = self.place.name
        try:
            found = _meant(seen, holds, options, labelled=labelled)
        except CalcliError:
            refuse_decimal_commas(self, options)
            raise
        if options.weights is not None:
            require_column(options.weights, holds, name, "--weights")
        if isinstance(found, Answers):
            taken = found
            parts = (taken.confidence, *taken.correct)
            outcome = taken.correct[0] if len(taken.correct) == 1 else None
            view = seen.only((*parts, options.weights))
            rights = taken.correct
            return _of_kept(view, parts, options, lambda rows: rows.answers(taken, options), rights, outcome)
        known = found
        if options.weights is not None and options.weights == known.label:
            raise InputError(f"{name}: --weights {options.weights} is the column of the labels")
        ranks = rank_columns(known, seen, options)
        parts = (*known.scores, *ranks, *([] if known.label is None else [known.label]))
        view = seen.only((*parts, options.weights))
        if labelled and known.label is None:  # rows are left out when the labels are there
            return view.source(known, ranks, options)
        asked = options.drop_missing or options.limit is not None
        named = options.named(names_known(seen, known, ranks)) if asked else ()
        labels = () if known.label is None or not labelled else (known.label,)
        made = partial(Table.source, roles=known, ranks=ranks, options=options)
        return _of_kept(view, parts, options, made, labels, named=named)

    def source(self, roles: Roles, ranks: tuple[str, ...], options: ReadOptions) -> TableSource:
        """Return what is found where columns have these roles; `ranks` name the class of each score."""
        place, schema = self.place, self.schema
        scores = ranked_scores(stored_scores(self, roles.scores), ranks, roles, options)
        ranked = scores if isinstance(scores, RankedScores) else None
        packed = self.packed.get(roles.scores[0])
        told = (packed is None or packed.ordered) and not against_custom(roles.before, ReadOptions())
        taken = {*scores.names, roles.label}
        classes = roles.classes
        if ranked or (packed and packed.classes):
            classes = ranked.classes if ranked else packed.classes if packed else None
        by_name = (ranked is not None and ranked.by_name) or bool(packed and packed.classes)
        view = ScoreNames(classes, by_name, scores.shape[1], scores.names[0], place.name)
        classes, names = with_names(view, schema, roles.label, options)
        columns = {name: partial(told_apart, self, name) for name in schema.names if name not in taken}
        notes = [packed.note] if packed and packed.note else []
        return TableSource(
            table=self,
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
            labels=None if roles.label is None else self._labels(roles.label, names, options.ignore_label),
            labels_from=f'column "{roles.label}"',
            weights=None if options.weights is None else column_values(self, options.weights),
            columns=LazyColumns(columns),
            files=tuple(name for name, _ in place.parts),
            notes=(*notes, ranked.note) if ranked else tuple(notes),
            layout=(packed.layout if packed and packed.layout else RANKS if ranked else roles.layout).name,
            taken=scores.names,
            doubts=roles.doubts,
            considered=roles.considered,
        )

    def _labels(self, name: str, names: tuple[str, ...], apart: Sequence[str]) -> Labels | LabelColumn:
        held = partial(labels_in, self, name, names, apart)
        return (None if names else label_column(self, name, held)) or held()

    def answers(self, answers: Answers, options: ReadOptions) -> TableSource:
        """Return the confidence as the one score, and read what is right."""
        place, schema = self.place, self.schema
        labels, packed = None, self.packed.get(answers.confidence)
        doubts: tuple[str, ...] = ()
        if answers.correct:
            what, stored = f"the confidence, {answers.confidence},", column_values(self, answers.confidence)
            refuse_missing(stored, what, place, LEAVE_OUT)
            both = len(answers.correct) == 2
            values = worded_pair(self, *answers.correct) if both else [worded(self, answers.correct[0])]
            labels = rights_of(values, answers.source, place, LEAVE_OUT, table=True)
            doubts = doubts_of_answers(answers, stored, labels, place, asked=options.confidence is not None)
        taken = {answers.confidence, *(answers.correct if len(answers.correct) == 1 else ())}
        columns = {name: partial(told_apart, self, name) for name in schema.names if name not in taken}
        return TableSource(
            table=self,
            place=place,
            scores=stored_scores(self, (answers.confidence,)),
            classes=WRONG_RIGHT,
            kind="probs",
            kind_reason="a confidence is a probability",
            percent=packed is not None and packed.percent,
            labels=labels,
            labels_from=answers.source,
            weights=None if options.weights is None else column_values(self, options.weights),
            columns=LazyColumns(columns),
            files=tuple(name for name, _ in place.parts),
            layout=ANSWERS.name,
            taken=(answers.confidence,),
            doubts=doubts,
        )

    def only(self, names: Collection[str | None]) -> Table:
        """Return the table with these columns as they are seen, and others as they are stored."""
        return self

    @classmethod
    def find_in_all(cls, parts: Sequence[Table], options: ReadOptions) -> Source:
        """Put tables one after the other.

        Raises
        ------
        InputError
            If they do not have the same columns, of types that go together.
        """
        from calcli.io.joinedtables import joined_tables

        return joined_tables(parts).find(options)


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
        from calcli.io.kept import missing_in

        return missing_in(self.scores.table, self.scores.names)

    def kept(self, kept: NDArray[np.bool_]) -> StoredScores:
        """Return the scores of some rows."""
        from calcli.io.kept import KeptTable

        return self.scores.within(KeptTable(self.scores.table, kept), int(np.count_nonzero(kept)))

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
    from calcli.io.kept import without_missing, without_outcomes, without_unread

    notes = []
    if options.drop_missing:
        table = without_missing(table, names, named)
        notes.append(table.note)
    if outcome is not None and options.ignore_label:
        table = without_outcomes(table, outcome, options.ignore_label)
        notes.append(table.note)
    first = 0 if options.drop_missing or options.ignore_label else options.limit or 0
    if labels and first > 0 and (kept := without_unread(table, labels, first, named)) is not None:
        table = kept
        notes.append(kept.note)
    found = source(table)
    return replace(found, notes=(*found.notes, *notes))
