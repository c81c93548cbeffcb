"""A file, or a folder of parts, in; the same with recalibrated scores out, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calcli.core.calibrators.base import refuse_overflow
from calcli.core.calibrators.record import CalibratorRecord, recalibrate, scores_as
from calcli.core.data.arrays import Doubles
from calcli.core.data.merged import merged, own_class, rest_of
from calcli.core.data.predictions import Kind, read_through
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.progress import Watcher, unwatched
from calcli.io.atomic import filled_folder
from calcli.io.checks import CheckedScores
from calcli.io.fitted import classes_of, find_again, judged_as_fitted, other_classes, written_order
from calcli.io.folders import parts_of, same_place
from calcli.io.formats import Format, format_of, known_format
from calcli.io.formats.npy import labels_file
from calcli.io.keptlabels import refuse_names_lost, refuse_numbers, refuse_open_order
from calcli.io.layouts.classlabels import class_labels
from calcli.io.layouts.names import label_names
from calcli.io.layouts.order import refuse_sorted
from calcli.io.messages import STDIN, listed
from calcli.io.options import ReadOptions
from calcli.io.predicted import PredictedColumn, predicted_columns, refuse_rewriting
from calcli.io.ranked import RankedScores
from calcli.io.read import spooled
from calcli.io.remote import path_of
from calcli.io.source import Contents, Source
from calcli.io.wanted import Wanted, with_added, with_names
from calcli.io.writing import ARRAYS, PREFIXES, Frame, open_writer, output_format

PART_BYTES = 1 << 24  # of scores recalibrated and written at once
REPAIR = "repair or remove such rows"


@dataclass(frozen=True)
class Written:
    """What was done.

    Attributes
    ----------
    rows
        How many.
    changed_rows
        Rows whose predicted class changed; None of answers, which have none.
    notes
        Sentences for the user.
    """

    rows: int
    changed_rows: int | None
    notes: tuple[str, ...]


def recalibrate_file(
    record: CalibratorRecord,
    path: str,
    target: str,
    options: ReadOptions | None = None,
    wanted: Wanted | None = None,
    watcher: Watcher = unwatched,
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
        Starts a progress bar.

    Raises
    ------
    InputError
        If the file cannot be read, or its classes or scores are not those of the calibrator.
    UsageError
        If an option does not fit the file.
    """
    options, wanted = options or ReadOptions(), wanted or Wanted()
    if options.labels is not None and not path.endswith(".npy"):
        raise UsageError(f"--labels {options.labels}: {path} has its labels inside; leave it out")
    with _opened(path, target) as (contents, stored, form):
        passage = _prepared(record, contents, stored, form, options, wanted)
        beside = _labels_beside(passage, stored, form, target)
        watch = watcher("rows", passage.source.scores.shape[0] or None)

        def write() -> Written:
            labels, renewed = class_labels(passage.frame.others), wanted.rewrite_prediction
            watched = [PredictedColumn(one, one == renewed, labels.get(one, ())) for one in passage.predicted]
            parts = _recalibrated(record, passage, wanted, watched)
            first = next(
                parts, None
            )  # before anything is written: a fault in it leaves standard output empty
            if first is None:
                raise InputError(f"{passage.source.place.name} has no rows; expected at least one")
            rows = changed = 0
            with open_writer(target, form, passage.frame) as writer:
                for part in chain([first], parts):
                    writer.write(part.beside, part.scores)
                    rows, changed = rows + len(part.scores), changed + part.changed_rows
                    watch(rows)
                for column in watched:
                    column.refuse_contradicted()
            fits = tuple(note for column in watched for note in column.notes)
            return Written(rows, None if record.of_answers else changed, (*passage.notes, *beside, *fits))

        return write() if target == "-" else read_through(write)  # what has been piped cannot be taken back


