"""A file, or a folder of parts, in; the same with recalibrated scores out, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.calibrators.record import CalibratorRecord, recalibrate, scores_as
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.predictions import Kind, read_through
from calcli.core.estimators.costs import CostMatrix
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.progress import Watch, Watcher, unwatched
from calcli.io.atomic import filled_folder
from calcli.io.checks import CheckedScores
from calcli.io.formats import Format, format_of, known_format
from calcli.io.formats.npy import labels_file
from calcli.io.kinds import judge_kind
from calcli.io.options import ReadOptions
from calcli.io.places import listed
from calcli.io.ranked import RankedScores
from calcli.io.read import STDIN, parts_of, spooled
from calcli.io.source import Contents, Source
from calcli.io.writing import ARRAYS, PREFIXES, Frame, Writer, open_writer, output_format

PART_BYTES = 1 << 24  # of scores recalibrated and written at once
DECISION = "decision"


@dataclass(frozen=True)
class Wanted:
    """What the result is to be.

    Attributes
    ----------
    kind
        What the scores are written as.
    shift
        (K,) logarithms of factors for other class priors, or None.
    costs
        Of the decisions that are written beside them, or None.
    log_probs
        (N, K) what the scores of all rows become; None for what the calibrator makes of them.
    """

    kind: Kind = "probs"
    shift: Floats | None = None
    costs: CostMatrix | None = None
    log_probs: Doubles | None = None


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
        raise UsageError(f"--labels {options.labels}: {path} keeps its labels by itself; leave it out")
    with _opened(path, target) as (contents, stored, form):
        passage = _prepared(record, contents, stored, form, options, wanted)
        beside = _labels_beside(passage, stored, form, target)
        watch = watcher("rows", passage.source.scores.shape[0] or None)

        def write() -> Written:
            with open_writer(target, form, passage.frame) as writer:
                done = _pass_through(record, passage, wanted, writer, watch)
            return replace(done, notes=(*done.notes, *beside))

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
    """

    source: Source
    scores: CheckedScores
    frame: Frame
    notes: tuple[str, ...]
    by_rank: RankedScores | None = None


@contextmanager
def _opened(path: str, target: str) -> Iterator[tuple[Contents, str, Format]]:
    """Give what is in a file, the format of it, and the one to be written."""
    with spooled() if path == "-" else nullcontext((Path(path), known_format(Path(path)))) as (file, stored):
        form = output_format(target, stored.name)
        name, module = STDIN if path == "-" else path, stored.module
        if hasattr(module, "open_stream"):
            yield module.open_stream(file, name, as_text=form is stored), stored.name, form
        else:
            yield module.open_file(file, name), stored.name, form


def _prepared(
    record: CalibratorRecord,
    contents: Contents,
    stored: str,
    form: Format,
    options: ReadOptions,
    wanted: Wanted,
) -> _Passage:
    source = contents.find(_search(record, contents, options), labelled=False)
    name, width, arrays = source.place.name, source.scores.shape[1], form.name in ("npy", "npz")
    ranked = source.scores if isinstance(source.scores, RankedScores) else None
    by_rank = ranked if ranked and len(ranked.ranks) > 1 and not arrays else None
    others, before = source.others([*source.columns, *(by_rank.ranks if by_rank else ())])
    classes, notes = _classes(record, source.classes, width, options, name)
    kind, sure, reason = judge_kind(source, options)
    record.refuse_kind(kind, name)
    names = by_rank.suffixes if by_rank else record.classes
    names = tuple(PREFIXES[wanted.kind] + suffix for suffix in names)
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
    others = _with_decisions(others, names, wanted, form, name)
    scores = CheckedScores(source.scores, kind, reason, sure, classes, source.place, options.renormalize)
    frame = Frame(others, before, names, ARRAYS[wanted.kind], record.classes, contents.delimiter)
    return _Passage(source, scores, frame, notes, by_rank)


def _with_decisions(others: Any, names: tuple[str, ...], wanted: Wanted, form: Format, name: str) -> Any:
    """Return the schema of the kept columns with that of the decisions behind, if they are wanted."""
    import pyarrow as pa

    if wanted.costs is None:
        return others
    if form.name in ("npy", "npz"):
        raise UsageError(f"--decide writes a column of names; expected a table after -o, not {form.name}")
    if DECISION in (*others.names, *names):
        raise InputError(f"{name} has a column {DECISION!r} already; rename it, or leave out --decide")
    return others.append(pa.field(DECISION, pa.string()))


def _decided(beside: Any, log_probs: Floats, costs: CostMatrix, schema: Any) -> Any:
    """Return kept columns with the decisions behind them."""
    import pyarrow as pa

    names = np.array(costs.decisions)[costs.best(np.exp(log_probs.T))]
    return pa.RecordBatch.from_arrays([*beside.columns, pa.array(names, pa.string())], schema=schema)


def _labels_beside(passage: _Passage, stored: str, form: Format, target: str) -> tuple[str, ...]:
    """Return the sentence that says where labels go that do not fit into the file of the scores."""
    if not (form.name == stored == "npy") or not passage.frame.others.names:
        return ()
    return (f"the labels were written to {labels_file(Path(target)).name} beside {Path(target).name}",)


def _pass_through(
    record: CalibratorRecord, passage: _Passage, wanted: Wanted, writer: Writer, watch: Watch
) -> Written:
    checked, name = passage.scores, passage.source.place.name
    order = [checked.classes.index(one) for one in record.classes]
    ordered = order == sorted(order)
    columns = np.argsort(order)  # of what is written, for each class of the file
    rows = changed = 0
    step = max(1, PART_BYTES // (8 * len(order)))
    kept = [one for one in passage.frame.others.names if wanted.costs is None or one != DECISION]
    for stored, beside in passage.source.passing(kept, step):
        block = checked.checked(stored, rows)
        scores = block if ordered else block[:, order]
        if wanted.log_probs is None:
            log_probs = recalibrate(record, scores, checked.kind, wanted.shift)
        else:
            log_probs = wanted.log_probs[rows : rows + len(scores)]
        _refuse_overflow(log_probs, record.calibrator.name, name, rows)
        written = scores_as(wanted.kind, log_probs)
        if passage.by_rank is not None:
            ranks = passage.by_rank.positions(beside, rows)
            written = np.take_along_axis(written, columns[ranks], axis=1)
        if wanted.costs is not None:
            beside = _decided(beside, log_probs, wanted.costs, passage.frame.others)
        writer.write(beside, written)
        changed += int(np.count_nonzero(scores.argmax(axis=1) != log_probs.argmax(axis=1)))
        rows += len(scores)
        watch(rows)
    if not rows:
        raise InputError(f"{name} has no rows; expected at least one")
    return Written(rows, changed, passage.notes)


def _refuse_overflow(log_probs: Floats, method: str, name: str, start: int) -> None:
    overflown = np.isnan(log_probs).any(axis=1)
    if overflown.any():
        raise InputError(
            f"{name}: the scores of row {start + int(overflown.argmax())} are so large that the {method} "
            "calibrator overflows; expected scores such as those it was fitted on"
        )


def _search(record: CalibratorRecord, contents: Contents, options: ReadOptions) -> ReadOptions:
    """Return how to look for the scores: columns may be named as the classes, one is that of the second."""
    classes = options.classes
    if classes is None and set(record.classes) <= set(contents.columns):
        classes = record.classes
    return replace(options, classes=classes, positive=record.classes[1])


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
