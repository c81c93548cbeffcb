"""Arrays, each by its name, and those taken for labels, without what tables need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.layouts import ANSWERS
from calcli.io.layouts.answers import refuse_missing, rights_of
from calcli.io.messages import Place
from calcli.io.options import ReadOptions
from calcli.io.places.heads import ObjectsError, is_of_single_values, native
from calcli.io.tables.labels import Labels, join_labels, labels_from_array, one_hot
from calcli.io.tables.source import (
    Contents,
    HeldScores,
    JoinedScores,
    LazyColumns,
    Shape,
    Source,
    column_of,
    in_order,
    require_label_each,
    require_rows,
    require_single,
)
from calcli.io.tables.storedarrays import StoredArray
from calcli.io.words import label_names

LEAVE_OUT = "leave them out with --drop-missing"
CLASS_NAMES = ("classes", "class_names")
NOTE = "recalibrated by "  # before the mark, in the comment of an archive


@dataclass(frozen=True, kw_only=True)
class ArraySource(Source):
    """An array of scores, and others with a value per row.

    Attributes
    ----------
    array
        Name of the array, where arrays have names.
    """

    array: str = "scores"

    @property
    def stored(self) -> tuple[str, ...]:
        """Name of the array."""
        return (self.array,)

    def others(self, kept: Sequence[str]) -> tuple[Any, int]:
        """Return the types of other arrays; the scores stand before them."""
        import pyarrow as pa

        return pa.schema({name: pa.array(self.columns[name][:0]).type for name in kept}), 0

    def passing(self, kept: Sequence[str], rows: int) -> Iterator[tuple[Array, Any]]:
        """Yield blocks of scores with the same rows of the other arrays."""
        import pyarrow as pa

        beside, start = {name: self.columns[name] for name in kept}, 0
        schema = self.others(kept)[0]
        for block in self.scores.blocks(rows):
            stop = start + len(block)
            yield block, pa.RecordBatch.from_pydict({k: v[start:stop] for k, v in beside.items()}, schema)
            start = stop


class Arrays(Contents):
    """A file of arrays, each with its name."""

    what = "arrays"

    def find(self, options: ReadOptions, *, labelled: bool = True) -> Source:
        """Find out what the arrays are; see `calcli.io.reading.find`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Archive(Arrays):
    """A file of arrays whose names tell what they are.

    Attributes
    ----------
    name
        Of the file.
    names
        Of the arrays.
    array
        Finds one of them.
    comment
        Of the archive, which may tell the calibrators that were applied.
    """

    name: str
    names: tuple[str, ...]
    array: Callable[[str], StoredArray]
    comment: str = ""

    @property
    def mark(self) -> str:
        """The fingerprints of the calibrators that were applied to it."""
        return self.comment.removeprefix(NOTE) if self.comment.startswith(NOTE) else ""

    def load(self, name: str) -> Array:
        """Read one array."""
        return self.array(name).load()


def answers_of(
    confidence: Array,
    correct: Sequence[Array],
    names: tuple[str, str, str],
    *,
    drop: bool = False,
    mend: str = LEAVE_OUT,
) -> ArraySource:
    """Return arrays of answers: the confidence as the one score, with what is right where that is known.

    Parameters
    ----------
    confidence
        One value per row.
    correct
        What says which answers are right, as for `rights_of`; none if that is not asked for.
    names
        Of the file, of the array of the confidence, and of what says what is right.
    drop
        Whether rows in which something is missing are to be left out.
    mend
        What else to do about them, for messages.

    Raises
    ------
    InputError
        If the confidence has several values per row, or some value is missing or no outcome.
    """
    name, array, owner = names
    place = Place(((name, np.size(confidence)),))
    if confidence.dtype.kind not in "iufb" or (confidence.ndim > 1 and confidence.shape[-1] > 1):
        raise InputError(
            f"{name}: {array} has shape {confidence.shape} and type {confidence.dtype}; expected one number "
            "for each answer"
        )
    for one in correct:
        require_rows(f"{name}: {owner} has values", one.shape, confidence.shape)
        require_single(one, f"{name}: {owner}")
    flat, outcomes = native(confidence).reshape(-1), [native(one).reshape(-1) for one in correct]
    if correct and not drop:
        refuse_missing(flat, f"the confidence, {array},", place, mend)
    return ArraySource(
        place=place,
        scores=HeldScores(flat.reshape(-1, 1)),
        classes=WRONG_RIGHT,
        kind="probs",
        kind_reason="a confidence is a probability",
        labels=rights_of(outcomes, owner, place, mend, drop=drop, table=mend == LEAVE_OUT)
        if correct
        else None,
        labels_from=owner,
        layout=ANSWERS.name,
        axes=confidence.shape,
        taken=(array,),
        array=array,
    )


