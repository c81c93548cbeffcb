"""Names that the columns of a data frame have, where it stands for an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def column_names(values: Any) -> tuple[str, ...]:
    """Return the names of the columns of a table of pandas, polars or pyarrow; none of arrays."""
    names: Any = getattr(values, "column_names", getattr(values, "columns", ()))
    return tuple(map(str, names))


def order_of(names: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """Return which column has each of the wanted names; None if they are not those of the columns.

    All columns may begin alike, as p_cat and p_dog do.
    """
    bare = without_beginning(names, wanted)
    return [bare.index(name) for name in wanted] if sorted(bare) == sorted(wanted) else None


def without_beginning(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names without what all begin with, if all of the wanted ones are among what is left."""
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    for cut in range(same + 1):
        bare = [name[cut:] for name in names]
        if set(wanted) <= set(bare):
            return bare
    return list(names)
