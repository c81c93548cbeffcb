"""Checks of what users pass to calibrators: scores, labels, weights and classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from calcli.core.data.arrays import LARGEST, Array, Floats, Labels, as_floats, missing
from calcli.core.data.inmemory import (
    HARDLY_LOGITS,
    TOLERANCE,
    as_array,
    first_rows,
    percentages,
    rounding_of,
    sums_to_one,
    two_columns,
)
from calcli.core.language.declaring import refuse_set, some_items
from calcli.core.language.errors import InputError, UsageError

Taken = tuple[list[int] | None, Array | None]  # order of columns and their classes; None: unchanged
AN_ARRAY = "or an array in place of the data frame"
SCORE = r"(?:p|(?:log[_ ]?)?(?:prob[a-z]*|odds)|logit|score)s?"
BEFORE, BEHIND = rf"(?:(?:y|pred[a-z]*)[_.\-: ])*{SCORE}[_.\-: ]", rf"[_.\-: ]{SCORE}"


def columns_of(columns: Sequence[str], labels: Array, classes: Array | None) -> Taken:
    """Return the order in which a fit takes columns, and the names of their classes in this order.

    If labels are text that names the columns, or numbers that can only be their names, the classes ascend,
    as scikit-learn expects. Other numbers are positions. For a single column, the first class is the
    second of two.

    Parameters
    ----------
    columns
        Their names, if the scores are a data frame.
    labels
        One per row.
    classes
        Names of the classes in the order of the columns, if given.

    Raises
    ------
    InputError
        If names of columns are classes but differ from the labels or stand in another order than `classes`,
        or numbers may be names or positions.
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
    if keys != sorted(keys):  # scikit-learn numbers ascending classes, a table its columns in order
        raise InputError(
            f"the labels are numbers, but the columns of the scores, {shortened(columns)}, do not ascend; "
            f"expected labels with the names of columns, {AN_ARRAY}"
        )
    return None, None


def _ascending(names: Sequence[Any]) -> list[int] | None:
    """Return the positions of names in ascending order, if they are not ascending."""
    return None if list(names) == sorted(names) else sorted(range(len(names)), key=names.__getitem__)


def _natural(name: str) -> list[str | int]:
    """Return a sort key that puts c2 before c10."""
    return [int(part) if k % 2 else part for k, part in enumerate(re.split("([0-9]+)", name))]


def _single(column: str, names: Sequence[str]) -> list[int] | None:
    """Return the order of the two columns that a single column stands for, if it has the name of a class.

    If the name is only a number, the data frame may come from an array.
    """
    if names and set(names) <= {"0", "1"}:
        names = ["0", "1"]
    patterns = [rf"(?i:{BEFORE})?{re.escape(name)}(?i:{BEHIND})?" for name in names]
    matches = [k for k, pattern in enumerate(patterns) if re.fullmatch(pattern, column)]
    if len(names) != 2 or len(matches) != 1 or column.isdigit():
        return None
    return [0, 1] if matches == [1] else [1, 0]


def _texts(names: Array) -> list[str]:
    return list(map(str, names.tolist()))


def refuse_others(
    columns: Sequence[str], classes: Sequence[str], owner: str, *, numbered: bool = False
) -> None:
    """Raise an InputError if only some names of columns are classes, or their order differs.

    Numbers from 0 may be the names, too, if they only count the columns.
    """
    order, places = order_of(columns, classes), [str(k) for k in range(len(classes))]
    if order is None and numbered:
        order = order_of(columns, places)
    turned = order is not None and order != sorted(order)
    if turned or (order is None and set(columns) & set(classes) and list(classes) != places):
        how = " in the same order" if turned else ""
        raise InputError(
            f"the columns of the scores are {shortened(columns)}, but the {owner} {shortened(classes)}; "
            f"expected the same names{how}, {AN_ARRAY}"
        )


def as_fitted(
    columns: Sequence[str], fitted: Sequence[str], classes: Sequence[str], *, reordered: bool, turned: bool
) -> list[int] | None:
    """Return the order of the columns in the fit, or by class; None if it is unchanged.

    Parameters
    ----------
    columns
        Names of the columns of a data frame; empty for an array.
    fitted, classes
        Names of the columns of the fit, and its classes.
    reordered
        Whether the fit reordered the columns, which only names can tell.
    turned
        Whether two columns without such names are in the opposite order.

    Raises
    ------
    InputError
        If only some of the names occurred in the fit, or none where names must tell.
    """
    order = _by_name(columns, fitted, classes)
    if order is None and reordered:
        raise InputError(
            "the fit was to a data frame with columns in another order than `classes_`; expected one "
            f"with the columns {shortened(fitted)}"
        )
    if order is None and turned:
        return [1, 0]
    if order is None and len(columns) > 1:
        return order_of(columns, [str(k) for k in range(len(columns))])
    return order


