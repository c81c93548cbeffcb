"""Finding scores, labels and outcomes in files of arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.data.inmemory import percentages, sums_to_one
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.layouts import ANSWERS, ARRAYS
from calcli.io.layouts.answers import outcomes_of, require_column
from calcli.io.messages import ALIKE, Place, listed
from calcli.io.options import ReadOptions
from calcli.io.places.heads import ObjectsError, is_of_single_values
from calcli.io.reading.candidate import Candidate
from calcli.io.reading.checks import first_of
from calcli.io.reading.choose import Choice, NoOutcomes, NoReading, choose
from calcli.io.reading.chosen import by_pattern
from calcli.io.reading.classes import as_wanted, decided_by, names_of_one
from calcli.io.reading.head import ROWS, head_of_arrays, spread_rows
from calcli.io.reading.matching import spelled
from calcli.io.tables.arrays import (
    CLASS_NAMES,
    Archive,
    ArrayTable,
    StoredArray,
    class_axis,
    flat_labels,
    places_note,
)
from calcli.io.tables.source import LazyColumns, SomeScores, Source, require_label_each, rows_of
from calcli.io.words import kind_by_name, may_be_label, plain_text, says

MOST_FILES = 64  # to look at
BLOCK_VALUES = 1 << 16  # read at once


def find_in_archives(files: Sequence[Archive], options: ReadOptions, *, labelled: bool = True) -> Source:
    """Return the source in the array files of one data set."""
    if files[0].scores:
        return _known_source(files, options, labelled=labelled)
    try:
        if labelled and options.score is not None:
            return _outcomes(files, options)
        choice = _choice(files, options, labelled=labelled)
        if choice.chosen.what == "hard":
            return _outcomes(files, options, choice.chosen)
        return _chosen_source(files, choice, options, labelled=labelled)
    except NoReading as question:
        if not (labelled and question.without):
            raise
        try:
            return _outcomes(files, options)
        except NoOutcomes:
            raise question from None


def array_source(
    files: Sequence[Archive], array: str, options: ReadOptions, label: str = "", *, labelled: bool = True
) -> Source:
    """Return the scores in an array, joined from several files, with the other arrays as columns.

    Parameters
    ----------
    files
        The files, in order.
    array, label
        The names of the arrays of scores and labels. `label` is "" if the labels are unwanted, or in one file
        for all of these.
    options
        Facts that the files do not state themselves.
    labelled
        Whether to read labels; if not, all arrays with a value in each row are kept.

    Raises
    ------
    InputError
        If the files are not alike.
    """
    axes = []
    for file in files:
        stored = file.array(array)
        axes.append(class_axis(stored.header.shape, _shape_of_labels(file, options), options, stored.name))
    table = ArrayTable(tuple(files), array, tuple(axes))
    widths = [shape[axis] if len(shape) > 1 else 1 for shape, axis in zip(table.shapes, axes, strict=True)]
    _refuse_unlike(files, "scores in a row", widths)
    names = [name for name in table.others(labelled=labelled) if name != label]
    columns, left_out = LazyColumns(tuple(names), table.values), tuple[str, ...]()
    if not labelled:
        fitting = {name: values for name in names if (values := table.fitting(name)) is not None}
        columns = LazyColumns(tuple(fitting), fitting.__getitem__)
        left_out = tuple(name for name in names if name not in fitting)
    source = Source(
        place=table.place,
        scores=table.scores,
        table=table,
        weights=None if options.weights is None else _weights(table, options.weights),
        columns=columns,
        notes=places_note(table.shapes[0], axes[0]),
        files=tuple(name for file in files for name in (file.name, labelled and file.labels_from) if name),
        left_out=left_out,
        layout=ARRAYS.name,
        taken=(f"{array} of shape {table.shapes[0]}",),
    )
    if not label or not labelled:
        return source
    label_files = [file.labels_from for file in files if file.labels_from]
    origins = label_files or [f'array "{label}"'] * len(files)
    labels_from = origins[0] if len(files) == 1 else f"{origins[0]} and {len(files) - 1} more"
    return replace(source, labels=table.labels(label, origins), labels_from=labels_from)


def _weights(table: ArrayTable, name: str) -> Array:
    for file in table.files:
        require_column(name, file.names, file.name, "--weights", "array")
    return table.values(name)


def _known_source(files: Sequence[Archive], options: ReadOptions, *, labelled: bool) -> Source:
    """Return scores from a known array, with labels from separate files."""
    from calcli.io.formats.npy import with_labels

    files = [with_labels(file, options, labelled=labelled, alone=len(files) == 1) for file in files]
    scores, label = files[0].scores, files[0].label
    kinds = [kind_by_name((Path(file.name).stem.removesuffix(".npy"),)) for file in files]
    for subject, values in (
        ("labels beside the scores", [bool(file.label) for file in files]),
        ("kind of scores by name", [kind if options.kind == "auto" else None for kind, _ in kinds]),
    ):
        _refuse_unlike(files, subject, values)
    source = array_source(files, scores, options, label, labelled=labelled)
    kind, reason = kinds[0]
    if kind != "logits" or sums_to_one(first_of(source)).all():
        kind, reason = None, ""  # whatever the name says
    source = replace(source, kind=kind, kind_reason=reason, taken=(f"shape {source.table.shapes[0]}",))
    if not label or labelled:
        return source
    labels = source.table.labels(label, [file.labels_from for file in files])
    values = np.array(labels.values)[labels.codes]
    columns = LazyColumns((label,), {label: values}.__getitem__)
    return replace(source, columns=columns, left_out=())


def _refuse_unlike(files: Sequence[Archive], subject: str, values: Sequence[Any]) -> None:
    """Raise an InputError if the values are not the same for all files."""
    for file, value in zip(files, values, strict=True):
        if value != values[0]:
            raise InputError(
                f"{file.name} and {files[0].name} differ in their {subject}: {value} and {values[0]}; {ALIKE}"
            )


def _outcomes(files: Sequence[Archive], options: ReadOptions, hard: Candidate | None = None) -> Source:
    """Return the outcomes, grades or predictions in arrays with a value per row."""
    import pyarrow as pa

    from calcli.io.reading.outcomes import predicted, require_outcomes
    from calcli.io.tables.table import in_memory, joined

    tables = []
    for file in files:
        shapes = {name: file.array(name).header.shape for name in file.names}
        usual = Counter(shape for shape in shapes.values() if len(shape) == 1).most_common(1)
        fits = [name for name, shape in shapes.items() if usual and shape == usual[0][0]]
        columns = {name: file.array(name).load() for name in fits}
        tables.append(in_memory(file.name, pa.table(columns)))
    if hard is not None:
        return predicted(joined(tables), hard.said, hard.label, options)
    return require_outcomes(
        joined(tables), replace(options, label_column=options.labels or options.label_column)
    )


def _chosen_source(
    files: Sequence[Archive], choice: Choice, options: ReadOptions, *, labelled: bool
) -> Source:
    """Return the source in the chosen arrays."""
    c = choice.chosen
    for file in files:
        if absent := [name for name in (*c.source.columns, c.label) if name not in ("", *file.names)]:
            raise InputError(
                f"{file.name} has no array {listed(absent)}, as other parts have; it has "
                f"{listed(file.names)}; {ALIKE}"
            )
    (name,) = c.source.columns
    facts: dict[str, Any] = {"kind": c.kind, "doubts": choice.notes, "considered": choice.struck}
    if c.what in ("answer", "right") and (c.label or options.confidence is not None):
        right = [array for array in (c.said, c.label) if array]
        return replace(answers_in(files, name, right, options, labelled=labelled), **facts)
    source = array_source(files, name, options, c.label, labelled=labelled)
    stored_classes = [_stored_classes(file) for file in files]
    _refuse_unlike(files, "classes", stored_classes)
    classes, before = stored_classes[0], tuple[str, ...]()
    width = source.scores.shape[1]
    if classes is not None and options.classes is not None:
        stored = list(range(len(classes)))
        order, classes, before = as_wanted(classes, stored, options.classes, source.place.name)
        if order != stored:
            if width == 1:
                raise UsageError(
                    f"--classes: {source.place.name} has one score in each row, that of the last of "
                    f"{listed(stored_classes[0] or ())}; name it last"
                )
            source = replace(source, scores=SomeScores((source.scores,), order=tuple(order)))
    elif classes is None and width > 1 and c.names:
        spelling = spelled(c.head, c.label)
        classes = tuple(spelling.get(plain_text(label), label) for label in c.names)
    elif classes is None and width == 1:
        classes = names_of_one(c, options)
    kind, reason = kind_by_name((name,))
    return replace(
        source,
        classes=classes,
        before=before,
        decided=decided_by(c, classes) if c.label else None,
        kind_reason="percentages" if c.kind == "percent" else reason if kind == c.kind else "",
        **facts,
    )


def answers_in(
    files: Sequence[Archive],
    confidence: str,
    right: Sequence[str],
    options: ReadOptions,
    *,
    labelled: bool = True,
) -> Source:
    """Return confidences in answers as scores; one array tells what was right, or two do by being equal."""
    source = array_source(files, confidence, options, labelled=labelled)
    percent = percentages(first_of(source))
    labels_from = f'array "{right[0]}"' if right else ""
    if len(right) == 2:
        labels_from = f'arrays "{right[0]}" and "{right[1]}", which are equal where it is right'
    values = [source.table.values(name) for name in right]
    return replace(
        source,
        classes=WRONG_RIGHT,
        kind="percent" if percent else "probs",
        kind_reason="a confidence is a probability" + ", as percentages from 0 to 100" * percent,
        labels=outcomes_of(values, options.ignore_label) if right else None,
        labels_from=labels_from,
        layout=ANSWERS.name,
        taken=(confidence,),
    )


def _stored_classes(archive: Archive) -> tuple[str, ...] | None:
    listing = next((array for array in CLASS_NAMES if array in archive.names), None)
    if listing is None:
        return None
    names = archive.array(listing).load()
    if names.ndim != 1 or not len(names) or names.dtype.kind not in "Uiub":
        raise InputError(
            f"{archive.name}: the array {listing} has shape {names.shape} and type {names.dtype}; expected "
            "the names of the classes in a row, as text or integers"
        )
    return tuple(map(str, names.tolist()))


def _choice(files: Sequence[Archive], options: ReadOptions, *, labelled: bool) -> Choice:
    """Return the choice of arrays for scores and labels, judging by some of the files."""
    archive = files[0]
    for wanted, option in ((options.scores, "--scores"), (options.confidence, "--confidence")):
        if wanted is not None:
            require_column(wanted, archive.names, archive.name, option, "array")
    classes = _stored_classes(archive)
    if options.labels is not None and options.labels in archive.names:
        options = replace(options, labels=None, label_column=options.labels)
    name = archive.name if len(files) == 1 else f"{archive.name} and {len(files) - 1} more"
    samples = [_rows(files[n], options, labelled=labelled) for n in spread_rows(len(files), MOST_FILES)]
    shapes = [{key: array.shape[1:] for key, array in sample.items()} for sample in samples]
    alike = [sample for sample, shape in zip(samples, shapes, strict=True) if shape == shapes[0]]
    rows = {key: np.concatenate([sample[key] for sample in alike]) for key in samples[0]}
    head = head_of_arrays(name, rows, classes, options.named(()))
    sources = head.sources if options.scores is None else by_pattern(head, options.scores)
    if classes is not None and options.classes is None and not head.lists:
        options = replace(options, classes=classes)  # a single score is of the last class
    single = [
        source for source in sources if source.form in ("lists", "columns") and len(source.columns) == 1
    ]
    return choose(head, single, options, labelled=labelled and options.labels is None)


def readable(archive: Archive) -> dict[str, StoredArray]:
    """Return the arrays of an archive, without objects beside the scores and labels."""
    stored = {}
    for name in archive.names:
        try:
            stored[name] = archive.array(name)
        except ObjectsError:  # such as the metrics that a Trainer predicts beside the scores
            if says("score", name) or may_be_label(name):
                raise
    return stored


def _rows(archive: Archive, options: ReadOptions, *, labelled: bool) -> dict[str, Array]:
    """Return the arrays with one or more values for each row, as arrays of one or two axes.

    Raises
    ------
    InputError
        If the arrays do not have the same rows, as with scores of several passes.
    """
    stored = {name: array for name, array in readable(archive).items() if name not in CLASS_NAMES}
    shapes = {
        name: array.header.shape
        for name, array in stored.items()
        if array.header.shape and is_of_single_values(array.header.dtype)
    }
    labels = _shape_of_labels(archive, options)
    turned = [name for name, shape in shapes.items() if shape[1:] == labels and shape[:1] != labels]
    deep = [name for name in shapes if len(shapes[name]) > 2 or (name in turned and says("score", name))]
    if not deep:
        usual = Counter(shape[0] for shape in shapes.values()).most_common(1)
        total = usual[0][0] if usual else 0
        targets = [name for name in shapes if may_be_label(name)]
        if labelled and len(targets) == 1 and shapes[targets[0]][0] != total and options.labels is None:
            scores_name = next((key for key in shapes if says("score", key)), "")
            require_label_each(
                archive.name, (total, 1), shapes[targets[0]][0], f'array "{targets[0]}"', scores_name
            )
        rows = spread_rows(total, ROWS)
        return {
            name: some_rows(stored[name], rows)
            for name, shape in shapes.items()
            if shape[0] == total and options.weights != name
        }
    name = next((key for key in deep if says("score", key)), deep[0])
    shape = shapes[name]
    axis = class_axis(shape, labels, options, stored[name].name)
    rows_shape = rows_of(shape, axis)
    if labels is not None and len(labels) == 1 and labels != rows_shape and labels[0] in shape[:-1]:
        extra = next(n for n, size in enumerate(shape[:-1]) if size != labels[0] or n + 1 == len(shape) - 1)
        raise InputError(
            f"{archive.name}: {name} has shape {shape} and there are {labels[0]} labels: axis {extra}, of "
            f"{shape[extra]}, may be that of passes, members or models; save one score of each row, such as "
            f"the mean of their probabilities over axis {extra}"
        )
    arrays: dict[str, Array] = {name: np.moveaxis(stored[name].load(), axis, -1).reshape(-1, shape[axis])}
    place = Place(((archive.name, len(arrays[name])),))
    scores_shape = (*rows_shape, shape[axis])
    for key in [key for key in shapes if key != name]:
        if shapes[key] == rows_shape:
            arrays[key] = stored[key].load().reshape(-1)
        elif may_be_label(key):  # one-hot, or of a shape to refuse
            flat = flat_labels(stored[key], scores_shape, place)
            values = np.array(flat.values)[flat.codes]
            arrays[key] = values.astype(np.bool_) if flat.meaning == "booleans" else values
    return {key: values for key, values in arrays.items() if len(values) == len(arrays[name])}


def some_rows(stored: StoredArray, rows: NDArray[np.int64]) -> Array:
    """Return some rows of an array; an array with two axes is read block by block."""
    shape = stored.header.shape
    if len(shape) < 2 or stored.header.dtype.kind not in "iufb":
        return stored.load()[rows]
    blocks, start = [], 0
    for block in stored.scores(1).blocks(max(1, BLOCK_VALUES // max(1, shape[1]))):
        blocks.append(block[rows[(rows >= start) & (rows < start + len(block))] - start])
        start += len(block)
    return np.concatenate(blocks)


def _shape_of_labels(archive: Archive, options: ReadOptions) -> tuple[int, ...] | None:
    """Return the shape of the only array of labels; None if there is none or several."""
    names = [name for name in archive.names if may_be_label(name)]
    if options.labels in archive.names:
        names = [str(options.labels)]
    return archive.array(names[0]).header.shape if len(names) == 1 else None
