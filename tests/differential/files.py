"""Valid files drawn at random: formats, layouts, kinds of scores, types of numbers and of labels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FORMATS = ("npy", "npz", "csv", "tsv", "jsonl", "json", "parquet", "arrow", "csv.gz")
NAMES = ("ant", "Bee", "crow, big", "dé", 'e"e', "fox ", "7", "x_y")


@dataclass(frozen=True)
class Drawn:
    """A file and what is in it.

    Attributes
    ----------
    path
        The file.
    options
        What `calcli.read` has to be told.
    probs
        (N, K) double-precision probabilities that its stored scores stand for.
    labels
        (N,) positions.
    single
        Whether numbers are stored in half or single precision.
    told
        All choices.
    """

    path: Path
    options: dict[str, Any]
    probs: np.ndarray
    labels: np.ndarray
    single: bool
    told: str


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities, in double precision."""
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)


def draw(seed: int, folder: Path) -> Drawn:
    """Write a file."""
    rng = np.random.default_rng([19, seed])
    form, kind = str(rng.choice(FORMATS)), str(rng.choice(["probs", "logits", "log-probs"]))
    k, n = int(rng.choice([2, 2, 3, 5, 8])), int(rng.integers(30, 400))
    dtype = np.dtype(
        str(rng.choice(["float32", "float64", "float16"] if kind == "logits" else ["float32", "float64"]))
    )
    logits = rng.normal(scale=rng.uniform(0.5, 4), size=(n, k))
    labels = (logits * rng.uniform(0.3, 1) + rng.gumbel(size=(n, k))).argmax(1)
    labels[:k] = np.arange(k)  # every class is there
    scores = {"probs": softmax(logits), "logits": logits, "log-probs": np.log(softmax(logits))}[kind]
    single = dtype != np.float64
    stored = scores.astype(dtype)
    exact = stored.astype(np.float64)
    one_column = k == 2 and kind == "probs" and bool(rng.random() < 0.4)
    if one_column:
        stored = stored[:, 1]
        probs = np.column_stack([1 - exact[:, 1], exact[:, 1]])
    else:
        probs = exact / exact.sum(1, keepdims=True) if kind == "probs" else softmax(exact)
    kinds = ["int"] if form in ("npy", "npz") or one_column else ["int", "str"]
    labelled = str(rng.choice([*kinds, "bool"] if k == 2 and one_column else kinds))
    wide = bool(rng.random() < 0.6) or form in ("csv", "tsv", "csv.gz") or one_column
    path = folder / f"f{seed}.{form}"
    layout = "one column" if one_column else "wide" if wide else "list"
    told = f"{form} {kind} {dtype} K={k} N={n} {layout}, labels {labelled}"
    options: dict[str, Any] = {"kind": kind}
    if form in ("npy", "npz"):
        _write_arrays(path, stored, labels, options)
    else:
        names = list(map(str, range(k))) if labelled != "str" else list(rng.choice(NAMES, k, replace=False))
        given = (
            labels.astype(bool)
            if labelled == "bool"
            else labels
            if labelled == "int"
            else np.array(names)[labels]
        )
        if not wide and labelled == "str":
            options["classes"] = names
        columns = {"label": given.tolist()}
        stem = {"probs": "prob", "logits": "logit", "log-probs": "logprob"}[kind]
        if one_column:
            columns["prob"] = stored
        elif wide:
            columns |= {f"{stem}_{name}": stored[:, place] for place, name in enumerate(names)}
        else:
            columns[{"probs": "probs", "logits": "logits", "log-probs": "log_probs"}[kind]] = list(stored)
        _write_table(path, form, columns, bool(rng.random() < 0.5))
    return Drawn(path, options, probs, labels, single, told)


def _write_arrays(path: Path, stored: np.ndarray, labels: np.ndarray, options: dict[str, Any]) -> None:
    if path.suffix == ".npz":
        np.savez(path, scores=stored, labels=labels)
        return
    np.save(path, np.asfortranarray(stored) if len(labels) % 2 else stored)
    np.save(path.with_name(f"{path.stem}_labels.npy"), labels)
    options["labels"] = str(path.with_name(f"{path.stem}_labels.npy"))


def _write_table(path: Path, form: str, columns: dict[str, Any], several: bool) -> None:
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    if form == "parquet":
        pq.write_table(table, path, row_group_size=37 if several else None)
    elif form == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=41 if several else None)
    elif form in ("json", "jsonl"):
        rows = table.to_pylist()
        lines = [json.dumps(row, default=float) for row in rows]  # half floats of older pyarrow are numpy's
        path.write_text(f"[{','.join(lines)}]" if form == "json" else "\n".join(lines) + "\n")
    else:
        import pandas as pd

        frame = pd.DataFrame(columns).astype({name: "float64" for name in columns if _is_half(columns[name])})
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")


def _is_half(values: Any) -> bool:
    """Tell whether these are half floats, of which pandas writes fewer digits than they have."""
    return isinstance(values, np.ndarray) and values.dtype == np.float16