def _by_name(columns: Sequence[str], fitted: Sequence[str], classes: Sequence[str]) -> list[int] | None:
    if len(columns) == 1:
        orders = (_single(columns[0], names) for names in (fitted, classes))
        return next((order for order in orders if order), None)
    if not columns:
        return None
    for names in (fitted, classes):
        if (order := order_of(columns, names)) is not None:
            return order
    if list(columns) != [str(k) for k in range(len(columns))]:  # for a data frame made from an array
        refuse_others(columns, fitted, "fit was to")
    return None


def column_names(values: Any) -> tuple[str, ...]:
    """Return the names of the columns of a table of pandas, polars or pyarrow; none for arrays."""
    names: Any = getattr(values, "column_names", getattr(values, "columns", ()))
    return tuple(map(_name, names))


def _name(value: Any) -> str:
    """Return a name as text, 2.0 as 2."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def order_of(names: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """Return the column of each wanted name; None if the names do not match the columns.

    All columns may share a prefix, such as p_cat and p_dog.
    """
    bare = without_beginning(names, wanted)
    if sorted(bare) != sorted(wanted):
        return None
    places = {name: k for k, name in enumerate(bare)}
    return [places[name] for name in wanted]


def without_beginning(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names without their common prefix, if the wanted names are among the remainders."""
    for bare in all_without_beginnings(names):
        if set(wanted) <= set(bare):
            return bare
    return list(names)


def all_without_beginnings(names: Sequence[str]) -> list[list[str]]:
    """Return names without each common prefix, the empty one first; no number is split."""
    lowest, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(lowest, last, strict=False)) if a != b), len(lowest))
    return [[name[cut:] for name in names] for cut in range(same + 1) if not _within_number(names, cut)]


def _within_number(names: Sequence[str], cut: int) -> bool:
    return cut > 0 and any(re.match("[0-9]{2}", name[cut - 1 :]) for name in names)


def numbers_of(names: Sequence[str]) -> list[int] | None:
    """Return names as numbers, without their longest common prefix if necessary; else None."""
    beginnings = all_without_beginnings(names)
    for bare in (beginnings[0], beginnings[-1]):
        if all(re.fullmatch("-?[0-9]{1,18}", name) for name in bare):
            return list(map(int, bare))
    return None


ScoresAre = Literal["logits", "log-probs", "probs", "percent"]
LOGITS: ScoresAre = "logits"
FEW = 5  # names told
TAKES = {"logits": "logits and log-probabilities", "probs": "probabilities", "percent": "percentages"}


def is_single(table: Array) -> bool:
    """Return whether an array has one score per row, for the second of two classes."""
    return table.ndim == 1 or (table.ndim == 2 and table.shape[1] == 1)


def checked_scores(
    scores: ArrayLike,
    scores_are: ScoresAre = LOGITS,
    *,
    raw: bool = False,
    fitting: bool = False,
    width: int = 0,
) -> Array:
    """Return scores as (N, K) logits or log-probabilities.

    Parameters
    ----------
    scores : array-like (N, K), or (N,) or (N, 1) of two classes
        A single score per row belongs to the second class: its log-odds, its probability or its
        log-probability.
    scores_are : {"logits", "log-probs", "probs", "percent"}
        The kind of the scores; several "logits" per row may also be log-probabilities.
    raw : bool
        Whether only logits are accepted.
    fitting : bool
        Whether the scores are for a fit; otherwise a single score between 0 and 1 may be log-odds.
    width : int
        The number of classes of the fit, if known.

    Raises
    ------
    InputError
        If they are not rows of numbers; one is nan or inf; a whole row is -inf; they are not what
        `scores_are` says, or should be logits and are probabilities, which would go unnoticed; or
        they have another number of classes.
    """
    table = as_array(scores, "scores")
    single = is_single(table)
    if table.ndim not in (1, 2) or table.dtype.kind not in "iufb" or not table.size:
        raise InputError(
            f"the scores are of shape {table.shape} and type {table.dtype}; expected numbers, a row "
            "per case and a column per class, or for two classes a score per case"
        )
    table = table.reshape(len(table), -1)
    if width and (columns := 2 if single else table.shape[1]) != width:
        raise InputError(f"the scores have {columns} columns; expected {width}, as in the fit")
    if not table.max() < np.inf:  # nan is not below either
        row, k = np.argwhere(~(table < np.inf))[0]
        raise InputError(
            f"the score of class {k + single} in row {row} is {table[row, k]}; expected a number or -inf"
        )
    how = "in the constructor" if fitting else "in set_params"
    _refuse_others(table, scores_are, how)
    if scores_are == LOGITS and (fitting or not single or len(table) > 1):
        _refuse_probabilities(table, "" if raw else how)
    if single and scores_are == LOGITS and table.min() == -np.inf:
        raise InputError(f"the log-odds of row {table.argmin()} are -inf; expected a finite number")
    if scores_are == "percent":
        table = as_floats(table) / 100
    probs = scores_are in ("probs", "percent")
    if single:
        second = as_floats(table[:, 0])
        pair = np.empty((2, len(second)), second.dtype)
        table = two_columns(second, "probs" if scores_are == "percent" else scores_are, pair)
    if probs:
        with np.errstate(divide="ignore"):
            return np.log(table, dtype=np.float64)
    if table.min() == -np.inf and (nothing := np.isneginf(table).all(axis=1)).any():
        raise InputError(f"all scores of row {nothing.argmax()} are -inf; expected at least one finite score")
    return table


