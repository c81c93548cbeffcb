"""Which classes the columns of a data frame are, by their names; arrays have their order alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calcli.core.calibrators.arguments import plain_labels, shortened
from calcli.core.data.arrays import Array
from calcli.core.data.columnnames import order_of, without_beginning
from calcli.core.language.declaring import refuse_set, some_items
from calcli.core.language.errors import InputError


def classes_of(
    columns: Sequence[str], labels: ArrayLike, classes: Sequence[object] | None
) -> Sequence[object] | Array | None:
    """Return the classes in the order of the columns: as given, or by the names of these; else None.

    Parameters
    ----------
    columns
        Their names, if the scores are a data frame.
    labels, classes
        As for `Calibrator.fit`.

    Raises
    ------
    InputError
        If names of columns are classes, but not those of the labels, or in another order than `classes`.
    """
    refuse_set("classes", classes)
    if isinstance(classes, str):
        classes = some_items("classes", classes)
    if len(columns) < 2:
        return classes
    if classes is not None:
        refuse_others(columns, [str(one) for one in classes], "classes= are")
        return classes
    values = plain_labels(labels)
    if values.dtype.kind not in "iubU":
        return None
    distinct = [str(one) for one in np.unique(values).tolist()]
    bare = without_beginning(columns, distinct)
    if set(distinct) <= set(bare) and len(set(bare)) == len(bare):
        return _as_labels(bare, values.dtype)
    if values.dtype.kind == "U" and set(distinct) & set(columns):
        raise InputError(
            f"the labels are {shortened(distinct)}, but the columns of the scores are {shortened(columns)}; "
            "expected a column for each label, or an array in place of the data frame"
        )
    return None


def refuse_others(columns: Sequence[str], known: Sequence[str], owner: str) -> None:
    """Raise an InputError if names of columns are classes, but some are not, or they have another order."""
    order, places = order_of(columns, known), [str(k) for k in range(len(known))]
    turned = order is not None and order != sorted(order)
    if turned or (order is None and set(columns) & set(known) and list(known) != places):
        how = " in the same order" if turned else ""
        raise InputError(
            f"the columns of the scores are {shortened(columns)}, but the {owner} {shortened(known)}; "
            f"expected the same names{how}, or an array in place of the data frame"
        )


def as_fitted(columns: Sequence[str], known: Sequence[str]) -> list[int] | None:
    """Return which of the columns is which of the fit, by their names; None if these do not tell.

    Raises
    ------
    InputError
        If only some of the names are those of the fit.
    """
    if len(columns) < 2:
        return None
    order = order_of(columns, known)
    if order is None:
        refuse_others(columns, known, "fit was to")
    return order


def _as_labels(names: Sequence[str], kind: np.dtype[Any]) -> Array | None:
    """Return names as values of the type of the labels; None if some are none."""
    if kind.kind == "U":
        return np.array(names)
    if kind.kind == "b":
        return np.array([name == "True" for name in names]) if {*names} == {"True", "False"} else None
    return np.array(list(map(int, names))) if all(name.lstrip("-").isdecimal() for name in names) else None