def recalibrate_folder(
    record: CalibratorRecord,
    path: str,
    target: str,
    options: ReadOptions | None = None,
    wanted: Wanted | None = None,
    watcher: Watcher = unwatched,
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
    with filled_folder(target) as filled:
        parts = [
            recalibrate_file(record, str(part), str(same_place(part, path, filled)), options, wanted, watcher)
            for part in parts_of(path_of(path), options)
        ]
    return Written(
        sum(part.rows for part in parts),
        None if record.of_answers else sum(part.changed_rows or 0 for part in parts),
        tuple(note for part in parts for note in part.notes),
    )


@dataclass(frozen=True)
class _Passage:
    """What is known of a file before its rows are passed through.

    Attributes
    ----------
    source
        Its scores and other columns.
    scores
        The same scores, checked, with the class of each in the order of the file.
    frame
        What is to be written.
    notes
        Sentences for the user.
    by_rank
        The scores, if they are to be written by rank as they are stored.
    own
        The class that all others are put together against; None for none.
    predicted
        Names of columns that may hold predicted classes.
    """

    source: Source
    scores: CheckedScores
    frame: Frame
    notes: tuple[str, ...]
    by_rank: RankedScores | None = None
    own: int | None = None
    predicted: Sequence[str] = ()


@contextmanager
def _opened(path: str, target: str) -> Iterator[tuple[Contents, str, Format]]:
    """Give what is in a file, the format of it, and the one to be written."""
    place = path_of(path)
    with spooled() if path == "-" else nullcontext((place, known_format(place))) as (file, stored):
        form = output_format(target, stored.name)
        name, module = STDIN if path == "-" else path, stored.module
        yield module.open_file(file, name), stored.name, form


def _prepared(
    record: CalibratorRecord,
    contents: Contents,
    stored: str,
    form: Format,
    options: ReadOptions,
    wanted: Wanted,
) -> _Passage:
    labels = (*label_names(contents.columns), options.label_column)
    source = find_again(record, contents, options).written(labels, as_text=form.name == stored)
    name, width, arrays = (
        source.place.name,
        source.scores.shape[1],
        form.name in ("npy", "npz", "safetensors"),
    )
    ranked = source.scores if isinstance(source.scores, RankedScores) else None
    by_rank = ranked if ranked and len(ranked.ranks) > 1 and not arrays else None
    others, before = source.others([*source.columns, *(by_rank.ranks if by_rank else ())])
    own = None
    if options.against_rest is None:
        classes, notes = classes_of(record, source.classes, width, options, name)
        notes = (*notes, *(source.doubts if width == 1 else ()))
    else:
        classes, notes = source.classes or options.classes or tuple(map(str, range(width))), ()
        own = own_class(classes, options.against_rest, name)
        by_rank = None
        if set(record.classes) != {options.against_rest, rest_of(options.against_rest)}:
            merged_into = rest_of(options.against_rest), options.against_rest
            raise InputError(other_classes(name, merged_into, record.classes))
        notes = (f"labels are kept as they are; read the result with --against-rest {options.against_rest}",)
    refuse_sorted(source, options)
    judged, told = judged_as_fitted(record, source, options)
    notes = (*notes, *told)
    record.refuse_kind(judged.kind, name)
    listing = record.classes
    if own is None and not record.of_answers:
        listing = written_order(record, source, classes, options, form)
        refuse_open_order(contents, source, listing, options, form, by_rank=by_rank is not None)
    names = tuple(PREFIXES[wanted.kind] + suffix for suffix in (by_rank.suffixes if by_rank else listing))
    array = ARRAYS[wanted.kind]
    if record.of_answers:  # the confidence keeps its name
        names, array, listing = source.stored, source.stored[0], ()
    if twice := set(names) & set(others.names):
        raise InputError(
            f"{name} has a column {sorted(twice)[0]} besides the scores, the name of a column to be written; "
            "rename or remove it"
        )
    if ranked is not None:
        by_class = "" if by_rank else f"; they are written by class, without {listed(ranked.ranks)}"
        notes = (*notes, f"{ranked.note}{by_class}")
    lost = list(source.left_out)
    if form.name == "npy" != stored:
        lost += others.names
        others = others.empty_table().select([]).schema
    if lost:
        notes = (*notes, f"{name}: {listed(lost)} could not be passed on to {form.name}")
    if form.name == "npy" != stored and not all(one.isdigit() for one in listing):
        notes = (*notes, f"the columns of the array are, in this order, {listed(listing)}")
    refuse_numbers(contents, others, options, form, name)
    refuse_names_lost(others, listing, options, form, name)
    predicted = _predicted(record, others.names, options, wanted, name)
    others = with_names(others, names, wanted, form, name)
    notes = (*notes, *wanted.notes(record))
    scores = CheckedScores.of(
        source.scores, judged, classes, source.place, options.renormalize, without=REPAIR
    )
    frame = Frame(others, before, names, array, listing, contents.delimiter)
    return _Passage(source, scores, frame, notes, by_rank, own, predicted)


def _predicted(
    record: CalibratorRecord, kept: Sequence[str], options: ReadOptions, wanted: Wanted, name: str
) -> Sequence[str]:
    """Return the names of columns that may hold predicted classes."""
    if record.of_answers:
        refuse_rewriting(wanted.rewrite_prediction, "answers, right or wrong, have no predicted class")
    elif options.against_rest is not None:
        refuse_rewriting(wanted.rewrite_prediction, "of one class against the rest, none of all is predicted")
    else:
        return predicted_columns(kept, wanted.rewrite_prediction, name)
    return ()


def _labels_beside(passage: _Passage, stored: str, form: Format, target: str) -> tuple[str, ...]:
    """Return the sentence that says where labels go that do not fit into the file of the scores."""
    if not (form.name == stored == "npy") or not passage.frame.others.names:
        return ()
    return (f"the labels were written to {labels_file(Path(target)).name} beside {Path(target).name}",)


class _Part(NamedTuple):
    """Some rows of the result: kept columns, scores, and how many have another predicted class."""

    beside: Any
    scores: Doubles
    changed_rows: int


def _recalibrated(
    record: CalibratorRecord, passage: _Passage, wanted: Wanted, watched: Sequence[PredictedColumn]
) -> Iterator[_Part]:
    """Yield the parts of the result, in the order of the rows."""
    checked, name = passage.scores, passage.source.place.name
    stored_as = checked.classes
    if passage.own is not None:
        stored_as = (rest_of(stored_as[passage.own]), stored_as[passage.own])
    places = {one: place for place, one in enumerate(stored_as)}
    order = [places[one] for one in record.classes]
    ordered = order == sorted(order)
    columns = np.array([record.classes.index(one) for one in passage.frame.classes], np.intp)
    rows = 0
    step = max(1, PART_BYTES // (8 * len(order)))
    kept = [one for one in passage.frame.others.names if one not in wanted.added]
    for stored, beside in passage.source.passing(kept, step):
        block = checked.checked(stored, rows)
        if passage.own is not None:
            block = merged(block, passage.own, checked.kind)
        scores = block if ordered else block[:, order]
        if wanted.log_probs is None:
            log_probs = recalibrate(record, scores, checked.kind, wanted.shift)
        else:
            log_probs = wanted.log_probs[rows : rows + len(scores)].astype(np.float64, copy=False)
        refuse_overflow(log_probs, record.calibrator.name, name, rows)
        written = scores_as(wanted.kind, log_probs)
        if record.of_answers:
            written = _of_right(wanted.kind, written)
        if passage.by_rank is not None:
            ranks = passage.by_rank.positions(beside, rows)
            written = np.take_along_axis(written, columns[ranks], axis=1)
        elif (np.diff(columns) < 0).any():
            written = written[:, columns]
        if wanted.added:
            beside = with_added(beside, record, (scores, checked.kind), log_probs, wanted)
        rows += len(scores)
        codes = scores.argmax(axis=1), log_probs.argmax(axis=1)
        for column in watched:
            at = beside.schema.get_field_index(column.name)
            new = column.pass_on(beside.column(at), record.classes, passage.frame.classes, codes)
            beside = beside.set_column(at, beside.schema.field(at), new)
        changed = int(np.count_nonzero(codes[0] != codes[1]))
        yield _Part(beside, written, changed)


def _of_right(kind: Kind, scores: Doubles) -> Doubles:
    """Return the (n, 1) scores of being right, as logits the log-odds."""
    return scores[:, 1:] - scores[:, :1] if kind == "logits" else scores[:, 1:]