def _between(values: Array) -> bool:
    return bool(values.min() >= 0 and values.max() <= 1 and ((values > 0) & (values < 1)).any())


def _refuse_probabilities(table: Array, how: str) -> None:
    """Raise an InputError for scores that should be logits but are all probabilities or percentages."""
    single, top, kind = table.shape[1] == 1, 1, "probs"
    if not (_between(table) if single else are_probabilities(table)):
        top, kind = 100, "percent"
        if not percentages(as_floats(table)) or (single and table.max() <= HARDLY_LOGITS):
            return
    expected = "log-odds" if single else "logits" + " or log-probabilities" * bool(how)
    reason = f"the scores lie between 0 and {top}, as {TAKES[kind]} do"
    if not single:
        reason = f"the scores are {TAKES[kind]}, from 0 to {top} and with rows that sum to {top}"
    mend = f"; scores_are='{kind}' {how} takes {TAKES[kind]}" if how else ""
    if single:
        mend += "; log-odds that do lie there may be given as two columns, 0 and the log-odds"
    raise InputError(f"{reason}; expected {expected}{mend}")


def _refuse_others(table: Array, scores_are: ScoresAre, how: str) -> None:
    """Raise an InputError unless scores are of the stated kind."""
    single = table.shape[1] == 1
    low, high, expected = {
        "logits": (-np.inf, LARGEST, f"logits of at most {LARGEST:g}"),
        "log-probs": (-np.inf, TOLERANCE, "logarithms of probabilities, at most 0"),
        "probs": (0, 1 if single else 1 + TOLERANCE, "probabilities, from 0 to 1"),
        "percent": (0, 100 if single else 100 + 100 * TOLERANCE, "percentages, from 0 to 100"),
    }[scores_are]
    mend = "" if scores_are == LOGITS else f"; scores_are='logits' {how} takes {TAKES[LOGITS]}"
    if scores_are in ("probs", "percent") and not single and table.min() >= 0:
        mend = f"; divide each row by its sum if they are shares{mend}"
    if not (float(table.min()) >= low and float(table.max()) <= high):
        values = table.astype(np.float64)
        row, k = np.argwhere(~((values >= low) & (values <= high)))[0]
        raise InputError(
            f"scores_are='{scores_are}', but the score of class {k + single} in row {row} is "
            f"{table[row, k]:g}; expected {expected}{mend}"
        )
    if single or scores_are in (LOGITS, "log-probs"):
        return
    total = 100 if scores_are == "percent" else 1
    shares = as_floats(table) / total
    off = ~sums_to_one(shares, rounding_of(first_rows(shares))[0])
    if off.any():
        row = int(off.argmax())
        raise InputError(
            f"scores_are='{scores_are}', but row {row} sums to {table[row].sum(dtype=np.float64):g}; "
            f"expected {TAKES[scores_are]} that sum to {total}{mend}"
        )


def are_probabilities(scores: Array) -> bool:
    """Return whether all (N, K) scores lie in [0, 1], not all at 0 and 1, and all rows sum to 1.

    They may be rounded; rows of 0 and one number are log-odds instead.
    """
    if not _between(scores) or (scores.shape[1] == 2 and not scores[:, 0].any()):
        return False
    floats = as_floats(scores)
    return bool(sums_to_one(floats, rounding_of(first_rows(floats))[0]).all())


def either(name: str, value: ArrayLike | None, alias: str, same: ArrayLike | None) -> ArrayLike | None:
    """Return an argument with two names, given under one of them."""
    if value is not None and same is not None:
        raise UsageError(f"{name} and {alias} are the same argument; expected one of them")
    return same if value is None else value


