"""Numbers that floats would round: ids beyond 2^53, decimals, and parts in which they are of other types."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.core.language.errors import InputError
from calcli.io.apply.apply import recalibrate_file
from calcli.io.formats import spooled
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


def recalibrated(folder, ending, **columns):
    """Write columns beside scores, recalibrate these, and return the new file."""
    made = pa.table({"prob_0": np.linspace(0.9, 0.1, ROWS), "prob_1": np.linspace(0.1, 0.9, ROWS), **columns})
    record = CalibratorRecord(
        Temperature().fit(np.eye(2)[[0, 0, 1, 1, 0]], [0, 1, 1, 0, 0]), ("0", "1"), False, (), {}
    )
    save(folder, made)
    recalibrate_file(record, str(folder / "part-0.arrow"), str(folder / f"out{ending}"))
    return folder / f"out{ending}"


def test_archives_keep_what_is_missing_and_large(tmp_path):
    stored = [0, 1, None, 0, 1, None]
    ids = [BIG + 1, None, BIG + 3, 4, 5, 6]
    found = np.load(
        recalibrated(
            tmp_path,
            ".npz",
            codes=of(stored, INT).dictionary_encode(),
            words=pa.array(["a", None, *"aba"[:3], "b"]).dictionary_encode(),
            id=of(ids, INT),
            price=pa.array([Decimal("1.10")] * ROWS),
        )
    )
    np.testing.assert_array_equal(found["codes"], [0, 1, np.nan, 0, 1, np.nan])
    assert found["words"].tolist() == ["a", "", "a", "b", "a", "b"]
    assert found["id"].tolist() == ["" if value is None else str(value) for value in ids]
    np.testing.assert_array_equal(found["price"], np.full(ROWS, 1.1))


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_json_has_numbers_for_decimals(ending, tmp_path):
    values = [Decimal(LONG + k) for k in range(ROWS)]
    price = pa.array([Decimal("1.10"), Decimal("2.00"), None] * 2)
    text = recalibrated(tmp_path, ending, id=of(values, WHOLE), price=price).read_text()
    rows = json.loads(text) if ending == ".json" else list(map(json.loads, text.splitlines()))
    assert [row["id"] for row in rows] == [LONG + k for k in range(ROWS)]
    assert [row["price"] for row in rows] == [1.1, 2, None] * 2


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)])
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".npz"])
def test_bytes_are_refused_where_they_cannot_be_written(ending, kind, tmp_path):
    with pytest.raises(
        InputError, match=r"the column id holds bytes, .* choose \.parquet or \.arrow with -o"
    ):
        recalibrated(tmp_path, ending, id=pa.array([b"a\0"] * ROWS, kind))


IDS = [2**63 + 10 + k % 8 for k in range(400)]


def text(path, ids):
    """Write rows as CSV or JSON lines with the ids as they are."""
    rows = [f"{k % 2},{k % 7 / 7},{one}" for k, one in enumerate(ids)]
    if path.name.endswith("l"):
        keys = '{{"label": {}, "prob": {}, "id": {}}}'
        rows = [keys.format(*row.split(",")[:2], row.split(",")[2] or "null") for row in rows]
    else:
        rows = ["label,prob,id", *rows]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("part_bytes", [1 << 25, 1000])
@pytest.mark.parametrize("ids", [IDS, [*IDS, "", 5], [5, *IDS], [5] * 200 + IDS, [-one for one in IDS]])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_integers_of_more_than_64_bits_in_text(name, ids, part_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(spooled, "PART_BYTES", part_bytes)
    path = text(tmp_path / name, ids)
    if name == "t.jsonl" and ids[:2] == [5, 5] and part_bytes > 1000:  # no part begins with them
        with pytest.raises(InputError, match=r"the column id holds integers beyond 2\^53 as floats"):
            read(path).columns["id"]
    else:
        assert read(path).columns["id"].tolist() == list(map(str, ids))


@pytest.mark.parametrize("name", ["part-{}.csv", "part-{}.jsonl"])
def test_parts_with_integers_of_more_than_64_bits(name, tmp_path):
    text(tmp_path / name.format(0), IDS)
    text(tmp_path / name.format(1), range(399))
    assert read(tmp_path).columns["id"].tolist() == list(map(str, [*IDS, *range(399)]))


def test_floats_that_may_be_rounded_ids_are_refused(tmp_path):
    path = save(tmp_path, table(id=of(range(BIG, BIG + 6), INT)), table(id=of([float(BIG), None] * 3, FLOAT)))
    with pytest.raises(InputError, match=r"the column id holds integers beyond 2\^53 as floats"):
        read(path).columns["id"]


def test_large_scores_and_features_are_floats(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,logit_0,logit_1,far\n" + "0,-1e30,1.5,1e25\n1,-1e30,2.5,1.5\n" * 20)
    found = read(path)
    np.testing.assert_array_equal(scores_of(found), [[-1e30, 1.5], [-1e30, 2.5]] * 20)
    np.testing.assert_array_equal(found.columns["far"], [1e25, 1.5] * 20)


def test_streamed_ids_of_more_than_64_bits_keep_their_digits(tmp_path):
    path = text(tmp_path / "t.csv", IDS)
    fitted = Temperature().fit(np.eye(2)[[0, 0, 1, 1, 0]], np.array([0, 1, 1, 0, 0]))
    record = CalibratorRecord(fitted, ("0", "1"), False, (), {})
    recalibrate_file(record, str(path), str(tmp_path / "out.parquet"))
    assert pq.read_table(tmp_path / "out.parquet").column("id").to_pylist() == list(map(str, IDS))
