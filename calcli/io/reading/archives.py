"""What arrays are: scores, labels, or answers and what is right."""

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
from calcli.io.messages import Place, listed
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
    classes_last,
    flat_labels,
    places_note,
)
from calcli.io.tables.source import LazyColumns, SomeScores, Source, mend_of, rows_of
from calcli.io.words import kind_by_name, named, plain_text, says

MOST_PARTS = 64  # that are looked at
BLOCK_VALUES = 1 << 16  # read at once


def find_in_archives(parts: Sequence[Archive], options: ReadOptions, *, labelled: bool = True) -> Source:
    """Return what is found in the files of arrays of one data set."""
    if parts[0].scores:
        return _fixed(parts, options, labelled=labelled)
    try:
        if labelled and options.score is not None:
            return _outcomes(parts, options)
        chosen = _chosen(parts, options, labelled=labelled)
        if chosen.chosen.what == "hard":
            return _outcomes(parts, options, chosen.chosen)
        return _found(parts, chosen, options, labelled=labelled)
    except NoReading as question:
        if not (labelled and question.without):
            raise
        try:
            return _outcomes(parts, options)
        except NoOutcomes:
            raise question from None


def array_source(
    parts: Sequence[Archive], array: str, options: ReadOptions, label: str = "", *, labelled: bool = True
) -> Source:
    """Return the scores in an array, and what is beside them, in files one after the other.

    Parameters
    ----------
    parts
        The files.
    array, label
        Those of the scores and of the labels; "" if these are in a file for all parts, or not wanted.
    options
        What the files do not say themselves.
    labelled
        Whether labels are read; if not, all arrays that have a value in each row are kept.

    Raises
    ------
    InputError
        If the files are not alike.
    """
    axes = []
    for part in parts:
        stored = part.array(array)
        axes.append(class_axis(stored.header.shape, _shape_of_labels(part, options), options, stored.name))
    table = ArrayTable(tuple(parts), array, tuple(axes))
    widths = [shape[axis] if len(shape) > 1 else 1 for shape, axis in zip(table.shapes, axes, strict=True)]
    _refuse_unlike(parts, "scores in a row", widths)
    others = [one for one in table.others(labelled=labelled) if one != label]
    columns, left = LazyColumns(tuple(others), table.values), tuple[str, ...]()
    if not labelled:
        held = {one: values for one in others if (values := table.fitting(one)) is not None}
        columns, left = (
            LazyColumns(tuple(held), held.__getitem__),
            tuple(one for one in others if one not in held),
        )
    source = Source(
        place=table.place,
        scores=table.scores,
        table=table,
        weights=None if options.weights is None else _weights(table, options.weights),
        columns=columns,
        notes=places_note(table.shapes[0], axes[0]),
        files=tuple(one for part in parts for one in (part.name, labelled and part.labels_from) if one),
        left_out=left,
        layout=ARRAYS.name,
        taken=(f"{array} of shape {table.shapes[0]}",),
    )
    if not label or not labelled:
        return source
    files = [part.labels_from for part in parts if part.labels_from]
    names = files or [f'array "{label}"']
    first = names[0] if len(parts) == 1 else f"{names[0]} and {len(parts) - 1} more"
    return replace(source, labels=table.labels(label, files or names * len(parts)), labels_from=first)


def _weights(table: ArrayTable, name: str) -> Array:
    for file in table.files:
        require_column(name, file.names, file.name, "--weights", "array")
    return table.values(name)


def _fixed(parts: Sequence[Archive], options: ReadOptions, *, labelled: bool) -> Source:
    """Return scores whose array is known, beside labels that have files of their own."""
    from calcli.io.formats.npy import with_labels

    parts = [with_labels(part, options, labelled=labelled, alone=len(parts) == 1) for part in parts]
    first = parts[0]
    kinds = [kind_by_name((Path(part.name).stem.removesuffix(".npy"),)) for part in parts]
    for what, values in (
        ("labels beside the scores", [bool(part.label) for part in parts]),
        ("kind of scores by name", [one if options.kind == "auto" else None for one, _ in kinds]),
    ):
        _refuse_unlike(parts, what, values)
    source = array_source(parts, first.scores, options, first.label, labelled=labelled)
    kind, reason = kinds[0]
    if kind != "logits" or sums_to_one(first_of(source)).all():
        kind, reason = None, ""  # whatever they are called
    source = replace(source, kind=kind, kind_reason=reason, taken=(f"shape {source.table.shapes[0]}",))
    if not first.label or labelled:
        return source
    labels = source.table.labels(first.label, [part.labels_from for part in parts])
    values = np.array(labels.values)[labels.codes]
    return replace(
        source, columns=LazyColumns((first.label,), {first.label: values}.__getitem__), left_out=()
    )


