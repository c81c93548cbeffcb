"""Matching labels to classes: by the names of the scores, by custom, by place, or by the values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.io.reading.head import Head, ScoreColumns, distinct_texts
from calcli.io.words import (
    CUSTOM,
    are_custom,
    customary,
    differ_in_numbers,
    natural_order,
    plain_text,
    tokens,
)


class Matched(NamedTuple):
    """Labels matched to classes.

    Attributes
    ----------
    y
        (n,) number of the class of each row; -1 for none.
    how
        What the match is based on.
    names
        The class names in the labels, in the order of the scores; empty if the columns name the classes.
    number, rest
        The class number of each label, and the number for all other labels; -1 for none.
    """

    y: NDArray[np.intp]
    how: str = "names"
    names: tuple[str, ...] = ()
    number: Mapping[str, int] = {}
    rest: int = -1


def matches(head: Head, label: str, source: ScoreColumns, complement: str = "") -> list[Matched]:
    """Return the number of the class that each label is, and how that is known; all that may be.

    Parameters
    ----------
    head, label, source
        The rows, the column of the labels, and the scores.
    complement
        The class of all other labels; "" for none.
    """
    classes, place, values = source.plain, source.places, head.values[label]
    place_of_others = place.get(plain_text(complement), -1)
    if values <= place.keys() or place_of_others >= 0:
        return [_matched(head, label, place, of_others=place_of_others)]
    unnamed = source.form == "lists" and not source.given
    number = {plain_text(category): n for n, category in enumerate(head.ordered.get(label, ()))}
    numbers = [number[value] for value in values if value in number]
    within = 2 * len(numbers) >= len(values) > 0 and all(place < len(classes) for place in numbers)
    if (unnamed or source.numbered) and within and len(number) >= len(classes):
        names = head.ordered[label][: len(classes)]
        number = {category: n for category, n in number.items() if n < len(classes)}
        return [_matched(head, label, number, "ordered", names)]
    counted = values <= {*map(str, range(len(classes)))} and not (source.numbered or within)
    matched = [
        _matched(head, label, {str(n): at for n, at in enumerate(order)}, how)
        for how, order in (orders(head, source).items() if counted else ())
    ]
    if not matched and len(classes) == 2 and customary(values) and are_custom(classes):
        custom = [CUSTOM[name] for name in classes]
        matched = [_matched(head, label, {value: custom.index(CUSTOM[value]) for value in values}, "custom")]
    letters = ascii_uppercase[: len(classes)]
    number = {plain_text(letter): n for n, letter in enumerate(letters)}
    as_many = len(values) == len(classes)
    integers = as_many and all(re.fullmatch(r"-?\d{1,9}", value) for value in values)
    if not matched and unnamed and len(number) == len(classes) and values <= number.keys():
        return [_matched(head, label, number, "letters", tuple(letters))]
    if not matched and source.form == "columns" and (number := _abbreviated(classes, values)):
        called = dict(enumerate(classes)) | {at: value for value, at in number.items()}
        return [_matched(head, label, number, "abbreviated", tuple(called.values()))]
    by_size = source.form == "lists" or integers or source.numbered
    if not matched and source.form != "ranked" and as_many and by_size:
        names = tuple(sorted(values, key=int) if integers else sorted(values))
        matched = [_matched(head, label, {value: n for n, value in enumerate(names)}, "sorted", names)]
    there = sum(value in place for value in values)
    few = as_many and 2 * len(values) <= head.n and not source.given
    if source.form != "ranked" and few and not there and len(values) <= FEW_ASSIGNED:
        names = tuple(best_order(source.values, head.text[label]))
        number = {value: n for n, value in enumerate(names)}
        if not any(dict(candidate.number) == number for candidate in matched):
            matched.append(_matched(head, label, number, "assigned", names))
    if matched:
        return matched
    return [_matched(head, label, place)] if there and 2 * there >= len(values) else []


FEW_ASSIGNED = 12  # classes that the values alone may put in order


def _abbreviated(classes: tuple[str, ...], values: frozenset[str]) -> dict[str, int]:
    """Return the place of the one class that each label begins or ends, or is begun or ended by."""
    folded = ["".join(tokens(name)) for name in classes]
    number = {}
    for value in values:
        text = "".join(tokens(value))
        pairs = (sorted((name, text), key=len) for name in folded)
        near = [n for n, (a, b) in enumerate(pairs) if a and (b.startswith(a) or b.endswith(a))]
        if len(near) != 1 or text.isdigit():
            return {}
        number[value] = near[0]
    return number if len({*number.values()}) == len(values) > 1 else {}


def best_order(scores: Doubles, text: NDArray[np.object_]) -> list[str]:
    """Return the labels in the order of the scores that fits best: each goes where it raises them most."""
    labels = sorted({*text.tolist()} - {""})
    with np.errstate(invalid="ignore"):
        raised = np.array([scores[text == value].mean(axis=0) - scores.mean(axis=0) for value in labels])
    raised = np.nan_to_num(raised, nan=-1e300, posinf=1e300, neginf=-1e300)
    order = [""] * raised.shape[1]
    for _ in labels:
        row, column = np.unravel_index(np.argmax(raised), raised.shape)
        order[column] = labels[row]
        raised[row], raised[:, column] = -np.inf, -np.inf
    return order


def orders(head: Head, source: ScoreColumns) -> dict[str, list[int]]:
    """Return the orders in which labels may count the classes: the places of those that are 0, 1, ..."""
    classes = source.plain
    if source.form == "lists" or source.given:
        return {"places": list(range(len(classes)))}
    by_way: dict[str, list[int]] = {}
    natural = natural_order(classes)
    ordered = source.form != "ranked" and not set(source.columns) & head.unordered
    if ordered or natural != [*range(len(classes))] or differ_in_numbers(classes):
        by_way["places"] = natural
    if len(classes) == 2 and are_custom(classes):
        by_way["custom"] = sorted(range(2), key=lambda n: CUSTOM[classes[n]])
    elif not differ_in_numbers(classes):
        by_way["encoder"] = sorted(range(len(classes)), key=source.classes.__getitem__)
    digits_in = [re.findall(r"\d+", name) for name in classes]
    if differ_in_numbers(classes) and all(len(runs) == 1 and len(runs[0]) < 10 for runs in digits_in):
        numbers = [int(digits) for (digits,) in digits_in]
        if numbers != list(range(len(classes))) and max(numbers) < 4 * len(classes) + 4:
            by_way["numbers"] = [numbers.index(n) if n in numbers else -1 for n in range(max(numbers) + 1)]
    return by_way


def _matched(
    head: Head,
    label: str,
    number: Mapping[str, int],
    how: str = "names",
    names: tuple[str, ...] = (),
    of_others: int = -1,
) -> Matched:
    texts, index = distinct_texts(head.text[label])
    y = np.array([number.get(text, of_others if text else -1) for text in texts.tolist()], np.intp)[index]
    return Matched(y, how, names, number, of_others)


def spelled(head: Head, label: str) -> Mapping[str, str]:
    """Return the spelling of each label in the file, by its canonical text."""
    values, ordered = head.columns[label], {plain_text(name): name for name in head.ordered.get(label, ())}
    if values.dtype.kind != "O":
        return {text: text for text in sorted(head.values[label])}
    return ordered | {text: str(value) for text, value in zip(head.text[label], values, strict=True) if text}
