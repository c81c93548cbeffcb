"""Columns of predictions: in every layout, of every type, sound or broken; and rows that are sound."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from calcli.io.layouts import LAYOUTS, Layout
from tests.hostile.drawing import Draw

Columns = list[tuple[str, Any]]
QUOTED = re.compile(r"`([^`]+)`")
LABELS = ("label", "target", "y", "y_true", "truth", "labels", "species", "Label", "BAD")
OTHERS = ("id", "country", "fold", "group", "weight", "decision", "predict")
TYPES = (np.float16, np.float32, np.float64, np.longdouble, np.int8, np.int64, np.uint64, np.bool_, np.str_)
RIGHT = ((1, 0), (True, False), ("yes", "no"), ("correct", "incorrect"), (1.0, 0.0))


def table(draw: Draw, small: bool = False) -> Columns:
    """Return the columns of a layout, all of them as they should be, but for the names."""
    rows, classes = draw.choice((30, 60)), draw.choice((2, 3, 5))
    if not small and draw.chance(0.2):
        rows = draw.choice((0, 1, 2, 3, 200))
    if not small and draw.chance(0.2):
        classes = draw.choice((0, 1, 300, 3000 if rows < 30 else 30))
    values, names = scores(draw, rows, classes), draw.names(classes)
    hits = draw.arrays.random(rows) < 0.7
    if draw.chance(0.15):
        right, score = draw.choice(RIGHT), values.max(axis=1) if values.size else np.zeros(rows)
        found: Columns = [(draw.choice(("confidence", "conf", "p_correct", "certainty")), score)]
        found += [
            (draw.choice(("correct", "is_correct", "acc")), [right[0] if hit else right[1] for hit in hits])
        ]
    else:
        drawn = draw.arrays.integers(max(classes, 1), size=rows)
        labels = np.where(hits, values.argmax(axis=1), drawn) if values.size else drawn
        found = _laid_out(draw, values, names, labels)
    return found + [(name, other(draw, rows, names)) for name in draw.some(OTHERS, 1)]


def scores(draw: Draw, rows: int, classes: int) -> np.ndarray:
    """Return (N, K) scores of one of the kinds that calcli knows, or of none."""
    logits = draw.arrays.normal(size=(rows, classes)) * draw.choice((1, 3, 300))
    if classes == 0:
        return logits
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        odd = (
            logits,
            np.log(probs),
            probs * 100,
            probs * 1.01,
            probs * 0 + 1 / classes,
            np.eye(classes)[probs.argmax(1)],
        )
    return (draw.choice(odd) if draw.chance(0.3) else probs).astype(draw.choice(("f8", "f8", "f4")))


def _laid_out(draw: Draw, values: np.ndarray, names: list[str], labels: np.ndarray) -> Columns:
    """Return labels and scores in a layout: its columns are named by the examples of its declaration."""
    layout = draw.choice(LAYOUTS)
    said = [names[n] for n in labels] if names else labels
    text = "`species`" in layout.labels or "species" in layout.scores
    label = (draw.choice(LABELS[:5]), said)
    if layout.module == "harness":
        answered = [[[str(x), "False"] for x in row] if draw.chance(0.5) else row.tolist() for row in values]
        doc = [{"choices": names, "gold": int(label)} for label in labels]
        return [("doc", doc), ("target", said), (draw.choice(("resps", "filtered_resps")), answered)]
    if layout.module:
        return [
            label if layout.module != "vectors" else (label[0], labels),
            NESTED[layout.module](draw, values, names),
        ]
    if layout.name == "a list of scores in each row":
        return [(label[0], labels), (draw.choice(("probs", "probs", "scores")), values.tolist())]
    if layout.name == "scores sorted by rank":
        order = np.argsort(-values, axis=1, kind="stable")
        ranked = np.take_along_axis(values, order, axis=1)
        if draw.chance(0.5):
            return [(label[0], labels), ("probs", ranked.tolist()), ("indices", order.tolist())]
        parts = [(f"prob_{n}", ranked[:, n]) for n in range(len(names))]
        return [(label[0], labels), *parts, *((f"index_{n}", order[:, n]) for n in range(len(names)))]
    template = draw.choice(_examples(layout)) if draw.chance(0.95) else draw.name()
    mark = "cat" if "cat" in template else "0"
    found = [(template.replace(mark, name), values[:, n]) for n, name in enumerate(names)]
    if layout.of_label or layout.name == "CatBoost":
        label = ("species" if text else "BAD" if "BAD" in template else "Label", said)
    if "obs" in layout.labels and layout.name == "caret":
        label = ("obs", said)
    return [label, *found, *((name, said) for name in layout.beside if name != label[0])]


def _examples(layout: Layout) -> list[str]:
    """Return names of columns of the class `cat`, or 0, that the declaration of a layout gives."""
    found = [text for text in QUOTED.findall(layout.scores) if "cat" in text or "0" in text]
    return [text for text in found if not text.startswith("[")] or ["prob_cat", "cat", "p0"]


def _vectors(draw: Draw, values: np.ndarray, names: list[str]) -> tuple[str, Any]:
    def stored(row: np.ndarray) -> dict[str, Any]:
        if draw.chance(0.7):
            return {"type": 1, "size": None, "indices": None, "values": row.tolist()}
        places = draw.choice((np.flatnonzero(row).tolist(), [0], [-1], [len(row)]))
        return {"type": 0, "size": len(row), "indices": places, "values": row[: len(places)].tolist()}

    return "probability", [stored(row) for row in values]


def _pairs(draw: Draw, values: np.ndarray, names: list[str]) -> tuple[str, Any]:
    if draw.chance(0.3):
        return "prediction", [{"classes": names, "scores": row.tolist()} for row in values]
    key = draw.choice(("score", "prob", "scores"))
    return "predictions", [
        [{"label": n, key: float(x)} for n, x in zip(names, row, strict=True)] for row in values
    ]


def _objects(draw: Draw, values: np.ndarray, names: list[str]) -> tuple[str, Any]:
    return draw.choice(("probs", "cats", "scores")), [
        dict(zip(names, row.tolist(), strict=True)) for row in values
    ]


def _texts(draw: Draw, values: np.ndarray, names: list[str]) -> tuple[str, Any]:
    form = draw.choice(("[{}]", "{}") if draw.chance(0.9) else ("({})", "[{}", "[[{}]]"))
    between, mark = draw.choice((",", " ", ", ")), draw.choice(("", "", "", "%"))
    return "probs", [form.format(between.join(f"{x:.6g}{mark}" for x in row)) for row in values]


NESTED = {"vectors": _vectors, "pairs": _pairs, "objects": _objects, "texts": _texts}


def other(draw: Draw, rows: int, names: list[str]) -> Any:
    """Return a column of something that may be a weight, a fold, a name, a time or nothing of that."""
    made: tuple[Callable[[int], Any], ...] = (
        lambda n: n, lambda n: n % 3, lambda n: draw.random(), lambda n: draw.name(),
        lambda n: draw.choice(names or ["x"]),
        lambda n: None, lambda n: draw.choice((None, 1, 0)), lambda n: draw.floating(),
        lambda n: draw.chance(0.5),
        lambda n: datetime.datetime(2024, 1, 1 + n % 28), lambda n: datetime.date(1, 1, 1),
        lambda n: datetime.timedelta(days=n), lambda n: Decimal(n) / 7, lambda n: b"\xff\x00", lambda n: [1,
        2],
        lambda n: {"a": 1},
    )  # fmt: skip
    return list(map(draw.choice(made), range(rows)))


def broken(draw: Draw, columns: Columns) -> Columns:
    """Return a table after one to three misfortunes."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        if columns:
            columns = _misfortune(draw, columns, draw.randrange(len(columns)))
    return columns