def _refuse_unlike(parts: Sequence[Archive], what: str, values: Sequence[Any]) -> None:
    """Raise an InputError if something is not the same in all parts."""
    for part, value in zip(parts, values, strict=True):
        if value != values[0]:
            raise InputError(
                f"{part.name} and {parts[0].name} differ in their {what}: {value} and {values[0]}; parts of "
                "one data set must be alike; without --concat files are evaluated one by one"
            )


def _outcomes(parts: Sequence[Archive], options: ReadOptions, hard: Candidate | None = None) -> Source:
    """Return what is right, graded or predicted in the arrays that have a value a row."""
    import pyarrow as pa

    from calcli.io.reading.outcomes import predicted, require_outcomes
    from calcli.io.tables.table import in_memory, joined

    tables = []
    for part in parts:
        shapes = {name: part.array(name).header.shape for name in part.names}
        rows = Counter(shape for shape in shapes.values() if len(shape) == 1).most_common(1)
        flat = {name: part.array(name).load() for name, its in shapes.items() if rows and its == rows[0][0]}
        tables.append(in_memory(part.name, pa.table(flat)))
    if hard is not None:
        return predicted(joined(tables), hard.said, hard.label, options)
    return require_outcomes(
        joined(tables), replace(options, label_column=options.labels or options.label_column)
    )


def _found(parts: Sequence[Archive], chosen: Choice, options: ReadOptions, *, labelled: bool) -> Source:
    """Return the arrays that were chosen."""
    c = chosen.chosen
    for part in parts:
        if gone := [one for one in (*c.source.columns, c.label) if one not in ("", *part.names)]:
            raise InputError(
                f"{part.name} has no array {listed(gone)}, as other parts have; it has {listed(part.names)}; "
                "parts of one data set must be alike"
            )
    (name,) = c.source.columns
    facts: dict[str, Any] = {"kind": c.kind, "doubts": chosen.notes, "considered": chosen.struck}
    if c.what in ("answer", "right") and (c.label or options.confidence is not None):
        right = [one for one in (c.said, c.label) if one]
        return replace(answers_in(parts, name, right, options, labelled=labelled), **facts)
    source = array_source(parts, name, options, c.label, labelled=labelled)
    given = [_named_classes(part) for part in parts]
    _refuse_unlike(parts, "classes", given)
    width, before, classes = source.scores.shape[1], tuple[str, ...](), given[0]
    if classes is not None and options.classes is not None:
        stored = list(range(len(classes)))
        order, classes, before = as_wanted(classes, stored, options.classes, source.place.name)
        if order != stored:
            if width == 1:
                raise UsageError(
                    f"--classes: {source.place.name} has one score in each row, that of the last of "
                    f"{listed(given[0] or ())}; name it last"
                )
            source = replace(source, scores=SomeScores((source.scores,), order=tuple(order)))
    elif classes is None and width > 1 and c.names:
        called = spelled(c.head, c.label)
        classes = tuple(called.get(plain_text(one), one) for one in c.names)
    elif classes is None and width == 1:
        classes = names_of_one(c, options)
    named_so, reason = kind_by_name((name,))
    return replace(
        source,
        classes=classes,
        before=before,
        decided=decided_by(c, classes) if c.label else None,
        kind_reason="percentages" if c.kind == "percent" else reason if named_so == c.kind else "",
        **facts,
    )


def answers_in(
    parts: Sequence[Archive],
    confidence: str,
    right: Sequence[str],
    options: ReadOptions,
    *,
    labelled: bool = True,
) -> Source:
    """Return the confidence in answers as the one score; one array says what is right, or two where equal."""
    source = array_source(parts, confidence, options, labelled=labelled)
    percent = percentages(first_of(source))
    labels_from = f'array "{right[0]}"' if right else ""
    if len(right) == 2:
        labels_from = f'arrays "{right[0]}" and "{right[1]}", which are equal where it is right'
    values = [source.table.values(one) for one in right]
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


def _named_classes(archive: Archive) -> tuple[str, ...] | None:
    listing = next((array for array in CLASS_NAMES if array in archive.names), None)
    return None if listing is None else _class_names(archive, listing)


def _chosen(parts: Sequence[Archive], options: ReadOptions, *, labelled: bool) -> Choice:
    """Return which arrays are what, by some of the parts."""
    archive = parts[0]
    for wanted, option in ((options.scores, "--scores"), (options.confidence, "--confidence")):
        if wanted is not None:
            require_column(wanted, archive.names, archive.name, option, "array")
    given = _named_classes(archive)
    if options.labels is not None and options.labels in archive.names:
        options = replace(options, labels=None, label_column=options.labels)
    name = archive.name if len(parts) == 1 else f"{archive.name} and {len(parts) - 1} more"
    some = [_rows(parts[n], options, labelled=labelled) for n in spread_rows(len(parts), MOST_PARTS)]
    alike = [
        one
        for one in some
        if {k: v.shape[1:] for k, v in one.items()} == {k: v.shape[1:] for k, v in some[0].items()}
    ]
    rows = {key: np.concatenate([one[key] for one in alike]) for key in some[0]}
    head = head_of_arrays(name, rows, given, options.named(()))
    sources = head.sources if options.scores is None else by_pattern(head, options.scores)
    if given is not None and options.classes is None and not head.lists:
        options = replace(options, classes=given)  # of one score, that of the last
    alone = [one for one in sources if one.form in ("lists", "columns") and len(one.columns) == 1]
    return choose(head, alone, options, labelled=labelled and options.labels is None)


