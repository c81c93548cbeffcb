"""Arrays of more than two axes: which of them has the classes; the others are places of samples."""

from __future__ import annotations

from functools import partial

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.offers import Question
from calcli.io.options import ReadOptions

SAMPLE = "axis0"  # the column that says which sample a place is of


def class_axis(
    shape: tuple[int, ...], labels: tuple[int, ...] | None, options: ReadOptions, where: str
) -> int:
    """Return which axis of an array of scores has the classes: as said, as the labels show, or the last.

    Parameters
    ----------
    shape, labels
        Of the scores, and of the labels if they are known.
    options
        `class_axis`, if the user said it.
    where
        The array, for messages.

    Raises
    ------
    InputError
        If the array is empty, or the labels leave open which it is.
    UsageError
        If there is no such axis.
    """
    axes = len(shape)
    if axes > 2 and 0 in shape:
        raise InputError(f"{where} has shape {shape} and holds no score; expected some rows")
    if options.class_axis is not None:
        if not -axes <= options.class_axis < axes:
            raise UsageError(
                f"--class-axis {options.class_axis}: {where} has {axes} axes, its shape is {shape}"
            )
        return options.class_axis % axes
    if axes < 2 or labels is None or len(labels) != axes - 1 or (axes == 2 and shape[:1] == labels):
        return axes - 1
    fitting = [axis for axis in range(axes) if shape[:axis] + shape[axis + 1 :] == labels]
    if len(fitting) > 1:
        said = (
            f"{where} has shape {shape} and labels of shape {labels}: the classes may be axis "
            f"{' or '.join(map(str, fitting))}; say which: "
        )
        raise Question(
            [{"class_axis": axis} for axis in fitting],
            lambda offers, shown: said + "; ".join(map(shown, offers)),
        )
    return fitting[0] if fitting else axes - 1


def classes_last(scores: Array, axis: int) -> Array:
    """Return scores with the axis of the classes last."""
    return np.moveaxis(scores, axis, -1)


def places_note(shape: tuple[int, ...], axis: int) -> tuple[str, ...]:
    """Return what there is to say of an array with several places a sample."""
    if len(shape) == 2 and axis == 0:
        return (f"shape {shape}: axis 0 has the {shape[0]:,} classes, and axis 1 the rows",)
    if len(shape) < 3:
        return ()
    samples, places = _samples(shape, axis)
    return (
        f"shape {shape}: axis {axis} has the {shape[axis]:,} classes; each of {samples:,} samples has "
        f"{places:,} places, which depend on each other: --cluster {SAMPLE} takes those of a sample together",
    )


def sample_column(shape: tuple[int, ...], axis: int) -> dict[str, partial[Array]]:
    """Return the column that says of each place which sample it is of, if samples have several."""
    if len(shape) < 3:
        return {}
    samples, places = _samples(shape, axis)
    return {SAMPLE: partial(_sample_of_each, samples, places)}


def _samples(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    """Return how many samples there are, and how many places each has."""
    samples = shape[0] if axis else shape[1]
    return samples, int(np.prod(shape, dtype=object)) // max(1, shape[axis] * samples)


def _sample_of_each(samples: int, places: int) -> Array:
    return np.repeat(np.arange(samples), places)
