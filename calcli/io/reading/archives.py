"""What the arrays of an archive are: scores, labels, or answers and what is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.layouts import ARRAYS
from calcli.io.layouts.answers import as_text
from calcli.io.messages import Place, Question, listed
from calcli.io.options import ReadOptions
from calcli.io.places.heads import ObjectsError, is_of_single_values
from calcli.io.reading.choose import Choice, NoOutcomes, NoReading, by_pattern, choose
from calcli.io.reading.classes import classes_of_one, kind_of, spelled
from calcli.io.reading.head import ROWS, head_of_arrays, spread_rows
from calcli.io.tables.arrays import Archive, ArraySource, answers_of, by_row, flat_labels, stored_labels
from calcli.io.tables.ignored import ignored_rows
from calcli.io.tables.ignored import rows_of as of_rows
from calcli.io.tables.labels import places_by_name
from calcli.io.tables.source import LazyColumns, Source, StoredScores, mend_of, rows_of, value_each
from calcli.io.tables.storedarrays import (
    OrderedScores,
    StoredArray,
    class_axis,
    classes_last,
    places_note,
    sample_column,
)
from calcli.io.words import kind_by_name, named, plain_text, says

CLASS_NAMES = ("classes", "class_names")
MOST_PARTS = 64  # that are looked at
BLOCK_VALUES = 1 << 16  # read at once
OPTIONS = {"label_column": "labels"}  # as they are called for arrays


def find_in_archives(
    parts: Sequence[Archive], options: ReadOptions, *, labelled: bool = True
) -> list[Source]:
    """Return what is found in each of the parts of one data set, whose arrays are the same."""
    try:
        if labelled and options.score is not None:
            return [_outcomes(part, options) for part in parts]
        chosen = _chosen(parts, options, labelled=labelled)
    except NoReading as question:
        if not (labelled and question.without):
            raise
        try:
            return [_outcomes(part, options) for part in parts]
        except NoOutcomes:
            raise question from None
    return [_found(part, chosen, options, labelled=labelled) for part in parts]


def _outcomes(archive: Archive, options: ReadOptions) -> Source:
    """Return what is right, graded or predicted in the arrays that have a value a row."""
    import pyarrow as pa

    from calcli.io.reading.outcomes import require_outcomes
    from calcli.io.tables.table import in_memory

    options = replace(options, label_column=options.labels or options.label_column)
    shapes = {name: archive.array(name).header.shape for name in archive.names}
    rows = Counter(shape for shape in shapes.values() if len(shape) == 1).most_common(1)
    values = {name: archive.load(name) for name, shape in shapes.items() if rows and shape == rows[0][0]}
    return require_outcomes(in_memory(archive.name, pa.table(values)), options)


def _found(archive: Archive, chosen: Choice, options: ReadOptions, *, labelled: bool) -> Source:
    parts = (*chosen.chosen.source.columns, chosen.chosen.label)
    if gone := [one for one in parts if one not in ("", *archive.names)]:
        if options.kind == "auto":
            raise InputError(
                f"{archive.name} has no array {listed(gone)}, as other parts have; it has "
                f"{listed(archive.names)}; parts of one data set must be alike, or say with --kind what "
                "their scores are"
            )
        chosen = _chosen([archive], options, labelled=labelled)
    given, c = _named_classes(archive), chosen.chosen
    if c.what in ("answer", "right") and (c.label or options.confidence is not None):
        return _answers(archive, chosen, options)
    (name,) = c.source.columns
    stored = archive.array(name)
    shape = stored.header.shape
    axis = class_axis(shape, _shape_of_labels(archive, options), options, stored.name)
    scores, classes = stored.scores(axis), None
    if given is not None:
        scores, classes = _in_order(archive, scores, given, options.classes)
    elif scores.shape[1] > 1 and c.names:
        called = spelled(c.head, c.label)
        classes = tuple(called.get(plain_text(one), one) for one in c.names)
    elif scores.shape[1] == 1:
        classes = classes_of_one(c, options)
    named_so, reason = kind_by_name((name,))
    kind = kind_of(c)
    others = tuple(array for array in archive.names if array not in (name, *CLASS_NAMES))
    found = ArraySource(
        place=Place(((archive.name, scores.shape[0]),)),
        scores=scores,
        classes=classes,
        before=scores.before(classes or ()) if isinstance(scores, OrderedScores) else (),
        kind=kind,
        decided=bool(c.label),
        kind_reason="percentages" if c.kind == "percent" else reason if named_so == kind else "",
        percent=c.kind == "percent",
        columns=LazyColumns(
            {array: partial(archive.load, array) for array in others}
            | (sample_column(shape, axis) if labelled else {})
        ),
        notes=places_note(shape, axis),
        files=(archive.name,),
        layout=ARRAYS.name,
        axes=rows_of(shape, axis),
        taken=(f"{name} of shape {shape}",),
        array=name,
        doubts=chosen.notes,
        considered=chosen.struck,
    )
    return _with_labels(archive, found, c.label, options) if labelled else by_row(found)


def _named_classes(archive: Archive) -> tuple[str, ...] | None:
    listing = next((array for array in CLASS_NAMES if array in archive.names), None)
    return None if listing is None else _class_names(archive, listing)


def _chosen(parts: Sequence[Archive], options: ReadOptions, *, labelled: bool) -> Choice:
    """Return which arrays are what, by some of the parts."""
    archive = parts[0]
    for wanted, option in ((options.scores, "--scores"), (options.confidence, "--confidence")):
        if wanted is not None and wanted not in archive.names:
            raise UsageError(
                f'{option}: {archive.name} has no array "{wanted}"; it has {listed(archive.names)}'
            )
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
    try:
        return choose(head, alone, options, labelled=labelled and options.labels is None)
    except Question as question:
        question.offers = [{OPTIONS.get(k, k): said for k, said in one.items()} for one in question.offers]
        raise


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
    found: dict[str, Array] = {name: classes_last(stored[name].load(), axis).reshape(-1, shape[axis])}
    both = (found[name].shape, rows_shape), Place(((archive.name, len(found[name])),))
    for one, its in shapes.items():
        if one != name and its == rows_shape:
            found[one] = stored[one].load().reshape(-1)
        elif one != name and (
            named("truth", one) or named("label", one)
        ):  # one-hot, or of a shape that is refused
            found[one] = flat_labels(stored[one].load(), both[0], stored[one].name, both[1]).codes
    return {one: values for one, values in found.items() if len(values) == len(found[name])}


def _of_rows(stored: StoredArray, rows: NDArray[np.int64]) -> Array:
    """Return some rows of an array; of two axes not more is held of it."""
    shape = stored.header.shape
    if len(shape) < 2 or stored.header.dtype.kind not in "iufb":
        return stored.load()[rows]
    found, at = [], 0
    for block in stored.scores(1).blocks(max(1, BLOCK_VALUES // max(1, shape[1]))):
        found.append(block[rows[(rows >= at) & (rows < at + len(block))] - at])
        at += len(block)
    return np.concatenate(found)


def _answers(archive: Archive, chosen: Choice, options: ReadOptions) -> Source:
    """Return the confidence as the one score, with what is right."""
    c = chosen.chosen
    confidence, right = c.source.columns[0], tuple(one for one in (c.said, c.label) if one)
    source = f'array "{c.label}"'
    if c.said:
        source = f'arrays "{c.said}" and "{c.label}", which are equal where it is right'
    loaded = [archive.load(name) for name in right]
    kept, values = np.ones(1, np.bool_), np.empty(0)
    if options.ignore_label and right:
        values = as_text(loaded[-1].reshape(-1))
        kept = ~np.isin(values, options.ignore_label)
        if not kept.any():
            raise InputError(f"{archive.name}: all labels are to be ignored ({listed(options.ignore_label)})")
        loaded[-1] = np.where(kept.reshape(loaded[-1].shape), loaded[-1], loaded[-1].reshape(-1)[kept][0])
    others = tuple(name for name in archive.names if name != confidence)
    found = answers_of(
        archive.load(confidence),
        loaded,
        (archive.name, confidence, source),
        drop=options.drop_missing,
    )
    found = replace(
        found,
        columns=LazyColumns({name: partial(archive.load, name) for name in others}),
        files=(archive.name,),
        percent=c.kind == "percent",
        doubts=chosen.notes,
        considered=chosen.struck,
    )
    if not right:
        return by_row(found)
    if options.weights is not None:
        found = replace(found, weights=_weights(archive, found, options.weights))
    if not options.ignore_label or found.labels is None:
        return found
    part, labels = of_rows(found, found.labels, kept, *ignored_rows(kept, options.ignore_label, values))
    return replace(part, labels=labels)


def _weights(archive: Archive, found: Source, name: str) -> Array:
    if name not in archive.names:
        raise UsageError(f'--weights: {archive.name} has no array "{name}"; it has {listed(archive.names)}')
    return value_each(found, name, archive.load(name))


def _shape_of_labels(archive: Archive, options: ReadOptions) -> tuple[int, ...] | None:
    """Return the shape of the labels if they are here, without those of the one array that is meant."""
    found = [one for one in archive.names if named("truth", one) or named("label", one)]
    if options.labels in archive.names:
        found = [str(options.labels)]
    return archive.array(found[0]).header.shape if len(found) == 1 else None


def _with_labels(archive: Archive, found: Source, label: str, options: ReadOptions) -> Source:
    columns = dict(found.columns.readers)
    if options.weights is not None:
        found = replace(found, weights=_weights(archive, found, options.weights))
    if label:
        labels = stored_labels(archive.array(label), found, found.place, drop=options.drop_missing)
        columns.pop(label, None)
        found = replace(found, labels=labels, labels_from=f'array "{label}"')
    return replace(found, columns=LazyColumns(columns))


def _class_names(archive: Archive, listing: str) -> tuple[str, ...]:
    names = archive.load(listing)
    if names.ndim != 1 or not len(names) or names.dtype.kind not in "Uiub":
        raise InputError(
            f"{archive.name}: the array {listing} has shape {names.shape} and type {names.dtype}; expected "
            "the names of the classes in a row, as text or integers"
        )
    return tuple(map(str, names.tolist()))


def _in_order(
    archive: Archive, scores: StoredScores, classes: tuple[str, ...], wanted: tuple[str, ...] | None
) -> tuple[StoredScores, tuple[str, ...]]:
    """Return scores and class names in the order of `--classes`; one score per row keeps its place."""
    if wanted is None or wanted == classes:
        return scores, classes
    places, given = places_by_name(wanted, classes), list(range(len(classes)))
    if places == given or (not places and len(wanted) == len(classes)):
        return scores, wanted
    if sorted(places) != given or scores.shape[1] != len(classes):
        raise UsageError(
            f"--classes names {listed(wanted)}, but the scores of {archive.name} belong to "
            f"{listed(classes)}; expected the same names, in any order if there is a score for each, or "
            "as many others"
        )
    return OrderedScores(scores, tuple(places)), wanted
