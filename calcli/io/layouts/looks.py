"""What the first values of columns look like: probabilities, percentages, classes or any numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calcli.core.data.arrays import Floats
from calcli.io.layouts.candidates import Look
from calcli.io.tables.columns import holds_of, numbers

if TYPE_CHECKING:
    from calcli.io.tables.table import Table

ROWS = 4096  # looked at
ROUNDED = 0.02  # how far from one rows may sum that look like distributions


def look_at(table: Table, names: Sequence[str]) -> Look:
    """Return what the first values of some columns of numbers look like, taken together."""
    if any(holds_of(table.schema.field(name).type) not in ("float", "integer") for name in names):
        return "unknown"
    head = table.head(list(names), ROWS)
    if head is None:
        return "unknown"
    return look_of(numbers(head, by_row=True).astype(np.float64))


def look_of(values: Floats) -> Look:
    """Return what (n, columns) values look like; missing ones do not count."""
    values = values[np.isfinite(values).all(axis=1)]
    if not values.size:
        return "unknown"
    if values.shape[1] > 1 and values.min() >= 0:
        sums = values.sum(axis=1)
        if float((np.abs(sums - 1) <= ROUNDED).mean()) > 0.5:
            return "distributions"
    if (values == np.floor(values)).all():
        return "classes"
    if values.min() >= 0 and values.max() <= 1:
        return "unit"
    if values.min() >= 0 and values.max() <= 100 and float((values > 1).mean()) > 0.5:
        return "percent"
    return "numbers"