def by_row(found: Source) -> Source:
    """Keep the arrays with a value per row; the others cannot be passed on."""
    rows, loaded = found.place.parts[0][1], {}
    for name in found.columns:
        with suppress(ObjectsError):  # such as the metrics that a Trainer predicts beside the scores
            loaded[name] = found.columns[name]
    arrays = {
        name: array.astype(np.float64) if array.dtype == np.longdouble else array  # as tables have no such
        for name, array in loaded.items()
        if in_order(array.shape, found.rows_shape) and is_of_single_values(array.dtype)
    }
    for name in label_names([one for one in loaded if one not in arrays]):
        if loaded[name].ndim > 1 and (codes := one_hot(loaded[name])) is not None:
            arrays |= {name: codes} if len(codes) == rows else {}
    readers = {name: partial(np.reshape, array, -1) for name, array in arrays.items()}
    left_out = tuple(name for name in found.columns if name not in arrays)
    return replace(found, columns=LazyColumns(readers), left_out=left_out)


def joined_arrays(parts: Sequence[Source], *, judged: bool) -> Source:
    """Put what was found in files one after the other.

    Raises
    ------
    InputError
        If they differ in the number of scores, in their classes, or in whether they have labels.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts:
        if part.labels is not None:  # one may have too many where another lacks some
            require_label_each(part, len(part.labels), part.labels_from)
        for what, ours, theirs in (
            ("scores in a row", first.scores.shape[1], part.scores.shape[1]),
            ("classes", first.classes, part.classes),
            *([("kind of scores by name", first.kind, part.kind)] if judged else []),
            ("labels beside the scores", first.labels is not None, part.labels is not None),
        ):
            if ours != theirs:
                raise InputError(
                    f"{part.place.name} and {first.place.name} differ in their {what}: {theirs} and {ours}; "
                    "parts of one data set must be alike; without --concat files are evaluated one by one"
                )
    labels = [part.labels for part in parts if part.labels is not None]
    weights = [part.weights for part in parts if part.weights is not None]
    common = [name for name in first.columns if all(name in part.columns for part in parts)]
    return replace(
        first,
        place=Place(tuple(entry for part in parts for entry in part.place.parts)),
        scores=JoinedScores(tuple(part.scores for part in parts)),
        labels=join_labels(labels) if labels else None,
        labels_from=f"{first.labels_from} and {len(parts) - 1} more",
        weights=np.concatenate(weights) if weights else None,
        columns=LazyColumns({name: partial(_joined_column, parts, name) for name in common}),
        files=tuple(file for part in parts for file in part.files),
        axes=_joined_axes(parts),
    )


def _joined_axes(parts: Sequence[Source]) -> Shape:
    """Return the axes of rows one after the other, if these have the same ones but for the first."""
    first, *rest = parts[0].rows_shape
    alike = all(part.rows_shape[1:] == tuple(rest) for part in parts)
    return (first + sum(part.rows_shape[0] for part in parts[1:]), *rest) if alike else ()


def _joined_column(parts: Sequence[Source], name: str) -> Array:
    return np.concatenate([column_of(part, name) for part in parts])


def stored_labels(stored: StoredArray, found: Source, place: Place, *, drop: bool = False) -> Labels:
    """Take an array for the labels of scores; all its axes are flattened; `drop` as in `labels_from_array`.

    Raises
    ------
    InputError
        If it cannot be read, or has a column for each class in place of one label per row.
    """
    shapes = found.scores.shape, found.rows_shape
    return flat_labels(stored.load(), shapes, stored.name, place, drop=drop)


def flat_labels(
    values: Array,
    shapes: tuple[Shape, Shape],
    name: str,
    place: Place,
    *,
    drop: bool = False,
) -> Labels:
    """Take an array for labels; all its axes are flattened.

    Parameters
    ----------
    values
        The array.
    shapes
        Of the scores, and of their rows.
    name, place
        What to call it, and where the scores are, for messages.
    drop
        As in `labels_from_array`.

    Raises
    ------
    InputError
        If it has a 0 or 1 for every class and not one 1 in each row, values that are not labels, or other
        axes than the rows.
    """
    scores_shape, rows = shapes
    if values.ndim > 1 and values.shape[-1] > 1 and values.shape == scores_shape:
        if (found := _one_hot_labels(values.reshape(-1, values.shape[-1]), place, drop=drop)) is not None:
            return found
        raise InputError(
            f"{name} has labels of shape {values.shape}, one for each score: these are one-hot or "
            "multi-label indicators; expected one class per row, such as labels.argmax(-1); where several "
            "classes may be true at once, evaluate each class by itself as a two-class file"
        )
    if values.ndim > 2 and scores_shape[1] > 1 and values.shape == (*rows, scores_shape[1]):
        raise InputError(
            f"{name} has labels of shape {values.shape}, one for each score; if each score is that of the "
            "second of two classes, give the scores an axis of length 1 for the classes, as "
            "np.expand_dims(scores, -1) does; if the labels are one-hot, save their argmax over the classes"
        )
    require_rows(f"{name} has labels", values.shape, rows, scores_shape)
    return labels_from_array(native(values).reshape(-1), place, drop=drop)


def _one_hot_labels(values: Array, place: Place, *, drop: bool) -> Labels | None:
    """Take (N, K) values for labels, rows of nan for missing ones; None if the others are not one-hot."""
    gone = np.isnan(values).all(axis=1) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)
    places = one_hot(values[~gone] if gone.any() else values)
    if places is None:
        return None
    if gone.any():
        there, places = places, np.full(len(values), np.nan)
        places[~gone] = there
    return replace(labels_from_array(places, place, drop=drop), meaning="positions")
