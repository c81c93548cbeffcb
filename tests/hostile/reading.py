"""Tables that calcli wrote, read by others: whether columns beside the scores are what they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.feather as feather
import pyarrow.parquet as pq

KEPT = ("id", "label", "weight", "patient", "country", "age", "note")


def unlike_columns(before: Path, after: Path) -> list[str]:
    """Return what differs in the columns beside the scores; nothing if there is no file."""
    if not after.exists():
        return []
    first, second = columns(before), columns(after)
    return [
        f"column {name} changed: {first[name][:5]} to {second.get(name, [])[:5]}"
        for name in KEPT
        if name in first and first[name] != second.get(name)
    ]


def columns(path: Path) -> dict[str, list[str]]:
    """Return the columns of a table or an archive as text; numbers by value, what is missing as nothing."""
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return {name: [_text(one) for one in archive[name].tolist()] for name in archive.files}
    if path.suffix == ".csv":
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        return {str(name): [_text(one) for one in frame[name]] for name in frame}
    if path.suffix in (".json", ".jsonl"):
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if path.suffix == ".json" else list(map(json.loads, text.splitlines()))
    else:
        read = pq.read_table if path.suffix == ".parquet" else feather.read_table
        rows = read(path).to_pylist()
    return {name: [_text(row[name]) for row in rows] for name in rows[0]}


def _text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return str(value)
