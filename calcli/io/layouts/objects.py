"""Objects of scores, `"probs": {"cat": 0.9, ...}`, and other objects in which labels or outcomes stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.language.errors import InputError
from calcli.io.layouts.answers import CORRECT, is_confidence, plain_name
from calcli.io.layouts.candidates import PAIRS
from calcli.io.layouts.names import ALONE, CASES, GUESSES, LABELS, differ_in_numbers, plain, several_orders
from calcli.io.layouts.unpacking import Head, Unpacked
from calcli.io.options import ReadOptions
from calcli.io.tables.table import Derived, Row

HEAD_ROWS = 256  # by which the order of keys is known
SEVERAL = {b"calcli.keys": b"in several orders"}  # metadata of a column


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return a column for each field, named as in `probs.cat`."""
    if not pa.types.is_struct(field.type) or not field.type.num_fields:
        return None
    numbers = all(pa.types.is_floating(one.type) or pa.types.is_integer(one.type) for one in field.type)
    scores = _named_as_scores(field.name)
    case = plain(field.name) in CASES and any(map(_plays_a_part, (one.name for one in field.type)))
    if not (scores and numbers) and not case:
        return None
    first, names = head(), [one.name for one in field.type]
    known = differ_in_numbers(names) or {*map(str.casefold, names)} in PAIRS
    made = tuple(_made(field.name, place, one, first) for place, one in enumerate(field.type))
    return Unpacked(made, ordered=known or not SEVERAL.items() <= (field.metadata or {}).items())


def with_orders(table: Any, values_of: Callable[[str], Iterable[Any]]) -> Any:
    """Return a pyarrow.Table that says which objects of scores have their keys in several orders.

    Their type has the order of the first one alone; `values_of` returns the values of a column as they were
    written, at least the first.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_struct(field.type) and _named_as_scores(field.name):
            first = islice(values_of(field.name), HEAD_ROWS)
            if several_orders(one for one in first if isinstance(one, dict)):
                table = table.set_column(place, field.with_metadata(SEVERAL), table.column(place))
    return table


def _named_as_scores(name: str) -> bool:
    return bool(ALONE.fullmatch(name)) or plain(name) in GUESSES


def _plays_a_part(name: str) -> bool:
    known = plain(name) in LABELS or ALONE.fullmatch(name) or CORRECT.fullmatch(plain_name(name))
    return bool(known) or is_confidence(name)


def _made(owner: str, place: int, field: Any, first: Any) -> Derived:
    """Return what becomes of the field at a place; a confidence that stands there as text is a number."""
    kind = field.type
    if pa.types.is_string(kind) and is_confidence(field.name):
        texts = pc.struct_field(first, [place])
        there = pc.fill_null(pc.match_substring_regex(texts, r"^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*$"), True)
        kind = pa.float64() if pc.all(there).as_py() else kind
    return Derived(f"{owner}.{field.name}", kind, partial(_field, place, kind))


def _field(place: int, kind: Any, values: Any, row: Row) -> Any:
    found = values.field(place)  # pc.struct_field would make the others as well
    if values.null_count:
        found = pc.if_else(values.is_valid(), found, pa.scalar(None, found.type))
    return found if found.type == kind else _numbers(found, row)


def _numbers(texts: Any, row: Row) -> Any:
    trimmed = pc.utf8_trim_whitespace(texts)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid as error:
        for n, text in enumerate(trimmed.to_pylist()):
            try:
                float(text or "nan")
            except ValueError:
                raise InputError(f'{row(n)} has the confidence "{text}"; expected a number') from error
        raise
