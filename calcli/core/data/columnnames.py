"""Names that the columns of a data frame have, where it stands for an array."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


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