def _rows(archive: Archive, options: ReadOptions, *, labelled: bool) -> dict[str, Array]:
    """Return the arrays that have a value, or several, for each row, in rows of one or two axes.

    Raises
    ------
    InputError
        If the arrays are of different rows, such as those of several passes.
    """
    stored: dict[str, Any] = {}
    for name in archive.names:
        try:
            stored |= {} if name in CLASS_NAMES else {name: archive.array(name)}
        except ObjectsError:  # such as the metrics that a Trainer predicts beside the scores
            if says("score", name) or named("truth", name) or named("label", name):
                raise
    shapes = {
        name: one.header.shape
        for name, one in stored.items()
        if one.header.shape and is_of_single_values(one.header.dtype)
    }
    labels = _shape_of_labels(archive, options)
    deep = {
        name: shape
        for name, shape in shapes.items()
        if len(shape) > 2
        or (
            labels
            and len(shape) == 2
            and says("score", name)
            and shape[0] != labels[0]
            and shape[1:] == labels
        )
    }
    if not deep:
        rows = Counter(shape[0] for shape in shapes.values()).most_common(1)
        called = [name for name in shapes if named("truth", name) or named("label", name)]
        if labelled and len(called) == 1 and shapes[called[0]][0] != rows[0][0] and options.labels is None:
            raise InputError(
                f'{archive.name} has {rows[0][0]} rows of scores, but array "{called[0]}" has '
                f"{shapes[called[0]][0]} labels; expected one label per row; "
                + mend_of(rows[0][0], 1, shapes[called[0]][0])
            )
        some = spread_rows(rows[0][0] if rows else 0, ROWS)
        return {
            name: _of_rows(stored[name], some)
            for name, shape in shapes.items()
            if shape[0] == rows[0][0] and options.weights != name
        }
    name = next((one for one in deep if says("score", one)), next(iter(deep)))
    shape = shapes[name]
    axis = class_axis(shape, labels, options, stored[name].name)
    rows_shape = rows_of(shape, axis)
    if labels is not None and len(labels) == 1 and labels != rows_shape and labels[0] in shape[:-1]:
        other = next(n for n, size in enumerate(shape[:-1]) if size != labels[0] or n + 1 == len(shape) - 1)
        raise InputError(
            f"{archive.name}: {name} has shape {shape} and there are {labels[0]} labels: axis {other}, of "
            f"{shape[other]}, may be that of "
            "passes, members or models; save one score of each row, such as the mean of their "
            f"probabilities over axis {other}"
        )
    arrays: dict[str, Array] = {name: classes_last(stored[name].load(), axis).reshape(-1, shape[axis])}
    place, turned = Place(((archive.name, len(arrays[name])),)), (*rows_shape, shape[axis])
    for one, its in shapes.items():
        if one != name and its == rows_shape:
            arrays[one] = stored[one].load().reshape(-1)
        elif one != name and (
            named("truth", one) or named("label", one)
        ):  # one-hot, or of a shape that is refused
            flat = flat_labels(stored[one], turned, place)
            values = np.array(flat.values)[flat.codes]
            arrays[one] = values.astype(np.bool_) if flat.meaning == "booleans" else values
    return {one: values for one, values in arrays.items() if len(values) == len(arrays[name])}


def _of_rows(stored: StoredArray, rows: NDArray[np.int64]) -> Array:
    """Return some rows of an array; of two axes not more is held of it."""
    shape = stored.header.shape
    if len(shape) < 2 or stored.header.dtype.kind not in "iufb":
        return stored.load()[rows]
    parts, at = [], 0
    for block in stored.scores(1).blocks(max(1, BLOCK_VALUES // max(1, shape[1]))):
        parts.append(block[rows[(rows >= at) & (rows < at + len(block))] - at])
        at += len(block)
    return np.concatenate(parts)


def _shape_of_labels(archive: Archive, options: ReadOptions) -> tuple[int, ...] | None:
    """Return the shape of the labels if they are here, without those of the one array that is meant."""
    names = [one for one in archive.names if named("truth", one) or named("label", one)]
    if options.labels in archive.names:
        names = [str(options.labels)]
    return archive.array(names[0]).header.shape if len(names) == 1 else None


def _class_names(archive: Archive, listing: str) -> tuple[str, ...]:
    names = archive.array(listing).load()
    if names.ndim != 1 or not len(names) or names.dtype.kind not in "Uiub":
        raise InputError(
            f"{archive.name}: the array {listing} has shape {names.shape} and type {names.dtype}; expected "
            "the names of the classes in a row, as text or integers"
        )
    return tuple(map(str, names.tolist()))