def _misfortune(draw: Draw, columns: Columns, place: int) -> Columns:
    """Return a table after something happened to the column at a place."""
    name, values = columns[place]
    rows = len(values)
    if draw.chance(0.05):
        return [(one, of[: rows // 2]) for one, of in columns]
    ways: tuple[Callable[[], Columns], ...] = (
        lambda: [(name, _mixed(draw, values))], lambda: [(name, _mixed(draw, values))], lambda: [(name,
        _cast(draw, values))],
        lambda: [(draw.name(), values)], lambda: [(name, other(draw, rows, ["cat", "dog"]))],
        lambda: [(name, [values[0]] * rows if rows else values)], lambda: [(name, values), (name, values)],
        lambda: [],
    )  # fmt: skip
    return [*columns[:place], *draw.choice(ways)(), *columns[place + 1 :]]


def _mixed(draw: Draw, values: Any) -> list[Any]:
    """Return values with up to three of them exchanged."""
    found = list(values)
    for _ in range(min(len(found), draw.randrange(1, 4))):
        found[draw.randrange(len(found))] = draw.choice((draw.floating(), draw.floating(), None, draw.name()))
    return found


def _cast(draw: Draw, values: Any) -> Any:
    """Return values as another type, if numpy makes one of them."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(draw.choice(TYPES))
    except (TypeError, ValueError, OverflowError):
        return [str(value) for value in values]


MOMENT = datetime.datetime(2024, 2, 29, 12)
LEAVES: tuple[tuple[pa.DataType, list[Any]], ...] = (
    *((kind, [0.25, 0.75]) for kind in (pa.float64(), pa.float32(), pa.dictionary(pa.int32(), pa.float64()))),
    (pa.float16(), list(np.array([0.25, 0.75], np.float16))),
    *((kind, [0, 1]) for kind in (pa.int8(), pa.int64(), pa.timestamp("us"), pa.time32("s"))),
    *((pa.timestamp("us", zone), [0, 1]) for zone in ("Europe/Berlin", "Mars/Gale")),
    (pa.bool_(), [False, True]), (pa.uint64(), [0, 2**63 + 5]),
    (pa.duration("s"), [0, 2**62]), (pa.timestamp("ns"), [0, 2**62]),
    *((kind, ["a", "b"]) for kind in (pa.string(), pa.large_string(), pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()))),
    *((pa.string(), texts) for texts in (["0.25", "0.75"], ["[0.25 0.75]", "{'a': 0.25}"], ["a", None])),
    *((kind, [b"a", b"b"]) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))),
    (pa.binary(), [b"\xff", b"0.25"]), (pa.decimal128(5, -2), [Decimal(100), Decimal(200)]),
    *((getattr(pa, name)(5, 2), [Decimal("0.25"), Decimal("0.75")])  # the first two came with Arrow 19
      for name in ("decimal32", "decimal64", "decimal128", "decimal256") if hasattr(pa, name)),
    *((kind, [MOMENT.date()]) for kind in (pa.date32(), pa.date64())), (pa.time64("us"), [MOMENT.time()]),
    (pa.month_day_nano_interval(), [(1, 2, 3), (2, 3, 4)]), (pa.null(), [None]), (pa.float64(), [0.25, None]),
    *((kind, [[0.25, 0.75], [0.5, 0.5]]) for kind in (pa.list_(pa.float64()), pa.list_view(pa.float64()),
    pa.list_(pa.float64(), 2))),
    (pa.list_(pa.string()), [["a"], [], None]), (pa.struct({"x": pa.float64()}), [{"x": 0.25}, None]),
    (pa.struct([]), [{}]), (pa.map_(pa.string(), pa.float64()), [[("a", 0.25), ("b", 0.75)], []]),
)  # fmt: skip


def retyped(draw: Draw, array: pa.Array) -> pa.Array:
    """Return an array of which some part, down to what is in lists and structs, has any type."""
    if pa.types.is_struct(array.type) and array.type.num_fields and draw.chance(0.9):
        parts, place = array.flatten(), draw.randrange(array.type.num_fields)
        parts[place] = retyped(draw, parts[place])
        return pa.StructArray.from_arrays(parts, names=[field.name for field in array.type])
    if pa.types.is_list(array.type) and draw.chance(0.9):
        return pa.ListArray.from_arrays(array.offsets, retyped(draw, array.values))
    kind, values = draw.choice(LEAVES)
    return pa.array((values * len(array))[: len(array)], kind)


@dataclass(frozen=True)
class Rows:
    """Sound rows of predictions.

    Attributes
    ----------
    probs
        (N, K) probabilities.
    labels
        (N,) places of the true classes.
    names
        Of the classes.
    beside
        Other columns.
    tied
        Whether scores may be equal, or lie on edges of bins, so that rounding moves what goes by order.
    """

    probs: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]
    beside: Columns
    tied: bool

    def part(self, kept: slice | np.ndarray) -> Rows:
        """Return some of the rows, or rows in another order."""
        beside = [(name, np.asarray(values)[kept]) for name, values in self.beside]
        return replace(self, probs=self.probs[kept], labels=self.labels[kept], beside=beside)

    @property
    def numbered(self) -> bool:
        """Whether classes are called by their places."""
        return self.names == tuple(str(n) for n in range(len(self.names)))

    def column(self, name: str) -> np.ndarray:
        return np.asarray(dict(self.beside)[name])

    def with_column(self, name: str, values: Any) -> Rows:
        return replace(self, beside=[(one, values if one == name else known) for one, known in self.beside])

    def columns(self, order: tuple[int, ...] = (), single: bool = False) -> Columns:
        """Return the columns of a table; those of the classes in an order, at times in single precision."""
        labels = self.labels if self.numbered else np.asarray(self.names)[self.labels]
        values = self.probs.astype(np.float32) if single else self.probs
        named = [(f"prob_{self.names[n]}", values[:, n]) for n in order or range(len(self.names))]
        return [("label", labels), *named, *self.beside]


def plain_rows(draw: Draw, names: tuple[str, ...] = ()) -> Rows:
    """Return rows of a few classes, some of them rare, with ties or without; no probability is 0."""
    rng = draw.arrays
    number, count = draw.choice((20, 40, 60, 60, 100, 200)), len(names) or draw.choice((2, 2, 2, 3, 3, 4, 6))
    common = np.full(count, draw.choice((0.5, 1.0, 3.0, 30.0)))
    common[-1] *= draw.choice((1, 1, 0.1))
    probs = rng.dirichlet(common, size=number) + 1e-6 * rng.random((number, count))
    if tied := draw.chance(0.3):
        probs = (rng.multinomial(16, probs / probs.sum(1)[:, None]) + 1.0) / (16 + count)
    probs /= probs.sum(1)[:, None]
    labels = _drawn(draw, probs ** draw.choice((0.4, 1, 2)))
    if draw.chance(0.8):
        labels[:count] = np.arange(count)  # every class is there
    words = tuple(draw.sample(("dog", "ant", "cat", "elk", "bee", "fox", "cow", "owl"), count))
    names = names or (tuple(map(str, range(count))) if draw.chance(0.5) else words)
    weights = rng.exponential(size=number) + 0.01, 10.0 ** rng.integers(-3, 4, size=number), np.ones(number)
    return Rows(probs, labels, names, _beside(draw, names, number, weights), tied)


def odd_rows(draw: Draw, classes: int = 0) -> Rows:
    """Return rows that statistics are afraid of: one class alone, ties, certainty, few rows."""
    number = draw.choice((1, 2, 3, 5, 8, 12, 30, 60, 60, 60, 120, 200))
    count = classes or draw.choice((2, 2, 2, 3, 3, 4, 5, 10, 20))
    probs = _tempered(draw, number, count)
    if draw.chance(0.2):
        probs[::2] = _tempered(draw, number, count)[::2]
    drawn, places = _drawn(draw, probs), np.arange(number)
    labels = draw.choice((
        drawn, drawn, drawn, drawn, probs.argmax(1), probs.argmin(1), np.where(places < count, places, 0),
        places % count,
        np.full(number, draw.randrange(count)), np.minimum(drawn, max(count - 2, 0)),
    ))  # fmt: skip
    prefix = draw.choice(("", "", "c"))
    names = tuple(f"{prefix}{n}" for n in range(count))
    heavy = np.where(places < number - 1, 1.0, draw.choice((0, 1e-50, 1e6, 1e12)))
    weights = (
        np.ones(number),
        draw.arrays.exponential(size=number),
        heavy,
        draw.arrays.integers(2, size=number),
    )
    return Rows(
        probs.astype(draw.choice(("f8", "f8", "f4"))),
        labels,
        names,
        _beside(draw, names, number, weights),
        True,
    )


def another(draw: Draw, of: Rows) -> Rows:
    """Return the same rows with other scores."""
    mixed = 0.7 * of.probs + 0.3 * draw.arrays.dirichlet(np.ones(len(of.names)), size=len(of.labels))
    return replace(of, probs=mixed / mixed.sum(1)[:, None])


def _drawn(draw: Draw, true: np.ndarray) -> np.ndarray:
    reached = (true / true.sum(1)[:, None]).cumsum(1)
    return (reached < draw.arrays.random((len(true), 1))).sum(1).clip(max=true.shape[1] - 1)


def _tempered(draw: Draw, number: int, count: int) -> np.ndarray:
    rng = draw.arrays
    usual = rng.dirichlet(np.full(count, draw.choice((0.05, 0.5, 1, 1, 20))), size=number)
    certain = np.eye(count)[rng.integers(count, size=number)]
    cut = np.where(usual >= 1 / count, usual, 0)
    return np.array(draw.choice((
        usual, usual, usual, certain, np.full((number, count), 1 / count), np.repeat(usual[:1], number,
        axis=0),
        np.maximum(certain, draw.choice((1e-17, 1e-300, 5e-324, 1e-45))), np.sort(usual, axis=0),
        cut / cut.sum(1)[:, None],
        usual[rng.integers(min(number, 3), size=number)],
    )))  # fmt: skip


def _beside(draw: Draw, names: tuple[str, ...], number: int, weights: tuple[np.ndarray, ...]) -> Columns:
    """Return a column for every option that takes one."""
    rng, places = draw.arrays, np.arange(number)
    few = rng.integers(draw.choice((1, 2, 3, 10, max(number // 3, 1))), size=number)
    return [
        (
            "id",
            draw.choice((places, rng.permutation(number) * 7, [f"id{n}" for n in rng.permutation(number)])),
        ),
        ("weight", draw.choice(weights)),
        ("patient", draw.choice((few, [f"p{n}" for n in few]))),
        ("fold", draw.choice((places % 2, places % 5, few))),
        ("country", [draw.choice(("DE", "FR", "FR", "IT")) for _ in places]),
        ("age", rng.integers(3, size=number)),
        ("decision", [draw.choice(names) for _ in places]),
        ("note", [draw.choice(("x", "a, b", "é", "7", "")) for _ in places]),
    ]
