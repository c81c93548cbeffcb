"""Shapes of arrays beside scores: a value for each row, in the order of the rows, or of any other order."""

from __future__ import annotations

import math

from calcli.core.language.errors import InputError

Shape = tuple[int, ...]


def rows_of(scores: Shape, axis: int = -1) -> Shape:
    """Return the axes of scores whose places are rows: all but that of the classes, if there are several."""
    if len(scores) < 2:
        return scores
    axis %= len(scores)
    return scores[:axis] + scores[axis + 1 :]


def require_rows(owner: str, shape: Shape, rows: Shape, scores: Shape = ()) -> None:
    """Refuse as many values as there are rows in axes that stand for other rows.

    Axes of length 1 do not count. Another number of values is no matter here.

    Parameters
    ----------
    owner
        What has the values, for messages.
    shape, rows
        Of the values, and of the rows of the scores.
    scores
        Of the scores with all axes, if their classes may stand in another one than the last; then another
        number of values that says so is refused as well.

    Raises
    ------
    InputError
        If they are in several axes, other ones than the rows.
    """
    if in_order(shape, rows):
        return
    other = [axis for axis in range(len(scores) - 1) if len(scores) > 2 and rows_of(scores, axis) == shape]
    if math.prod(shape) != math.prod(rows) and not other:
        return
    mend = f"; if axis {other[0]} has the classes, give np.moveaxis(scores, {other[0]}, -1)" if other else ""
    raise InputError(
        f"{owner} of shape {shape}, but the rows of the scores have the shape {rows}; expected the same, or "
        f"{(math.prod(rows),)} in the order of the rows{mend}"
    )


def in_order(shape: Shape, rows: Shape) -> bool:
    """Tell whether values of a shape are one for each row, in the order of the rows."""
    return _long_axes(shape) in (_long_axes(rows), _long_axes((math.prod(rows),)))


def _long_axes(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)
