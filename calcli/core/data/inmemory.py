"""Scores in memory: rounded probabilities, percentages, the second of two classes, other arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from calcli.core.data.arrays import Array, Bools, Floats, is_nothing
from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError

F = TypeVar("F", bound=Floats)

FIRST_LOOK = 1 << 18  # elements of the first rows, by which scores are judged
TOLERANCE = 1e-3  # largest distance from one of the sum of a row of rounded probabilities
BFLOAT16 = 2.0**-8  # the same where they have eight binary digits
WIDEST = 0.05  # the same where rounding to decimals explains it
MOST_OFF = 0.01  # the same where they lie on both sides of it
HARDLY_LOGITS = 30  # so far from 0 the largest log-odds rarely are
ROUNDING = 1e-6  # of the sum itself: 0.999 is within the tolerance


def sums_to_one(block: Floats, tolerance: float = TOLERANCE) -> Bools:
    """Return whether each row sums to one, up to rounding; False for a row with nan."""
    sums = block @ np.ones(block.shape[1], block.dtype)
    return np.abs(sums - 1) <= tolerance + ROUNDING


def rounding_of(block: Floats) -> tuple[float, str]:
    """Return how far sums of rows may be from one, and the rounding that explains it.

    Numbers rounded to d decimals are off by at most half a unit each, their sum has a standard deviation of
    sqrt(K / 12) units; bfloat16 has a relative error of 2^-9.
    """
    if block.shape[1] < 2 or not np.isfinite(block).all() or sums_to_one(block).all():
        return TOLERANCE, ""
    off = np.abs(block.sum(axis=1, dtype=np.float64) - 1)
    off = off[off > TOLERANCE + ROUNDING]
    if block.dtype == np.float32 and not (np.ascontiguousarray(block).view(np.uint32) & 0xFFFF).any():
        return (BFLOAT16, "; rounded as bfloat16") if np.median(off) <= BFLOAT16 else (TOLERANCE, "")
    for decimals in (1, 2, 3):
        units = block.astype(np.float64) * 10.0**decimals
        if np.abs(units - np.round(units)).max() < 1e-3:
            unit, k = 10.0**-decimals, block.shape[1]
            tolerance = min(k * unit / 2, max(unit, 5 * unit * float(np.sqrt(k / 12))), WIDEST)
            if np.median(off) <= tolerance + ROUNDING:
                return tolerance, f"; rounded to {decimals} decimals"
            break
    far = both_sides(block)
    return (MOST_OFF, f"; the rows sum to one within {far:.2g}") if far else (TOLERANCE, "")


def both_sides(block: Floats) -> float:
    """Return how far sums of rows lie from one, if at most a hundredth and above as often as below; else 0.

    Sums of only the largest scores of each row would all lie below one.
    """
    off = block.sum(axis=1, dtype=np.float64) - 1
    far, n = float(np.abs(off).max(initial=0)), len(off)
    even = n > 1 and abs(int((off > 0).sum()) - n / 2) <= 2 * n**0.5
    return far if far <= MOST_OFF and even and abs(off.mean()) <= TOLERANCE else 0.0


def without_rounding(block: F) -> F:
    """Return scores with values just below 0 set to 0, and a single score just above 1 set to 1."""
    low, high = (block < 0) & (block >= -ROUNDING), (block > 1) & (block <= 1 + ROUNDING)
    if block.shape[1] == 1 and high.any():
        block = np.where(high, block.dtype.type(1), block)  # type: ignore[assignment]
    return np.where(low, block.dtype.type(0), block) if low.any() else block  # type: ignore[return-value]


def first_rows(scores: Floats) -> Floats:
    """Return the first rows of scores, from which their kind is inferred."""
    return scores[: max(1, FIRST_LOOK // scores.shape[1])]


def percentages(block: Floats) -> bool:
    """Return whether scores are percentages: most rows of several scores sum to 100, plus or minus one.

    For one score per row, all are at most 100 and most are above 1.
    """
    if not (block.min() >= 0 and block.max() <= 100 * (1 + ROUNDING)):
        return False
    if block.shape[1] == 1:
        return float((block > 1).mean()) > 0.5
    sums = block @ np.ones(block.shape[1], block.dtype)
    return float((np.abs(sums - 100) <= 1).mean()) > 0.5


def two_columns(second: Floats, kind: Kind, pair: Floats) -> Floats:
    """Write both classes' scores, each class contiguous, from the second class; return (n, 2)."""
    pair[1] = second
    if kind == "probs":
        _subtract_from_one(second, pair[0])
    elif kind == "logits":
        pair[0] = 0
    else:
        with np.errstate(divide="ignore"):
            np.log(-np.expm1(second), out=pair[0])
    return pair.T


