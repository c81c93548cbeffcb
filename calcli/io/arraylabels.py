"""Arrays taken for labels: one class per row, or a 0 or 1 for every class."""

from __future__ import annotations

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.heads import native
from calcli.io.labels import Labels, labels_from_array, one_hot
from calcli.io.labelstreams import MANY_ROWS, LabelColumn, integer_labels
from calcli.io.messages import Place
from calcli.io.storedarrays import StoredArray


def stored_labels(
    stored: StoredArray, scores_shape: tuple[int, ...] | None, place: Place, *, drop: bool = False
) -> Labels | LabelColumn:
    """Take an array for labels; all its axes are flattened; `drop` as in `labels_from_array`.

    Very many integers in a row are not kept, unless they are in memory, or some are to be left out.

    Raises
    ------
    InputError
        If it cannot be read, or has a column for each class in place of one label per row.
    """

    def held() -> Labels:
        return flat_labels(stored.load(), scores_shape, stored.name, place, drop=drop)

    shape, kind = stored.header.shape, stored.header.dtype.kind
    if drop or stored.opened is None or len(shape) != 1 or shape[0] <= MANY_ROWS or kind not in "iub":
        return held()
    return integer_labels(shape[0], stored.integers, held, boolean=kind == "b") or held()


def flat_labels(
    values: Array,
    scores_shape: tuple[int, ...] | None,
    name: str,
    place: Place,
    *,
    drop: bool = False,
) -> Labels:
    """Take an array for labels; all its axes are flattened.

    Raises
    ------
    InputError
        If it has a 0 or 1 for every class and not one 1 in each row, or values that are not labels.
    """
    if values.ndim > 1 and values.shape[-1] > 1 and values.shape == scores_shape:
        if (one := one_hot(values)) is not None:
            return Labels(one, meaning="positions")
        raise InputError(
            f"{name} has labels of shape {values.shape}, one for each score: these are one-hot or "
            "multi-label indicators; expected one class per row, such as labels.argmax(-1); where several "
            "classes may be true at once, evaluate each class by itself as a two-class file"
        )
    return labels_from_array(native(values).reshape(-1), place, drop=drop)