def checked_labels(labels: ArrayLike, rows: int) -> Array:
    """Return (N,) labels as an array of integers or text.

    Raises
    ------
    InputError
        If there is not a label for each row.
    """
    values = as_array(labels, "labels")
    if values.shape == (rows,) and values.dtype.kind in "fO" and len(gone := missing(values)):
        raise InputError(f"the label of row {gone[0]} is missing; expected one in each row")
    if values.shape != (rows,) or values.dtype.kind not in "iubUS":
        raise InputError(
            f"the labels are of shape {values.shape} and type {values.dtype}; expected {rows} integers, the "
            "column of the true class in each row, or names of the classes"
        )
    return values


def checked_classes(classes: Sequence[object] | ArrayLike | None, width: int) -> Array | None:
    """Return (K,) names of classes as an array; None stays None.

    Raises
    ------
    InputError
        If there is no name for each column, or a name occurs twice.
    UsageError
        If they are a set, which is unordered, or bytes.
    """
    if classes is None:
        return None
    refuse_set("classes", classes)
    if isinstance(classes, bytes):
        raise UsageError("classes= is bytes; expected text or a list")
    names = as_array(some_items("classes", classes) if isinstance(classes, str) else classes, "classes")
    if names.ndim != 1:
        raise InputError(f"classes= is of shape {names.shape}; expected {width} names, one for each column")
    if len(names) != width:
        raise InputError(f"classes= has {len(names)} names; expected {width}, one for each column")
    if twice := [name for name, times in Counter(names.tolist()).items() if times > 1]:
        raise InputError(f"classes= has {twice[0]!r} twice; expected every class once")
    return names


def numbered_labels(values: Array, width: int, classes: Array | None = None) -> tuple[Labels, Array]:
    """Return the (N,) columns of checked labels, and the (K,) names of the columns.

    Integers from 0 to K - 1 are columns. Other integers, and text, are names: one for each column in
    ascending order, as scikit-learn does; or `classes` are the names, in their order.

    Raises
    ------
    InputError
        If the labels are not names of these columns.
    """
    if classes is not None:
        return _columns_named(values, classes)
    if values.dtype.kind == "b" and width == 2:
        return values.view(np.uint8), np.array([False, True])
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    if values.dtype.kind in "iu" and values.min() >= 0 and values.max() < width:
        return values, np.arange(width)
    names, columns = np.unique(values, return_inverse=True)
    if len(names) == width:
        return columns, names
    if values.dtype.kind in "iu":
        row = int(((values < 0) | (values >= width)).argmax())
        raise InputError(f"the label of row {row} is {values[row]}; expected 0 to {width - 1}")
    raise InputError(
        f"the labels name {len(names)} classes, {shortened(names.tolist())}, and the scores have {width} "
        "columns; expected as many, or classes= with the names in the order of the columns"
    )


def _columns_named(values: Array, classes: Array) -> tuple[Labels, Array]:
    columns = {name: k for k, name in enumerate(classes.tolist())}
    distinct, inverse = np.unique(values, return_inverse=True)
    if unknown := [name for name in distinct.tolist() if name not in columns]:
        raise InputError(
            f"the label {unknown[0]!r} is not one of the classes=, {shortened(classes.tolist())}"
        )
    return np.array([columns[name] for name in distinct.tolist()])[inverse], classes


def named_classes(names: Sequence[str]) -> Array:
    """Return the (K,) `classes_` of a calibrator with these class names; numbers if the names only count."""
    numbered = list(names) == [str(k) for k in range(len(names))]
    return np.arange(len(names)) if numbered else np.array(names)


def shortened(names: Sequence[object]) -> str:
    """Return the first few of many names."""
    return ", ".join(map(repr, names[:FEW])) + (", ..." if len(names) > FEW else "")


def checked_weights(weights: ArrayLike | None, rows: int) -> Floats | None:
    """Return (N,) weights as an array; None stays None.

    Raises
    ------
    InputError
        If they are not finite numbers of at least 0, one per row, or all are 0.
    """
    if weights is None:
        return None
    array = as_array(weights, "weights")
    if array.shape != (rows,) or array.dtype.kind not in "iufb":
        raise InputError(
            f"the weights are of shape {array.shape} and type {array.dtype}; expected {rows} numbers, "
            "one per row"
        )
    values: Floats = array.astype(np.float64, copy=False)
    if not (np.isfinite(values).all() and values.min() >= 0 and values.any()):
        raise InputError("the weights must be finite numbers of at least 0, and not all 0")
    return values
