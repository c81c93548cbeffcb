"""Labels as they are stored, and which of the classes they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import TOGETHER, Array, batches
from calcli.core.language.errors import InputError
from calcli.io.messages import Place, type_in_words
from calcli.io.words import missing_words, plain_text

SHARE = 1e-2  # how far from 1 the shares of the classes may sum
SHARES = (
    "of shares of classes (soft labels) save the largest, as labels.argmax(-1), or a row for each class with "
    "its share in a column for --weights"
)
LARGEST = 2.0**63  # larger floats are not the integers of labels
NARROW = 1 << 16  # how far apart integers may be to be counted in a table
Meaning = Literal["text", "numbers", "booleans", "positions", "mixed"]
Label = str | int | None
INTEGER = re.compile(r"[+-]?[0-9]{1,100}")  # Python refuses to convert thousands of digits
DECIMAL = re.compile(r"[+-]?([0-9]{1,100}\.[0-9]{0,100}|\.[0-9]{1,100})")


@dataclass(frozen=True)
class Labels:
    """One label a row: the distinct labels, and the place of each row's label among them.

    Attributes
    ----------
    values
        The distinct labels, text or whole numbers; None where there is none.
    codes
        (N,) places in these.
    meaning
        What they stand for: text, numbers, booleans as 0 and 1, or positions, as in one-hot labels; mixed
        where parts of a data set differ.
    """

    values: tuple[Label, ...]
    codes: Array
    meaning: Meaning = "text"

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The distinct labels if they are text, else None."""
        return tuple(v for v in self.values if isinstance(v, str)) if self.meaning == "text" else None

    @property
    def plain(self) -> tuple[str, ...]:
        """What the distinct labels mean, as `plain_text`."""
        if self.meaning == "booleans":
            return tuple("" if value is None else str(bool(value)).lower() for value in self.values)
        return tuple(map(plain_text, self.values))

    @property
    def numbers(self) -> list[int]:
        """The distinct labels, if numbers."""
        return [value for value in self.values if isinstance(value, int)]

    def shown(self, code: int) -> str:
        """Return one of the distinct labels as messages have it."""
        return f'"{self.values[code]}"' if self.meaning == "text" else self.plain[code]

    def missing(self, classes: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Return (N,) which rows have none, or text that says so and is not among `classes`."""
        words = missing_words(classes)
        gone = [v is None or (isinstance(v, str) and v.strip().lower() in words) for v in self.values]
        return np.array(gone, np.bool_)[self.codes]

    def are(self, wanted: Sequence[str]) -> NDArray[np.bool_]:
        """Return (N,) which rows have some of the labels, as text."""
        numbers = {int(text) for text in wanted if INTEGER.fullmatch(text.strip())}
        equal = [value in wanted if isinstance(value, str) else value in numbers for value in self.values]
        return np.array(equal, np.bool_)[self.codes]

    def kept(self, rows: NDArray[np.bool_]) -> Labels:
        """Return the labels of some rows."""
        places, codes = distinct_of(self.codes[rows])
        return replace(self, values=tuple(self.values[code] for code in places), codes=codes)

    def require(self, place: Place) -> None:
        """Raise an InputError if a row has none."""
        if None in self.values:
            row = int((self.codes == self.values.index(None)).argmax())
            raise InputError(missing_label(place, row, "null" if self.meaning == "text" else "nan"))


def distinct_of(values: Array) -> tuple[list[int], Array]:
    """Return the distinct values of (N,) integers, and the place of each among them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low < NARROW:
        places = values.astype(np.uint16) - np.uint16(low & 0xFFFF)  # differences are right modulo 2^16
        none, every = np.zeros(high - low + 1, np.int64), batches(len(places), 1, TOGETHER)
        counts = sum((np.bincount(places[rows], minlength=len(none)) for rows in every), none)
        there = np.flatnonzero(counts)
        if len(there) == high - low + 1:
            return (there + low).tolist(), places
        table = np.zeros(high - low + 1, np.uint16)
        table[there] = np.arange(len(there))
        return (there + low).tolist(), table[places]
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct.tolist(), codes


def labels_from_array(values: Array, place: Place) -> Labels:
    """Take (N,) integers, booleans, whole floats or text for labels; nan and None are missing ones.

    Raises
    ------
    InputError
        If a label is not a class at all; `place` is where they are.
    """
    if values.dtype.kind == "f":
        gone = np.isnan(values)
        _refuse_fractions(values, gone, place)
        if gone.any():
            there = labels_from_array(values[~gone], place)
            codes = np.full(len(values), len(there.values), np.intp)
            codes[~gone] = there.codes
            return Labels((*there.values, None), codes, "numbers")
        values = values.astype(np.int64)
    elif values.dtype.kind == "b":
        return replace(labels_from_array(values.view(np.uint8), place), meaning="booleans")
    if values.dtype.kind in "iu":
        distinct, codes = distinct_of(values)
        return Labels(tuple(distinct), codes, "numbers")
    if values.dtype.kind == "O" and all(value is None or isinstance(value, str) for value in values):
        gone = np.array([value is None for value in values], np.bool_)
        texts = labels_from_array(np.where(gone, "", values).astype(str), place)
        codes = np.where(gone, len(texts.values), texts.codes)
        return Labels((*texts.values, None), codes).kept(np.ones(len(values), np.bool_))
    if values.dtype.kind != "U":
        raise InputError(
            f"{place.name}: the labels are {type_in_words(values.dtype)}; expected integers or text"
        )
    names, codes = np.unique(values, return_inverse=True)
    return Labels(tuple(names.tolist()), codes)


def join_labels(several: Sequence[Labels]) -> Labels:
    """Put the labels of several files one after the other."""
    meanings = {part.meaning for part in several}
    meaning: Meaning = meanings.pop() if len(meanings) == 1 else "text" if "text" in meanings else "mixed"
    position: dict[Label, int] = {}
    codes = []
    for part in several:
        prefix = "one-hot " if part.meaning == "positions" else ""  # the name of no class
        as_text = meaning == "text" != part.meaning
        values = [value if value is None or not as_text else f"{prefix}{value}" for value in part.values]
        moved = [position.setdefault(value, len(position)) for value in values]
        codes.append(np.array(moved, np.intp)[part.codes])
    return Labels(tuple(position), np.concatenate(codes), meaning)


def _refuse_fractions(values: Array, gone: Array, place: Place) -> None:
    fractional = ~gone & ((values != np.floor(values)) | (np.abs(values, dtype=np.float64) >= LARGEST))
    if fractional.any():
        row = int(fractional.argmax())
        raise InputError(
            f"{place.row(row)} has the label {values[row]:g}; expected a class, as an integer or as text; "
            "if the labels are elsewhere, name them with --label-column or --labels"
        )


def is_missing(values: Array, classes: Sequence[str] = ()) -> Array:
    """Return (N,) whether a value is missing: nan, none, or text that says so and is not among `classes`."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "U":
        return np.isin(np.char.lower(np.char.strip(values)), missing_words(classes))
    if values.dtype.kind == "O":
        return np.array([value is None for value in values], np.bool_)
    return np.zeros(len(values), np.bool_)


def missing_label(place: Place, row: int, value: str) -> str:
    """Say that a row has no label."""
    mend = f"leave such rows out with --ignore-label {value}"
    if not INTEGER.fullmatch(value):
        mend = "leave such rows out with --drop-missing"
    return f"{place.row(row)} has no label ({value} marks a missing one); {mend}"


def one_hot(values: Array) -> Array | None:
    """Return the place of the one 1 in each row of zeros; None if rows are otherwise."""
    if values.dtype.kind not in "iufb" or not values.shape[-1]:
        return None
    hot = values == 1
    sound = bool((hot | (values == 0)).all() and (hot.sum(axis=-1) == 1).all())
    return hot.argmax(axis=-1).reshape(-1) if sound else None


def number_of(name: str) -> int | Fraction | None:
    """Return the number that a name is, None if it is none; 1, 01 and 1.0 are the same."""
    if INTEGER.fullmatch(name):
        return int(name)
    return Fraction(name) if DECIMAL.fullmatch(name) else None
