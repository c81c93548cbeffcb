"""A file, or a folder of parts, in; the same with recalibrated scores out, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from calcli.core.calibrators.record import CalibratorRecord, recalibrate, scores_as
from calcli.core.data.arrays import Array, Floats
from calcli.core.data.predictions import Kind, read_through
from calcli.core.language.errors import InputError, UsageError
from calcli.io.assemble import judge_kind
from calcli.io.checks import CheckedScores
from calcli.io.columns import find_layout, refuse_duplicates
from calcli.io.files import format_of
from calcli.io.folder import filled_folder
from calcli.io.from_tables import ColumnScores, ListScores, contents, table_scores
from calcli.io.options import ReadOptions
from calcli.io.places import listed
from calcli.io.ranked import RankedScores
from calcli.io.read import parts_of
from calcli.io.sources import CsvTable, Source, open_source
from calcli.io.writing import ARRAYS, PREFIXES, Frame, Writer, open_writer, output_format

PART_BYTES = 1 << 24  # of scores recalibrated and written at once

Watch = Callable[[int], None]
Watcher = Callable[[int | None], Watch]


@dataclass(frozen=True)
class Wanted:
    """What the result is to be.

    Attributes
    ----------
    kind
        What the scores are written as.
    shift
        (K,) logarithms of factors for other class priors, or None.
    """

    kind: Kind = "probs"
    shift: Floats | None = None


@dataclass(frozen=True)
class Written:
    """What was done.

    Attributes
    ----------
    rows
        How many.
    changed_rows
        Rows whose predicted class changed.
    notes
        Sentences for the user.
    """

    rows: int
    changed_rows: int
    notes: tuple[str, ...]


@dataclass
class _Cursor:
    """Scores of a table as they pass by; `beside` are the kept columns of the block last read."""

    raw: ColumnScores | ListScores | RankedScores
    kept: list[str]
    beside: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, where they are known, and scores in a row."""
        return self.raw.shape

    @property
    def dtype(self) -> Any:
        """Type of the scores as stored."""
        return self.raw.dtype

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) blocks, n <= rows."""
        at = 0
        for batch in self.raw.table.batches(list(dict.fromkeys([*self.raw.names, *self.kept]))):
            for start in range(0, batch.num_rows, rows):
                part = batch.slice(start, rows)
                self.beside = part.select(self.kept)
                yield self.raw.values(part.select(list(self.raw.names)), at + start)
            at += batch.num_rows


@dataclass(frozen=True)
class _Found:
    """What is known of a file before its rows are passed through.

    Attributes
    ----------
    cursor
        Its scores.
    scores
        The same, checked, with the class of each in the order of the file.
    frame
        What is to be written.
    notes
        Sentences for the user.
    by_rank
        The scores, if they are to be written by rank as they are stored.
    """

    cursor: _Cursor
    scores: CheckedScores
    frame: Frame
    notes: tuple[str, ...]
    by_rank: RankedScores | None = None


def recalibrate_file(
    record: CalibratorRecord,
    path: str,
    target: str,
    options: ReadOptions | None = None,
    wanted: Wanted | None = None,
    watcher: Watcher = lambda rows: lambda done: None,
) -> Written:
    """Write a file with the recalibrated scores of another; its other columns are kept.

    Parameters
    ----------
    record
        The calibrator.
    path
        What to read: a file, or `-` for standard input.
    target
        What to write: a file whose ending says the format, or `-` for standard output.
    options
        What the file does not say itself; no labels are needed.
    wanted
        What the result is to be: probabilities if None.
    watcher
        Called with the number of rows, None if not known; returns what is called with the rows done.

    Raises
    ------
    InputError
        If the file cannot be read, or its classes or scores are not those of the calibrator.
    UsageError
        If an option does not fit the file.
    """
    options, wanted = options or ReadOptions(), wanted or Wanted()
    with open_source(path, options) as source:
        form = output_format(target, source.format)
        found = _look(record, source, form, options, wanted)
        watch = watcher(found.cursor.shape[0] or None)

        def write() -> Written:
            with open_writer(target, form, source.delimiter, found.frame) as writer:
                return _pass_through(record, found, wanted, writer, watch)

        return write() if target == "-" else read_through(write)  # what has been piped cannot be taken back


def recalibrate_folder(
    record: CalibratorRecord,
    path: str,
    target: str,
    options: ReadOptions | None = None,
    wanted: Wanted | None = None,
    watcher: Watcher = lambda rows: lambda done: None,
) -> Written:
    """Write a folder of parts, each with the recalibrated scores of a part of another; all or none appear.

    Parameters
    ----------
    path, target
        Folders; the parts keep their names and so their format.
    record, options, wanted, watcher
        As for `recalibrate_file`.

    Raises
    ------
    InputError
        As for `recalibrate_file`, or if the target cannot be a folder.
    UsageError
        If an option does not fit the parts.
    """
    options = options or ReadOptions()
    if format_of(Path(target)) is not None:
        raise InputError(f"{path} is a folder, but {target} is a file; expected a folder of its own after -o")
    if options.labels is not None:
        raise UsageError(f"--labels {options.labels}: {path} is a folder of parts; leave it out")
    with filled_folder(Path(target)) as filled:
        parts = [
            recalibrate_file(record, str(part), str(filled / part.name), options, wanted, watcher)
            for part in parts_of(Path(path), options)
        ]
    return Written(
        sum(part.rows for part in parts),
        sum(part.changed_rows for part in parts),
        tuple(note for part in parts for note in part.notes),
    )


def _look(
    record: CalibratorRecord, source: Source, form: str, options: ReadOptions, wanted: Wanted
) -> _Found:
    table, name = source.table, source.table.place.name
    columns = table.schema.names
    refuse_duplicates(columns, name)
    layout = find_layout(contents(table.schema), _no_labels, _search(record, columns, options), name)
    # the calibrator knows what one score per row is for
    single = replace(options, positive=record.classes[1])
    raw = table_scores(table, layout, contents(table.schema), single)
    if table.head(layout.scores) is None:
        raise InputError(f"{name} has no rows; expected at least one")
    if isinstance(table, CsvTable):
        typed = _typed(table, layout.scores, raw.names, as_text=form == "csv")
        raw = table_scores(typed, layout, contents(typed.schema), single)
    ranked = raw if isinstance(raw, RankedScores) else None
    by_rank = ranked if ranked and len(ranked.ranks) > 1 and form not in ("npy", "npz") else None
    gone = raw.names if by_rank is None else layout.scores
    kept = [column for column in columns if column not in gone]
    stored = ranked.classes if ranked else layout.classes or source.classes
    classes, notes = _classes(record, stored, raw.shape[1], options, name)
    kind, sure, reason = judge_kind(raw, layout.kind, layout.kind_reason, options, name)
    record.refuse_kind(kind, name)
    frame = _frame(record, raw.table.schema, gone, wanted.kind)
    if by_rank is not None:
        frame = replace(frame, names=tuple(PREFIXES[wanted.kind] + suffix for suffix in by_rank.suffixes))
    if ranked is not None:
        by_class = "" if by_rank else f"; they are written by class, without {listed(ranked.ranks)}"
        notes = (*notes, f"{ranked.note}{by_class}")
    if twice := set(frame.names) & set(kept):
        raise InputError(
            f"{name} has a column {sorted(twice)[0]} besides the scores, the name of a column to be written; "
            "rename or remove it"
        )
    lost = [*source.left_out, *(kept if form == "npy" and source.format != "npy" else ())]
    if lost:
        notes = (*notes, f"{name}: {listed(lost)} could not be passed on to {form}")
    cursor = _Cursor(raw, kept)
    scores = CheckedScores(cursor, kind, reason, sure, classes, table.place, options.renormalize)
    return _Found(cursor, scores, frame, notes, by_rank)


def _pass_through(
    record: CalibratorRecord,
    found: _Found,
    wanted: Wanted,
    writer: Writer,
    watch: Watch,
) -> Written:
    checked = found.scores
    order = [checked.classes.index(name) for name in record.classes]
    ordered = order == sorted(order)
    columns = np.argsort(order)  # of what is written, for each class of the file
    rows = changed = 0
    for block in checked.blocks(max(1, PART_BYTES // (8 * len(order)))):
        scores = block if ordered else block[:, order]
        log_probs = recalibrate(record, scores, checked.kind, wanted.shift)
        _refuse_overflow(log_probs, record.calibrator.name, checked.place.name, rows)
        written = scores_as(wanted.kind, log_probs)
        if found.by_rank is not None:
            ranks = found.by_rank.positions(found.cursor.beside, rows)
            written = np.take_along_axis(written, columns[ranks], axis=1)
        writer.write(found.cursor.beside, written)
        changed += int(np.count_nonzero(scores.argmax(axis=1) != log_probs.argmax(axis=1)))
        rows += len(scores)
        watch(rows)
    return Written(rows, changed, found.notes)


def _refuse_overflow(log_probs: Floats, method: str, name: str, start: int) -> None:
    overflown = np.isnan(log_probs).any(axis=1)
    if overflown.any():
        raise InputError(
            f"{name}: the scores of row {start + int(overflown.argmax())} are so large that the {method} "
            "calibrator overflows; expected scores such as those it was fitted on"
        )


def _no_labels(column: str) -> tuple[str, ...]:
    return ()


def _search(record: CalibratorRecord, columns: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Return how to look for the scores: columns may be named as the classes, and no labels are needed."""
    classes = options.classes
    if classes is None and set(record.classes) <= set(columns):
        classes = record.classes
    elsewhere = ""  # as if the labels were in a file of their own
    return replace(options, classes=classes, labels=elsewhere)


