"""Columns of every type that Arrow has, plain and within every layout, in every part a column can play."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.drawing import Draw
from tests.hostile.made import Store
from tests.hostile.places import Made, Place

ROWS = 30
MOMENT = datetime.datetime(2024, 2, 29, 12)
DAY, TIME = MOMENT.date(), MOMENT.time()
HALVES = [Decimal("0.25"), Decimal("0.75")]
DECIMALS = [  # the first two came with Arrow 19
    getattr(pa, name)(5, 2)
    for name in ("decimal32", "decimal64", "decimal128", "decimal256")
    if hasattr(pa, name)
]
LEAVES: tuple[tuple[pa.DataType, list[Any]], ...] = (
    *((kind, [0.25, 0.75]) for kind in (pa.float64(), pa.float32())),
    (pa.float16(), list(np.array([0.25, 0.75], np.float16))),
    *((kind, [0, 1]) for kind in (pa.int8(), pa.int64(), pa.timestamp("us"), pa.time32("s"))),
    (pa.bool_(), [False, True]),
    (pa.uint64(), [0, 2**63 + 5]),
    (pa.duration("s"), [0, 2**62]),
    (pa.timestamp("ns"), [0, 2**62]),
    (pa.timestamp("us", "Europe/Berlin"), [0, 1]),
    (pa.timestamp("us", "Mars/Gale"), [0, 1]),
    *((kind, ["a", "b"]) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    (pa.string(), ["0.25", "0.75"]),
    (pa.string(), ["[0.25 0.75]", "{'a': 0.25}"]),
    *((kind, [b"a", b"b"]) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))),
    (pa.binary(), [b"\xff", b"0.25"]),
    *((kind, HALVES) for kind in DECIMALS),
    (pa.decimal128(5, -2), [Decimal(100), Decimal(200)]),
    *((kind, [DAY, MOMENT.date() + datetime.timedelta(1)]) for kind in (pa.date32(), pa.date64())),
    (pa.time64("us"), [TIME, TIME]),
    (pa.month_day_nano_interval(), [(1, 2, 3), (2, 3, 4)]),
    (pa.null(), [None]),
    (pa.float64(), [0.25, None]),
    (pa.string(), ["a", None]),
    *((kind, [[0.25, 0.75], [0.5, 0.5]]) for kind in (pa.list_(pa.float64()), pa.list_view(pa.float64()))),
    (pa.list_(pa.string()), [["a"], [], None]),
    (pa.struct({"x": pa.float64()}), [{"x": 0.25}, None]),
    (pa.struct([]), [{}]),
    (pa.map_(pa.string(), pa.float64()), [[("a", 0.25), ("b", 0.75)], []]),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
    (pa.dictionary(pa.int32(), pa.float64()), [0.25, 0.75]),
)


def _leaf(draw: Draw, count: int) -> pa.Array:
    kind, values = draw.choice(LEAVES)
    return pa.array((values * count)[:count], kind)


def _pairs(values: pa.Array) -> pa.Array:
    """Return lists of two."""
    return pa.ListArray.from_arrays(pa.array(range(0, len(values) + 1, 2), pa.int32()), values)


def _struct(**parts: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(list(parts.values()), names=list(parts))


Leaf = Callable[[int], pa.Array]
Columns = dict[str, Any]
NUMBERS = [0.25, 0.75] * ROWS
SINGLE = NUMBERS[:ROWS]
NAMES = pa.array(["a", "b"] * ROWS)
INDICES = pa.array([0, 1] * ROWS)


def _vector(leaf: Leaf, odd: str) -> pa.Array:
    parts = {
        "type": pa.array([0] * ROWS),
        "size": pa.array([2] * ROWS),
        "indices": _pairs(INDICES),
        "values": _pairs(pa.array(NUMBERS)),
    }
    return _struct(**parts | {odd: _pairs(leaf(2 * ROWS)) if odd in ("indices", "values") else leaf(ROWS)})


SHAPES: tuple[Callable[[Leaf], Columns], ...] = (
    lambda leaf: {"probs": _pairs(leaf(2 * ROWS))},
    lambda leaf: {"probs": pa.FixedSizeListArray.from_arrays(leaf(2 * ROWS), 2)},
    lambda leaf: {"probs": _pairs(_pairs(leaf(4 * ROWS)))},
    lambda leaf: {"probs": _struct(a=leaf(ROWS), b=leaf(ROWS))},
    lambda leaf: {"output": _struct(probs=_struct(a=leaf(ROWS), b=leaf(ROWS)), model=NAMES[:ROWS])},
    lambda leaf: {
        "probs": pa.MapArray.from_arrays(_pairs(NAMES).offsets, NAMES, leaf(2 * ROWS)),
    },
    lambda leaf: {"p": _pairs(_struct(label=NAMES, score=leaf(2 * ROWS)))},
    lambda leaf: {"p": _pairs(_struct(label=leaf(2 * ROWS), score=pa.array(NUMBERS)))},
    lambda leaf: {"p": _struct(labels=_pairs(leaf(2 * ROWS)), scores=_pairs(leaf(2 * ROWS)))},
    lambda leaf: {"classes": _pairs(leaf(2 * ROWS)), "scores": _pairs(leaf(2 * ROWS))},
    *(
        lambda leaf, odd=odd: {"probability": _vector(leaf, odd)}
        for odd in ("type", "size", "indices", "values")
    ),
    lambda leaf: {"prob_a": leaf(ROWS), "prob_b": SINGLE},
    lambda leaf: {"prediction": NAMES[:ROWS], "confidence": leaf(ROWS)},
    lambda leaf: {"prediction": leaf(ROWS), "confidence": SINGLE},
    lambda leaf: {"pred_1": leaf(ROWS), "prob_1": SINGLE, "pred_2": leaf(ROWS), "prob_2": SINGLE},
    lambda leaf: {"correct": leaf(ROWS), "confidence": SINGLE},
    lambda leaf: {"label": leaf(ROWS), "prob_b": SINGLE},
    lambda leaf: {"label": _struct(value=leaf(ROWS)), "prob_b": SINGLE},
    lambda leaf: {"label": _struct(label=leaf(ROWS), score=leaf(ROWS)), "prob_b": SINGLE},
    lambda leaf: {"odd": leaf(ROWS), "prob_b": SINGLE},
)


def types(draw: Draw, store: Store) -> Made:
    """Write columns of which some have any type."""
    parquet = draw.chance(0.5)
    while True:
        columns: Columns = {"label": NAMES[:ROWS]} if draw.chance(0.9) else {}
        try:
            columns |= draw.choice(SHAPES)(lambda count: _leaf(draw, count))
            if draw.chance(0.5):
                columns["odd"] = _leaf(draw, ROWS)
            content = _written(pa.table(columns), parquet)
        except (pa.ArrowException, OSError, ValueError, TypeError):  # what the format or the version lacks
            continue
        break
    name = draw.put("t.parquet" if parquet else "t.arrow", content)
    given = [draw.choice(("--by", "--cluster", "--weights", "--folds")), "odd"] if "odd" in columns else []
    place = Place([name], list(columns), ["a", "b"], ROWS)
    return Made(place, given, draw.choice(("evaluate", "evaluate", "inspect")) if not given else "evaluate")


def _written(table: pa.Table, parquet: bool) -> bytes:
    with io.BytesIO() as file:
        if parquet:
            pq.write_table(table, file)
        else:
            with pa.ipc.new_file(file, table.schema) as sink:
                sink.write_table(table)
        return file.getvalue()
