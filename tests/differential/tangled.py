"""Valid files that say things in odd ways, or twice: names, types of labels, orders, parts, gaps, weights."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tests.differential.files import softmax

FORMATS = ("csv", "parquet", "jsonl")
LAYOUTS = ("columns", "objects", "ranked", "pairs")  # CSV has the first and the third
NUMBERS = {
    "from 0": ("0", "1", "2", "3"),
    "from 1": ("1", "2", "3", "4"),
    "years": ("2019", "2020", "2021", "2022"),
    "padded": ("01", "02", "03", "04"),
    "decimals": ("0.5", "1.0", "1.5", "2.0"),
    "signed": ("-1", "1", "0", "2"),
}
WORDS = {
    "words": ("ant", "Bee", "crow", "dé"),
    "texts": ("b, c", 'e"e', "two words", "A"),
    "missing": ("none", "null", "nan", "NA"),
    "partly": ("1", "2", "3+", "other"),
    "numbered": ("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3"),
    "truth": ("false", "true"),
    "answers": ("no", "yes"),
}
PLAIN = ("words", "texts", "missing")  # names in which there is no number and no order
BESIDE = ("id", "prediction", "split", "Unnamed: 0", "country")


@dataclass(frozen=True)
class Classes:
    """Names, and how labels are written.

    Attributes
    ----------
    names
        In the order of the probabilities.
    order
        That of the columns.
    ways
        Of writing a label, each part has one.
    fixed
        Whether labels are places of columns, which must stand alike in all parts.
    """

    names: tuple[str, ...]
    order: list[int]
    ways: list[str]
    fixed: bool = False

    def label(self, way: str, label: int) -> Any:
        """Return a label as it is written."""
        name = self.names[label]
        if way in ("number", "decimal"):
            return int(float(name)) if way == "number" and float(name).is_integer() else float(name)
        if way == "place":
            return self.order.index(label)
        return {
            "text": name,
            "boolean": name in ("true", "yes"),
            "suffix": int(name[-1]) if way == "suffix" else 0,
        }[way]


@dataclass(frozen=True)
class Tangled:
    """A file or a folder of parts, and what is in it.

    Attributes
    ----------
    path
        The file or the folder.
    options
        What `calcli.evaluate` has to be told.
    probs
        (N, K) probabilities.
    labels
        (N,) positions.
    weights
        (N,) weights, 0 where a label is missing.
    names
        Of the classes.
    layout
        Of the scores.
    told
        All choices.
    """

    path: Path
    options: dict[str, Any]
    probs: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...]
    layout: str
    told: str


def tangled(seed: int, folder: Path) -> Tangled:
    """Write a file, or a folder of parts."""
    rng = np.random.default_rng([20, seed])
    form, layout = _one(rng, FORMATS), _one(rng, LAYOUTS)
    layout = "columns" if form == "csv" and layout != "ranked" else layout
    family = _one(rng, (*NUMBERS, *WORDS))
    classes = _classes(rng, family, layout)
    n, k = int(rng.integers(12, 60)), len(classes.names)
    logits = rng.normal(scale=2, size=(n, k))
    labels = (0.5 * logits + rng.gumbel(size=(n, k))).argmax(1)
    labels[:k] = np.arange(k)
    gaps = 0 if family == "missing" else _one(rng, (0, 0, 0.2))  # in CSV these names are gaps themselves
    missing = rng.random(n) < gaps
    missing[:k] = False
    weighed = _one(rng, (False, False, True))
    drawn = Tangled(
        folder / f"t{seed}",
        {"weights": "weight"} if weighed else {},
        softmax(logits),
        labels,
        rng.integers(0, 4, n).astype(float) if weighed else np.ones(n),
        classes.names,
        layout,
        "",
    )
    drawn.weights[0] = 1.0
    beside = list(rng.permutation(BESIDE)[: rng.integers(0, 5)])
    ends = sorted({n, *rng.integers(1, n, int(rng.integers(0, 3))).tolist()})
    path = drawn.path if len(ends) > 1 else drawn.path.with_suffix(f".{form}")
    for low, high in zip([0, *ends], ends, strict=False):
        rows = slice(low, high)
        columns = _scores(rng, layout, classes, drawn.probs[rows]) | _labels(
            rng, classes, labels[rows], missing[rows]
        )
        columns |= {name: _values(name, classes, drawn.probs, rows) for name in beside}
        columns |= {"weight": drawn.weights[rows]} if weighed else {}
        names = list(columns) if classes.fixed or layout == "ranked" else rng.permutation(list(columns))
        part = path / f"part-{low}.{form}" if len(ends) > 1 else path
        _write(rng, part, form, {name: columns[name] for name in names})
    options = drawn.options | ({"drop_missing": True} if missing.any() else {})
    told = (
        f"{path.name}: {family} {classes}, {n} rows, {len(ends)} parts, {layout}, beside {beside}, {options}"
    )
    return replace(drawn, path=path, options=options, weights=drawn.weights * ~missing, told=told)


def _one(rng: np.random.Generator, some: Any) -> Any:
    return some[int(rng.integers(len(some)))]


def _classes(rng: np.random.Generator, family: str, layout: str) -> Classes:
    names = (NUMBERS | WORDS)[family]
    k = int(rng.integers(2, len(names) + 1)) if family != "partly" else len(names)
    order = rng.permutation(k).tolist() if rng.random() < 0.5 else list(range(k))
    text = rng.random() < 0.5
    if family in PLAIN and layout == "columns" and not text:
        return Classes(names[:k], order, ["place"], fixed=True)
    ways = {"truth": ["boolean"], "answers": ["boolean"], "numbered": ["suffix"]}
    ways |= {one: ["number", "decimal"] for one in NUMBERS}
    return Classes(names[:k], order, ["text"] if text else ways.get(family, ["text"]))


def _labels(
    rng: np.random.Generator, classes: Classes, labels: np.ndarray, missing: np.ndarray
) -> dict[str, Any]:
    way = _one(rng, classes.ways)
    rows = zip(labels.tolist(), missing, strict=True)
    return {"label": [None if gone else classes.label(way, label) for label, gone in rows]}


def _scores(rng: np.random.Generator, layout: str, classes: Classes, probs: np.ndarray) -> dict[str, Any]:
    names, order = classes.names, classes.order
    if layout == "columns":
        return {f"prob_{names[c]}": probs[:, c] for c in order}
    if layout == "objects":
        return {"probs": [{names[c]: row[c] for c in order} for row in probs.tolist()]}
    if layout == "pairs":
        rows = [(row, rng.permutation(order)) for row in probs.tolist()]
        return {"probs": [[{"label": names[c], "score": row[c]} for c in own] for row, own in rows]}
    ranks, columns = (-probs).argsort(1), {}
    for rank in range(len(names)):
        columns[f"label_{rank}"] = [names[c] for c in ranks[:, rank]]
        columns[f"prob_{rank}"] = np.take_along_axis(probs, ranks, 1)[:, rank]
    return columns


def _values(name: str, classes: Classes, probs: np.ndarray, rows: slice) -> list[Any]:
    """Return another column, which says nothing of labels."""
    if name == "prediction":
        return [classes.names[c] for c in probs[rows].argmax(1)]
    numbers = range(rows.start, rows.stop)
    return [f"{name} {row % 3}" for row in numbers] if name in ("split", "country") else list(numbers)


def _write(rng: np.random.Generator, path: Path, form: str, columns: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    table = pa.table({name: _stored(values) for name, values in columns.items()})
    if form == "csv":
        pa_csv.write_csv(table, path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")
    else:
        for place, field in enumerate(table.schema):
            if pa.types.is_string(field.type) and rng.random() < 0.3:
                table = table.set_column(place, field.name, table.column(place).dictionary_encode())
        pq.write_table(table, path, row_group_size=_one(rng, (None, None, 7)))


def _stored(values: Any) -> Any:
    """Return an array: of doubles if any is one."""
    return (
        pa.array(values, pa.float64()) if any(isinstance(one, float) for one in values) else pa.array(values)
    )
