"""Labels that are numbers or booleans: which class each of them stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.messages import Place, listed

Meaning = Literal["numbers", "booleans", "positions", "mixed"]
INTEGER = re.compile(r"[+-]?[0-9]{1,100}")  # Python refuses to convert thousands of digits
DECIMAL = re.compile(r"[+-]?([0-9]{1,100}\.[0-9]{0,100}|\.[0-9]{1,100})")
WORDS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))  # of booleans
NO_PLACE = -1


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
