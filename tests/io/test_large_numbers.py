"""Numbers that floats would round: ids beyond 2^53, decimals, and parts in which they are of other types."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from calcli.core.language.errors import InputError
from calcli.io.read import read
from tests.io.samples import scores_of

BIG, LONG, ROWS = 2**53, 2**64, 6
INT, UINT, FLOAT, WHOLE = pa.int64(), pa.uint64(), pa.float64(), pa.decimal128(38, 0)


def table(**columns):
    return pa.table({"label": [0, 1] * 3, "prob": np.linspace(0.1, 0.9, ROWS), **columns})


def save(path, *parts):
    """Write tables as the parts of a data set."""
    for number, part in enumerate(parts):
        with pa.ipc.new_file(path / f"part-{number}.arrow", part.schema) as file:
            file.write_table(part)
    return path


def of(values, kind):
    """Return numbers, some of which are too large for a float, as decimals are made of them."""
    exact = [None if value is None else Decimal(value) for value in values]
    return pa.array(exact if pa.types.is_decimal(kind) else values, kind)


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize(
    ("kind", "stored", "expected"),
    [
        (WHOLE, [2**60 + k // 2 for k in range(ROWS)], [2**60 + k // 2 for k in range(ROWS)]),
        (pa.decimal128(20, 2), list(range(ROWS)), list(range(ROWS))),
        (pa.decimal256(60, 0), [LONG + k for k in range(ROWS)], [str(LONG + k) for k in range(ROWS)]),
        (WHOLE, [None, *range(BIG, BIG + 5)], ["", *map(str, range(BIG, BIG + 5))]),
        (pa.decimal128(20, 2), [f"{BIG}.5", f"{BIG}.25", BIG, 100, 1, 0], None),
        (pa.decimal128(9, 3), ["0.125", None, 1, 2, 3, 4], [0.125, np.nan, 1, 2, 3, 4]),
    ],
)
def test_decimals_are_whole_numbers_floats_or_their_text(kind, stored, expected, encoded, tmp_path):
    values = of(stored, kind)
    found = read(save(tmp_path, table(id=values.dictionary_encode() if encoded else values))).columns["id"]
    np.testing.assert_array_equal(found, list(map(str, stored)) if expected is None else expected)
    assert found.dtype == np.array(list(map(str, stored)) if expected is None else expected).dtype


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (of(range(BIG, BIG + 6), INT), of([1, None, 3, 4, 5, 6.5], FLOAT), ["1", "", "3", "4", "5", "6.5"]),
        (of(range(BIG, BIG + 6), WHOLE), of([1, None, 3, 4, 5, 6], FLOAT), ["1", "", "3", "4", "5", "6"]),
        (of(range(-BIG, 6 - BIG), INT), of(range(6), UINT), range(6)),
        (of(range(6), INT), of(range(LONG - 6, LONG), UINT), list(map(str, range(LONG - 6, LONG)))),
        (of(range(BIG, BIG + 6), INT), of(range(6), pa.int32()), range(6)),
        (of(range(6), INT), of([0.5, None, 3, 4, 5, 6], FLOAT), [0.5, np.nan, 3, 4, 5, 6]),
    ],
)
def test_parts_of_other_types_keep_their_numbers(one, other, expected, reverse, tmp_path):
    parts = [(one, one.to_pylist()), (other, list(expected))]
    parts = parts[::-1] if reverse else parts
    found = read(save(tmp_path, *(table(id=values) for values, _ in parts))).columns["id"]
    whole = [value for _, values in parts for value in values]
    if found.dtype.kind == "U":
        whole = list(map(str, whole))
    np.testing.assert_array_equal(found, whole)
    assert found.dtype.kind == np.array(whole).dtype.kind


def test_times_that_no_one_unit_holds_are_refused(tmp_path):
    last = pa.array([253402214400] * ROWS, pa.timestamp("s"))
    save(tmp_path, table(day=last), table(day=pa.array(range(ROWS), pa.timestamp("ns"))))
    found = read(tmp_path)
    with pytest.raises(
        InputError, match=r"the column day is timestamp.s. in one part, .* save all parts with"
    ):
        found.columns["day"]


@pytest.mark.parametrize("kind", [pa.decimal128(20, 4), pa.decimal256(40, 4)])
def test_scores_in_half_floats_and_decimals(kind, tmp_path):
    parts = [
        pa.table({"label": [0, 1], "prob": pa.array([0.25, 0.5]).cast(one)}) for one in (pa.float16(), kind)
    ]
    np.testing.assert_array_equal(scores_of(read(save(tmp_path, *parts)))[:, -1], [0.25, 0.5] * 2)
