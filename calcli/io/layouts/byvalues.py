"""Labels in a column of any name: that whose values are the classes which the columns of scores name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from calcli.io.labels import MISSING_NAMES
from calcli.io.layouts import LAYOUTS
from calcli.io.layouts.names import PREDICTED, PREFIXED, SUFFIXED

Values = Callable[[str], Iterable[str]]


def labels_by_values(columns: Mapping[str, str], values: Values) -> tuple[list[str], list[str]]:
    """Return the columns that can only be labels, and those that might be, but whose names do not say so.

    Parameters
    ----------
    columns
        What each column holds.
    values
        Reads the distinct values of a column, as text.

    Notes
    -----
    Names of classes are found in no other column by chance, but 0 and 1 are, and nothing is taken for labels
    because of them.
    """
    classes = _classes(columns)
    others = [
        one for one, holds in columns.items() if holds in ("text", "integer") and not PREDICTED.search(one)
    ]
    numbered = all(name.lstrip("-").isdigit() for name in classes)
    known = {one: _labels(values(one)) for one in others if holds_classes(columns[one], numbered)}
    if classes:
        fitting = [one for one, there in known.items() if len(there) > 1 and there <= classes]
        return ([], fitting) if numbered else (fitting, [])
    floats = {one for one, holds in columns.items() if holds == "float"}
    return [one for one, there in known.items() if len(there) > 1 and there <= floats], []


def holds_classes(holds: str, numbered: bool) -> bool:
    """Tell whether a column may hold classes: names, or numbers where they have numbers."""
    return holds == "text" or (numbered and holds == "integer")


def _labels(values: Iterable[str]) -> set[str]:
    return {value for value in values if value.strip().casefold() not in MISSING_NAMES}


def _classes(columns: Mapping[str, str]) -> set[str]:
    """Return the names of classes in those of columns of scores; none if there is but one."""
    numbers = [one for one, holds in columns.items() if holds in ("float", "integer")]
    for layout in LAYOUTS:
        if layout.columns and not layout.of_label:
            found = {match["class"] for one in numbers if (match := layout.pattern.fullmatch(one))}
            if len(found) > 1:
                return found
    found = {match[2] for one in numbers if (match := PREFIXED.fullmatch(one))}
    if len(found) < 2:
        found = {match[1] for one in numbers if (match := SUFFIXED.fullmatch(one))}
    return found if len(found) > 1 else set()
