"""What plain numpy says of tangled files, beside what calcli says of them, and writes of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import calcli
from calcli.io.options import ReadOptions
from calcli.work.apply import apply_file
from tests.differential.files import softmax
from tests.differential.tangled import Tangled

NEAR = 1e-9


def differences(drawn: Tangled) -> Iterator[str]:
    """Yield where calcli differs; raises its error if it refuses the file."""
    wanted = expected(drawn)
    report = calcli.evaluate(drawn.path, metrics=list(wanted), intervals=False, draws=0, **drawn.options)
    found = report.to_dict()["results"][0]["metrics"]
    for name, value in wanted.items():
        if not abs(found[name]["value"] - value) <= NEAR * max(1, abs(value)):
            yield f"{drawn.told}: {name} is {found[name]['value']!r}, expected {value!r}"
    with tempfile.TemporaryDirectory(dir=drawn.path.parent) as folder:
        scale, intercept = np.linspace(0.5, 1.5, len(drawn.names)), np.arange(len(drawn.names)) / 2
        written = _recalibrated(drawn, scale, intercept, Path(folder))
    off = np.abs(written - softmax(scale * np.log(drawn.probs) + intercept)).max()
    if not off <= NEAR:
        yield f"{drawn.told}: recalibrated probabilities are off by {off:.2g}"


def expected(drawn: Tangled) -> dict[str, float]:
    """Return proper scores and the accuracy."""
    n_classes = drawn.probs.shape[1]
    right = np.eye(n_classes)[drawn.labels]
    each = {
        "log_loss": -np.log(drawn.probs[right == 1]),
        "brier": ((drawn.probs - right) ** 2).sum(1) / (2 if n_classes == 2 else 1),
        "accuracy": drawn.probs.argmax(1) == drawn.labels,
    }
    return {name: float(np.average(values, weights=drawn.weights)) for name, values in each.items()}


def _recalibrated(drawn: Tangled, scale: np.ndarray, intercept: np.ndarray, folder: Path) -> np.ndarray:
    """Return what `calcli apply` writes, in the order of the classes."""
    calibrator = calcli.VectorScaling()
    calibrator.parameters = {"scale": scale, "intercept": intercept, "floor": -1e3}
    calcli.save(calibrator, folder / "cal.json", classes=list(drawn.names))
    out = folder / drawn.path.name
    apply_file(str(folder / "cal.json"), str(drawn.path), str(out), ReadOptions())
    parts = [out]
    if out.is_dir():
        parts = sorted(out.iterdir(), key=lambda part: int(part.stem.partition("-")[2]))
    return np.array([_row(row, drawn) for part in parts for row in _rows(part)])


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def _row(row: dict[str, Any], drawn: Tangled) -> list[float]:
    return [float(row[f"prob_{name}"]) for name in drawn.names]
