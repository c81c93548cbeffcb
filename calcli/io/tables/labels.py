"""Labels as they are stored, and which of the classes they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import TOGETHER, Array, batches
from calcli.core.data.derived import rest_of
from calcli.core.language.errors import InputError
from calcli.io.messages import Place, listed, type_in_words
from calcli.io.words import plain_text

MISSING_NUMBERS = (-1, -100, 255)  # what segmentation and language models mark ignored rows with
MISSING_NAMES = ("", "nan", "none", "null", "<na>")
NOT_AVAILABLE = ("na", "n/a", "#n/a")  # missing if it is none of the classes that are named
SHARE = 1e-2  # how far from 1 the shares of the classes may sum
SHARES = (
    "of shares of classes (soft labels) save the largest, as labels.argmax(-1), or a row for each class with "
    "its share in a column for --weights"
)
LARGEST = 2.0**63  # larger floats are not the integers of labels
NARROW = 1 << 16  # how far apart integers may be to be counted in a table
MANY = 20  # classes, to be written out one by one no more
Meaning = Literal["text", "numbers", "booleans", "positions", "mixed"]
Label = str | int | None
INTEGER = re.compile(r"[+-]?[0-9]{1,100}")  # Python refuses to convert thousands of digits
DECIMAL = re.compile(r"[+-]?([0-9]{1,100}\.[0-9]{0,100}|\.[0-9]{1,100})")
WORDS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))  # of booleans
NO_PLACE = -1


@dataclass(frozen=True)
class Labels:
    """One label a row: the distinct ones, and which of them each row has.

    Attributes
    ----------
    values
        The distinct labels, text or whole numbers; None where there is none.
    codes
        (N,) places in these.
    meaning
        What they stand for: text, numbers, booleans as 0 and 1, or positions, as those of one-hot labels;
        mixed where parts of a data set differ in it.
    """

    values: tuple[Label, ...]
    codes: Array
    meaning: Meaning = "text"

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The distinct labels if they are text, else None."""
        return tuple(one for one in self.values if isinstance(one, str)) if self.meaning == "text" else None

    @property
    def numbers(self) -> list[int]:
        """The distinct labels that are numbers."""
        return [one for one in self.values if isinstance(one, int)]

    def missing(self, classes: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Return (N,) which rows have none, or text that says so and is not among `classes`."""
        words = missing_words(classes)
        gone = [one is None or (isinstance(one, str) and one.strip().lower() in words) for one in self.values]
        return np.array(gone, np.bool_)[self.codes]

    def are(self, some: Sequence[str]) -> NDArray[np.bool_]:
        """Return (N,) which rows have some of the labels, as text."""
        numbers = {int(text) for text in some if INTEGER.fullmatch(text.strip())}
        found = [one in some if isinstance(one, str) else one in numbers for one in self.values]
        return np.array(found, np.bool_)[self.codes]

    def kept(self, kept: NDArray[np.bool_]) -> Labels:
        """Return the labels of some rows."""
        used, codes = distinct_of(self.codes[kept])
        return replace(self, values=tuple(self.values[code] for code in used), codes=codes)

    def require(self, place: Place) -> None:
        """Raise an InputError if a row has none."""
        if None in self.values:
            row = int((self.codes == self.values.index(None)).argmax())
            raise InputError(missing_label(place, row, "null" if self.meaning == "text" else "nan"))

    def against_rest(self, name: str, place: Place) -> Labels:
        """Return the labels of one class and, under one name, those of all others."""
        if self.meaning == "positions":
            return self
        own = [is_own(one, self.meaning, name, place) for one in self.values]
        return Labels((rest_of(name), name), np.array(own, np.intp)[self.codes])


def distinct_of(values: Array) -> tuple[list[int], Array]:
    """Return the distinct ones of (N,) integers, and which of them each is."""
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
    found, codes = np.unique(values, return_inverse=True)
    return found.tolist(), codes


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
        found, codes = distinct_of(values)
        return Labels(tuple(found), codes, "numbers")
    if values.dtype.kind == "O" and all(one is None or isinstance(one, str) for one in values):
        gone = np.array([one is None for one in values], np.bool_)
        texts = labels_from_array(np.where(gone, "", values).astype(str), place)
        codes = np.where(gone, len(texts.values), texts.codes)
        return Labels((*texts.values, None), codes).kept(np.ones(len(values), np.bool_))
    if values.dtype.kind != "U":
        raise InputError(
            f"{place.name}: the labels are {type_in_words(values.dtype)}; expected integers or text"
        )
    names, codes = np.unique(values, return_inverse=True)
    return Labels(tuple(names.tolist()), codes)


def join_labels(parts: Sequence[Labels]) -> Labels:
    """Put the labels of several files one after the other."""
    meanings = {part.meaning for part in parts}
    meaning: Meaning = meanings.pop() if len(meanings) == 1 else "text" if "text" in meanings else "mixed"
    position: dict[Label, int] = {}
    codes = []
    for part in parts:
        said = "one-hot " if part.meaning == "positions" else ""  # the name of no class
        named = meaning == "text" != part.meaning
        values = [one if one is None or not named else f"{said}{one}" for one in part.values]
        moved = [position.setdefault(one, len(position)) for one in values]
        codes.append(np.array(moved, np.intp)[part.codes])
    return Labels(tuple(position), np.concatenate(codes), meaning)


def match(labels: Labels, classes: Sequence[str], place: Place) -> Array:
    """Return the labels as positions in `classes`.

    Text is looked up among the class names, and so are numbers, by their value, if one of the names is a
    number other than that of its place; else they are positions. Booleans are the classes true and false.

    Returns
    -------
    array (N,) of int32

    Raises
    ------
    InputError
        If labels are missing, unknown, out of range, counted from 1, or may be those of several classes.
    """
    labels.require(place)
    if labels.meaning == "text":
        found = _positions_of_names(labels.names or (), classes)
    else:
        found = places_of(labels.numbers, labels.meaning, classes, place)
    same = [*found] == [*range(len(found))]
    matched = labels.codes.astype(np.int32) if same else np.array(found, np.int32)[labels.codes]
    if min(found, default=0) < 0 and (wrong := matched < 0).any():
        (_refuse_names if labels.meaning == "text" else _refuse_numbers)(labels, wrong, classes, place)
    return matched


def _positions_of_names(names: Sequence[str], classes: Sequence[str]) -> list[int]:
    position, alike = {name: k for k, name in enumerate(classes)}, dict[str, list[int]]()
    for k, name in enumerate(classes):
        alike.setdefault(plain_text(name), []).append(k)
    near = {name: alike.get(plain_text(name), ()) for name in names if name not in position}
    position |= {name: found[0] for name, found in near.items() if len(found) == 1}
    return [position.get(name, NO_PLACE) for name in names]


def _refuse_fractions(values: Array, gone: Array, place: Place) -> None:
    fractional = ~gone & ((values != np.floor(values)) | (np.abs(values, dtype=np.float64) >= LARGEST))
    if fractional.any():
        row = int(fractional.argmax())
        raise InputError(
            f"{place.row(row)} has the label {values[row]:g}; expected a class, as an integer or as text; "
            "if the labels are elsewhere, name them with --label-column or --labels"
        )


def _refuse_names(labels: Labels, wrong: Array, classes: Sequence[str], place: Place) -> None:
    row = int(wrong.argmax())
    first = str(labels.values[labels.codes[row]])
    word = first.strip().lower()
    if word in NOT_AVAILABLE and word in missing_words(classes):
        raise InputError(
            f'{place.row(row)} has the label "{first}", which is not one of the classes '
            f"{listed(tuple(classes))} and looks like a missing one; leave such rows out with "
            f"--ignore-label {shlex.quote(first)} or --drop-missing"
        )
    if word in (*MISSING_NAMES, *map(str, MISSING_NUMBERS)):
        raise InputError(missing_label(place, row, first if INTEGER.fullmatch(first) else repr(first)))
    unknown = sorted({str(labels.values[code]) for code in np.unique(labels.codes[wrong])})
    others = f" (unknown in all: {listed(unknown)})" if len(unknown) > 1 else ""
    raise InputError(
        f'{place.row(row)} has the label "{first}", which is not one of the classes '
        f"{listed(tuple(classes))}{others}; "
        "name the classes in the order of their scores with --classes"
    )


def _refuse_numbers(labels: Labels, wrong: Array, classes: Sequence[str], place: Place) -> None:
    row, numbers, boolean = int(wrong.argmax()), labels.numbers, labels.meaning == "booleans"
    value, k = numbers[labels.codes[row]], len(classes)
    if k == 2 and set(numbers) == {-1, 1}:
        raise InputError(
            f"{place.name}: the labels are -1 and 1, but classes are counted from 0; name the two classes "
            "with --classes=-1,1"
        )
    if value in MISSING_NUMBERS:
        raise InputError(missing_label(place, row, str(value)))
    if boolean or (some := some_numbers(classes)):
        said = str(bool(value)).lower() if boolean else str(value)
        why = "none of which it is" if boolean else f"of which only {listed(some)} are numbers"
        raise InputError(
            f"{place.row(row)} has the label {said}, but the classes are {listed(tuple(classes))}, {why}; "
            "name the classes in the order of their scores with --classes, each as its labels are"
        )
    if min(numbers) >= 1 and max(numbers) == k:
        raise InputError(
            f"{place.name}: labels run from 1 to {k}, but classes are counted from 0 to {k - 1}; "
            "subtract 1 from the labels, or name the classes in the order of their scores with --classes "
            f"{','.join(map(str, range(1, k + 1))) if k <= MANY else '1,2,3,...'}"
        )
    raise InputError(
        f"{place.row(row)} has the label {value}, but the {k} scores of a row belong to the classes "
        f"{listed(tuple(classes))}; name the classes with --classes, or, if only the largest scores of more "
        "classes were saved (a top-k dump), save the scores of all classes"
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


def missing_words(classes: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words, in lower case, for what is missing; the name of a class is none of them."""
    named = {one.strip().lower() for one in classes}
    words = (*MISSING_NAMES, *NOT_AVAILABLE) if len(named) > 1 else MISSING_NAMES
    return tuple(word for word in words if word not in named)


def missing_label(place: Place, row: int, found: str) -> str:
    """Say that a row has no label."""
    mend = f"leave such rows out with --ignore-label {found}"
    if not INTEGER.fullmatch(found):
        mend = "leave such rows out with --drop-missing"
    return f"{place.row(row)} has no label ({found} marks a missing one); {mend}"


def one_hot(values: Array) -> Array | None:
    """Return the place of the one 1 in each row of zeros; None if rows are otherwise."""
    if values.dtype.kind not in "iufb" or not values.shape[-1]:
        return None
    ones = values == 1
    sound = bool((ones | (values == 0)).all() and (ones.sum(axis=-1) == 1).all())
    return ones.argmax(axis=-1).reshape(-1) if sound else None


def number_of(name: str) -> int | Fraction | None:
    """Return the number that a name is, None if it is none; 1, 01 and 1.0 are the same."""
    if INTEGER.fullmatch(name):
        return int(name)
    return Fraction(name) if DECIMAL.fullmatch(name) else None


def some_numbers(classes: Sequence[str]) -> tuple[str, ...]:
    """Return the class names that are numbers, if others are none, and labels are looked up among them."""
    numbers = [number_of(name) for name in classes]
    found = tuple(name for name, number in zip(classes, numbers, strict=True) if number is not None)
    return found if len(found) < len(classes) and not _at_own_places(numbers) else ()


def places_of(numbers: Sequence[int], meaning: Meaning, classes: Sequence[str], place: Place) -> list[int]:
    """Return the positions in `classes` of labels that are numbers or booleans, -1 where there is none.

    Which labels there are is no matter: parts of a data set are read as all of it.

    Parameters
    ----------
    numbers
        The labels, booleans as 0 and 1.
    meaning
        What they are; positions, if they were one-hot, and mixed, if parts differ in it.
    classes, place
        Names in the order of the scores, and the file for messages.

    Raises
    ------
    InputError
        If the names leave open which class a label stands for.
    """
    within = [one if 0 <= one < len(classes) else NO_PLACE for one in numbers]
    if meaning == "positions":
        return within
    known = [number_of(name) for name in classes]
    own = _at_own_places(known)
    truth = _places_of_booleans(classes, place) if meaning != "numbers" else _false_and_true(classes)
    if meaning == "mixed" and not (own and truth in (None, (0, 1))):
        raise InputError(
            f"{place.name}: the labels are numbers in some parts, but booleans or one-hot in others, and the "
            f"classes are {listed(tuple(classes))}; save the labels of all parts alike, best as text"
        )
    if truth is not None:
        return [truth[one] if one in (0, 1) else NO_PLACE for one in numbers]
    if own:
        return within
    first: dict[int | Fraction, int] = {}
    for k, number in enumerate(known):
        if number is not None and (same := first.setdefault(number, k)) != k:
            raise InputError(
                f"{place.name}: the classes {classes[same]} and {classes[k]} are the same number, and the "
                "labels were read as numbers, which do not tell them apart; save them as text, not in CSV, "
                "or give these classes and their labels other names"
            )
    return [first.get(one, NO_PLACE) for one in numbers]


def are_places(meaning: Meaning, classes: Sequence[str], place: Place) -> bool:
    """Tell whether labels that are numbers or booleans are positions: no name says which one is meant."""
    truth = _places_of_booleans(classes, place) if meaning != "numbers" else _false_and_true(classes)
    return meaning == "positions" or (truth is None and _at_own_places([number_of(name) for name in classes]))


def _at_own_places(numbers: Sequence[int | Fraction | None]) -> bool:
    """Tell whether every number is that of its place, as in 0, 1, other; or there is none at all."""
    return all(number is None or number == k for k, number in enumerate(numbers))


def _false_and_true(classes: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of false and true, if these are the two classes; so 1 is true, and 0 is false."""
    folded = [name.casefold() for name in classes]
    return (folded.index("false"), folded.index("true")) if sorted(folded) == ["false", "true"] else None


def _places_of_booleans(classes: Sequence[str], place: Place) -> tuple[int, int] | None:
    """Return the places of the classes that false and true stand for, by the words in their names.

    Raises
    ------
    InputError
        If two classes have the name of one.
    """
    folded = [name.casefold() for name in classes]
    for words in WORDS:
        found = [[k for k, name in enumerate(folded) if name == word] for word in words]
        if max(map(len, found)) > 1:
            same = listed([classes[k] for places in found for k in places])
            raise InputError(
                f"{place.name}: the labels are true and false, which may be any of the classes {same}; save "
                "the labels as text, not in CSV, or give these classes and their labels other names"
            )
        if all(found):
            return found[0][0], found[1][0]
        if any(found) and words in WORDS[:2]:
            return _of_one_word(found, len(classes))
    return None


def _of_one_word(found: Sequence[Sequence[int]], classes: int) -> tuple[int, int]:
    """Return the places of both booleans where only one is a class; of two classes the other is the other."""
    false, true = (places[0] if places else NO_PLACE for places in found)
    if classes == 2:
        return (1 - true, true) if false == NO_PLACE else (false, 1 - false)
    return false, true


def other_of_two(second: str, meaning: Meaning) -> str | None:
    """Return the class beside `second` where labels are numbers or booleans; None if they must tell."""
    for words in WORDS if meaning == "booleans" else WORDS[:1]:
        if second.casefold() in words:
            other = words[1 - words.index(second.casefold())]
            return other.upper() if second.isupper() else other.title() if second.istitle() else other
    fixed = {"0": "1", "1": "0", "0.0": "1.0", "1.0": "0.0"}
    if second in fixed or number_of(second) is not None:
        return fixed.get(second)
    return f"not {second}"


def is_own(label: Label, meaning: Meaning, name: str, place: Place) -> bool:
    """Tell whether a label is that of a class of this name.

    Raises
    ------
    InputError
        If it is a number or a boolean, and the name is neither.
    """
    if meaning == "text" or label is None:
        return label == name
    number = number_of(name)
    if meaning != "numbers" and name.casefold() in WORDS[0]:
        number = WORDS[0].index(name.casefold())
    if number is None or meaning == "mixed":
        raise InputError(
            f"{place.name}: the labels are {'booleans' if meaning == 'booleans' else 'numbers'}, which do "
            f"not tell whether the class is {name}; save the labels as names of classes"
        )
    return label == number


def same_name(one: str, other: str) -> bool:
    """Tell whether two names are the same, but for capitals, or the same number."""
    if (number := number_of(one)) is not None:
        return number == number_of(other)
    return one.casefold() == other.casefold()


def places_by_name(wanted: Sequence[str], classes: Sequence[str]) -> list[int]:
    """Return the places of names among classes, or of those that are the same; -1 if there are several.

    Where classes are 0, 1, ... in this order, and names are others, these are no places but new names.
    """
    found = []
    for name in wanted:
        alike = [k for k, one in enumerate(classes) if one == name] or [
            k for k, one in enumerate(classes) if same_name(one, name)
        ]
        found += alike if len(alike) == 1 else [-1] * bool(alike)
    numbered = list(classes) == [str(k) for k in range(len(classes))]
    return [] if numbered and sorted(found) != list(range(len(classes))) else found
