"""Writing a file, or a folder of parts, with recalibrated scores, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.core.calibrators.base import refuse_overflow
from calcli.core.calibrators.record import CalibratorRecord, recalibrate, scores_as, unfitted
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.derived import Priors, merged, own_class, prior_shift, rest_of
from calcli.core.data.predictions import ArrayScores, Kind, Predictions, Provenance, called
from calcli.core.estimators.costs import CostMatrix, Definition
from calcli.core.estimators.thresholds import Threshold
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.text import Watcher, unwatched
from calcli.io.apply.again import (
    classes_of,
    find_again,
    judged_as_fitted,
    known_classes,
    refuse_classes,
    renamed,
    written_order,
)
from calcli.io.dataset import parts_of, same_place
from calcli.io.formats import BY_NAME, Format, format_of, known_format
from calcli.io.formats.npy import labels_file
from calcli.io.formats.writer import ARRAYS, PREFIXES, Frame, inserted, open_writer, output_format
from calcli.io.messages import STDIN, Place, listed, refuse_given
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import atomic_path, filled_folder
from calcli.io.places.paths import path_of
from calcli.io.read import spooled
from calcli.io.reading.checks import CheckedScores, judge_kind
from calcli.io.reading.classes import refuse_sorted
from calcli.io.reading.columns import are_plain, as_written, beside, columns_of, in_place, passing
from calcli.io.reading.multilabel import NAMES
from calcli.io.tables.arrays import Archive
from calcli.io.tables.ranked import RankedScores
from calcli.io.tables.scores import stored_scores
from calcli.io.tables.source import Contents, HeldScores, Source, without_rows
from calcli.io.words import label_names

DECISION = "decision"
DOUBLE = np.dtype("f8")
LABEL_ROWS = 1 << 14  # rows of several labels, recalibrated or written at once
PART_BYTES = 1 << 24  # scores recalibrated and written at once
REPAIR = "repair such rows, or leave them out with --drop-missing"


@dataclass(frozen=True)
class Wanted:
    """The requested result.

    Attributes
    ----------
    kind
        What the scores are written as.
    priors
        Class priors to shift probabilities to, or None.
    trained_at
        The priors to shift from, if no calibrator records them.
    costs
        Costs of decisions to write as well, or None.
    log_probs
        (N, K) new scores of all rows; None for the output of the calibrator.
    threshold
        A threshold; a column tells whether rows are at or above it, and scores stay. None for no threshold.
    mark
        Identifies the calibrator; "" for none.
    """

    kind: Kind = "probs"
    priors: Priors | None = None
    trained_at: Priors | None = None
    costs: Definition | None = None
    log_probs: Floats | None = None
    threshold: Threshold | None = None
    mark: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the added columns."""
        return (*[DECISION] * bool(self.costs), *([self.threshold.mark] if self.threshold else []))

    def shift(self, record: CalibratorRecord) -> Floats | None:
        """Return the (K,) logarithms of factors for the probabilities of a calibrator, or None.

        Raises
        ------
        UsageError
            If the priors do not fit the classes, one is 0, or the priors to shift from are given twice or
            not at all.
        """
        if record.priors and self.trained_at is not None:
            raise UsageError("the calibrator records the priors of its fit; leave out --trained-at")
        if self.priors is None:
            if self.trained_at is not None:
                raise UsageError("--trained-at says what --shift-to-priors moves from; give that as well")
            return None
        if not record.priors and self.trained_at is None:
            raise UsageError(
                "nothing says which priors --shift-to-priors moves from; give those of the training with "
                "--trained-at"
            )
        with naming("--trained-at"):
            old = self.trained_at.of(record.classes) if self.trained_at else np.asarray(record.priors)
        with naming("--shift-to-priors"):
            return prior_shift(record.classes, old, self.priors.of(record.classes))

    def decisions(self, record: CalibratorRecord) -> CostMatrix | None:
        """Return the costs of decisions for a calibrator's classes, or None.

        Raises
        ------
        UsageError
            If they are for other classes.
        """
        if self.costs is None:
            return None
        classes = record.classes
        priors = self.priors.of(classes) if self.priors else np.asarray(record.priors)
        with naming("--decide"):
            if not len(priors) and self.costs.name == "balanced":
                raise UsageError("balanced needs class frequencies; give --shift-to-priors")
            return self.costs.matrix(
                classes, priors if len(priors) else np.full(len(classes), 1 / len(classes))
            )


