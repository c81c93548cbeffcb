"""Plain valid rows, and the ways in which programs write them: formats, layouts, kinds, orders of classes."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq

from tests.hostile.drawing import Draw
from tests.hostile.files import npy
from tests.hostile.tables import Columns

TABLES = ("csv", "parquet", "jsonl", "json", "arrow")
NESTING = ("parquet", "jsonl", "json", "arrow")  # formats in which a cell may hold a list
WORDS = ("dog", "ant", "cat", "elk", "bee", "fox", "cow", "owl")
STEMS = {"probs": "prob", "logits": "logit", "log-probs": "logprob", "percent": "prob"}


@dataclass(frozen=True)
class Data:
    """Rows of predictions, however they are written.

    Attributes
    ----------
    probs
        (N, K) probabilities, none of them 0.
    labels
        (N,) places of the true classes.
    names
        Of the classes.
    beside
        Other columns.
    tied
        Whether many scores are equal, or lie on edges of bins, so that rounding moves what goes by order.
    """

    probs: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]
    beside: Columns
    tied: bool

    def part(self, kept: slice | np.ndarray) -> Data:
        """Return some of the rows, or rows in another order."""
        beside = [(name, np.asarray(values)[kept]) for name, values in self.beside]
        return replace(self, probs=self.probs[kept], labels=self.labels[kept], beside=beside)

    @property
    def numbered(self) -> bool:
        """Whether classes are called by their places."""
        return self.names == tuple(str(n) for n in range(len(self.names)))

    def column(self, name: str) -> np.ndarray:
        return np.asarray(dict(self.beside)[name])


@dataclass(frozen=True)
class Way:
    """How rows are written.

    Attributes
    ----------
    form
        The format: of tables, npz or npy.
    layout
        "wide", a column for each class; "list", all scores in a cell or array; "one", a score of the second.
    kind
        What the scores are.
    order
        The order of the classes, in columns that are named.
    single
        Whether scores are kept in single precision.
    """

    form: str = "parquet"
    layout: str = "wide"
    kind: str = "probs"
    order: tuple[int, ...] = ()
    single: bool = False

    @property
    def exact(self) -> bool:
        """Whether the scores that are read are the probabilities, bit for bit."""
        return self.kind == "probs" and self.layout != "one" and not self.single


def data(draw: Draw, classes: int = 0, names: tuple[str, ...] = ()) -> Data:
    """Return rows of a few classes, some of them rare, with ties or without."""
    rng = draw.arrays
    number, count = draw.choice((20, 40, 60, 60, 100, 200)), classes or draw.choice((2, 2, 2, 3, 3, 4, 6))
    common = np.full(count, draw.choice((0.5, 1.0, 3.0, 30.0)))
    common[-1] *= draw.choice((1, 1, 0.1))
    probs = rng.dirichlet(common, size=number) + 1e-6 * rng.random((number, count))
    if tied := draw.chance(0.3):
        probs = (rng.multinomial(16, probs / probs.sum(1)[:, None]) + 1.0) / (16 + count)
    probs /= probs.sum(1)[:, None]
    true = probs ** draw.choice((0.4, 1, 2))
    labels = ((true / true.sum(1)[:, None]).cumsum(1) < rng.random((number, 1))).sum(1).clip(max=count - 1)
    if draw.chance(0.8):
        labels[:count] = np.arange(count)  # every class is there
    return Data(probs, labels, names or _names(draw, count), _beside(draw, number), tied)


def _names(draw: Draw, count: int) -> tuple[str, ...]:
    if draw.chance(0.4):
        return tuple(str(n) for n in range(count))
    return tuple(draw.sample(WORDS, count))


def _beside(draw: Draw, number: int) -> Columns:
    rng = draw.arrays
    patients = rng.integers(max(number // 3, 2), size=number)
    identities = (np.arange(number), rng.permutation(number) * 7, [f"id{n}" for n in rng.permutation(number)])
    weights = (
        rng.exponential(size=number) + 0.01,
        rng.integers(1, 4, size=number) * 1.0,
        10.0 ** rng.integers(-3, 4, size=number),
        np.ones(number),
    )
    return [
        ("id", draw.choice(identities)),
        ("weight", draw.choice(weights)),
        ("patient", draw.choice((patients, [f"p{n}" for n in patients]))),
        ("country", [draw.choice(("DE", "FR", "FR", "IT")) for _ in range(number)]),
        ("age", rng.integers(3, size=number)),
        ("note", [draw.choice(("x", "a, b", "é", "7", "")) for _ in range(number)]),
    ]


def another(draw: Draw, of: Data) -> Data:
    """Return the same rows with other scores."""
    mixed = 0.7 * of.probs + 0.3 * draw.arrays.dirichlet(np.ones(len(of.names)), size=len(of.labels))
    return replace(of, probs=mixed / mixed.sum(1)[:, None])


def way(draw: Draw, of: Data, named: bool = False) -> Way:
    """Return a way to write rows; a named one is a table whose columns name their classes."""
    count = len(of.names)
    single = draw.chance(0.25)
    if named:
        order = tuple(draw.sample(range(count), count)) if draw.chance(0.5) else ()
        return Way(draw.choice(TABLES), order=order, single=single)
    layout = draw.choice(("wide", "wide", "list", "array", *(("one",) if count == 2 else ())))
    kind = draw.choice(("probs", "probs", "logits", "log-probs", "percent"))
    if layout == "wide":
        return replace(way(draw, of, named=True), kind=kind)
    form = draw.choice({"list": NESTING, "array": ("npz",), "one": TABLES}[layout])
    return Way(form, layout.replace("array", "list"), kind, (), single)


def reading(of: Data, by: Way) -> list[str]:
    """Return the options that say what a file does not."""
    kind = ["--kind", by.kind] if by.kind == "percent" or by.layout == "one" else []
    told = by.layout in ("list", "one") and by.form != "npz" and not of.numbered
    return [*kind, *(["--classes", ",".join(of.names)] if told else [])]


def write(draw: Draw, of: Data, by: Way, stem: str) -> str:
    """Write rows in a way, and return the name of the file."""
    scores = _scores(of, by)
    labels = of.labels if of.numbered else np.asarray(of.names)[of.labels]
    if by.form == "npy":
        draw.put(f"{stem}_labels.npy", npy(of.labels))
        return draw.put(f"{stem}.npy", npy(scores))
    if by.form == "npz":
        arrays = {name: np.asarray(values) for name, values in of.beside}
        called = {by.kind.replace("-", "_").replace("percent", "scores"): scores, "labels": labels}
        with io.BytesIO() as file:
            np.savez(file, **called, **arrays, classes=np.asarray(of.names))
            return draw.put(f"{stem}.npz", file.getvalue())
    name = STEMS[by.kind]
    if by.layout == "list":
        columns: Columns = [(f"{name}s", list(scores))]
    elif by.layout == "one":
        columns = [(name, scores[:, 1])]
    else:
        columns = [(f"{name}_{of.names[n]}", scores[:, n]) for n in by.order or range(len(of.names))]
    return put(draw, [of.beside[0], ("label", labels), *columns, *of.beside[1:]], by.form, stem)


def _scores(of: Data, by: Way) -> np.ndarray:
    """Return (N, K) scores of a kind; as one score a row, the second column is the whole of it."""
    scores = of.probs
    if by.kind == "percent":
        scores = 100 * of.probs
    elif by.kind == "logits" and by.layout == "one":
        scores = np.log(of.probs) - np.log(of.probs[:, :1])
    elif by.kind == "logits":
        scores = np.log(of.probs) + 1.5
    elif by.kind == "log-probs":
        scores = np.log(of.probs)
    return scores.astype(np.float32) if by.single else scores


def put(draw: Draw, columns: Columns, form: str, name: str) -> str:
    """Write columns as anybody would, and return the name of the file."""
    table = pa.table(dict(columns))
    with io.BytesIO() as file:
        if form == "csv":
            pa_csv.write_csv(table, file)
        elif form == "parquet":
            pq.write_table(table, file)
        elif form == "arrow":
            feather.write_feather(table, file)
        else:
            lines = [json.dumps(row) for row in table.to_pylist()]
            text = "\n".join(lines) + "\n" if form == "jsonl" else f"[{','.join(lines)}]"
            file.write(text.encode())
        return draw.put(f"{name}.{form}", file.getvalue())


def cuts(draw: Draw, number: int) -> list[tuple[int, int]]:
    """Return where a few parts of so many rows begin and end."""
    begins = sorted({0, *(draw.randrange(number) for _ in range(draw.choice((1, 2, 3))))})
    return list(zip(begins, [*begins[1:], number], strict=True))
