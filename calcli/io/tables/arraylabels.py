"""Arrays taken for labels: one class per row, or a 0 or 1 for every class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.messages import Place
from calcli.io.places.heads import native
from calcli.io.tables.labels import Labels, labels_from_array, one_hot
from calcli.io.tables.shapes import Shape, require_rows
from calcli.io.tables.source import Source
from calcli.io.tables.storedarrays import StoredArray


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