def _subtract_from_one(probs: Floats, out: Floats) -> None:
    """Write 1 - p with the decimals of p, if its type can represent them.

    1 - 0.07 is 0.9299999999999999 in double precision, and would not tie with 0.93 in another row.
    """
    np.subtract(1, probs, out=out)
    decimals = np.finfo(probs.dtype).precision
    np.copyto(out, np.round(out, decimals), where=np.round(probs, decimals) == probs)


def as_array(values: Any, called: str) -> Array:
    """Return an object in memory as an array.

    Objects become numbers, booleans or text, as a list of them would. If some are missing, numbers become
    floats with nan, and text stays an array of objects with None.

    Parameters
    ----------
    values : array-like
        Tensors without the interface of numpy come through DLPack.
    called
        Name of the values, in the plural, for messages.

    Raises
    ------
    InputError
        If the values form no array, such as lists of different lengths.
    """
    by_dlpack = hasattr(values, "__dlpack__") and not hasattr(values, "__array__")
    try:
        if by_dlpack:
            return np.from_dlpack(values)
        array = _unmasked(values)
        return _plain(array) if array.dtype.kind in "OT" else array
    except MemoryError:
        raise
    except Exception as error:  # whatever the interface of an object raises
        if "inhomogeneous" in str(error):
            raise InputError(f"the {called} are lists of different lengths; expected equal ones") from error
        raise InputError(f"the {called} cannot be read as an array: {str(error) or repr(error)}") from error


IN_ORDER = "scores", "labels"


def refuse_swapped(scores: Any, labels: Any, names: tuple[str, str] = IN_ORDER) -> None:
    """Raise an InputError if labels hold fractions, as scores do, and scores hold none.

    Parameters
    ----------
    scores, labels : array-like
        The first two arguments of a call.
    names
        Their names.
    """
    fraction, none = _fraction(as_array(labels, names[1])), as_array(scores, names[0])
    single = none.ndim == 1 or none.shape[1:] == (1,)
    one_hot = none.dtype.kind in "biuf" and none.ndim == 2 and ((none != 0).sum(axis=1) == 1).all()
    if fraction is not None and (single or one_hot) and none.size and _fraction(none) is None:
        order = "; expected the scores first, then the labels" if names == IN_ORDER else ""
        raise InputError(
            f"the {names[1]} hold {fraction:g}, and the {names[0]} no such number: they look swapped{order}"
        )


def _fraction(values: Array) -> float | None:
    """Return the first number that is not whole; None if there is none."""
    if values.dtype.kind != "f":
        return None
    fractional = np.flatnonzero(np.isfinite(values) & (values != np.floor(values)))
    return float(values.reshape(-1)[fractional[0]]) if len(fractional) else None


def _unmasked(values: Any) -> Array:
    """Return what numpy accepts as an array; masked values are missing: nan, or None for text."""
    if isinstance(values, list | tuple):
        values = _shown(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        numeric = values.dtype.kind in "iufb"
        array: Array = np.array(values.data, np.result_type(values.dtype, np.float32) if numeric else object)
        array[np.ma.getmaskarray(values)] = np.nan if numeric else None
        return array
    array = np.asarray(values)
    if array.dtype.kind == "O" and any(isinstance(item, np.ma.MaskedArray) for item in array.flat):
        return _unmasked(array.tolist())
    return array


def _shown(values: Sequence[Any]) -> Sequence[Any]:
    """Return lists with masked arrays unmasked; numpy would drop the masks."""
    nested = (list, tuple, np.ma.MaskedArray)
    if not any(issubclass(kind, nested) for kind in set(map(type, values))):
        return values
    return [_one_shown(value) for value in values]


def _one_shown(item: Any) -> Any:
    if item is np.ma.masked:
        return None
    if isinstance(item, np.ma.MaskedArray):
        return _unmasked(item)
    return _shown(item) if isinstance(item, list | tuple) else item


def _plain(values: Array) -> Array:
    """Return objects, or text of any length, as an array of a plain type if one fits."""
    if not values.ndim:
        raise TypeError(f"they are of type {type(values.item()).__name__}")
    flat = values.astype(object).reshape(-1).tolist()
    missing = np.array([is_nothing(value) for value in flat], np.bool_)
    there = np.array([value for value, gone in zip(flat, missing, strict=True) if not gone])
    if not missing.any():
        return there.reshape(values.shape + there.shape[1:])
    if there.ndim > 1:
        raise ValueError("some of their lists are missing")
    numeric = there.dtype.kind in "biuf"
    plain = np.full(len(flat), np.nan if numeric else None, np.float64 if numeric else object)
    plain[~missing] = there
    return plain.reshape(values.shape)
