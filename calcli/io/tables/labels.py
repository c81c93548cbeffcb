"""Labels as stored, and their classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import MANY, TOGETHER, Array, batches, mapped, pieces, streamed
from calcli.core.language.errors import InputError
from calcli.io.messages import Place, type_in_words
from calcli.io.words import missing_words, plain_text

SHARE = 1e-2  # tolerance for the sum of the shares of classes
SHARES = (
    "of shares of classes (soft labels) save the largest, as labels.argmax(-1), or a row for each class with "
    "its share in a column for --weights"
)
LARGEST = 2.0**63  # larger floats are not the integers of labels
NARROW = 1 << 16  # range of integers that are counted in a table
Meaning = Literal["text", "numbers", "booleans", "positions", "mixed"]
Label = str | int | None
INTEGER = re.compile(r"[+-]?[0-9]{1,100}")  # Python refuses to convert thousands of digits
DECIMAL = re.compile(r"[+-]?([0-9]{1,100}\.[0-9]{0,100}|\.[0-9]{1,100})")


@dataclass(frozen=True)
class Labels:
    """One label per row: the distinct labels, and the index of each row's label.

    Attributes
    ----------
    values
        The distinct labels, text or whole numbers; None for a missing label.
    codes
        (N,) indices of these.
    meaning
        Their meaning: text, numbers, booleans as 0 and 1, or positions, as in one-hot labels; mixed
        if parts of a data set differ.
    """

    values: tuple[Label, ...]
    codes: Array
    meaning: Meaning = "text"

    def __len__(self) -> int:
        return len(self.codes)

    def look_up(self, table: Array) -> Array:
        """Return the (N,) entry for each row from a table of the distinct labels."""
        return mapped(self.codes, partial(_looked_up, table))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The distinct labels if they are text, else None."""
        return tuple(v for v in self.values if isinstance(v, str)) if self.meaning == "text" else None

    @property
    def plain(self) -> tuple[str, ...]:
        """The distinct labels in the form of `plain_text`."""
        if self.meaning == "booleans":
            return tuple("" if value is None else str(bool(value)).lower() for value in self.values)
        return tuple(map(plain_text, self.values))

    @property
    def numbers(self) -> list[int]:
        """The distinct labels, if numbers."""
        return [value for value in self.values if isinstance(value, int)]

    def shown(self, code: int) -> str:
        """Return one of the distinct labels for messages."""
        return f'"{self.values[code]}"' if self.meaning == "text" else self.plain[code]

    def missing(self, classes: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Return (N,) which rows have no label, or a word for missing values that is not among `classes`."""
        return self.look_up(np.array(self._missing(classes), np.bool_))

    def any_missing(self, classes: Sequence[str] = ()) -> bool:
        """Return whether a row has no label."""
        return any(self._missing(classes))

    def _missing(self, classes: Sequence[str]) -> list[bool]:
        words = missing_words(classes)
        return [v is None or (isinstance(v, str) and v.strip().lower() in words) for v in self.values]

    def are(self, wanted: Sequence[str]) -> NDArray[np.bool_]:
        """Return (N,) which rows have one of these labels, as text."""
        numbers = {int(text) for text in wanted if INTEGER.fullmatch(text.strip())}
        equal = [value in wanted if isinstance(value, str) else value in numbers for value in self.values]
        return self.look_up(np.array(equal, np.bool_))

    def kept(self, rows: NDArray[np.bool_]) -> Labels:
        """Return the labels of some rows."""
        places, codes = distinct_of(self.codes[rows])
        return replace(self, values=tuple(self.values[code] for code in places), codes=codes)

    def require(self, place: Place) -> None:
        """Raise an InputError if a row has no label."""
        if None in self.values:
            row = int((self.codes == self.values.index(None)).argmax())
            raise InputError(missing_label(place, row, "null" if self.meaning == "text" else "nan"))


def _looked_up(table: Array, codes: Array) -> Array:
    same = np.array_equal(table, np.arange(len(table)))
    return codes.astype(table.dtype) if same else table[codes]


def distinct_of(values: Array) -> tuple[list[int], Array]:
    """Return the distinct values of (N,) integers, and the index of each."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low == 1:
        return [low, high], (values != low).view(np.uint8)
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


def labels_from_array(values: Array, place: Place, start: int = 0) -> Labels:
    """Return labels from (N,) integers, booleans, whole floats or text; nan and None are missing.

    Raises
    ------
    InputError
        If a value cannot be a label; `place` is the place of the values, from row `start` on.
    """
    if values.dtype.kind == "f":
        gone = np.isnan(values)
        _refuse_fractions(values, gone, place, start)
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


def join_labels(read: Callable[[], Iterable[Labels]], rows: int) -> Labels:
    """Join the labels of parts; labels of many rows are read again with each pass."""
    if rows < MANY:
        read = partial(iter, [*read()])
    seen = dict.fromkeys((value, part.meaning) for part in read() for value in part.values)
    meanings = {meaning for _, meaning in seen} or {"numbers"}
    meaning: Meaning = meanings.pop() if len(meanings) == 1 else "text" if "text" in meanings else "mixed"
    joint = {key: _as_text(*key) if meaning == "text" else key[0] for key in seen}
    values = dict.fromkeys(joint.values())
    ordered = [*values] if meaning == "text" else sorted(values, key=lambda value: (value is None, value))
    position = {value: k for k, value in enumerate(ordered)}
    codes = partial(_codes_of, read, {key: position[value] for key, value in joint.items()})
    return Labels(tuple(ordered), streamed(rows, codes), meaning)


def _as_text(value: Label, meaning: Meaning) -> Label:
    prefix = "one-hot " if meaning == "positions" else ""  # the name of no class
    return value if value is None else f"{prefix}{value}"


def _codes_of(
    read: Callable[[], Iterable[Labels]], position: Mapping[tuple[Label, Meaning], int]
) -> Iterator[Array]:
    """Yield the codes of each part among the distinct labels of all parts."""
    kind = np.min_scalar_type(len(position))
    for part in read():
        yield from pieces(part.look_up(np.array([position[v, part.meaning] for v in part.values], kind)))


def _refuse_fractions(values: Array, gone: Array, place: Place, start: int) -> None:
    fractional = ~gone & ((values != np.floor(values)) | (np.abs(values, dtype=np.float64) >= LARGEST))
    if fractional.any():
        row = int(fractional.argmax())
        raise InputError(
            f"{place.row(start + row)} has the label {values[row]:g}; expected a class, as an integer or as "
            "text; if the labels are elsewhere, name them with --label-column or --labels"
        )


def is_missing(values: Array, classes: Sequence[str] = ()) -> Array:
    """Return (N,) whether a value is nan, None, or a word for missing values that is not among `classes`."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "U":
        return np.isin(np.char.lower(np.char.strip(values)), missing_words(classes))
    if values.dtype.kind == "O":
        return np.array([value is None for value in values], np.bool_)
    return np.zeros(len(values), np.bool_)


def missing_label(place: Place, row: int, value: str) -> str:
    """Return the error about a row without a label."""
    mend = f"leave such rows out with --ignore-label {value}"
    if not INTEGER.fullmatch(value):
        mend = "leave such rows out with --drop-missing"
    return f"{place.row(row)} has no label ({value} marks a missing one); {mend}"


def one_hot(values: Array) -> Array | None:
    """Return the position of the single 1 in each row of zeros; None for other rows."""
    if values.dtype.kind not in "iufb" or not values.shape[-1]:
        return None
    hot = values == 1
    sound = bool((hot | (values == 0)).all() and (hot.sum(axis=-1) == 1).all())
    return hot.argmax(axis=-1).reshape(-1) if sound else None


def number_of(name: str) -> int | Fraction | None:
    """Return the number of a name, None for other names; 1, 01 and 1.0 are the same."""
    if INTEGER.fullmatch(name):
        return int(name)
    return Fraction(name) if DECIMAL.fullmatch(name) else None
