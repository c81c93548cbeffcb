"""Tables of predictions in every layout, with cells, columns and class names that somebody broke."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from calcli.io.layouts import LAYOUTS, Layout
from tests.hostile.drawing import Draw

Column = tuple[str, Any]
Columns = list[Column]
QUOTED = re.compile(r"`([^`]+)`")
LABELS = ("label", "target", "y", "y_true", "truth", "labels", "species", "Label", "BAD")
OTHERS = ("id", "country", "fold", "group", "weight", "decision", "predict")
TYPES = (np.float16, np.float32, np.float64, np.longdouble, np.int8, np.int64, np.uint64, np.bool_, np.str_)


def scores(draw: Draw, rows: int, classes: int) -> np.ndarray:
    """Return (N, K) scores of one of the kinds that calcli knows, or of none."""
    rng = draw.arrays
    logits = rng.normal(size=(rows, classes)) * draw.choice((1, 3, 300))
    if classes == 0:
        return logits
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    kind = draw.choice(
        ("logits", "log-probs", "percent", "near", "ties", "hard") if draw.chance(0.3) else ("probs",)
    )
    with np.errstate(divide="ignore"):
        found = {
            "logits": logits,
            "probs": probs,
            "log-probs": np.log(probs),
            "percent": probs * 100,
            "near": probs * 1.01,
            "ties": np.full_like(probs, 1 / classes),
            "hard": np.eye(classes)[logits.argmax(axis=1)],
        }[kind]
    return found.astype(np.float32) if draw.chance(0.3) else found


def sizes(draw: Draw) -> tuple[int, int]:
    """Return a small number of rows, and one of classes; sometimes none, one, or thousands."""
    rows = draw.choice((20, 40, 60, 60, 60, 200) if draw.chance(0.8) else (0, 1, 2, 3))
    return rows, draw.choice(
        (2, 2, 2, 3, 3, 4, 10) if draw.chance(0.8) else (0, 1, 300, 3000 if rows < 30 else 30)
    )


def table(draw: Draw, calm: bool = False) -> Columns:
    """Return the columns of a layout, all of them as they should be; a calm table is small."""
    rows, classes = (draw.choice((30, 60)), draw.choice((2, 3, 5))) if calm else sizes(draw)
    names = draw.names(classes)
    values = scores(draw, rows, classes)
    hits = draw.arrays.random(rows) < 0.7
    if draw.chance(0.15):
        found = answers(draw, values, hits)
    else:
        drawn = draw.arrays.integers(max(classes, 1), size=rows)
        labels = np.where(hits, values.argmax(axis=1), drawn) if classes and rows else drawn
        found = laid_out(draw, values, names, labels)
    return found + [(name, other(draw, rows, names)) for name in draw.some(OTHERS, 1)]


def laid_out(draw: Draw, values: np.ndarray, names: list[str], labels: np.ndarray) -> Columns:
    """Return labels and scores in a layout: its columns are named by the examples of its declaration."""
    layout = draw.choice(LAYOUTS)
    said = [names[n] for n in labels] if names else labels
    text = "`species`" in layout.labels or "species" in layout.scores
    label = (draw.choice(LABELS[:5]), said)
    if layout.module == "harness":
        return harness(draw, values, names, labels)
    if layout.module:
        nested = {"vectors": vectors, "pairs": pairs, "objects": objects, "texts": texts}[layout.module]
        return [label if layout.module != "vectors" else (label[0], labels), nested(draw, values, names)]
    if layout.name == "a list of scores in each row":
        return [(label[0], labels), (draw.choice(("probs", "probs", "scores")), values.tolist())]
    if layout.name == "scores sorted by rank":
        order = np.argsort(-values, axis=1, kind="stable")
        ranked = np.take_along_axis(values, order, axis=1)
        if draw.chance(0.5):
            return [(label[0], labels), ("probs", ranked.tolist()), ("indices", order.tolist())]
        parts = [(f"prob_{n}", ranked[:, n]) for n in range(len(names))]
        return [(label[0], labels), *parts, *((f"index_{n}", order[:, n]) for n in range(len(names)))]
    template = draw.choice(examples(layout)) if draw.chance(0.95) else draw.name()
    mark = "cat" if "cat" in template else "0"
    found = [(template.replace(mark, name), values[:, n]) for n, name in enumerate(names)]
    if layout.of_label or layout.name == "CatBoost":
        label = ("species" if text else "BAD" if "BAD" in template else "Label", said)
    if "obs" in layout.labels and layout.name == "caret":
        label = ("obs", said)
    return [label, *found, *((name, said) for name in layout.beside if name != label[0])]


def examples(layout: Layout) -> list[str]:
    """Return names of columns of the class `cat`, or 0, that the declaration of a layout gives."""
    found = [text for text in QUOTED.findall(layout.scores) if "cat" in text or "0" in text]
    return [text for text in found if not text.startswith("[")] or ["prob_cat", "cat", "p0"]


def answers(draw: Draw, values: np.ndarray, hits: np.ndarray) -> Columns:
    """Return one score a row, with whether the answer was right in one of many spellings."""
    score = values.max(axis=1) if values.size else np.zeros(len(values))
    right = draw.choice(((1, 0), (True, False), ("yes", "no"), ("correct", "incorrect"), (1.0, 0.0)))
    spelled = [right[0] if hit else right[1] for hit in hits]
    name = draw.choice(("confidence", "conf", "p_correct", "certainty"))
    return [(name, score), (draw.choice(("correct", "is_correct", "acc", "grade")), spelled)]


def vectors(draw: Draw, values: np.ndarray, names: list[str]) -> Column:
    def stored(row: np.ndarray) -> dict[str, Any]:
        if draw.chance(0.7):
            return {"type": 1, "size": None, "indices": None, "values": row.tolist()}
        places = draw.choice((np.flatnonzero(row).tolist(), [0], [-1], [len(row)]))
        return {"type": 0, "size": len(row), "indices": places, "values": row[: len(places)].tolist()}

    return "probability", [stored(row) for row in values]


def pairs(draw: Draw, values: np.ndarray, names: list[str]) -> Column:
    key = draw.choice(("score", "prob", "scores"))
    if draw.chance(0.3):
        return "prediction", [{"classes": names, "scores": row.tolist()} for row in values]
    rows = [[{"label": name, key: float(x)} for name, x in zip(names, row, strict=True)] for row in values]
    return "predictions", rows


def harness(draw: Draw, values: np.ndarray, names: list[str], labels: np.ndarray) -> Columns:
    answered = [[[str(x), "False"] for x in row] if draw.chance(0.5) else row.tolist() for row in values]
    doc = [{"choices": names, "gold": int(label)} for label in labels]
    target = [names[n] if draw.chance(0.5) and names else int(n) for n in labels]
    return [("doc", doc), ("target", target), (draw.choice(("resps", "filtered_resps")), answered)]


def objects(draw: Draw, values: np.ndarray, names: list[str]) -> Column:
    rows = [dict(zip(names, row.tolist(), strict=True)) for row in values]
    return draw.choice(("probs", "cats", "scores")), rows


def texts(draw: Draw, values: np.ndarray, names: list[str]) -> Column:
    form = draw.choice(("[{}]", "{}") if draw.chance(0.9) else ("({})", "[{}", "[[{}]]"))
    between = draw.choice((",", " ", ", "))
    mark = draw.choice(("", "", "", "%"))
    return "probs", [form.format(between.join(f"{x:.6g}{mark}" for x in row)) for row in values]


def other(draw: Draw, rows: int, names: list[str]) -> Any:
    """Return a column of something that may be a weight, a fold, a name, a time or nothing of that."""
    made: tuple[Callable[[], Any], ...] = (
        lambda: np.arange(rows),
        lambda: draw.arrays.integers(3, size=rows),
        lambda: draw.arrays.random(rows),
        lambda: [draw.name() for _ in range(rows)],
        lambda: [draw.choice(names or ["x"]) for _ in range(rows)],
        lambda: [None] * rows,
        lambda: [draw.choice((None, 1, 0)) for _ in range(rows)],
        lambda: [draw.floating() for _ in range(rows)],
        lambda: [datetime.datetime(2024, 1, 1 + n % 28) for n in range(rows)],
        lambda: [datetime.date(1, 1, 1)] * rows,
        lambda: [datetime.timedelta(days=n) for n in range(rows)],
        lambda: [decimal.Decimal(n) / 7 for n in range(rows)],
        lambda: [b"\xff\x00"] * rows,
        lambda: [[1, 2]] * rows,
        lambda: [{"a": 1}] * rows,
        lambda: [draw.chance(0.5) for _ in range(rows)],
    )
    return draw.choice(made)()


def broken(draw: Draw, columns: Columns) -> Columns:
    """Return a table after one to three misfortunes."""
    for _ in range(draw.choice((1, 1, 2, 3)) if columns else 0):
        columns = misfortune(draw, columns, draw.randrange(len(columns))) if columns else columns
    return columns


def misfortune(draw: Draw, columns: Columns, place: int) -> Columns:
    """Return a table after something happened to the column at a place."""
    name, values = columns[place]
    rows = len(values)
    to_column: tuple[Callable[[], Columns], ...] = (
        lambda: [(name, mixed(draw, values))],
        lambda: [(name, mixed(draw, values))],
        lambda: [(name, typed(draw, values))],
        lambda: [(draw.name(), values)],
        lambda: [(name, other(draw, rows, ["cat", "dog"]))],
        lambda: [(name, [values[0]] * rows if rows else values)],
        lambda: [(name, values), (name, values)],
        lambda: [],
    )
    if draw.chance(0.05):
        return [(one, of[: rows // 2]) for one, of in columns]
    return [*columns[:place], *draw.choice(to_column)(), *columns[place + 1 :]]


def mixed(draw: Draw, values: Any) -> list[Any]:
    """Return values with up to three of them exchanged."""
    found = list(values)
    for _ in range(min(len(found), draw.randrange(1, 4))):
        new = draw.choice((draw.floating(), draw.floating(), None, draw.name()))
        found[draw.randrange(len(found))] = new
    return found


def typed(draw: Draw, values: Any) -> Any:
    """Return values as another type, if numpy makes one of them."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(draw.choice(TYPES))
    except (TypeError, ValueError, OverflowError):
        return [str(value) for value in values]
