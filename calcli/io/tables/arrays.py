"""Files of arrays as tables: a column for each array that has a value in each row, by numpy alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.messages import Place
from calcli.io.places.heads import native
from calcli.io.tables.labels import Labels, join_labels, labels_from_array, one_hot
from calcli.io.tables.source import (
    Contents,
    Shape,
    SomeScores,
    StoredScores,
    require_label_each,
    require_rows,
    require_single,
    rows_of,
)
from calcli.io.tables.storedarrays import SAMPLE, StoredArray, sample_of_each
from calcli.io.words import named

CLASS_NAMES = ("classes", "class_names")
NOTE = "recalibrated by "  # before the mark, in the comment of an archive


@dataclass(frozen=True)
class Archive(Contents):
    """A file of arrays, each with its name.

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
    scores
        The array of scores, where no name need tell it.
    label, labels_from
        That of their labels then, and the file that has them; "" for none.
    """

    name: str
    names: tuple[str, ...]
    array: Callable[[str], StoredArray]
    comment: str = ""
    scores: str = ""
    label: str = ""
    labels_from: str = ""
    what = "arrays"

    @classmethod
    def held(cls, name: str, arrays: Mapping[str, Array], scores: str, label: str = "") -> Archive:
        """Return arrays in memory."""
        stored = {one: StoredArray.held(native(values), name, name) for one, values in arrays.items()}
        return cls(name, tuple(stored), stored.__getitem__, scores=scores, label=label, labels_from=name)

    @property
    def mark(self) -> str:
        """The fingerprints of the calibrators that were applied to it."""
        return self.comment.removeprefix(NOTE) if self.comment.startswith(NOTE) else ""


@dataclass(frozen=True)
class ArrayTable:
    """The rows of files of arrays, one after the other.

    Attributes
    ----------
    files
        With the same arrays, as far as they are columns.
    array
        That of the scores.
    axes
        In each file its axis that has the classes.
    """

    files: tuple[Archive, ...]
    array: str
    axes: tuple[int, ...]

    @cached_property
    def shapes(self) -> list[Shape]:
        """The shape of the scores in each file."""
        return [file.array(self.array).header.shape for file in self.files]

    @cached_property
    def scores(self) -> StoredScores:
        """The scores in all files."""
        parts = [
            file.array(self.array).scores(axis) for file, axis in zip(self.files, self.axes, strict=True)
        ]
        return parts[0] if len(parts) == 1 else SomeScores(tuple(parts))

    @cached_property
    def rows(self) -> list[Shape]:
        """The shape that values beside the scores may have in each file; flat they are always taken."""
        return [rows_of(shape, axis) for shape, axis in zip(self.shapes, self.axes, strict=True)]

    @property
    def rows_of_all(self) -> Shape:
        """The same of labels for all files together; other axes than the first are to be the same."""
        first, *rest = self.rows[0]
        alike = all(list(rows[1:]) == rest for rows in self.rows)
        return (first + sum(rows[0] for rows in self.rows[1:]), *rest) if alike else self.scores.shape[:1]

    @property
    def place(self) -> Place:
        """The files, for messages."""
        return Place(tuple((f.name, math.prod(rows)) for f, rows in zip(self.files, self.rows, strict=True)))

    def others(self, *, labelled: bool) -> tuple[str, ...]:
        """Return the names of the other arrays; with labels also that which says which sample a row is of."""
        first, *rest = (file.names for file in self.files)
        found = [one for one in first if one not in (self.array, *CLASS_NAMES)]
        found += [SAMPLE] if labelled and len(self.shapes[0]) > 2 and SAMPLE not in found else []
        return tuple(one for one in found if one == SAMPLE or all(one in names for names in rest))

    def values(self, name: str) -> Array:
        """Return an array as a column, (N,).

        Raises
        ------
        InputError
            If it has not a value for each row.
        """
        parts, samples = [], 0
        for number, file in enumerate(self.files):
            if name == SAMPLE and SAMPLE not in file.names:
                parts.append(sample_of_each(self.shapes[number], self.axes[number]) + samples)
                samples = int(parts[-1][-1]) + 1
            else:
                parts.append(self._column(number, name))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _column(self, number: int, name: str) -> Array:
        file, rows = self.files[number], self.rows[number]
        values = file.array(name).load()
        if values.size != (count := math.prod(rows)):
            raise InputError(
                f"{file.name}: {name} has shape {values.shape}; expected a value for each of {count:,} rows"
            )
        require_rows(f"{file.name}: {name} has values", values.shape, rows)
        require_single(values, f"{file.name}: {name}")
        return values.reshape(-1)

    def fitting(self, name: str) -> Array | None:
        """Return an array as a column to be written, one-hot labels as numbers; None if it is none."""
        try:
            values = self.values(name)
        except InputError:
            if not (named("truth", name) or named("label", name)) or len(self.files) > 1:
                return None
            codes = one_hot(self.files[0].array(name).load())
            return codes if codes is not None and codes.shape == self.scores.shape[:1] else None
        return (
            values.astype(np.float64) if values.dtype == np.longdouble else values
        )  # as tables have no such

    def labels(self, name: str, labels_from: Sequence[str] = ()) -> Labels:
        """Return an array as labels, of each file in turn; `labels_from` are the files that have them.

        Raises
        ------
        InputError
            If there is not one label for each row.
        """
        parts = []
        for number, file in enumerate(self.files):
            stored, shape, axis = file.array(name), self.shapes[number], self.axes[number]
            turned = (*rows_of(shape, axis), shape[axis] if len(shape) > 1 else 1)
            size, owner = math.prod(self.rows[number]), labels_from[number] if labels_from else stored.name
            own = flat_labels(stored, turned, Place(((owner, math.prod(stored.header.shape)),)))
            require_label_each(file.name, (size, turned[-1]), len(own), owner)
            parts.append(own)
        return parts[0] if len(parts) == 1 else join_labels(parts)


def flat_labels(stored: StoredArray, scores: Shape, place: Place) -> Labels:
    """Take an array for labels of scores; all its axes are flattened.

    Parameters
    ----------
    stored
        The array.
    scores
        The shape of the scores, their classes last.
    place
        Where the labels are.

    Raises
    ------
    InputError
        If it has a 0 or 1 for every class and not one 1 in each row, values that are not labels, or other
        axes than the rows.
    """
    values = stored.load()
    if values.ndim > 1 and values.shape[-1] > 1 and values.shape == scores:
        if (found := _one_hot_labels(values.reshape(-1, values.shape[-1]), place)) is not None:
            return found
        raise InputError(
            f"{stored.name} has labels of shape {values.shape}, one for each score: these are one-hot or "
            "multi-label indicators; expected one class per row, such as labels.argmax(-1); where several "
            "classes may be true at once, evaluate each class by itself as a two-class file; if each score "
            "is that of the second of two classes, give the scores an axis of length 1 for the classes, as "
            "np.expand_dims(scores, -1) does"
        )
    require_rows(f"{stored.name} has labels", values.shape, scores[:-1], scores)
    return labels_from_array(native(values).reshape(-1), place)


def _one_hot_labels(values: Array, place: Place) -> Labels | None:
    """Take (N, K) values for labels, rows of nan for missing ones; None if the others are not one-hot."""
    gone = np.isnan(values).all(axis=1) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)
    if (there := one_hot(values[~gone] if gone.any() else values)) is None:
        return None
    places = there
    if gone.any():
        places = np.full(len(values), np.nan)
        places[~gone] = there
    return replace(labels_from_array(places, place), meaning="positions")
