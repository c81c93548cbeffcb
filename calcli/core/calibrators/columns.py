"""Which classes the columns of a data frame are, by their names; arrays have their order alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from calcli.core.calibrators.arguments import shortened
from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError

Taken = tuple[list[int] | None, Array | None]  # order of columns and their classes; None: as they are
AN_ARRAY = "or an array in place of the data frame"
SCORE = r"(?:p|(?:log[_ ]?)?(?:prob[a-z]*|odds)|logit|score)s?"
BEFORE, BEHIND = rf"(?:(?:y|pred[a-z]*)[_.\-: ])*{SCORE}[_.\-: ]", rf"[_.\-: ]{SCORE}"


def columns_of(columns: Sequence[str], labels: Array, classes: Array | None) -> Taken:
    """Return in which order a fit takes columns, and the names of their classes in this order.

    Where labels are text that names the columns, or numbers that only can be their names, the classes ascend,
    as scikit-learn expects. Other numbers are places. Of a single column that of the first class is the
    second of two.

    Parameters
    ----------
    columns
        Their names, if the scores are a data frame.
    labels
        One per row.
    classes
        Names of the classes in the order of the columns, if they are given.

    Raises
    ------
    InputError
        If names of columns are classes, but not those of the labels, or in another order than `classes`, or
        numbers may be names or places.
    """
    if len(columns) == 1:
        order = _single(columns[0], _texts(np.unique(labels) if classes is None else classes))
        return (order if order == [1, 0] else None), classes
    if not columns:
        return None, classes
    if classes is not None:
        refuse_others(columns, _texts(classes), "classes= are", numbered=True)
        return None, classes
    if labels.dtype.kind == "U":
        return _by_text(columns, np.unique(labels).tolist())
    if labels.dtype.kind in "iub":
        return _by_number(columns, np.unique(labels).tolist())
    return None, None


def _by_text(columns: Sequence[str], labels: list[str]) -> Taken:
    bare = without_beginning(columns, labels)
    if set(labels) <= set(bare) and len(set(bare)) == len(bare):
        return _ascending(bare), np.array(sorted(bare))
    if any(set(labels) & set(names) for names in all_without_beginnings(columns)):
        raise InputError(
            f"the labels are {shortened(labels)}, but the columns of the scores are {shortened(columns)}; "
            f"expected a column for each label, {AN_ARRAY}"
        )
    numbers = numbers_of(columns) or []
    if numbers != sorted(numbers) and sorted(numbers) != list(range(len(columns))):
        raise InputError(
            f"the columns of the scores, {shortened(columns)}, are neither named as the labels "
            f"{shortened(labels)} nor do they ascend; expected columns that do, {AN_ARRAY}"
        )
    return _ascending(numbers), None


def _by_number(columns: Sequence[str], labels: list[int]) -> Taken:
    numbers, width = numbers_of(columns) or [], len(columns)
    if sorted(numbers) == list(range(width)):
        return _ascending(numbers), None
    if order_of(columns, ["False", "True"]) is not None:
        return _ascending(columns), None
    places = labels[0] >= 0 and labels[-1] < width
    if set(labels) <= set(numbers) and len(set(numbers)) == width:
        if not places:
            return _ascending(numbers), np.array(sorted(numbers))
        raise InputError(
            f"the labels {shortened(labels)} are names of columns, but may be their places, from 0, as well; "
            f"expected labels that are text, {AN_ARRAY}"
        )
    keys: list[Any] = numbers or [_natural(name) for name in columns]
    if keys != sorted(keys):  # scikit-learn numbers classes as they ascend, a table as its columns stand
        raise InputError(
            f"the labels are numbers, but the columns of the scores, {shortened(columns)}, do not ascend; "
            f"expected labels with the names of columns, {AN_ARRAY}"
        )
    return None, None


def _ascending(names: Sequence[Any]) -> list[int] | None:
    """Return the places of names in ascending order, if they are in another one."""
    return None if list(names) == sorted(names) else sorted(range(len(names)), key=names.__getitem__)


def _natural(name: str) -> list[str | int]:
    """Return what sorts c2 before c10."""
    return [int(part) if k % 2 else part for k, part in enumerate(re.split("([0-9]+)", name))]


def _single(column: str, names: Sequence[str]) -> list[int] | None:
    """Return the order of the two columns that a single one stands for, if its name is that of a class.

    Where it is a number alone, the data frame may be made of an array.
    """
    if names and set(names) <= {"0", "1"}:
        names = ["0", "1"]
    patterns = [rf"(?i:{BEFORE})?{re.escape(name)}(?i:{BEHIND})?" for name in names]
    found = [k for k, pattern in enumerate(patterns) if re.fullmatch(pattern, column)]
    if len(names) != 2 or len(found) != 1 or column.isdigit():
        return None
    return [0, 1] if found == [1] else [1, 0]


def _texts(names: Array) -> list[str]:
    return list(map(str, names.tolist()))


def refuse_others(
    columns: Sequence[str], known: Sequence[str], owner: str, *, numbered: bool = False
) -> None:
    """Raise an InputError if names of columns are classes, but some are not, or they have another order.

    So may be numbers from 0, if these are to be their own order.
    """
    order, places = order_of(columns, known), [str(k) for k in range(len(known))]
    if order is None and numbered:
        order = order_of(columns, places)
    turned = order is not None and order != sorted(order)
    if turned or (order is None and set(columns) & set(known) and list(known) != places):
        how = " in the same order" if turned else ""
        raise InputError(
            f"the columns of the scores are {shortened(columns)}, but the {owner} {shortened(known)}; "
            f"expected the same names{how}, {AN_ARRAY}"
        )


def as_fitted(
    columns: Sequence[str], known: Sequence[str], classes: Sequence[str], *, reordered: bool, turned: bool
) -> list[int] | None:
    """Return which of the columns is which of the fit, or which class; None if it is as they stand.

    Parameters
    ----------
    columns
        Names of those of a data frame; none of an array.
    known, classes
        Names of those of the fit, and its classes.
    reordered
        Whether the fit was to columns in another order, so that names have to tell.
    turned
        Whether two columns without such names have the other order.

    Raises
    ------
    InputError
        If only some of the names are those of the fit, or none where they have to tell.
    """
    order = _by_name(columns, known, classes)
    if order is None and reordered:
        raise InputError(
            "the fit was to a data frame with columns in another order than `classes_`; expected one "
            f"with the columns {shortened(known)}"
        )
    if order is None and turned:
        return [1, 0]
    if order is None and len(columns) > 1:
        return order_of(columns, [str(k) for k in range(len(columns))])
    return order


def _by_name(columns: Sequence[str], known: Sequence[str], classes: Sequence[str]) -> list[int] | None:
    if len(columns) == 1:
        found = (_single(columns[0], names) for names in (known, classes))
        return next((order for order in found if order), None)
    if not columns:
        return None
    for names in (known, classes):
        if (order := order_of(columns, names)) is not None:
            return order
    if list(columns) != [str(k) for k in range(len(columns))]:  # of a data frame made of an array
        refuse_others(columns, known, "fit was to")
    return None


def column_names(values: Any) -> tuple[str, ...]:
    """Return the names of the columns of a table of pandas, polars or pyarrow; none of arrays."""
    names: Any = getattr(values, "column_names", getattr(values, "columns", ()))
    return tuple(map(_name, names))


def _name(one: Any) -> str:
    """Return a name as text, 2.0 as 2."""
    return str(int(one) if isinstance(one, float) and one.is_integer() else one)


def order_of(names: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """Return which column has each of the wanted names; None if they are not those of the columns.

    All columns may begin alike, as p_cat and p_dog do.
    """
    bare = without_beginning(names, wanted)
    if sorted(bare) != sorted(wanted):
        return None
    places = {name: k for k, name in enumerate(bare)}
    return [places[name] for name in wanted]


def without_beginning(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names without what all begin with, if all of the wanted ones are among what is left."""
    for bare in all_without_beginnings(names):
        if set(wanted) <= set(bare):
            return bare
    return list(names)


def all_without_beginnings(names: Sequence[str]) -> list[list[str]]:
    """Return names without each of the beginnings that all share, none first; no number is cut in two."""
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return [[name[cut:] for name in names] for cut in range(same + 1) if not _within_number(names, cut)]


def _within_number(names: Sequence[str], cut: int) -> bool:
    return cut > 0 and any(re.match("[0-9]{2}", name[cut - 1 :]) for name in names)


def numbers_of(names: Sequence[str]) -> list[int] | None:
    """Return the numbers that names are, or are behind the longest beginning of all; else None."""
    beginnings = all_without_beginnings(names)
    for bare in (beginnings[0], beginnings[-1]):
        if all(re.fullmatch("-?[0-9]{1,18}", name) for name in bare):
            return list(map(int, bare))
    return None
