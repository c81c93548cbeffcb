"""Results as data frames, for Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def to_frame(records: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return a table with a row for each record; columns in the order in which the records name them."""
    import pandas

    columns = list(dict.fromkeys(name for record in records for name in record))
    return pandas.DataFrame([dict(record) for record in records], columns=columns)