@dataclass(frozen=True)
class Written:
    """The outcome of writing.

    Attributes
    ----------
    rows
        How many.
    changed_rows
        Rows with a changed predicted class; None for answers, which have no classes.
    answered
        Rows at or above a threshold; None without one.
    notes
        Sentences for the user.
    """

    rows: int
    changed_rows: int | None
    notes: tuple[str, ...]
    answered: int | None = None


def recalibrate_file(
    record: CalibratorRecord | None,
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
        The calibrator; None to only shift the scores to other class priors.
    path
        The input: a file, or `-` for standard input.
    target
        The output: a file with the format as its ending, or `-` for standard output.
    options
        Options of reading; no labels are needed.
    wanted
        The requested result; probabilities if None.
    watcher
        Starts a progress bar.

    Raises
    ------
    InputError
        If the file cannot be read, or its classes or scores do not match the calibrator.
    UsageError
        If an option does not fit the file.
    """
    options, wanted = options or ReadOptions(), wanted or Wanted()
    if not path.endswith(".npy"):
        refuse_given(options, ["labels"], f"{path} has its labels inside; leave it out")
    place, name = path_of(path), STDIN if path == "-" else path
    with spooled() if path == "-" else nullcontext((place, known_format(place))) as (file, opened):
        form, stored = output_format(target, opened.name), opened.name
        contents = opened.open(file, name, options.sheet)
        if record is None and (threshold := wanted.threshold):
            record = replace(
                unfitted(threshold.classes), fitted_on=threshold.made_of, made="the threshold was made of"
            )
        elif record is None:
            record = unfitted(known_classes(contents, path, options))
        passage = _prepared(record, contents, stored, form, options, wanted)
        notes = passage.notes
        if form.name == stored == "npy" and passage.frame.others.names:
            beside_it = f"{labels_file(Path(target)).name} beside {Path(target).name}"
            notes = (*notes, f"the labels were written to {beside_it}")
        watch = watcher("rows", passage.source.scores.shape[0] or None)
        chunks = _recalibrated(record, passage, wanted)
        first_part = next(chunks, None)  # before anything is written: a fault leaves standard output empty
        if first_part is None:
            raise InputError(f"{passage.source.place.name} has no rows; expected at least one")
        rows = changed = answered = 0
        with open_writer(target, form, passage.frame) as writer:
            for columns, scores, moved, at_least in chain([first_part], chunks):
                writer.write(columns, scores)
                rows, changed, answered = rows + len(scores), changed + moved, answered + at_least
                watch(rows)
        return Written(
            rows,
            None if record.of_answers else changed,
            notes,
            answered if wanted.threshold is not None else None,
        )


def recalibrate_folder(
    record: CalibratorRecord | None,
    path: str,
    target: str,
    options: ReadOptions | None = None,
    wanted: Wanted | None = None,
    watcher: Watcher = unwatched,
) -> Written:
    """Write a folder of parts with the recalibrated scores of another folder; all parts appear or none.

    Parameters
    ----------
    path, target
        Folders; the parts keep their names and formats.
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
    refuse_given(options, ["labels"], f"{path} is a folder of parts; leave it out")
    with filled_folder(target) as filled:
        written = [
            recalibrate_file(record, str(part), str(same_place(part, path, filled)), options, wanted, watcher)
            for part in parts_of(path_of(path), options)
        ]
    return Written(
        sum(part.rows for part in written),
        None if record is not None and record.of_answers else sum(part.changed_rows or 0 for part in written),
        tuple(note for part in written for note in part.notes),
        None if written[0].answered is None else sum(part.answered or 0 for part in written),
    )


@dataclass(frozen=True)
class _Passage:
    """The facts about a file before its rows pass through.

    Attributes
    ----------
    source
        Its scores and other columns.
    scores
        The same scores, checked, with their classes in the order of the file.
    frame
        The output.
    kind
        What the scores are written as.
    classes
        The class of each written score; a single one for a single score per row.
    times
        Factor of the scores: percentages stay percentages.
    notes
        Sentences for the user.
    own
        The class that all others are merged against; None for none.
    as_stored
        Whether scores are written unchanged.
    """

    source: Source
    scores: CheckedScores
    frame: Frame
    kind: Kind
    classes: tuple[str, ...]
    times: int
    notes: tuple[str, ...]
    own: int | None = None
    as_stored: bool = False


def _classes_of(
    record: CalibratorRecord, source: Source, options: ReadOptions
) -> tuple[tuple[str, ...], int | None, tuple[str, ...]]:
    """Return the class of each score in the file, the class against the rest, and notes."""
    name, width = source.place.name, source.scores.shape[1]
    if options.against_rest is None:
        classes, notes = classes_of(record, source, options)
        more_notes = renamed(record, source, options)
        return classes, None, (*notes, *more_notes, *(source.doubts if width == 1 else ()))
    classes = source.classes or options.classes or tuple(map(str, range(width)))
    k = own_class(classes, options.against_rest, name)
    if set(record.classes) != {options.against_rest, rest_of(options.against_rest)}:
        merged_into = rest_of(options.against_rest), options.against_rest
        refuse_classes(name, merged_into, record)
    notes = (f"labels are kept as they are; read the result with --against-rest {options.against_rest}",)
    return classes, k, notes


def _prepared(
    record: CalibratorRecord,
    contents: Contents,
    stored: str,
    form: Format,
    options: ReadOptions,
    wanted: Wanted,
) -> _Passage:
    labels = (*label_names(contents.columns), options.label_column)
    stored_source, threshold = find_again(record, contents, options), wanted.threshold
    source = without_rows(as_written(stored_source, labels, as_text=form.name == stored), options)
    marks = contents.mark.split()
    if wanted.mark and wanted.mark in marks:
        raise InputError(
            f"{source.place.name} has been recalibrated with this calibrator already; apply it to the "
            "scores as they were"
        )
    name, width = source.place.name, source.scores.shape[1]
    classes, k, notes = _classes_of(record, source, options)
    refuse_sorted(source, options)
    score_kind, more_notes = judged_as_fitted(record, source, options)
    notes = (*notes, *more_notes, *source.notes[len(stored_source.notes) :])
    record.refuse_kind(score_kind.kind, name)
    kind = wanted.kind
    if threshold is not None:
        threshold.require_same(kind := score_kind.kind, record.classes, name)
    (kept_columns, before), own_columns = beside(source), columns_of(source)
    alike = form.of_arrays == BY_NAME[stored].of_arrays
    plain = alike and are_plain(source) and kind == score_kind.kind
    plain = plain and not (form.name == "csv" and len(own_columns) < width)
    same = record.of_answers or (plain and k is None)
    by_name = same and alike and not form.of_arrays  # each score keeps its column
    counted = record.classes  # in the order that numbers count
    if k is None and not record.of_answers:
        counted = written_order(record, source, classes, options, form)
    listing = classes[-width:] if by_name or (same and width == 1) else counted
    lost = list(source.left_out)
    if form.name == "npy" != stored:
        lost += kept_columns.names
        kept_columns = kept_columns.empty_table().select([]).schema
    if lost:
        notes = (*notes, f"{name}: {listed(lost)} could not be passed on to {form.name}")
    if form.name == "npy" != stored and not all(c.isdigit() for c in listing):
        notes = (*notes, f"the columns of the array are, in this order, {listed(listing)}")
    if isinstance(source.scores, RankedScores):
        ranks = listed(source.scores.ranks)
        notes = (*notes, f"{source.scores.note}; they are written by class, without {ranks}")
    names = own_columns if by_name or record.of_answers else tuple(PREFIXES[kind] + c for c in listing)
    written = [*names, *kept_columns.names, *wanted.columns]
    if twice := [column for column in written if written.count(column) > 1]:
        raise InputError(
            f"{name} has a column {twice[0]} besides the scores, the name of a column to be written; "
            "rename or remove it"
        )
    if alike and not (form.of_arrays or same or k is not None or isinstance(source.scores, RankedScores)):
        notes = (*notes, f"{name}: {score_kind.called} in {listed(own_columns)} became {listed(names)}")
    schema = in_place(source, kept_columns.names) if by_name else inserted(kept_columns, before, names)
    frame = Frame(
        _with_columns(schema, wanted, form),
        names,
        own_columns[0] if same else ARRAYS[kind],
        () if record.of_answers else counted,
        contents.delimiter,
        () if by_name else names,
        source.scores.dtype if same and source.scores.dtype in (np.float32, np.float64) else DOUBLE,
        " ".join([*marks, wanted.mark]).strip(),
    )
    scores = CheckedScores(
        source.scores, score_kind, classes, source.place, options.renormalize, without=REPAIR
    )
    times = 100 if plain and same and score_kind.percent else 1
    as_stored = threshold is not None and by_name
    return _Passage(source, scores, frame, kind, listing, times, notes, k, as_stored)


def _with_columns(schema: Any, wanted: Wanted, form: Format) -> Any:
    """Return the schema with columns of decisions."""
    for column in wanted.columns:
        if form.of_arrays:
            raise UsageError(
                f"a column {column} is to be written; expected a table after -o, not {form.name}"
            )
        schema = schema.append(pa.field(column, pa.string() if column == DECISION else pa.bool_()))
    return schema


def _recalibrated(
    record: CalibratorRecord, passage: _Passage, wanted: Wanted
) -> Iterator[tuple[Any, Doubles, int, int]]:
    """Yield blocks of the result: kept columns, scores, and the numbers of changed and answered rows."""
    checked, name = passage.scores, passage.source.place.name
    stored_as = checked.classes
    if passage.own is not None:
        stored_as = (rest_of(stored_as[passage.own]), stored_as[passage.own])
    places = {label: place for place, label in enumerate(stored_as)}
    order = [places[class_name] for class_name in record.classes]
    ordered = order == sorted(order)
    columns = [record.classes.index(class_name) for class_name in passage.classes]
    rows, shift, costs = 0, wanted.shift(record), wanted.decisions(record)
    step = max(1, PART_BYTES // (8 * len(order)))
    names = [name for name in passage.frame.others.names if name not in wanted.columns]
    for stored, columns_kept in passing(passage.source, names, step):
        block = checked.checked(stored, rows)
        if passage.own is not None:
            block = merged(block, passage.own, checked.kind)
        scores = block if ordered else block[:, order]
        if (log_probs_given := wanted.log_probs) is None:
            log_probs = recalibrate(record, scores, checked.kind, shift)
        else:
            log_probs = log_probs_given[rows : rows + len(scores)].astype(np.float64, copy=False)
        refuse_overflow(log_probs, record.calibrator.name, name, rows)
        kept_scores = wanted.threshold is not None
        written = scores.astype(np.float64) if kept_scores else scores_as(passage.kind, log_probs)
        written = stored if passage.as_stored else _in_columns(written, columns, passage)
        answered = 0
        if wanted.threshold is not None:
            answers = _answers(wanted.threshold, scores, rows, passage)
            answered = int(np.count_nonzero(answers))
            columns_kept = columns_kept.append_column(wanted.threshold.mark, pa.array(answers))
        if costs is not None:
            decisions = np.array(costs.decisions)[costs.best(np.exp(log_probs.T))]
            columns_kept = columns_kept.append_column(DECISION, pa.array(decisions, pa.string()))
        rows += len(scores)
        changed = int(np.count_nonzero(scores.argmax(axis=1) != log_probs.argmax(axis=1)))
        yield columns_kept, written, changed, answered


def _answers(threshold: Threshold, scores: Floats, start: int, passage: _Passage) -> NDArray[np.bool_]:
    """Return (n,) whether some rows, the first with number `start`, are at or above a threshold."""
    source, unlabelled = passage.source, np.zeros(len(scores), np.intp)
    rows, provenance = ArrayScores(scores, passage.kind), Provenance(source.place.name, "")
    columns = source.columns.kept(slice(start, start + len(scores)))
    return threshold.answers(
        Predictions(rows, unlabelled, threshold.classes, columns=columns, provenance=provenance)
    )


def _in_columns(scores: Doubles, columns: Sequence[int], passage: _Passage) -> Doubles:
    """Return scores in the order of the written columns."""
    if len(columns) == 1:
        scores = _alone(passage.kind, scores, columns[0])
    elif [*columns] != sorted(columns):
        scores = scores[:, columns]
    return scores if passage.times == 1 else scores * passage.times


def _alone(kind: Kind, scores: Doubles, place: int) -> Doubles:
    """Return the (n, 1) scores of one of two classes; for logits the log-odds."""
    column = scores[:, place : place + 1]
    return column - scores[:, 1 - place : 2 - place] if kind == "logits" else column


# several labels in a row

Records = Mapping[str, CalibratorRecord]  # of each label


def recalibrate_labels(records: Records, path: str, target: str, options: ReadOptions, kind: Kind) -> Written:
    """Write a file with the recalibrated scores of all labels of another; all else is kept.

    Parameters
    ----------
    records
        The calibrator of each label.
    path, target
        What to read, and a file of the same format.
    options, kind
        How to read it, and what to write the scores as.

    Raises
    ------
    InputError
        If the scores of a label are not there, or cannot be such.
    UsageError
        If the file would get another format.
    """
    form = known_format(path_of(path))
    if output_format(target, form.name) is not form:
        raise UsageError(f"-o {target}: the scores of several labels keep their format, {form.name}")
    contents = form.open(path_of(path), path, options.sheet)
    of_arrays = isinstance(contents, Archive)
    names = tuple(dict.fromkeys(str(record.fitted_on["scores"]) for record in records.values()))
    if absent := [name for name in names if name not in (contents.names if of_arrays else contents.columns)]:
        raise InputError(f"{path} has no scores {listed(absent)}, which the calibrators were fitted to")
    if of_arrays:
        arrays: dict[str, Any] = {name: contents.array(name).load() for name in contents.names}
        stored = next((arrays[name].astype(str).tolist() for name in NAMES if name in arrays), [*records])
        if {*stored} != {*records}:
            raise InputError(f"{path} has the labels {listed(stored)}; the fit had {listed([*records])}")
        scores = arrays[names[0]]
        new = _recalibrated_labels({name: records[name] for name in stored}, scores, path, options, kind)
        with atomic_path(target) as temporary, temporary.open("wb") as sink:
            if contents.scores:
                np.save(sink, new)
            else:
                np.savez(sink, **arrays | {names[0]: new})
        return Written(len(new), None, ())
    source = Source(place=contents.place, scores=stored_scores(contents, names), table=contents)
    source = as_written(source, label_names(contents.columns), as_text=True)
    new = _recalibrated_labels(
        records, np.concatenate([*source.scores.blocks(LABEL_ROWS)]), path, options, kind
    )
    columns_kept, at = [name for name in contents.columns if name not in names], 0
    frame = Frame(in_place(source, columns_kept), names, "", (), contents.delimiter)
    with open_writer(target, form, frame) as writer:
        for block, batch in passing(source, columns_kept, LABEL_ROWS):
            writer.write(batch, new[at : at + len(block)])
            at += len(block)
    return Written(len(new), None, ())


def _recalibrated_labels(
    records: Records, scores: Array, path: str, options: ReadOptions, kind: Kind
) -> Doubles:
    """Return (N, L) scores that the calibrators of the labels make of stored ones, in their order."""
    if scores.ndim != 2 or scores.shape[1] != len(records):
        expected = f"expected a score for each of {listed([*records])}"
        raise InputError(f"{path} has scores of shape {scores.shape}; {expected}")
    new = np.empty(scores.shape)
    for place, (label, record) in enumerate(records.items()):
        column, where = HeldScores(scores[:, place : place + 1]), Place(((f"{path}/{label}", len(scores)),))
        fitted = record.fitted_on
        as_fitted = called(fitted["kind"], fitted["percent"]) if options.kind == "auto" else options.kind
        source = Source(place=where, scores=column, classes=record.classes)
        score_kind = judge_kind(source, replace(options, kind=as_fitted))
        blocks = CheckedScores(column, score_kind, record.classes, where).blocks(LABEL_ROWS)
        log_probs = np.concatenate([recalibrate(record, block, score_kind.kind) for block in blocks])
        refuse_overflow(log_probs, record.calibrator.name, where.name, 0)
        times = 100 if score_kind.percent and kind == "probs" else 1
        new[:, place] = times * _alone(kind, scores_as(kind, log_probs), 1)[:, 0]
    return new