def _typed(table: CsvTable, scores: tuple[str, ...], read: tuple[str, ...], *, as_text: bool) -> CsvTable:
    """Return CSV with scores that are numbers, and others to be read as they are; the rest may stay text."""
    types = {}
    for column in table.schema:
        if column.name in scores:
            types[column.name] = pa.float64()
        elif column.name in read:
            continue
        elif as_text or pa.types.is_null(column.type):  # empty in the first block says nothing of the next
            types[column.name] = pa.string()
    return table.with_types(types)


def _frame(record: CalibratorRecord, schema: Any, scores: tuple[str, ...], kind: Kind) -> Frame:
    kept = [column for column in schema if column.name not in scores]
    first = min(schema.names.index(column) for column in scores)
    before = sum(schema.names.index(column.name) < first for column in kept)
    names = tuple(PREFIXES[kind] + name for name in record.classes)
    return Frame(pa.schema(kept, schema.metadata), before, names, ARRAYS[kind], record.classes)


def _classes(
    record: CalibratorRecord,
    stored: tuple[str, ...] | None,
    width: int,
    options: ReadOptions,
    name: str,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the class of each score in the order of the file, and what there is to say about it.

    One score a row is that of the second class, unless its name says otherwise.
    """
    known = record.classes
    if max(width, 2) != len(known):
        raise InputError(
            f"{name} has scores of {max(width, 2)} classes, but the calibrator was fitted on {len(known)}: "
            f"{listed(known)}"
        )
    if width == 1:
        second = options.positive or (stored or options.classes or known)[-1]
        if second not in known:
            raise InputError(_other_classes(name, (second,), known))
        return (known[1 - known.index(second)], second), ()
    classes = stored or options.classes
    if classes is None:
        numbered = known == tuple(map(str, range(len(known))))
        note = f"{name} has no class names: its scores were taken in the calibrator's order, {listed(known)}"
        return known, () if numbered else (note,)
    if sorted(classes) != sorted(known):
        raise InputError(_other_classes(name, classes, known))
    return classes, ()


def _other_classes(name: str, classes: tuple[str, ...], known: tuple[str, ...]) -> str:
    return (
        f"{name} has scores of the classes {listed(classes)}, but the calibrator was fitted on "
        f"{listed(known)}; expected the same names in any order; --classes names scores that are only "
        "numbered, in fit as in apply"
    )
