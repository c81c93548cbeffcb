"""Labels as they are stored, and which of the classes they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from calcli.core.data.arrays import Array
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
MANY = 20  # classes, to be written out one by one no more
Meaning = Literal["numbers", "booleans", "positions", "mixed"]
INTEGER = re.compile(r"[+-]?[0-9]{1,100}")  # Python refuses to convert thousands of digits
DECIMAL = re.compile(r"[+-]?([0-9]{1,100}\.[0-9]{0,100}|\.[0-9]{1,100})")
WORDS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))  # of booleans
NO_PLACE = -1


@dataclass(frozen=True)
class Labels:
    """One label a row, as stored.

    Attributes
    ----------
    codes
        (N,) integers: the labels themselves, or positions in `names`.
    names
        The distinct labels if they are text, else None.
    missing
        (N,) which rows have none and are to be left out; None if there are none.
    meaning
        What labels that are no text stand for: numbers, booleans, or positions, as those of one-hot labels.
    """

    codes: Array
    names: tuple[str, ...] | None = None
    missing: Array | None = None
    meaning: Meaning = "numbers"

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def values(self) -> Array:
        """(N,) the labels themselves."""
        return self.codes if self.names is None else np.array(self.names)[self.codes]

    def matched(self, classes: Sequence[str], place: Place, *, swapped: bool) -> Array:
        """Return the labels as positions in `classes`, as `match` does, perhaps those of two swapped."""
        found = match(self, classes, place)
        return 1 - found if swapped else found

    def against_rest(self, name: str, place: Place) -> Labels:
        """Return the labels of one class and, under one name, those of all others."""
        if self.meaning == "positions":
            return self
        text = self.names is not None
        own = self.values == name if text else is_own(self.codes, self.meaning, name, place)
        return Labels(own.astype(np.intp), (rest_of(name), name))


def labels_from_array(values: Array, place: Place, *, drop: bool = False) -> Labels:
    """Take (N,) integers, booleans, whole floats or text for labels.

    Parameters
    ----------
    values, place
        What is stored, and where.
    drop
        Whether rows without a label are to be left out; of text, `without_missing_values` tells which.

    Raises
    ------
    InputError
        If a label is missing (nan) or not a class at all.
    """
    missing = is_missing(values) if drop and values.dtype.kind != "U" else np.zeros(len(values), np.bool_)
    if missing.any():
        if missing.all():
            raise InputError(f"{place.name}: all {len(values):,} labels are missing")
        filled = np.where(missing, values[~missing][0], values)  # any label: these rows go
        return replace(labels_from_array(filled, place), missing=missing)
    if values.dtype.kind == "b":
        return Labels(values.view(np.uint8), meaning="booleans")
    if values.dtype.kind in "iu":
        return Labels(values)
    if values.dtype.kind == "f":
        _refuse_fractions(values, place)
        return Labels(values.astype(np.int64))
    if values.dtype.kind == "O":
        if (missing := is_missing(values)).any():
            raise InputError(missing_label(place, int(missing.argmax()), "None"))
        if all(isinstance(value, str) for value in values):
            values = values.astype(str)
    if values.dtype.kind != "U":
        raise InputError(
            f"{place.name}: the labels are {type_in_words(values.dtype)}; expected integers or text"
        )
    names, codes = np.unique(values, return_inverse=True)
    return Labels(codes, tuple(names.tolist()))


def join_labels(parts: Sequence[Labels]) -> Labels:
    """Put the labels of several files one after the other."""
    if all(part.names is None for part in parts):
        meanings = {part.meaning for part in parts}
        meaning: Meaning = meanings.pop() if len(meanings) == 1 else "mixed"
        return Labels(np.concatenate([part.codes for part in parts]), None, _joined_missing(parts), meaning)
    position: dict[str, int] = {}
    codes = []
    for part in parts:
        if part.names is None:
            values, inverse = np.unique(part.codes, return_inverse=True)
            said = "one-hot " if part.meaning == "positions" else ""  # the name of no class
            part = Labels(inverse, tuple(f"{said}{value}" for value in values.tolist()))
        assert part.names is not None
        moved = [position.setdefault(name, len(position)) for name in part.names]
        codes.append(np.array(moved, np.int64)[part.codes])
    return Labels(np.concatenate(codes), tuple(position), _joined_missing(parts))


def _joined_missing(parts: Sequence[Labels]) -> Array | None:
    if all(part.missing is None for part in parts):
        return None
    return np.concatenate(
        [np.zeros(len(part), np.bool_) if part.missing is None else part.missing for part in parts]
    )


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
    if labels.names is not None:
        table = _positions_of_names(labels.names, classes)
        matched = table[labels.codes]
        if matched.min() < 0:
            _refuse_names(labels, matched < 0, classes, place)
        return matched
    found = places_of(labels.codes, labels.meaning, classes, place)
    if (wrong := found < 0).any():
        _refuse_numbers(labels, wrong, classes, place)
    return found


def _positions_of_names(names: Sequence[str], classes: Sequence[str]) -> Array:
    position, alike = {name: k for k, name in enumerate(classes)}, dict[str, list[int]]()
    for k, name in enumerate(classes):
        alike.setdefault(plain_text(name), []).append(k)
    near = {name: alike.get(plain_text(name), ()) for name in names if name not in position}
    position |= {name: found[0] for name, found in near.items() if len(found) == 1}
    return np.array([position.get(name, -1) for name in names], np.int32)


def _refuse_fractions(values: Array, place: Place) -> None:
    missing = np.isnan(values)
    if missing.any():
        raise InputError(missing_label(place, int(missing.argmax()), "nan"))
    fractional = (values != np.floor(values)) | (np.abs(values, dtype=np.float64) >= LARGEST)
    if fractional.any():
        row = int(fractional.argmax())
        raise InputError(
            f"{place.row(row)} has the label {values[row]:g}; expected a class, as an integer or as text; "
            "if the labels are elsewhere, name them with --label-column or --labels"
        )


def _refuse_names(labels: Labels, wrong: Array, classes: Sequence[str], place: Place) -> None:
    assert labels.names is not None
    row = int(wrong.argmax())
    first = labels.names[labels.codes[row]]
    word = first.strip().lower()
    if word in NOT_AVAILABLE and word in missing_words(classes):
        raise InputError(
            f'{place.row(row)} has the label "{first}", which is not one of the classes '
            f"{listed(tuple(classes))} and looks like a missing one; leave such rows out with "
            f"--ignore-label {shlex.quote(first)} or --drop-missing"
        )
    if word in (*MISSING_NAMES, *map(str, MISSING_NUMBERS)):
        raise InputError(missing_label(place, row, first if INTEGER.fullmatch(first) else repr(first)))
    unknown = sorted({labels.names[code] for code in np.unique(labels.codes[wrong])})
    others = f" (unknown in all: {listed(unknown)})" if len(unknown) > 1 else ""
    raise InputError(
        f'{place.row(row)} has the label "{first}", which is not one of the classes '
        f"{listed(tuple(classes))}{others}; "
        "name the classes in the order of their scores with --classes"
    )


def _refuse_numbers(labels: Labels, wrong: Array, classes: Sequence[str], place: Place) -> None:
    row, codes, boolean = int(wrong.argmax()), labels.codes, labels.meaning == "booleans"
    value, k = int(codes[row]), len(classes)
    if k == 2 and set(np.unique(codes).tolist()) == {-1, 1}:
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
    if codes.min() >= 1 and codes.max() == k:
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


def places_of(codes: Array, meaning: Meaning, classes: Sequence[str], place: Place) -> Array:
    """Return the positions in `classes` of labels that are numbers or booleans, -1 where there is none.

    Which labels there are is no matter: parts of a data set are read as all of it.

    Parameters
    ----------
    codes
        (N,) the labels, booleans as 0 and 1.
    meaning
        What they are; positions, if they were one-hot, and mixed, if parts differ in it.
    classes, place
        Names in the order of the scores, and the file for messages.

    Returns
    -------
    array (N,) of int32

    Raises
    ------
    InputError
        If the names leave open which class a label stands for.
    """
    if meaning == "positions":
        return _positions(codes, len(classes))
    numbers = [number_of(name) for name in classes]
    own = _at_own_places(numbers)
    truth = _places_of_booleans(classes, place) if meaning != "numbers" else _false_and_true(classes)
    if meaning == "mixed" and not (own and truth in (None, (0, 1))):
        raise InputError(
            f"{place.name}: the labels are numbers in some parts, but booleans or one-hot in others, and the "
            f"classes are {listed(tuple(classes))}; save the labels of all parts alike, best as text"
        )
    if truth is not None:
        return np.array([*truth, NO_PLACE], np.int32)[np.where((codes == 0) | (codes == 1), codes, 2)]
    return _positions(codes, len(classes)) if own else _by_number(codes, numbers, classes, place)


def are_places(meaning: Meaning, classes: Sequence[str], place: Place) -> bool:
    """Tell whether labels that are numbers or booleans are positions: no name says which one is meant."""
    truth = _places_of_booleans(classes, place) if meaning != "numbers" else _false_and_true(classes)
    return meaning == "positions" or (truth is None and _at_own_places([number_of(name) for name in classes]))


def _at_own_places(numbers: Sequence[int | Fraction | None]) -> bool:
    """Tell whether every number is that of its place, as in 0, 1, other; or there is none at all."""
    return all(number is None or number == k for k, number in enumerate(numbers))


def _positions(codes: Array, classes: int) -> Array:
    if codes.min() >= 0 and codes.max() < classes:
        return codes.astype(np.int32)
    inside = (codes >= 0) & (codes < classes)
    return np.where(inside, np.where(inside, codes, 0).astype(np.int32), np.int32(NO_PLACE))


def _by_number(
    codes: Array, numbers: Sequence[int | Fraction | None], classes: Sequence[str], place: Place
) -> Array:
    """Look labels up among the names that are numbers."""
    first: dict[int | Fraction, int] = {}
    for k, number in enumerate(numbers):
        if number is not None and (same := first.setdefault(number, k)) != k:
            raise InputError(
                f"{place.name}: the classes {classes[same]} and {classes[k]} are the same number, and the "
                "labels were read as numbers, which do not tell them apart; save them as text, not in CSV, "
                "or give these classes and their labels other names"
            )
    limits = np.iinfo(codes.dtype)
    known = sorted(
        (int(n), k) for n, k in first.items() if n.denominator == 1 and limits.min <= n <= limits.max
    )
    if not known:
        return np.full(len(codes), NO_PLACE, np.int32)
    ordered = np.array([number for number, _ in known], codes.dtype)
    places = np.array([k for _, k in known], np.int32)
    found = np.minimum(np.searchsorted(ordered, codes), len(known) - 1)
    return np.where(ordered[found] == codes, places[found], np.int32(NO_PLACE))


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


def is_own(codes: Array, meaning: Meaning, name: str, place: Place) -> Array:
    """Return (N,) whether labels that are numbers or booleans are those of a class of this name.

    Raises
    ------
    InputError
        If the name is neither a number nor a boolean.
    """
    number = number_of(name)
    if meaning != "numbers" and name.casefold() in WORDS[0]:
        number = WORDS[0].index(name.casefold())
    if number is None or meaning == "mixed":
        raise InputError(
            f"{place.name}: the labels are {'booleans' if meaning == 'booleans' else 'numbers'}, which do "
            f"not tell whether the class is {name}; save the labels as names of classes"
        )
    if number.denominator != 1:
        return np.zeros(len(codes), np.bool_)
    found: Array = codes == int(number)
    return found


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
