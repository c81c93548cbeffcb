"""Results as data frames, for Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def to_frame(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return a table with a row for each record; columns in the order in which the records name them."""
    import pandas

    return pandas.DataFrame(list(records))
