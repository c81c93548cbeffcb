"""Objects of scores, `"probs": {"cat": 0.9, ...}`, and the nested columns in which labels stand."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from calcli.io.layouts.names import ALONE, GUESSES, plain
from calcli.io.layouts.unpacking import Head, Made, Row, Unpacked
from calcli.io.options import ReadOptions

CASES = ("instance",)  # structs of what was predicted on, the label among it


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return a column for each field, named as in `probs.cat`."""
    if not pa.types.is_struct(field.type) or not field.type.num_fields:
        return None
    numbers = all(pa.types.is_floating(one.type) or pa.types.is_integer(one.type) for one in field.type)
    scores = bool(ALONE.fullmatch(field.name)) or plain(field.name) in GUESSES
    if not (scores and numbers) and field.name not in CASES:
        return None
    return Unpacked(
        tuple(Made(f"{field.name}.{one.name}", one.type, partial(_field, one.name)) for one in field.type)
    )


def _field(name: str, values: Any, row: Row) -> Any:
    return pc.struct_field(values, name)
